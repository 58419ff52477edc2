// CHECK(cond) << ...: a condition that only a bug of ours can break. On in every build; throws Bug, never aborts, so
// that a caller can leave files as they were.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace isomer {

class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};

namespace detail {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    text_ << file << ":" << line << ": CHECK(" << condition << ") failed ";
  }
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure() noexcept(false) { throw Bug(text_.str()); }
  template <class T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

}  // namespace detail
}  // namespace isomer

#define CHECK(condition)      \
  if (condition) [[likely]] { \
  } else                      \
    ::isomer::detail::CheckFailure(__FILE__, __LINE__, #condition)
