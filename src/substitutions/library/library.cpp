#include "substitutions/library/library.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>

#include "substitutions/library/generalise.h"
#include "substitutions/library/rule_names.h"
#include "util/clock.h"
#include "util/parallel.h"
#include "util/stop.h"
#include "verify/proof/law_family.h"
#include "verify/prover/bind.h"
#include "verify/prover/operator_count.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

constexpr std::array<bool, 2> kBothWays = {false, true};

/// What is to be proved together.
struct StatedRule {
  std::vector<Output> outputs;
  verify::VariableTypes types;
};

/// Variables by one letter, in the order in which they stand.
StatedRule renamed(const std::vector<Output>& outputs, const verify::VariableTypes& types) {
  constexpr std::string_view kLetters = "xyzuvw";
  const std::vector<std::string> names = verify::variables(sides(outputs));
  verify::Bindings bindings;
  StatedRule result;
  for (size_t k = 0; k < names.size(); ++k) {
    std::string name = std::string(1, kLetters[k % kLetters.size()]) +
                       (k < kLetters.size() ? "" : std::to_string(k / kLetters.size()));
    result.types.emplace(name, types.at(names[k]));
    bindings.tensors.emplace(names[k], Term::variable(std::move(name)));
  }
  for (const Output& output : outputs)
    result.outputs.push_back({substitute(output.left, bindings), substitute(output.right, bindings)});
  return result;
}

std::vector<Term> terms_of(const std::vector<Output>& outputs, Term Output::* side) {
  std::vector<Term> terms;
  for (const Output& output : outputs) terms.push_back(output.*side);
  return terms;
}

int operators(const std::vector<Output>& outputs, Term Output::* side) {
  return verify::operator_count(terms_of(outputs, side));
}

/// Equations whose sides share operators: rules of several outputs. They are worth a rule where one alone would have a
/// variable on one side only.
class Joiner {
 public:
  Joiner(const OperatorSet& set, int max_operators) : types_(set.variable_types()), max_operators_(max_operators) {}

  /// Groups by the application that the right sides end in, up to renaming.
  void add(const Equation& equation) {
    for (const auto& [from, to] :
         {std::pair(&equation.left, &equation.right), std::pair(&equation.right, &equation.left)}) {
      if (!has_unbound(*from, *to)) continue;
      const auto* application = to->as_application();
      if (!application) continue;
      Term::Application whole = *application;
      whole.output = 0;
      const StatedRule canonical = renamed({{Term(whole), *from}}, types_);
      groups_[canonical.outputs[0].left.text()].push_back({*from, *to, Term(std::move(whole))});
    }
  }

  std::vector<std::vector<Output>> run() const {
    std::vector<std::vector<Output>> result;
    for (const auto& [text, members] : groups_)
      for (size_t a = 0; a < members.size(); ++a)
        for (size_t b = 0; b < members.size(); ++b) {
          if (a == b || members[a].right.as_application()->output >= members[b].right.as_application()->output)
            continue;
          // The second equation in the first one's variables.
          verify::Bindings names;
          if (!verify::bind(members[b].whole, members[a].whole, names) || !keeps_types(names)) continue;
          std::vector<Output> outputs = {{members[a].left, members[a].right},
                                         {substitute(members[b].left, names), substitute(members[b].right, names)}};
          if (operators(outputs, &Output::left) > max_operators_ || operators(outputs, &Output::right) > max_operators_)
            continue;
          if (binds_all(outputs)) result.push_back(std::move(outputs));
        }
    return result;
  }

 private:
  struct Member {
    Term left, right, whole;
  };

  bool keeps_types(const verify::Bindings& names) const {
    return std::all_of(names.tensors.begin(), names.tensors.end(), [&](const auto& named) {
      return types_.at(named.first) == types_.at(named.second.as_variable()->name);
    });
  }

  static bool has_unbound(const Term& from, const Term& to) {
    const std::vector<std::string> bound = verify::variables({from}), used = verify::variables({to});
    return std::any_of(used.begin(), used.end(), [&](const std::string& name) {
      return std::find(bound.begin(), bound.end(), name) == bound.end();
    });
  }

  static bool binds_all(const std::vector<Output>& outputs) {
    std::vector<std::string> left = verify::variables(terms_of(outputs, &Output::left)),
                             right = verify::variables(terms_of(outputs, &Output::right));
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    return left == right;
  }

