// How calls of Isomer's C++ interface say what went wrong: errors are values.
#ifndef ISOMER_EXPECTED_H
#define ISOMER_EXPECTED_H

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace isomer {

/// Thrown by Expected::value() where there is none.
struct NoValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class FailureKind {
  invalid,      ///< what was given breaks a rule of its format
  unsupported,  ///< well-formed, but beyond what this version can do
  usage,        ///< the call is wrong
  mismatch,     ///< a check or a comparison failed; of Session::run: these inputs can't be computed with
  stopped,
  bug,  ///< of Isomer
};

/// The sentence that says why there is no value.
struct Failure {
  std::string sentence;
  FailureKind kind = FailureKind::invalid;
  bool may_pass = false;  ///< the system had no room, memory or descriptor just now: the same may be done later
};

template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  /// Throws NoValue with the sentence.
  const T& value() const& { return checked(), std::get<0>(state_); }
  T&& value() && { return checked(), std::get<0>(std::move(state_)); }
  /// Where there is no value.
  const Failure& error() const { return std::get<1>(state_); }

 private:
  void checked() const {
    if (!has_value()) throw NoValue(error().sentence);
  }
  std::variant<T, Failure> state_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  Expected() = default;
  Expected(Failure failure) : failure_(std::move(failure)) {}
  bool has_value() const { return !failure_; }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (failure_) throw NoValue(failure_->sentence);
  }
  const Failure& error() const { return *failure_; }

 private:
  std::optional<Failure> failure_;
};

}  // namespace isomer

#endif
