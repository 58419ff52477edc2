#include "cli/search_options.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

namespace isomer::cli {
namespace {

/// "90", "60s", "10min", "1h".
std::optional<double> parse_duration(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::map<std::string, double> units = {{"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
  const auto unit = units.find(std::string(end, text.data() + text.size()));
  if (error != std::errc() || unit == units.end()) return std::nullopt;
  // Clocks count nanoseconds, in 63 bits.
  constexpr double kMost = 1e9;
  const double seconds = number * unit->second;
  return seconds >= 0 && seconds <= kMost ? std::optional(seconds) : std::nullopt;
}

}  // namespace

CLI::Option* add_duration_option(CLI::App& app, double& seconds, const std::string& description) {
  return app
      .add_option_function<std::string>(
          "--duration", [&seconds](const std::string& text) { seconds = *parse_duration(text); }, description)
      ->check([](const std::string& text) {
        return parse_duration(text).value_or(0) > 0 ? std::string()
                                                    : "a time such as 0.5, 3s or 1min expected, '" + text + "' found";
      })
      ->default_str(fmt::format("{}", seconds));
}

CLI::Option* add_time_option(CLI::App& app, std::optional<double>& seconds, const std::string& description) {
  return app
      .add_option_function<std::string>(
          "--time", [&seconds](const std::string& text) { seconds = parse_duration(text); }, description)
      ->check([](const std::string& text) {
        return parse_duration(text) ? std::string()
                                    : "a time such as 90, 60s, 10min or 1h expected, '" + text + "' found";
      });
}

void add_records_option(CLI::App& app, std::string& file) {
  app.add_option("--records", file,
                 "Where measured times are kept; isomer/records.sqlite in the user's cache unless given (optimize "
                 "--for any keeps none)");
}

void add_search_options(CLI::App& app, SearchChoices& choices) {
  app.add_option("--strategy", choices.strategy, "Of the search: beam, best-first or e-graph")
      ->check(CLI::IsMember({"beam", "best-first", "e-graph"}))
      ->capture_default_str();
  add_time_option(
      app, choices.seconds,
      "Of the whole command: 90, 60s, 10min (default: 2 to 60 s, more for a model that takes longer to run)");
  add_records_option(app, choices.records);
  app.add_option(
         "--rules", choices.rules,
         "Rules to search over (STEM.rules, STEM.proofs) instead of those that come with the program; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--mutate", choices.mutate,
               "Look for mutants of the model's own convolutions, too, that no rule says; their proofs are part of the "
               "model's");
  app.add_option("--width", choices.width, "States that a beam keeps")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--alpha", choices.alpha, "What costs up to so many times the best is worth going on from")
      ->check(is_within(1, 100))
      ->capture_default_str();
  app.add_option("--min-speedup", choices.min_speedup,
                 "What was found is taken where it is so many times as fast as without, measured end to end; 0: "
                 "whatever is measured")
      ->check(is_within(0, 1000))
      ->capture_default_str();
  app.add_option("--max-steps", choices.steps, "Rewrites of a region in a row")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
}

void add_backend_options(CLI::App& app, SearchChoices& choices) {
  choices.backend = "any";
  app.add_option(
         "--for", choices.backend,
         "What the model is to be fast in. any: only what is no more work wherever it runs, raced in ONNX "
         "Runtime where one is found; onnxruntime: what is faster there; isomer: what is faster in Isomer's own "
         "kernels, and may be slower elsewhere")
      ->check(CLI::IsMember({"any", "onnxruntime", "isomer"}))
      ->capture_default_str();
  app.add_option("--onnxruntime", choices.onnxruntime, "ONNX Runtime's shared library");
}

void add_target_options(CLI::App& app, CompileChoices& choices) {
  app.add_option(
         "--target", choices.target,
         "cpu, cpu=NAME as LLVM calls it, cuda (the GPU here) or cuda=sm_90a; of compile also several: cuda=sm_90a,cpu")
      ->capture_default_str();
  app.add_flag(
      "--tf32", choices.tf32,
      "Let tensor cores of a GPU round factors of products of floats to 11 significant bits (cuda=sm_90a+tf32)");
}

void add_compile_options(CLI::App& app, CompileChoices& choices) {
  add_target_options(app, choices);
  app.add_option("--level", choices.level,
                 fmt::format("Of optimization; 3: searched over proved rules and measured (default: {}; 2 with "
                             "--schedule or for a GPU)",
                             choices.usual_level))
      ->check(CLI::Range(0, 3));
  app.add_option(
         "--without", choices.without,
         "Leave these out, to see what they give: fusion, attention, rows, layouts, packing, micro-tiles, words, "
         "alternatives (of fusion and layouts, which level 3 measures)")
      ->delimiter(',')
      ->check(
          CLI::IsMember({"fusion", "attention", "rows", "layouts", "packing", "micro-tiles", "words", "alternatives"}))
      ->allow_extra_args(false);
  app.add_option("--choose", choices.plan,
                 "VALUE=together, apart, channels-last or row-major: how the task that makes a value is cut and laid "
                 "out, as reports of level 3 say it; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--untuned", choices.untuned, "Schedules as they are by default, whatever the records have");
  add_schedules_option(app, choices);
  add_search_options(app, choices.search);
}

void add_graphs_option(CLI::App& app, CompileChoices& choices) {
  app.add_option("--graphs", choices.graphs,
                 "Programs of a region among which measured times decide, once their tasks are tuned together")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
}

void add_schedules_option(CLI::App& app, CompileChoices& choices) {
  app.add_option("--schedule", choices.schedules,
                 "TASK=FILE: the schedule of a task, by its number or name, is this trace ('inspect --trace' prints "
                 "them) or template, as it prefers or was tuned; repeatable")
      ->allow_extra_args(false);
}

}  // namespace isomer::cli