  verify::VariableTypes types_;
  int max_operators_;
  std::map<std::string, std::vector<Member>> groups_;
};

/// Which terms, integers and rests make the general rule the special one, its sides perhaps exchanged; nothing where
/// none do.
std::optional<verify::Bindings> instantiation(const std::vector<Output>& general, const std::vector<Output>& special,
                                              bool exchanged) {
  if (special.size() != general.size()) return std::nullopt;
  verify::Bindings names;
  for (size_t k = 0; k < general.size(); ++k) {
    const Output& output = special[k];
    if (!verify::bind(general[k].left, exchanged ? output.right : output.left, names) ||
        !verify::bind(general[k].right, exchanged ? output.left : output.right, names))
      return std::nullopt;
  }
  return names;
}

/// Rests as parameters of their own, so that a rest may stand for a rest.
Term with_closed_rests(const Term& term) {
  if (!term.as_application()) return term;
  Term::Application result = *term.as_application();
  if (!result.rest.empty()) result.parameters.emplace(".." + result.rest, result.rest);
  result.rest.clear();
  for (Term& argument : result.arguments) argument = with_closed_rests(argument);
  return Term(std::move(result));
}

/// Whether `special`, of these outputs with closed rests, only says what `general` says of some terms: names of the one
/// replaced give the other.
bool says_the_same(const Rule& special, const std::vector<Output>& closed, const Rule& general, bool exchanged) {
  auto names = instantiation(general.outputs, closed, exchanged);
  if (!names) return false;
  for (const auto& [name, term] : names->tensors) {
    const auto* variable = term.as_variable();
    if (!variable) continue;
    const auto rank = static_cast<int>(special.example.types.find(variable->name)->second.shape->size());
    for (int axis = -rank; axis < rank; ++axis)
      names->integers.insert_or_assign(verify::text(verify::DimName{name, axis}),
                                       Dim::symbol(verify::text(verify::DimName{variable->name, axis})));
  }
  for (size_t k = 0; k < general.outputs.size(); ++k) {
    const Output made{substitute(general.outputs[k].left, *names), substitute(general.outputs[k].right, *names)};
    const Output& output = closed[k];
    if (!(made == (exchanged ? Output{output.right, output.left} : output))) return false;
  }
  return true;
}

/// Whether the general rule's guard holds where the special one was found.
bool holds_there(const Rule& general, const Rule& special, bool exchanged, std::span<const verify::StatedAxiom> axioms,
                 verify::Signatures& signatures) {
  std::vector<Output> ground = equations_at(special, special.example);
  for (Output& output : ground)
    for (Term* side : {&output.left, &output.right}) {
      const auto spelled = verify::spelled_out(*side, special.example.types, signatures);
      if (!spelled.ok()) return false;
      *side = spelled->term;
    }
  auto names = instantiation(general.outputs, ground, exchanged);
  if (!names) return false;
  RuleInstance instance;
  for (const auto& [name, term] : names->tensors) {
    const auto typed = verify::spelled_out(term, special.example.types, signatures);
    if (!typed.ok()) return false;
    instance.types.emplace(name, typed->type);
  }
  instance.names = {{}, names->integers, names->rests};
  // Axes that are counted from the back are told by nothing but the equation that they make.
  const std::vector<Output> made = equations_at(general, instance);
  for (size_t k = 0; k < made.size(); ++k) {
    const auto left = verify::spelled_out(substitute(made[k].left, *names), special.example.types, signatures),
               right = verify::spelled_out(substitute(made[k].right, *names), special.example.types, signatures);
    if (!left.ok() || !right.ok() || left->term != (exchanged ? ground[k].right : ground[k].left) ||
        right->term != (exchanged ? ground[k].left : ground[k].right))
      return false;
  }
  return holds_at(general, instance, axioms, signatures).ok();
}

