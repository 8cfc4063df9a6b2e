#include "harness/oracle/linearizability_words.h"

#include <cstdarg>
#include <cstdio>

#include "harness/oracle/verdict.h"

namespace handoff::linearizability {
namespace {

// With these, and an operation of a hundred characters, everything is said within what a detail holds.
constexpr int kMaxListed = 12;
constexpr int kMaxOverlaps = 2;

// What is said is put together here. Too much is cut.
class Text {
 public:
  // NOLINTNEXTLINE(modernize-avoid-variadic-functions): templates would be weak symbols.
  void Add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int added = vsnprintf(text_ + length_, sizeof text_ - static_cast<unsigned>(length_), format, arguments);
    va_end(arguments);
    length_ += added;
    if (length_ >= kSize) length_ = kSize - 1;
  }
  const char* All() const { return text_; }

 private:
  static constexpr int kSize = 2001;
  char text_[kSize] = "";
  int length_ = 0;
};

bool SamePart(const Call& a, const Call& b) { return a.thread == b.thread && a.part == b.part; }
bool Overlap(const Call& earlier, const Call& later) { return earlier.end > later.start; }

// Puts one finding into words.
class Teller {
 public:
  Teller(const Specification& specification, const Program& program, const Unexplained& found)
      : specification_(specification), program_(program), found_(found) {}

  void Tell() {
    AddWrong();
    AddRight();
    AddCalls();
  }
  const char* All() const { return text_.All(); }

 private:
  const Call& At(int i) const { return *found_.calls[i]; }
  const char* NameOf(const Call& call) const { return specification_.operations[call.operation].name; }
  static char LetterOf(const Call& call) { return static_cast<char>('A' + call.thread); }

  // The index of the call that offered the value; the count of all if none did.
  int OfferOf(int value) const {
    int offer = 0;
    while (offer < found_.call_count && At(offer).argument != value) ++offer;
    return offer;
  }

  // "A2": A's operation 2, and the value that it offered. A second value of that operation has a stroke, and so on.
  void AddValue(int value) {
    const int offer = OfferOf(value);
    if (offer == found_.call_count) return text_.Add("a value that no call offered");
    text_.Add("%c%d", LetterOf(At(offer)), At(offer).part);
    for (int i = 0; i < offer; ++i) {
      if (SamePart(At(i), At(offer)) && At(i).argument != 0) text_.Add("'");
    }
  }

  // `prefix` is what stands before the name of a value.
  void AddAnswer(const Call& call, int answer, const char* prefix) {
    const Words& words = specification_.operations[call.operation];
    if (words.no != nullptr) return text_.Add("%s", answer == 0 ? words.no : words.yes);
    if (answer == 0) return text_.Add("none");
    if (OfferOf(answer) < found_.call_count) text_.Add("%s", prefix);
    AddValue(answer);
  }

  void AddWrong() {
    const Call& culprit = *found_.culprit;
    char operation[128] = "";
    program_.print(program_.self, culprit.thread, culprit.part, operation, sizeof operation);
    text_.Add("The %s of key %d%s in %c's operation %d (%s) answered ", NameOf(culprit), culprit.key,
              specification_.place(culprit.map), LetterOf(culprit), culprit.part, operation);
    AddAnswer(culprit, culprit.result, "value ");
  }

  void AddRight() {
    text_.Add("; expected ");
    for (int i = found_.right_count - 1; i >= 0; --i) {
      AddAnswer(*found_.culprit, found_.right[i], "value ");
      if (i > 0) text_.Add(" or ");
    }
    text_.Add("%s.", found_.more_right ? " or another" : "");
  }

  bool AnyOverlap() const {
    for (int i = 1; i < found_.call_count; ++i) {
      for (int j = 0; j < i; ++j) {
        if (Overlap(At(j), At(i))) return true;
      }
    }
    return false;
  }

  bool IsOneOfTheRight(int value) const {
    for (int i = 0; i < found_.right_count; ++i) {
      if (found_.right[i] == value) return true;
    }
    return false;
  }
  // What an explanation can leave out least comes first: the culprit, whoever offered the values that are spoken of, what
  // overlaps the culprit, the rest.
  static constexpr int kRanks = 4;
  int RankOf(const Call& call) const {
    const Call& culprit = *found_.culprit;
    if (&call == &culprit) return 0;
    if (call.argument != 0 && (call.argument == culprit.result || IsOneOfTheRight(call.argument))) return 1;
    return Overlap(call, culprit) ? 2 : 3;
  }

  // Marks what is listed: by rank, and of one rank the newest.
  int Choose(bool (&listed)[kMaxCallsOfKey]) const {
    int count = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int i = found_.call_count - 1; i >= 0 && count < kMaxListed; --i) {
        if (RankOf(At(i)) != rank) continue;
        listed[i] = true;
        ++count;
      }
    }
    return count;
  }

  void AddCall(const Call& call) {
    text_.Add("%c%d %s(", LetterOf(call), call.part, NameOf(call));
    if (call.argument != 0) AddValue(call.argument);
    text_.Add(")");
    if (call.end > found_.culprit->end) return text_.Add(", which still ran");
    text_.Add(" = ");
    AddAnswer(call, call.result, "");
  }

  // The calls before number `i` that had not ended when it began.
  void AddOverlaps(int i, const bool (&listed)[kMaxCallsOfKey]) {
    int count = 0;
    for (int j = i - 1; j >= 0; --j) {
      if (!listed[j] || !Overlap(At(j), At(i)) || ++count > kMaxOverlaps) continue;
      text_.Add("%s%c%d %s", count == 1 ? ", during " : " and ", LetterOf(At(j)), At(j).part, NameOf(At(j)));
    }
    if (count > kMaxOverlaps) text_.Add(" and %d more", count - kMaxOverlaps);
  }

  void AddCalls() {
    if (found_.call_count == 1) return text_.Add(" No other call on this key had begun.");
    bool listed[kMaxCallsOfKey] = {};
    const int count = Choose(listed);
    const bool overlap = AnyOverlap();
    if (overlap) text_.Add(" Of calls that overlap either may come first, but no order explains that answer.");
    text_.Add(" The calls on this key until then%s", overlap ? ", as they began" : " came one after another");
    if (count < found_.call_count) text_.Add(" (%d of %d)", count, found_.call_count);
    const char* separator = ": ";
    for (int i = 0; i < found_.call_count; ++i) {
      if (!listed[i]) continue;
      text_.Add("%s", separator);
      AddCall(At(i));
      AddOverlaps(i, listed);
      separator = "; ";
    }
    const Call& culprit = *found_.culprit;
    text_.Add(". %c%d stands for %c's operation %d, counted from 0, and for the value that it offered.", LetterOf(culprit),
              culprit.part, LetterOf(culprit), culprit.part);
  }

  const Specification& specification_;
  const Program& program_;
  const Unexplained& found_;
  Text text_;
};

}  // namespace

void Tell(const Specification& specification, const Program& program, const Unexplained& found) {
  Teller teller(specification, program, found);
  teller.Tell();
  oracle::Fail("linearizability", specification.rule(found.culprit->operation, found.culprit->result), "%s", teller.All());
}

}  // namespace handoff::linearizability
