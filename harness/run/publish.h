// Turns findings into files and text: the cold parent's answer to a failing thread, and what a replay prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/case/case.h"
#include "harness/report/finding.h"
#include "harness/run/cold.h"
#include "harness/run/confirm.h"
#include "harness/run/options.h"
#include "harness/run/outcome.h"
#include "harness/run/target.h"

namespace handoff {

// Runs in the cold parent, or in a process that replays files. One thread.
class Publisher final : public RequestHandler {
 public:
  // Both are borrowed. `warm_report` is the file that the fuzzing process's sanitizer prints to, or -1.
  Publisher(const Target& target, const Options& options, int warm_report);

  void Handle(ColdRunner& runner, Exchange& exchange) override;
  void HandleVanished(ColdRunner& runner, Exchange& exchange) override;

  // Prints a failed run of `c`, which lies in `path`, under the fixed headings. With HANDOFF_WHY=1 after looking for the switch
  // that matters.
  void PrintReplay(ColdRunner& runner, const Case& c, const Outcome& outcome, const std::string& path) const;

  std::string SignatureOf(const Case& c, const Outcome& outcome) const;

 private:
  // The case in the exchange, overrides written in; false if it cannot be read.
  bool ReadRequest(const Exchange& exchange, Case& c) const;
  void ConfirmAndWrite(ColdRunner& runner, const Case& original, const Outcome& warm, Exchange& exchange) const;
  Confirmer MakeConfirmer(ColdRunner& runner, const std::string& kind) const;
  Finding FindingOf(const Case& c, const Outcome& outcome) const;
  // What Print is told besides the outcome.
  struct Known {
    std::optional<DecisiveSearch> decisive = std::nullopt;  // nothing: nobody has looked
    bool confirmed = true;
    bool shortened = true;     // as far as it goes
    bool interrupted = false;  // why something is not known
  };
  void Print(const Case& c, const Outcome& outcome, const Known& known, const std::string& path) const;
  // The commands that a finding names, for a case in `path`, wherever that is.
  struct Commands {
    std::string replay;
    std::string explain;
    std::string test;
  };
  Commands CommandsFor(const std::string& path) const;
  Commands CommandsOutside(const std::string& path) const;
  std::string_view TwinName() const;

  const Target& target_;
  const Options& options_;
  const int warm_report_;
};

}  // namespace handoff
