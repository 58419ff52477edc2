// Made-up trials of real candidates, as records have them.
#pragma once

#include "graph/te/program_text.h"
#include "kernel/records.h"
#include "kernel/task_text.h"
#include "tune/examples.h"

namespace isomer::tune::test {

inline std::string meaning_of(const kernel::test::Example& example) {
  std::vector<kernel::TaskType> types;
  for (const Dims& dims : example.inputs) types.push_back({DataType::kFloat32, Shape(dims.begin(), dims.end())});
  const std::set<int> constants = example.inputs.size() > 1 ? std::set<int>{1} : std::set<int>();
  return kernel::meaning_text(*te::parse_program(example.program), types, constants);
}

/// Different candidates; `microseconds` of a candidate and its number: nothing where it fails.
template <class Microseconds>
kernel::Trials trials_of(const kernel::test::Example& example, size_t count, uint64_t seed,
                         const Microseconds& microseconds) {
  const kernel::Schedule start(kernel_of(example));
  const Candidates candidates(start, kernel::default_space(), machine(), 0);
  kernel::Trials trials{{kernel::structural_hash(start.kernel()), "cpu", "1"},
                        "tuned",
                        example.name,
                        kernel::task_text(machine(), start, meaning_of(example)),
                        {}};
  Random random(seed);
  std::set<Decisions> seen;
  for (int tries = 0; trials.trials.size() < count && tries < 100 * static_cast<int>(count); ++tries) {
    const Candidate candidate = candidates.sampled(random, 0.6);
    if (!seen.insert(candidate.unpreferred()).second) continue;
    trials.trials.push_back({candidate.unpreferred(), microseconds(candidate, trials.trials.size())});
  }
  return trials;
}

}  // namespace isomer::tune::test
