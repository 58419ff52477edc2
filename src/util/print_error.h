// Standard error: what is said to whoever looks.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace isomer {

/// As fmt::print does, but where standard error is closed or full nothing is said, and nothing thrown.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

}  // namespace isomer
