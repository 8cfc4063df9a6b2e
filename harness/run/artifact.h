// Files that a failing process leaves behind, written with raw system calls: the writer may be a signal handler in the middle of
// anything.
#pragma once

#include <cstddef>
#include <cstdint>

namespace handoff {

// Where files go, as libFuzzer's -artifact_prefix= (default "./"; a folder needs its slash) and -exact_artifact_path= (default
// none) say. Copied; cut at kMaxPath. Call once, at start. Both may be null.
void SetArtifactPlace(const char* prefix, const char* exact_path);

// Puts the path of such a file into `path` (kMaxPath bytes): <prefix><name>-<hash>, or the exact path. Any thread, signal
// handlers too.
void NameArtifact(const char* name, const std::uint8_t* data, std::size_t size, char* path);

// Writes `data` to <prefix><name>-<hash>, or to the exact path, and puts the path into `path` (kMaxPath bytes). `existed`, unless
// null: whether there was a file before. False, with a sentence on standard error and no file, if that fails. Any thread, signal
// handlers too.
bool WriteArtifact(const char* name, const std::uint8_t* data, std::size_t size, char* path, bool* existed = nullptr);

// FNV-1a (Fowler, Noll, Vo), 64 bits: names files and chooses the executions that are run twice. Not for secrets.
std::uint64_t HashBytes(const std::uint8_t* data, std::size_t size);

// Raw output for those who must not allocate: to standard error, or to what KeepOutput kept of it. CopyOut writes all that `from`
// holds.
void WriteText(const char* text);
void CopyOut(int from);

// From now on writes to what standard error is now, even if somebody (libFuzzer's -close_fd_mask=) turns that elsewhere.
void KeepOutput();

// Copies without a call that a sanitizer would intercept. CopyText ends in a zero byte and cuts at `room`; null counts as
// "".
void CopyRaw(void* to, const void* from, std::size_t size);
void CopyText(char* to, std::size_t room, const char* from);

}  // namespace handoff
