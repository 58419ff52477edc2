// Traces: the list of primitives that made a schedule, with the decisions that were sampled on the way. A trace prints,
// parses, hashes, and replays on the same kernel or on another one (MetaSchedule: Shao et al. 2022, section 4).
//
//     k4, k5 = split(k0, [-1, 8])
//     t0 = sample_perfect_tile(k1, 2, 16) -> [4, 8]
//     k6, k7 = split(k1, t0)
//     s1.cache = cache_write(s1, registers)
//     vectorize(k7)
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "util/hash.h"
#include "util/result.h"

namespace isomer::kernel {

/// A loop by its variable: k4.
struct LoopId {
  int variable = -1;
  bool operator==(const LoopId&) const = default;
};
/// A sampled decision by its number in the trace: t0.
struct Sampled {
  int number = -1;
  bool operator==(const Sampled&) const = default;
};

using Integers = std::vector<int64_t>;
using LoopIds = std::vector<LoopId>;
/// Strings name blocks, buffers, scopes, keys and layouts.
using Argument = std::variant<int64_t, std::string, LoopId, Sampled, Integers, LoopIds>;
using Arguments = std::vector<Argument>;

/// Where an instruction stands in a text; 0: in none. It makes no difference between instructions.
struct SourceLine {
  int number = 0;
  bool operator==(const SourceLine&) const { return true; }
};

struct Instruction {
  std::string primitive;
  Arguments arguments;
  Arguments results;
  /// What a sampling instruction chose; its result is the Sampled that stands for it.
  Integers decision;
  SourceLine line = {};
  bool operator==(const Instruction&) const = default;
};

struct Trace {
  std::vector<Instruction> instructions;
  bool operator==(const Trace&) const = default;
};

std::string print(const Trace& trace);
std::string print(const Instruction& instruction);
std::string print(const Argument& argument);
/// The inverse of `print`, for traces written by hand as well: what follows a '#' is a comment. The error names the
/// line.
Result<Trace> parse_trace(std::string_view text);
Hash128 hash(const Trace& trace);

}  // namespace isomer::kernel
