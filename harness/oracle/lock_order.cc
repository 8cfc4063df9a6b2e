#include "harness/oracle/lock_order.h"

#include <cstdint>

#include "harness/oracle/verdict.h"

namespace handoff::lock_order {
namespace {

struct Node {
  const char* name;  // a literal
  int number;
  std::uint32_t after;  // nodes that some thread waited for while it held this one
};

Node nodes[kMaxNodes];
int node_count = 0;
std::uint32_t held[kMaxThreads];  // sets of nodes

constexpr std::uint32_t Only(int node) { return std::uint32_t{1} << node; }

// A shortest way from `from` to `to` along the order, in `way`; its length, 0 if there is none.
int FindWay(int from, int to, int* way) {
  int parent[kMaxNodes];
  int queue[kMaxNodes];
  std::uint32_t seen = Only(from);
  int head = 0;
  int tail = 0;
  queue[tail++] = from;
  parent[from] = -1;
  while (head < tail) {
    const int node = queue[head++];
    if (node == to) {
      int length = 0;
      for (int n = to; n >= 0; n = parent[n]) ++length;
      for (int n = to, i = length; n >= 0; n = parent[n]) way[--i] = n;
      return length;
    }
    for (std::uint32_t rest = __atomic_load_n(&nodes[node].after, __ATOMIC_RELAXED) & ~seen; rest != 0; rest &= rest - 1) {
      const int next = __builtin_ctz(rest);
      seen |= Only(next);
      parent[next] = node;
      queue[tail++] = next;
    }
  }
  return 0;
}

// Appends "name number" to a text that is cut where the room ends.
struct Text {
  char characters[400];
  int length;
};

void Append(Text& text, const char* more) {
  for (; *more != '\0' && text.length < static_cast<int>(sizeof text.characters) - 1; ++more)
    text.characters[text.length++] = *more;
  text.characters[text.length] = '\0';
}

void Append(Text& text, const Node& node) {
  Append(text, node.name);
  char digits[] = " 00";
  digits[1] = static_cast<char>('0' + node.number / 10 % 10);
  digits[2] = static_cast<char>('0' + node.number % 10);
  if (node.number < 10) {
    digits[1] = digits[2];
    digits[2] = '\0';
  }
  Append(text, digits);
}

[[noreturn]] void FailCycle(int thread, int holds, int wants, const int* way, int length) {
  Text cycle{};
  for (int i = 0; i < length; ++i) {
    Append(cycle, nodes[way[i]]);
    Append(cycle, " before ");
  }
  Append(cycle, nodes[wants]);
  oracle::Fail(
      "lock-order", nodes[wants].name,
      "Thread %c waits for %s %d while it holds %s %d, but the other order was seen too: %s. Give up the one before waiting for "
      "the other.",
      'A' + thread, nodes[wants].name, nodes[wants].number, nodes[holds].name, nodes[holds].number, cycle.characters);
}

}  // namespace

void Reset() {
  node_count = 0;
  for (std::uint32_t& set : held) set = 0;
}

int NewNode(const char* name, int number) {
  if (node_count == kMaxNodes) oracle::Fail("harness", "", "The lock order has %d nodes. Raise kMaxNodes.", kMaxNodes);
  nodes[node_count] = Node{name, number, 0};
  return node_count++;
}

void Waits(int thread, int node) {
  if ((held[thread] & Only(node)) != 0) {
    oracle::Fail("lock-order", nodes[node].name, "Thread %c waits for %s %d, which it holds itself.", 'A' + thread,
                 nodes[node].name, nodes[node].number);
  }
  for (std::uint32_t rest = held[thread]; rest != 0; rest &= rest - 1) {
    const int before = __builtin_ctz(rest);
    if ((__atomic_load_n(&nodes[before].after, __ATOMIC_RELAXED) & Only(node)) != 0) continue;
    int way[kMaxNodes];
    const int length = FindWay(node, before, way);
    if (length > 0) FailCycle(thread, before, node, way, length);
    __atomic_fetch_or(&nodes[before].after, Only(node), __ATOMIC_RELAXED);  // threads of `free` run at once
  }
}

void Got(int thread, int node) { held[thread] |= Only(node); }
void Gave(int thread, int node) { held[thread] &= ~Only(node); }

}  // namespace handoff::lock_order
