// Operations that end in a shared library, which was built with the target's sanitizer and is loaded by dlopen: the access points
// must reach code that was not there when the binary was linked.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "harness/oracle/verdict.h"
#include "harness/subjects/canary/canary.h"
#include "harness/subjects/canary/racy_module.h"

namespace handoff::canary {
namespace {

constexpr OperationKind kOperations[] = {{.name = "add"}};
constexpr Twin kTwins[] = {{"module_unlocked", "smallest race inside a module loaded at run time", "thread"}};
constexpr const char* kModule = "racy_module.so";

class ModuleRace final : public Subject {
 public:
  explicit ModuleRace(bool locked) : locked_(locked) {}

  void Initialize(const char* argv0) override {
    const std::string binary = argv0;
    const std::size_t slash = binary.rfind('/');
    const std::string path = (slash == std::string::npos ? "./" : binary.substr(0, slash + 1)) + kModule;
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: reports name its functions to the end
    if (module == nullptr) Refuse(path);
    reset_ = Find<decltype(reset_)>(module, "racy_module_reset", path);
    add_ = Find<decltype(add_)>(module, "racy_module_add", path);
    count_ = Find<decltype(count_)>(module, "racy_module_count", path);
  }

  void Begin(const Case& c) override {
    reset_();
    expected_ = static_cast<int>(OperationCount(c));
  }

  void Apply(int /*thread*/, Operation /*operation*/) override { add_(locked_); }

  void End() override {
    const int count = count_();
    if (count != expected_) oracle::Fail("wrong-value", "", "%d calls into the module made %d.", expected_, count);
  }

 private:
  [[noreturn]] static void Refuse(const std::string& path) {
    std::fprintf(stderr,
                 "expected the module %s beside the target, found: %s; build all targets, or move the module with the binary\n",
                 path.c_str(), dlerror());
    std::exit(1);
  }

  template <typename Function>
  static Function Find(void* module, const char* name, const std::string& path) {
    void* symbol = dlsym(module, name);
    if (symbol == nullptr) Refuse(path);
    return reinterpret_cast<Function>(symbol);
  }

  const bool locked_;
  decltype(&racy_module_reset) reset_ = nullptr;
  decltype(&racy_module_add) add_ = nullptr;
  decltype(&racy_module_count) count_ = nullptr;
  int expected_ = 0;  // set before the threads start
};

}  // namespace

constinit const Canary kModuleRace = {"canary_module_race", kOperations, kTwins, [](int twin) -> std::unique_ptr<Subject> {
                                        return std::make_unique<ModuleRace>(twin < 0);
                                      }};

}  // namespace handoff::canary