/// Rules that are an instance of another are left out; of equals the first stays.
std::vector<Rule> without_instances(std::vector<Rule> rules, std::span<const verify::StatedAxiom> axioms) {
  verify::Signatures signatures;
  std::vector<bool> dropped(rules.size());
  std::vector<std::vector<Output>> closed;
  for (const Rule& rule : rules) {
    closed.push_back(rule.outputs);
    for (Output& output : closed.back()) output = {with_closed_rests(output.left), with_closed_rests(output.right)};
  }
  const auto covers = [&](size_t general, size_t special) {
    return std::any_of(kBothWays.begin(), kBothWays.end(), [&](bool exchanged) {
      return says_the_same(rules[special], closed[special], rules[general], exchanged) &&
             holds_there(rules[general], rules[special], exchanged, axioms, signatures);
    });
  };
  for (size_t k = 0; k < rules.size(); ++k)
    for (size_t other = 0; other < rules.size() && !dropped[k]; ++other)
      dropped[k] = other != k && !dropped[other] && covers(other, k) && (other < k || !covers(k, other));
  std::vector<Rule> result;
  for (size_t k = 0; k < rules.size(); ++k)
    if (!dropped[k]) result.push_back(std::move(rules[k]));
  return result;
}

}  // namespace

Result<Rule> prove_rule(const std::vector<Output>& outputs, const verify::VariableTypes& types, verify::Prover& prover,
                        const verify::ProveLimits& limits) {
  verify::Certificate all;
  for (const Output& output : outputs) {
    TRY(const verify::Proof proof, verify::prove({output.left, output.right, {}}, types, prover, limits));
    if (!proof.certificate)
      return unsupported(output.left.text() + " = " + output.right.text(),
                         "a proof from the laws expected, none found ({})", verify::name(proof.stop));
    all.uses.insert(all.uses.end(), proof.certificate->uses.begin(), proof.certificate->uses.end());
  }
  return generalised(outputs, types, all, prover.laws.axioms(), prover.laws.signatures());
}

namespace {

/// The first error of any rank is everybody's.
Result<void> agree(Cluster& cluster, const std::optional<Error>& own) {
  TRY(const std::vector<std::string> all, cluster.gather(own ? own->message() : std::string()));
  const auto failed = std::find_if(all.begin(), all.end(), [](const std::string& message) { return !message.empty(); });
  TRY(const std::string message, cluster.broadcast(failed == all.end() ? std::string() : *failed));
  if (own) return *own;
  if (!message.empty()) return Error{ErrorKind::kUnsupported, "another process", message};
  return {};
}

/// The equations that all ranks find together, at each of them.
Result<Enumeration> enumerate_together(const OperatorSet& set, const EnumerationOptions& options, Cluster& cluster) {
  if (cluster.size() == 1) return enumerate(set, options);
  const auto part = enumerate_part(set, options, cluster.rank(), cluster.size());
  TRY_VOID(agree(cluster, part.ok() ? std::nullopt : std::optional(part.error())));
  Enumeration result;
  std::optional<Error> failed;
  std::string text;
  if (cluster.is_first()) {
    auto merged = merge_parts(set, options, cluster.size());
    if (merged.ok()) {
      result = *std::move(merged);
      for (const Equation& equation : result.equations)
        text += fmt::format("{}\t{}\t{}\n", equation.left.text(), equation.right.text(), equation.operators);
    } else {
      failed = merged.error();
    }
  }
  TRY_VOID(agree(cluster, failed));
  TRY(text, cluster.broadcast(std::move(text)));
  if (cluster.is_first()) return result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at), first = text.find('\t', at), second = text.find('\t', first + 1);
    TRY(Term left, verify::parse_term(std::string_view(text).substr(at, first - at)));
    TRY(Term right, verify::parse_term(std::string_view(text).substr(first + 1, second - first - 1)));
    result.equations.push_back(
        {std::move(left), std::move(right), std::stoi(text.substr(second + 1, end - second - 1))});
    at = end + 1;
  }
  return result;
}

