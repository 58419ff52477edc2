// What other ways to cut models into tasks and to lay them out take: each that choose_tasks measured, and the whole
// model raced as preferred and as chosen.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "graph/edit.h"
#include "prepared_model.h"
#include "search/cost/choose_tasks.h"

namespace isomer {
namespace {

struct Options {
  std::vector<std::string> models;
  std::string target = "cpu";
  int threads = 1;
  double seconds = 60, race_seconds = 2;
  bool all = false;
};

Result<search::ChosenTasks> chosen(const std::string& file, const Options& options) {
  search::CompileOptions compile;
  TRY(compile.target, kernel::parse_cpu_target(options.target));
  compile.threads = options.threads;
  TRY(const Graph graph, prepared_model(file, {}, options.threads));
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(compile, records, weights_in_model(count_bytes(graph)));
  return choose_tasks(graph, compile, timer, {.seconds = options.seconds, .race = {.seconds = options.race_seconds}});
}

void tell(const std::string& file, const search::ChosenTasks& found, bool all) {
  const bool is_other = !found.plan.empty();
  const auto is_taken = [&](const search::TaskAlternative& each) { return each.is_taken && is_other; };
  const search::Raced raced = found.raced.value_or(search::Raced());
  fmt::print("| {} | {} | {} | {:.3f} | {:.3f} to {:.3f} | {} |\n", std::filesystem::path(file).stem().string(),
             found.alternatives.size(), std::ranges::count_if(found.alternatives, is_taken), raced.ratio, raced.low,
             raced.high, is_other ? "chosen" : "as preferred");
  for (const search::TaskAlternative& each : found.alternatives) {
    if (!all && !each.is_taken) continue;
    if (!each.why_not.empty())
      fmt::print("    {} x {}: {}\n", each.places, each.what, each.why_not);
    else
      fmt::print("    {} x {}: {:.1f} -> {:.1f} us{}\n", each.places, each.what, each.before, each.after,
                 each.is_taken ? ", taken" : "");
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("Other ways to cut models into tasks, measured");
  isomer::Options options;
  app.add_option("MODEL", options.models)->required();
  app.add_option("--target", options.target);
  app.add_option("--threads", options.threads);
  app.add_option("--duration", options.seconds, "Seconds a model, at most, before the race");
  app.add_option("--race", options.race_seconds);
  app.add_flag("--all", options.all, "What was not taken, too");
  CLI11_PARSE(app, argc, argv);
  fmt::print("| model | measured | taken | ratio | quartiles | |\n|---|---|---|---|---|---|\n");
  for (const std::string& model : options.models) {
    const auto found = isomer::chosen(model, options);
    if (found.ok())
      isomer::tell(model, *found, options.all);
    else
      std::cerr << model << ": " << found.error().message() << "\n";
  }
}
