// What tests tune.
#pragma once

#include "kernel/codegen_llvm.h"
#include "kernel/examples.h"
#include "tune/candidates.h"
#include "util/check.h"

namespace isomer::tune::test {

/// Its second input constant, where it has one.
inline kernel::Kernel kernel_of(const kernel::test::Example& example) {
  return kernel::test::lowered(example, example.inputs.size() > 1 ? std::set<size_t>{1} : std::set<size_t>());
}
/// One of the kernel's examples.
inline kernel::Kernel lowered(std::string_view name) {
  for (const kernel::test::Example& example : kernel::test::examples())
    if (example.name == name) return kernel_of(example);
  CHECK(false) << name;
  return {};
}

inline kernel::Machine machine() {
  kernel::Machine machine;
  machine.threads = 1;
  return machine;
}

inline Candidates candidates_of(std::string_view name, Decisions fixed = {}) {
  return {kernel::Schedule(lowered(name)), kernel::default_space(), machine(), 0, std::move(fixed)};
}

}  // namespace isomer::tune::test
