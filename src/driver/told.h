// Errors as include/isomer/*.h tell them.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <new>
#include <system_error>

#include "isomer/expected.h"
#include "isomer/work.h"
#include "util/result.h"
#include "util/stop.h"

namespace isomer {

inline Failure failure_of(const Error& error) {
  const auto kind = [&] {
    switch (error.kind) {
      case ErrorKind::kInvalid: return FailureKind::invalid;
      case ErrorKind::kUnsupported: return FailureKind::unsupported;
      case ErrorKind::kUsage: return FailureKind::usage;
      case ErrorKind::kMismatch: return FailureKind::mismatch;
      case ErrorKind::kStopped: return FailureKind::stopped;
    }
    return FailureKind::bug;
  };
  return {error.message(), kind(), error.may_pass};
}

/// A bug is a sentence, too, and so is memory or a thread that is not there; what else is thrown, by functions of
/// users, passes through. `stop` stops the steps, where there is one.
template <class T>
Expected<T> told(const Stop* stop, const std::function<Result<T>()>& steps) {
  std::optional<StopsBy> stops;
  if (stop) stops.emplace(stop->requests());
  try {
    auto made = steps();
    if (!made.ok()) return failure_of(made.error());
    return *std::move(made);
  } catch (const Bug& bug) {
    return Failure{fmt::format("a bug in Isomer: {}", bug.what()), FailureKind::bug};
  } catch (const std::bad_alloc&) {
    return Failure{"less memory expected, more needed than is left", FailureKind::unsupported, true};
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    return Failure{"a thread more expected, none can be started", FailureKind::unsupported, true};
  }
}

}  // namespace isomer
