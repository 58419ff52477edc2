#include "cli/options.h"

#include <stdio_ext.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "graph/float_class.h"
#include "util/parse_number.h"
#include "util/threads.h"

namespace isomer::cli {
namespace {

/// What stands before a place in a text, and the rest; of a text without it all stands before.
std::pair<std::string_view, std::string_view> cut_at(std::string_view text, size_t place) {
  const size_t end = std::min(place, text.size());
  return {text.substr(0, end), text.substr(end)};
}

Error usage(std::string_view flag, std::string_view expected, std::string_view found) {
  return {ErrorKind::kUsage, std::string(flag), fmt::format("{} expected, '{}' found", expected, found)};
}

/// "1,3,224", "1x3x224", with or without brackets.
std::optional<Dims> parse_dims(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  Dims dims;
  while (!text.empty()) {
    const size_t end = text.find_first_of(",x");
    const auto dim = parse_number<int64_t>(text.substr(0, end));
    if (!dim || *dim < 0) return std::nullopt;
    dims.push_back(*dim);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return dims;
}

/// One value each time it is given: [2,3] stays whole, and a file name after it is not taken for a second value.
void add_repeatable(CLI::App& app, const std::string& names, std::vector<std::string>& values,
                    const std::string& description) {
  app.add_option(names, values, description)->allow_extra_args(false);
}

}  // namespace

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kUnsupported: return kInvalidFile;
    case ErrorKind::kUsage: return kUsage;
    case ErrorKind::kMismatch: return kCheckFailed;
    case ErrorKind::kStopped: return kStopped;
  }
  return kInvalidFile;
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string sentence_of(const Error& error) {
  const auto [file, place] = cut_at(error.where, error.where.find(": "));
  const auto [what, hint] = cut_at(error.what, error.what.find("; "));
  const std::string sentence =
      printable(file, PATH_MAX) + printable(place) + (error.where.empty() ? "" : ": ") + printable(what);
  return sentence + printable(hint);
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print("{}\n", printable(line, kMostOfLine));
}

int report(const Error& error) {
  // It is said once that the command was stopped: one more Ctrl-C finds it over.
  if (error.kind == ErrorKind::kStopped)
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  print_error("isomer: {}\n", sentence_of(error));
  return exit_code(error.kind);
}

int report_out_of_memory() {
  return report(
      {ErrorKind::kUnsupported, "", "less memory expected, more needed than is left; --memory SIZE allows more"});
}

Error lost_output(const std::error_code& error) {
  return unsupported("output", "a place that takes what is printed expected, found: {}",
                     error ? error.message() : "one that has lost some of it");
}

Result<void> print_results(const std::function<void()>& print) {
  std::error_code failed;
  try {
    print();
    errno = 0;
    if (std::fflush(stdout) != 0) failed.assign(errno, std::generic_category());
  } catch (const std::system_error& error) {
    if (!std::ferror(stdout)) throw;
    failed = error.code();
  }
  if (!std::ferror(stdout)) return {};
  // It has been said, or is no error: what is left is not tried again when the program ends.
  __fpurge(stdout);
  std::clearerr(stdout);
  if (failed == std::errc::broken_pipe) return {};
  return lost_output(failed);
}

int report_failed(const CommonOptions& options, const Error& error) {
  if (options.json && error.kind == ErrorKind::kMismatch)
    fmt::print("{}\n", json_text({{"passed", false}, {"problem", error.message()}}));
  return report(error);
}

void CommonOptions::add_to(CLI::App& app) {
  add_general_to(app);
  add_repeatable(app, "--dim", dims, "Bind a symbolic dim: name=8");
  add_repeatable(app, "--input-shapes,--input-shape", input_shapes,
                 "Fix an input's shape: x:[1,3,224,224], x:1x3x224x224");
}

void CommonOptions::add_general_to(CLI::App& app) {
  app.add_option("--seed", seed, "Decides everything random")->check(is_whole())->capture_default_str();
  app.add_option("--threads", threads, "Threads to use (default: what affinity and cgroup quota allow)")
      ->check(CLI::Range(1, kMostThreads));
  app.add_option("--memory", memory,
                 "What all of it may take, such as 2GB or 512MiB (default: three quarters of what the machine or its "
                 "cgroup has); what would need more is left out, or refused before it begins")
      ->type_name("SIZE")
      ->check([](const std::string& text) {
        return parse_size(text) ? std::string() : "a size such as 2GB or 512MiB expected, '" + text + "' found";
      });
  app.parse_complete_callback([this] { limit_process(memory_limit(), thread_count()); });
  app.add_flag("--json", json, "Print one JSON object on standard output");
  app.add_flag("-q,--quiet", quiet, "No progress, no notes, no summary of what was written");
  app.add_flag("-v,--verbose", verbosity, "Tell more (twice: everything)");
}

CLI::Validator is_whole() {
  return CLI::Validator(
      [](const std::string& text) {
        return parse_number<uint64_t>(text) ? std::string()
                                            : "a whole number from 0 to 2^64-1 expected, '" + text + "' found";
      },
      "");
}

CLI::Validator is_within(double low, double high) {
  return CLI::Validator(
      [=](const std::string& text) {
        const auto value = parse_number<double>(text);
        return value && *value >= low && *value <= high
                   ? std::string()
                   : fmt::format("a number from {} to {} expected, '{}' found", low, high, text);
      },
      "");
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

CLI::Validator is_float_mode() {
  std::vector<std::string> names;
  for (const auto& [mode, name] : kFloatModes) names.emplace_back(name);
  return CLI::IsMember(names);
}

void InputOptions::add_to(CLI::App& app) {
  add_repeatable(app, "--load-inputs,--loadInputs", files,
                 "Inputs: a test_data_set folder, .npz, .npy, .pb, or name:FILE");
  app.add_option("--fill,--fill-mode", fill, "How inputs are generated")
      ->check(CLI::IsMember({"random", "zeros", "ones", "arange"}))
      ->capture_default_str();
  add_repeatable(app, "--val-range", ranges, "Uniform values for an input: x:[lo,hi]");
}

int CommonOptions::thread_count() const { return threads > 0 ? threads : available_threads(); }

MemoryLimit CommonOptions::memory_limit() const {
  const auto size = parse_size(memory);
  return size ? MemoryLimit{*size} : default_memory_limit();
}

Result<std::map<std::string, int64_t>> CommonOptions::bound_dims() const {
  std::map<std::string, int64_t> bound;
  for (const std::string& text : dims) {
    const size_t equals = text.rfind('=');
    const auto value =
        equals == std::string::npos ? std::nullopt : parse_number<int64_t>(std::string_view(text).substr(equals + 1));
    if (!value || *value < 0) return usage("--dim", "name=SIZE", text);
    const std::string name = text.substr(0, equals);
    const auto [known, is_new] = bound.emplace(name, *value);
    if (!is_new && known->second != *value) return usage("--dim", "one size of " + name, text);
  }
  return bound;
}

Result<std::map<std::string, Dims>> CommonOptions::bound_shapes() const {
  std::map<std::string, Dims> bound;
  for (const std::string& text : input_shapes) {
    const size_t colon = text.rfind(':');
    const auto shape = parse_dims(std::string_view(text).substr(colon == std::string::npos ? 0 : colon + 1));
    if (!shape) return usage("--input-shapes", "name:[1,3,224,224]", text);
    const std::string name = colon == std::string::npos ? "" : text.substr(0, colon);
    const auto [known, is_new] = bound.emplace(name, *shape);
    if (!is_new && known->second != *shape)
      return usage("--input-shapes", name.empty() ? "one shape of the input" : "one shape of " + name, text);
  }
  return bound;
}

}  // namespace isomer::cli
