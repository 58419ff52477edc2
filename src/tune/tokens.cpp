#include "tune/tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

#include "kernel/tree.h"
#include "util/stable_sort.h"

namespace isomer::tune {
namespace {

/// Blocks that say what the task is.
constexpr size_t kBlocks = 3;

uint32_t word_of(std::string_view name) { return static_cast<uint32_t>(Hasher().add(name).finish().low % kWords); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Writer {
 public:
  bool is_full() const { return tokens_.size() == kMostTokens; }
  void begin(std::string_view name) {
    tokens_.push_back({word_of(name), {}});
    at_ = 0;
  }
  void put(double number) {
    if (at_ < kNumbers) tokens_.back().numbers[at_++] = static_cast<float>(number);
  }
  void put_integer(int64_t integer) {
    const auto number = static_cast<double>(integer);
    put(std::copysign(std::log2(1 + std::fabs(number)), number) / 4);
  }
  void put_loop(int variable) { put(order(loops_, variable)); }
  void put_name(const std::string& name) {
    put(order(names_, name));
    const char* const end = name.data() + name.size();
    for (const char* at = name.data(); at < end;) {
      const char* const first = std::find_if(at, end, is_digit);
      at = std::find_if_not(first, end, is_digit);
      int64_t integer = 0;
      if (std::from_chars(first, at, integer).ec == std::errc()) put_integer(integer);
    }
  }
  std::vector<Token> taken() { return std::move(tokens_); }

 private:
  template <class Key>
  static double order(std::map<Key, size_t>& known, const Key& key) {
    return std::log2(1 + static_cast<double>(known.try_emplace(key, known.size() + 1).first->second)) / 4;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::map<int, size_t> loops_;
  std::map<std::string, size_t> names_;
};

void write_blocks(const kernel::Kernel& kernel, Writer& writer) {
  struct Seen {
    const kernel::Block* block;
    double points;
  };
  std::vector<Seen> blocks;
  const auto extent = [](const kernel::Iterator& iterator) { return te::as_constant(iterator.extent).value_or(1); };
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    double points = 1;
    for (const auto* list : {&block.axes, &block.reduce})
      for (const kernel::Iterator& each : *list) points *= static_cast<double>(extent(each));
    blocks.push_back({&block, points});
  });
  stable_sort(blocks, [](const Seen& a, const Seen& b) { return a.points > b.points; });
  for (size_t k = 0; k < std::min(blocks.size(), kBlocks); ++k) {
    writer.begin(blocks[k].block->is_reduction() ? "a reduction" : "a map");
    for (const auto* list : {&blocks[k].block->axes, &blocks[k].block->reduce}) {
      writer.put(static_cast<double>(list->size()) / 4);
      for (const kernel::Iterator& each : *list) writer.put_integer(extent(each));
    }
  }
}

/// "s0.rows" := 6 is what the word "rows" says of s0.
void write_decision(const kernel::Builder::Made& made, Writer& writer) {
  const std::string& name = made.choice.name;
  const size_t dot = std::min(name.rfind('.'), name.size());
  std::string what = name.substr(std::min(dot + 1, name.size()));
  std::erase_if(what, is_digit);
  writer.begin(what);
  writer.put_integer(made.value);
  writer.put_integer(made.choice.preferred);
  writer.put(made.is_preferred());
  writer.put_integer(std::ssize(made.choice.candidates));
  writer.put_name(name.substr(0, dot));
}

void write_instruction(const kernel::Instruction& instruction, Writer& writer) {
  writer.begin(instruction.primitive);
  for (const kernel::Argument& argument : instruction.arguments)
    std::visit(te::Overloaded{[&](int64_t integer) { writer.put_integer(integer); },
                              [&](const std::string& name) { writer.put_name(name); },
                              [&](kernel::LoopId loop) { writer.put_loop(loop.variable); },
                              [&](const kernel::Integers& integers) {
                                for (const int64_t each : integers) writer.put_integer(each);
                              },
                              [&](const kernel::LoopIds& loops) {
                                for (const kernel::LoopId each : loops) writer.put_loop(each.variable);
                              }},
               argument);
}

}  // namespace

std::vector<Token> tokens_of(const Candidate& candidate) {
  Writer writer;
  write_blocks(candidate.made.kernel, writer);
  for (const kernel::Builder::Made& made : candidate.made.choices)
    if (!writer.is_full()) write_decision(made, writer);
  for (const kernel::Instruction& instruction : candidate.made.trace.instructions)
    if (!writer.is_full()) write_instruction(instruction, writer);
  return writer.taken();
}

}  // namespace isomer::tune
