#include "harness/run/artifact.h"

#include <fcntl.h>

#include <cerrno>

#include "harness/run/exchange.h"
#include "harness/schedule/raw_syscall.h"

namespace handoff {

namespace {

using schedule::RawSyscall;
using schedule::Word;

constexpr int kStandardError = 2;
int output = kStandardError;
char artifact_prefix[kMaxPath] = "./";
char exact_artifact_path[kMaxPath] = "";

std::size_t Length(const char* text) {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

// Appends and returns the new end; the caller left room.
char* Append(char* end, const char* limit, const char* text) {
  while (*text != '\0' && end < limit) *end++ = *text++;
  *end = '\0';
  return end;
}

bool WriteAll(int file, const std::uint8_t* data, std::size_t size) {
  while (size > 0) {
    const long n = RawSyscall(SYS_write, file, Word(data), static_cast<long>(size));
    if (n == -EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

void BuildPath(const char* name, std::uint64_t hash, char* path) {
  const char* limit = path + kMaxPath - 1;
  if (exact_artifact_path[0] != '\0') {
    Append(path, limit, exact_artifact_path);
    return;
  }
  char digits[17];
  for (int i = 15; i >= 0; --i, hash >>= 4) digits[i] = "0123456789abcdef"[hash & 15];
  digits[16] = '\0';
  Append(Append(Append(Append(path, limit, artifact_prefix), limit, name), limit, "-"), limit, digits);
}

}  // namespace

void CopyRaw(void* to, const void* from, std::size_t size) {
#ifdef __x86_64__
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size)::"memory");
#else
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  for (std::size_t i = 0; i < size; ++i) {
    target[i] = source[i];
    asm volatile("" ::: "memory");  // else the compiler makes this loop a call of memcpy, which the sanitizers intercept
  }
#endif
}

void CopyText(char* to, std::size_t room, const char* from) {
  std::size_t n = from == nullptr ? 0 : Length(from);
  if (n >= room) n = room - 1;
  CopyRaw(to, from, n);
  to[n] = '\0';
}

void SetArtifactPlace(const char* prefix, const char* exact_path) {
  if (prefix != nullptr) CopyText(artifact_prefix, sizeof artifact_prefix, prefix);
  if (exact_path != nullptr) CopyText(exact_artifact_path, sizeof exact_artifact_path, exact_path);
}

std::uint64_t HashBytes(const std::uint8_t* data, std::size_t size) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001B3ULL;
  return hash;
}

void KeepOutput() {
  constexpr long kAbove = 100;  // out of the way of programs that count on low numbers
  const long kept = RawSyscall(SYS_fcntl, kStandardError, F_DUPFD_CLOEXEC, kAbove);
  if (kept >= 0) output = static_cast<int>(kept);
}

void WriteText(const char* text) { WriteAll(output, reinterpret_cast<const std::uint8_t*>(text), Length(text)); }

void CopyOut(int from) {
  std::uint8_t buffer[1024];
  long offset = 0;
  for (;;) {
    const long n = RawSyscall(SYS_pread64, from, Word(buffer), sizeof buffer, offset);
    if (n == -EINTR) continue;
    if (n <= 0 || !WriteAll(output, buffer, static_cast<std::size_t>(n))) return;
    offset += n;
  }
}

void NameArtifact(const char* name, const std::uint8_t* data, std::size_t size, char* path) {
  BuildPath(name, HashBytes(data, size), path);
}

bool WriteArtifact(const char* name, const std::uint8_t* data, std::size_t size, char* path, bool* existed) {
  NameArtifact(name, data, size, path);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC;
  long file = RawSyscall(SYS_openat, AT_FDCWD, Word(path), kFlags | O_EXCL, 0666);
  const bool there = file == -EEXIST;
  if (there) file = RawSyscall(SYS_openat, AT_FDCWD, Word(path), kFlags | O_TRUNC, 0666);
  const bool written = file >= 0 && WriteAll(static_cast<int>(file), data, size);
  if (file >= 0) RawSyscall(SYS_close, file);
  if (existed != nullptr) *existed = there;
  if (written) return true;
  if (file >= 0 && !there) RawSyscall(SYS_unlinkat, AT_FDCWD, Word(path), 0);
  WriteText("handoff: expected to write ");
  WriteText(path);
  WriteText(file == -EMFILE ? ", and may not open one more file. Raise the limit (ulimit -n).\n"
                            : ", and could not. Give a folder that exists and has room with -artifact_prefix=FOLDER/\n");
  return false;
}

}  // namespace handoff
