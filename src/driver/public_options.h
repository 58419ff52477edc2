// Options of include/isomer/*.h as the library has them.
#pragma once

#include <fmt/format.h>

#include <limits>

#include "driver/operators.h"
#include "driver/settings.h"
#include "graph/float_class.h"
#include "isomer/work.h"
#include "util/result.h"
#include "util/threads.h"

namespace isomer {

inline Result<FloatMode> parsed_mode(const std::string& fp) {
  const auto mode = float_mode(fp);
  if (!mode) return Error{ErrorKind::kUsage, "fp", "strict, reassociate or fast expected, '" + fp + "' found"};
  return *mode;
}

inline Result<int> parsed_level(int level, int highest) {
  if (level >= 0 && level <= highest) return level;
  return Error{ErrorKind::kUsage, "level", fmt::format("0 to {} expected, {} found", highest, level)};
}

inline Result<std::optional<double>> parsed_seconds(std::optional<double> seconds) {
  constexpr double kMost = 1e9;
  if (!seconds || (*seconds >= 0 && *seconds <= kMost)) return seconds;
  return Error{ErrorKind::kUsage, "seconds", fmt::format("0 to {} expected, {} found", kMost, *seconds)};
}

inline Result<void> check_count(const char* option, int64_t count, int64_t least,
                                int64_t most = std::numeric_limits<int64_t>::max()) {
  if (count >= least && count <= most) return {};
  const std::string up_to = most == std::numeric_limits<int64_t>::max() ? "on" : fmt::format("to {}", most);
  return Error{ErrorKind::kUsage, option, fmt::format("a number from {} {} expected, {} found", least, up_to, count)};
}

/// Seed, threads, bindings, operators, and memory where options have it. What it tells refers to `progress`.
template <class Options>
Result<Settings> settings_of(const Options& options, const Progress& progress = {}) {
  Settings settings;
  TRY(settings.operators, operators_of(options.operators));
  settings.seed = options.seed;
  TRY_VOID(check_count("threads", options.threads, 0, kMostThreads));
  if constexpr (requires { options.check_runs; }) TRY_VOID(check_count("check_runs", options.check_runs, 0));
  if constexpr (requires { options.runs; }) TRY_VOID(check_count("runs", options.runs, 1));
  if constexpr (requires { options.memory; }) TRY_VOID(check_count("memory", options.memory, 0));
  if (options.threads > 0) settings.threads = options.threads;
  if constexpr (requires { options.memory; })
    if (options.memory > 0) settings.memory = MemoryLimit{options.memory};
  settings.dims = options.dims;
  for (const auto& [input, shape] : options.shapes) settings.shapes[input] = Dims(shape.begin(), shape.end());
  if (progress.doing)
    settings.messages.doing = [&](std::string_view what, auto left) { progress.doing(std::string(what), left); };
  if (progress.note) settings.messages.note = [&](std::string_view line) { progress.note(std::string(line)); };
  return settings;
}

}  // namespace isomer
