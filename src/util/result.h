// Result<T>: a value, or the one sentence that tells a user what is wrong with what they gave us.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "util/check.h"

namespace isomer {

enum class ErrorKind {
  kInvalid,      ///< the input breaks a rule of its format
  kUnsupported,  ///< well-formed, but beyond what this version can do
  kUsage,        ///< the command line or an API call is wrong
  kMismatch,     ///< a check or comparison failed
  kStopped,      ///< a time limit or Ctrl-C
};

/// `where` is the place (file, node, flag), `what` the sentence "expected …, found …". Text from a model is escaped
/// where the error is printed, not here.
struct Error {
  ErrorKind kind = ErrorKind::kInvalid;
  std::string where;
  std::string what;
  /// The system had no room, no memory or no descriptor just now: the same may be done later.
  bool may_pass = false;

  /// The same error seen from further out: `outer: where: what`.
  Error within(std::string_view outer) && {
    where = where.empty() ? std::string(outer) : fmt::format("{}: {}", outer, where);
    return std::move(*this);
  }
  std::string message() const { return where.empty() ? what : where + ": " + what; }
};

template <class... Args>
Error invalid(std::string where, fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kInvalid, std::move(where), fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Error unsupported(std::string where, fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kUnsupported, std::move(where), fmt::format(format, std::forward<Args>(args)...)};
}

/// What the system refuses, which `number` (an errno) says.
inline Error of_system(int number, Error error) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: error.may_pass = true;
  }
  return error;
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(checked()); }
  const T& value() const& { return std::get<0>(checked()); }
  /// By value, and so is what `*` gives of a temporary: a loop over the elements of `*f()` keeps them alive.
  T value() && { return std::get<0>(std::move(checked())); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error>& checked() & {
    CHECK(ok()) << error().message();
    return state_;
  }
  const std::variant<T, Error>& checked() const& {
    CHECK(ok()) << error().message();
    return state_;
  }
  std::variant<T, Error>&& checked() && {
    CHECK(ok()) << error().message();
    return std::move(state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace isomer

/// TRY(auto x, f()): binds the value or returns the error. TRY_VOID(f()) for results without a value.
#define ISOMER_CONCAT_(a, b) a##b
#define ISOMER_CONCAT(a, b) ISOMER_CONCAT_(a, b)
#define ISOMER_TRY_(result, declaration, ...)         \
  auto result = (__VA_ARGS__);                        \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()
#define TRY(declaration, ...) ISOMER_TRY_(ISOMER_CONCAT(try_result_, __LINE__), declaration, __VA_ARGS__)
#define TRY_VOID(...)                                           \
  do {                                                          \
    auto try_result = (__VA_ARGS__);                            \
    if (!try_result.ok()) return std::move(try_result).error(); \
  } while (false)
