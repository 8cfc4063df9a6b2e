// Test only: runs a built target as its own process, and what came of it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace handoff {

struct Ended {
  int code = -1;       // exit code, or -1 if a signal ended it
  int signal = 0;      // that signal
  std::string output;  // standard error
};

using Variables = std::map<std::string, std::string>;

// A fuzz target that runs in a folder of its own, which is removed at the end.
class TargetProcess {
 public:
  // `name` is that of the target's binary; HANDOFF_* variables of the caller are not passed on.
  TargetProcess(const std::string& name, const std::vector<std::string>& arguments, const Variables& variables = {});
  ~TargetProcess();
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  // Waits for the end; a process that takes longer than four minutes is killed, and the test fails.
  Ended Wait();
  // Waits until the standard error holds `text`; false after four minutes.
  bool AwaitOutput(const std::string& text);
  bool HasEnded();

  pid_t pid() const { return pid_; }
  // Child processes of it that are alive: the cold parent.
  std::vector<pid_t> Children() const;
  // Names of the files in its folder, sorted; what it reads and prints aside.
  std::vector<std::string> Files() const;
  std::string Folder() const { return folder_; }

 private:
  std::string Output() const;

  std::string folder_;  // with a slash at the end
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

// Child processes of any process. None, as well, when it has ended.
std::vector<pid_t> ChildrenOf(pid_t process);
// Whether it has not ended; whether somebody has asked for its exit code is another matter.
bool IsRunning(pid_t process);

// Writes a file into a new folder below the tests' temporary one; returns the folder.
std::string FolderWithFile(const std::string& file_name, const std::string& content);
std::string ReadAll(const std::string& path);

// Text of the first line of `output` that starts with `start`, without it; "" if there is none.
std::string LineAfter(const std::string& output, const std::string& start);

}  // namespace handoff
