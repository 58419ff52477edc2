// Traces: the list of primitives that made a schedule, and what was decided on the way. A trace prints, parses, hashes,
// and replays on the same kernel or on another one (MetaSchedule: Shao et al. 2022, section 4).
//
//     k4, k5 = split(k0, [-1, 8])
//     s1.cache = cache_write(s1)
//     vectorize(k5)
//     s1.width := 8
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
using Integers = std::vector<int64_t>;
using LoopIds = std::vector<LoopId>;
/// Strings name blocks, buffers, scopes, keys and layouts.
using Argument = std::variant<int64_t, std::string, LoopId, Integers, LoopIds>;
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
  SourceLine line = {};
  bool operator==(const Instruction&) const = default;
};

/// A choice (space/decider.h) and what was chosen: "s1.rows" := 8.
struct Decision {
  std::string name;
  int64_t value = 0;
  bool operator==(const Decision&) const = default;
};

struct Trace {
  std::vector<Decision> decisions;  ///< that led to the instructions; replaying them needs none
  std::vector<Instruction> instructions;
  bool operator==(const Trace&) const = default;
};

std::string print(const Trace& trace);
std::string print(const Instruction& instruction);
std::string print(const Argument& argument);
/// The inverse of `print`, for traces written by hand as well: what follows a '#' is a comment. The error names the
/// line.
Result<Trace> parse_trace(std::string_view text);
/// Of one line, as parse_trace reads it.
Result<Instruction> parse_instruction(std::string_view line);
/// A line without its comment and the blanks around it.
std::string_view code_of_line(std::string_view line);
/// Of the instructions alone.
Hash128 hash(const Trace& trace);

}  // namespace isomer::kernel
