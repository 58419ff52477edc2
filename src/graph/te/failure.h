// Why an evaluation ended early. Thrown by algebras and evaluator, so that scalar code stays readable; `evaluate` and
// its like catch it and return the Error. Nobody else sees one.
#pragma once

#include <utility>

#include "util/result.h"

namespace isomer::te {

struct Failure {
  Error error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{invalid("", format, std::forward<Args>(args)...)};
}
template <class... Args>
[[noreturn]] void fail_unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{unsupported("", format, std::forward<Args>(args)...)};
}

}  // namespace isomer::te
