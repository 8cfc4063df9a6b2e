#include "harness/run/target_process_for_test.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace handoff {

namespace {

constexpr auto kPatience = std::chrono::minutes(4);  // on a machine that is busy with other things
constexpr auto kPause = std::chrono::milliseconds(20);

std::string NewFolder() {
  std::string folder = ::testing::TempDir() + "handoff-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder + "/";
}

// Folders that are removed when the test program ends.
struct MadeFolders {
  std::vector<std::string> folders;
  ~MadeFolders() {
    for (const std::string& folder : folders) std::filesystem::remove_all(folder);
  }
};

std::vector<std::string> EnvironmentWith(Variables variables) {
  std::vector<std::string> environment;
  variables.emplace("HANDOFF_CONFIRM_SECONDS", "100");  // the machine may be busy with other things
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string(*entry).starts_with("HANDOFF_")) environment.emplace_back(*entry);
  }
  for (const auto& [name, value] : variables) environment.emplace_back(name).append("=").append(value);
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

TargetProcess::TargetProcess(const std::string& name, const std::vector<std::string>& arguments, const Variables& variables)
    : folder_(NewFolder()) {
  std::vector<std::string> words = {HANDOFF_TARGET_FOLDER + name, "-artifact_prefix=" + folder_};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = EnvironmentWith(variables);
  const std::vector<char*> argv = Pointers(words);
  const std::vector<char*> envp = Pointers(environment);
  const std::string output = folder_ + ".output";
  pid_ = fork();
  if (pid_ != 0) return;
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int nothing = open("/dev/null", O_RDWR);
  if (file < 0 || nothing < 0) _exit(127);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

TargetProcess::~TargetProcess() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::filesystem::remove_all(folder_);
}

bool TargetProcess::HasEnded() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

Ended TargetProcess::Wait() {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!HasEnded() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kPause);
  EXPECT_TRUE(ended_) << "expected an end within four minutes, found none; so far:\n" << Output();
  Ended result;
  result.output = Output();
  if (ended_ && WIFEXITED(status_)) result.code = WEXITSTATUS(status_);
  if (ended_ && WIFSIGNALED(status_)) result.signal = WTERMSIG(status_);
  return result;
}

bool TargetProcess::AwaitOutput(const std::string& text) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (Output().find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

std::vector<pid_t> TargetProcess::Children() const { return ChildrenOf(pid_); }

std::vector<std::string> TargetProcess::Files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (entry.path().filename() != ".output") names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string TargetProcess::Output() const { return ReadAll(folder_ + ".output"); }

std::vector<pid_t> ChildrenOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children");
  return {std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>()};
}

bool IsRunning(pid_t process) {
  const std::string stat = ReadAll("/proc/" + std::to_string(process) + "/stat");
  const std::size_t state = stat.rfind(") ");  // behind the program's name (proc(5))
  return state != std::string::npos && stat.substr(state + 2, 1) != "Z";
}

std::string FolderWithFile(const std::string& file_name, const std::string& content) {
  static MadeFolders made;
  const std::string folder = made.folders.emplace_back(NewFolder());
  std::ofstream(folder + file_name, std::ios::binary) << content;
  return folder;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string LineAfter(const std::string& output, const std::string& start) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) return line.substr(start.size());
  }
  return "";
}

}  // namespace handoff
