// The table of a function's keywords, filled when the function is first called: double-checked locking.
#pragma once

#include <atomic>
#include <mutex>

namespace handoff::cache {

class KeywordTable {
 public:
  static constexpr int kKeywords = 3;

  // Position of the keyword, or -1 if there is none. Any thread.
  int Find(int keyword);

 private:
  void Fill();

  std::atomic<bool> filled_ = false;
  std::mutex mutex_;
  int keywords_[kKeywords] = {};  // guarded by mutex_ until filled_, then never changed
};

}  // namespace handoff::cache
