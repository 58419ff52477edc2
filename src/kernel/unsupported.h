// What no code is generated for: thrown where a construct is met that has none, caught at a code generator's door.
#pragma once

#include "util/result.h"

namespace isomer::kernel {

struct Unsupported {
  Error error;
};
template <class... Args>
[[noreturn]] void fail_unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw Unsupported{unsupported("", format, std::forward<Args>(args)...)};
}

}  // namespace isomer::kernel
