// onnx_suite: runs ONNX's backend tests and prints what passes, by operator.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "suite/expectations.h"
#include "suite/summary.h"
#include "util/parallel.h"

int main(int argc, char** argv) {
  using namespace isomer::suite;
  CLI::App app("Runs ONNX's backend tests in double precision: folders with model.onnx and test_data_set_*");
  std::string folder = ONNX_TESTDATA, only, list, new_list;
  RunOptions options;
  int threads = 1;
  bool verbose = false;
  app.add_option("--dir", folder, "Folder of cases, or of folders of cases")->capture_default_str();
  app.add_option("--only", only, "Run the cases whose name contains this");
  app.add_flag("--optimize", options.optimize, "Optimize each model, write it and read it back before it runs");
  app.add_option("--threads", threads, "Cases run side by side")->capture_default_str();
  app.add_option("--expected", list, "List of cases that may not pass; exit code 1 where the run differs from it");
  app.add_option("--write-expected", new_list, "Write that list");
  app.add_flag("-v,--verbose", verbose, "Name each case that does not pass");
  CLI11_PARSE(app, argc, argv);

  std::vector<Case> cases = find_cases(folder);
  std::erase_if(cases, [&](const Case& test) { return test.name.find(only) == std::string::npos; });
  std::vector<Outcome> outcomes(cases.size());
  isomer::ThreadPool pool(std::max(threads, 1));
  pool.run(static_cast<int64_t>(cases.size()), [&](int64_t i, int) { outcomes[i] = run_case(cases[i], options); });

  if (verbose)
    for (size_t i = 0; i < cases.size(); ++i)
      if (outcomes[i].verdict != Verdict::kPass)
        fmt::print("{}: {}: {}\n", cases[i].name, name(outcomes[i].verdict), outcomes[i].detail);
  fmt::print("{}", table(summarize(outcomes)));
  if (!new_list.empty()) write_expectations(new_list, cases, outcomes);
  if (list.empty()) return 0;
  const auto sentences = surprises(cases, outcomes, read_expectations(list));
  for (const std::string& sentence : sentences) fmt::print(stderr, "{}\n", sentence);
  return sentences.empty() ? 0 : 1;
}
