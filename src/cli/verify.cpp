// isomer verify: the steps of a proof are checked, and the outputs of both models must be equal by them.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "substitutions/proof/verify_files.h"
#include "util/clock.h"
#include "util/version.h"
#include "verify/check/check_json.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
using substitutions::Verified;

struct VerifyCommand : CommonOptions {
  std::string input, output, proof;
  std::string fp = "reassociate";
  bool no_check = false;
  int runs = 2;
};

json to_json(const VerifyCommand& options, const Verified& result, double seconds) {
  json kinds = json::object(), taken = json::object();
  for (const substitutions::ProofStep& step : result.proof.steps) {
    json& count = kinds[std::string(substitutions::kind(step))];
    count = count.is_null() ? 1 : count.get<int>() + 1;
    if (const auto* used = std::get_if<substitutions::RuleStep>(&step)) {
      json& times = taken[used->rule];
      times = times.is_null() ? 1 : times.get<int>() + 1;
    }
  }
  return {{"model", options.input},
          {"verified", true},
          {"steps", result.proof.steps.size()},
          {"kinds", kinds},
          {"taken", taken},
          {"rules", result.proof.rules.size()},
          {"fp", name(result.proof.fp)},
          {"fp_class", name(result.float_class)},
          {"dims", result.proof.dims},
          {"input_shapes", result.proof.shapes},
          {"check", result.check ? check_json(*result.check) : json(nullptr)},
          {"seconds", seconds},
          {"version", version_text()}};
}

/// What a script finds where it looks for it.
int report_refused(const VerifyCommand& options, const Error& error) {
  if (options.json && error.kind == ErrorKind::kMismatch)
    fmt::print("{}\n", json_text({{"model", options.input},
                                  {"verified", false},
                                  {"problem", error.message()},
                                  {"version", version_text()}}));
  return report(error);
}

/// What was granted to the proof: "--fp reassociate, no size bound, free sizes from 1 on".
std::string granted(const substitutions::ModelProof& proof, bool has_free_sizes) {
  std::vector<std::string> parts = {fmt::format("--fp {}", name(proof.fp))};
  for (const auto& [dim, size] : proof.dims) parts.push_back(fmt::format("--dim {}={}", printable(dim), size));
  for (const auto& [input, shape] : proof.shapes)
    parts.push_back(fmt::format("--input-shapes {}:[{}]", printable(input), fmt::join(shape, ",")));
  if (parts.size() == 1) parts.push_back("no size bound");
  if (has_free_sizes) parts.push_back("free sizes from 1 on");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Result<void> run(const VerifyCommand& options) {
  const auto start = Clock::now();
  substitutions::VerifyOptions verify;
  TRY(verify.dims, options.bound_dims());
  TRY(verify.shapes, options.bound_shapes());
  verify.fp = *float_mode(options.fp);
  verify.check = {.seed = options.seed,
                  .runs = options.no_check ? 0 : options.runs,
                  .threads = options.thread_count(),
                  .memory = options.memory_limit()};
  TRY(const Verified result, verify_files({options.input, options.output, options.proof}, verify));
  if (options.json) {
    fmt::print("{}\n", json_text(to_json(options, result, seconds_since(start))));
  } else {
    // The last line is the result, which -q does not silence.
    for (const UncheckedNode& node :
         result.check && !options.quiet ? result.check->cut_out : std::vector<UncheckedNode>())
      print_lines({node.text()});
    fmt::print("verified: {} steps by {} rules, each proof replayed; {}; granted: {}\n", result.proof.steps.size(),
               result.proof.rules.size(),
               result.check && result.check->equivalence.runs == 0 ? "not run (the model is as it was)"
               : result.check
                   ? fmt::format("{} of what rounding allows on {} seeded inputs",
                                 result.check->equivalence.max_error_over_bound, result.check->equivalence.runs)
                   : std::string("not run (--no-check)"),
               granted(result.proof, result.has_free_sizes));
  }
  return {};
}

}  // namespace

void add_verify(CLI::App& app, int& exit) {
  auto options = std::make_shared<VerifyCommand>();
  CLI::App* command = app.add_subcommand("verify", "Check an optimization by its proof, without the search");
  command->set_version_flag("--version", version_text());
  command->add_option("IN", options->input, "The model")->required();
  command->add_option("OUT", options->output, "The optimized model")->required();
  command->add_option("PROOF", options->proof, "Its proof, as optimize --proof writes it")->required();
  command->add_option("--fp", options->fp, "What the proof may do to rounding, at most")
      ->check(is_float_mode())
      ->capture_default_str();
  command->add_flag("--no-check", options->no_check, "Do not run both models besides");
  command->add_option("--check-runs", options->runs, "Input sets of the check")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? kDone : report_refused(*options, done.error());
  });
}

}  // namespace isomer::cli
