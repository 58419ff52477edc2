#include "driver/standings.h"

#include <algorithm>
#include <memory>

#include "driver/rules_of_files.h"
#include "util/parallel.h"
#include "util/stop.h"

namespace isomer {
namespace {

using namespace substitutions;

/// What one thread asks.
struct Judge {
  Judge(const std::vector<const Rule*>& rules, const std::vector<const Rule*>& laws, verify::Prover its_prover)
      : prover(std::move(its_prover)), library(rules, laws, theory) {}
  verify::Prover prover;
  Theory theory;
  Consequences library;
};

std::vector<const Rule*> pointers(const std::vector<Rule>& rules) {
  std::vector<const Rule*> result;
  for (const Rule& rule : rules) result.push_back(&rule);
  return result;
}

std::string place(const StatedEquation& equation) { return fmt::format("line {}", equation.line); }

}  // namespace

Result<std::vector<Result<Standing>>> standings_of(const std::vector<StatedEquation>& equations,
                                                   const StandingsOptions& options) {
  const auto axioms = verify::all_axioms();
  TRY(const std::vector<Rule> rules, rules_of_files(options.rules, axioms));
  const std::vector<Rule> laws = rules_of_laws(axioms);
  // A prover is a process: none for threads that would have no equation.
  ThreadPool pool(static_cast<int>(std::clamp<int64_t>(std::ssize(equations), 1, options.threads)));
  TRY(auto provers, verify::start_provers(pool.threads()));
  std::vector<std::unique_ptr<Judge>> judges;
  for (verify::Prover& prover : provers)
    judges.push_back(std::make_unique<Judge>(pointers(rules), pointers(laws), std::move(prover)));
  std::vector<Result<Standing>> judged(equations.size(), Standing());
  pool.run(static_cast<int64_t>(equations.size()), [&](int64_t k, int thread) {
    const auto at = static_cast<size_t>(k);
    Judge& judge = *judges[static_cast<size_t>(thread)];
    if (auto goes_on = check_stop(); !goes_on.ok())
      judged[at] = std::move(goes_on).error();
    else if (!equations[at].types)
      judged[at] = invalid("", "types of the variables expected, none found");
    else
      judged[at] = standing_of(equations[at], judge.library, judge.prover, options.seed, options.limits);
  });
  for (size_t k = 0; k < judged.size(); ++k) {
    if (judged[k].ok()) continue;
    Error error = Error(judged[k].error()).within(place(equations[k]));
    if (error.kind == ErrorKind::kStopped) return error;
    judged[k] = std::move(error);
  }
  return judged;
}

}  // namespace isomer
