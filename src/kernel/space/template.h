// Templates: schedules with named knobs (AutoTVM: Chen et al. 2018), of which a Decider is asked like of any other
// choice. One without knobs is a schedule by hand (Halide: Ragan-Kelley et al. 2013).
//
//     rows := 6 in [2, 4, 6, 8]          # a knob: what is preferred, and the candidates
//     unrolled := 1 in [0, 1]
//     k4, k5 = split(k0, [-1, ?rows])    # its value, anywhere in a line
//     unroll(k5) if ?unrolled = 1        # a line of some values alone
//     defaults()                         # the default modules do the rest; without it that stays as it is
//
// Tests: tests/kernel/template_test.cpp
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/space/module.h"
#include "util/hash.h"

namespace isomer::kernel {

struct Template {
  /// An instruction with values of knobs left open.
  struct Line {
    std::string text;
    std::optional<Decision> condition;  ///< a knob and the value that it must have
    SourceLine number = {};
    bool operator==(const Line&) const = default;
  };
  std::vector<Choice> knobs;
  std::vector<Line> lines;
  std::vector<Decision> decisions;  ///< of the default modules; those of knobs leave them one candidate
  bool has_defaults = false;
  bool operator==(const Template&) const = default;

  /// Whether there is something to decide that a trace has not.
  bool is_open() const { return !knobs.empty() || has_defaults; }
};

/// Values of all knobs.
using KnobValues = std::map<std::string, int64_t>;
KnobValues preferred_values(const Template& schedule);

std::string print(const Template& schedule);
/// The inverse of `print`; traces are templates without knobs. The error names the line.
Result<Template> parse_template(std::string_view text);
/// Of its text.
Hash128 hash(const Template& schedule);

/// The trace that it is with these values. Errors: values that make no instruction of a line.
Result<Trace> instance(const Template& schedule, const KnobValues& values);

/// All schedules that it stands for: the knobs are choices, then come those of `defaults`, where it says so. Values
/// with which a line does not apply are taken back, all of them: the knobs are as they are preferred then, and nothing
/// is done where that does not apply either.
Space space_of(const Template& schedule, const Space& defaults);

}  // namespace isomer::kernel