/// Proofs of every size()-th candidate from rank() on; others stay empty. An error where it is stopped, or a solver has
/// ended: what was not tried is not unproved.
Result<std::vector<Result<Rule>>> prove_share(const std::vector<StatedRule>& candidates, const LibraryOptions& options,
                                              const Cluster& cluster) {
  std::vector<Result<Rule>> rules(candidates.size(), Error{ErrorKind::kUnsupported, "", ""});
  ThreadPool pool(std::max(1, options.enumeration.threads));
  TRY(std::vector<verify::Prover> provers, verify::start_provers(pool.threads()));
  const int64_t share =
      (static_cast<int64_t>(candidates.size()) + cluster.size() - 1 - cluster.rank()) / cluster.size();
  std::atomic<int64_t> done = 0;
  std::atomic<bool> has_ended = false;
  std::vector<Result<void>> ended(provers.size());
  pool.run(share, [&](int64_t number, int thread) {
    if (has_ended) return;
    verify::Prover& prover = provers[static_cast<size_t>(thread)];
    Result<void>& end = ended[static_cast<size_t>(thread)];
    end = check_stop();
    if (end.ok()) {
      const auto at = static_cast<size_t>(number * cluster.size() + cluster.rank());
      rules[at] = prove_rule(candidates[at].outputs, candidates[at].types, prover, options.limits);
      if (!rules[at].ok() && !prover.solver.is_running()) end = rules[at].error();
    }
    if (!end.ok()) {
      has_ended = true;
      return;
    }
    const int64_t proved = ++done;
    if (thread == 0 && options.proving) options.proving(proved, share);
  });
  for (const Result<void>& end : ended) TRY_VOID(end);
  return rules;
}

/// All proofs at rank 0.
Result<void> collect(std::vector<Result<Rule>>& rules, Cluster& cluster) {
  if (cluster.size() == 1) return {};
  const std::vector<verify::StatedAxiom> axioms = verify::all_axioms();
  RulesFile own;
  std::string failures;
  for (size_t k = 0; k < rules.size(); ++k) {
    if (static_cast<int>(k) % cluster.size() != cluster.rank()) continue;
    if (rules[k].ok()) {
      own.rules.push_back(*rules[k]);
      own.rules.back().name = std::to_string(k);
    } else {
      failures += fmt::format("{}\t{}\n", k, rules[k].error().message());
    }
  }
  TRY(const std::vector<std::string> texts, cluster.gather(print_rules(own)));
  TRY(const std::vector<std::string> proofs, cluster.gather(print_proofs(own, axioms)));
  TRY(const std::vector<std::string> problems, cluster.gather(failures));
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    TRY(RulesFile theirs, parse_rules(texts[rank], proofs[rank], axioms));
    for (Rule& rule : theirs.rules) {
      const auto at = static_cast<size_t>(std::stoll(rule.name));
      rules[at] = std::move(rule);
    }
    for (size_t at = 0; at < problems[rank].size();) {
      const size_t tab = problems[rank].find('\t', at), end = problems[rank].find('\n', at);
      rules[static_cast<size_t>(std::stoll(problems[rank].substr(at, tab - at)))] =
          Error{ErrorKind::kUnsupported, "", problems[rank].substr(tab + 1, end - tab - 1)};
      at = end + 1;
    }
  }
  return {};
}

}  // namespace

Result<Library> generate(const OperatorSet& set, const LibraryOptions& options, Cluster& cluster) {
  const auto start = Clock::now();
  Library library;
  TRY(library.statistics.enumeration, enumerate_together(set, options.enumeration, cluster));
  const std::vector<Equation>& equations = library.statistics.enumeration.equations;
  library.statistics.seconds_enumerating = seconds_since(start);

  const auto proving = Clock::now();
  const verify::VariableTypes types = set.variable_types();
  std::vector<StatedRule> candidates;
  Joiner joiner(set, options.enumeration.max_operators);
  for (const Equation& equation : equations) {
    candidates.push_back(renamed({{equation.left, equation.right}}, types));
    joiner.add(equation);
  }
  for (const std::vector<Output>& outputs : joiner.run()) candidates.push_back(renamed(outputs, types));
  library.statistics.candidates = static_cast<int>(candidates.size());

  auto rules = prove_share(candidates, options, cluster);
  TRY_VOID(agree(cluster, rules.ok() ? std::nullopt : std::optional(rules.error())));
  TRY_VOID(collect(*rules, cluster));
  if (!cluster.is_first()) return library;
  for (Result<Rule>& proved : *rules) {
    if (!proved.ok()) {
      ++library.statistics.unproved;
      library.statistics.unproved_texts.push_back(proved.error().message());
      continue;
    }
    ++library.statistics.proved;
    library.rules.push_back(*std::move(proved));
  }
  library.rules = without_instances(std::move(library.rules), verify::all_axioms());
  name_rules(library.rules);
  library.statistics.kept = static_cast<int>(library.rules.size());
  library.statistics.seconds_proving = seconds_since(proving);
  return library;
}

}  // namespace isomer::substitutions
