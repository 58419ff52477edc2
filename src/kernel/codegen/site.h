// Where code is being written, and for what.
#pragma once

#include "kernel/codegen/types.h"
#include "kernel/codegen_llvm.h"

namespace isomer::kernel::codegen {

struct Site {
  Builder& build;
  const Target& target;
  llvm::Value* frame;  ///< the part's runtime::Frame*
};

/// Ends the generation of code: thrown where a construct is met that has none, caught by `compile` and its like.
struct Unsupported {
  Error error;
};
template <class... Args>
[[noreturn]] void fail_unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw Unsupported{unsupported("", format, std::forward<Args>(args)...)};
}

}  // namespace isomer::kernel::codegen
