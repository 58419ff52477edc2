#include "substitutions/library.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <memory>
#include <set>

#include "substitutions/generalise.h"
#include "util/hash.h"
#include "util/parallel.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

constexpr size_t kNameDigits = 6;

/// What is to be proved together.
struct Candidate {
  std::vector<Output> outputs;
  verify::VariableTypes types;
};

void collect_variables(const std::vector<Output>& outputs, std::vector<std::string>& names) {
  for (const Output& output : outputs)
    for (const Term* side : {&output.left, &output.right})
      for (const std::string& name : verify::variables(*side))
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Variables by one letter, in the order in which they stand.
Candidate renamed(const std::vector<Output>& outputs, const verify::VariableTypes& types) {
  constexpr std::string_view kLetters = "xyzuvw";
  std::vector<std::string> names;
  collect_variables(outputs, names);
  verify::Bindings bindings;
  Candidate result;
  for (size_t k = 0; k < names.size(); ++k) {
    std::string name = std::string(1, kLetters[k % kLetters.size()]) + (k < kLetters.size() ? "" : std::to_string(k / kLetters.size()));
    result.types.emplace(name, types.at(names[k]));
    bindings.tensors.emplace(names[k], Term::variable(std::move(name)));
  }
  for (const Output& output : outputs) result.outputs.push_back({substitute(output.left, bindings), substitute(output.right, bindings)});
  return result;
}

int operators(const std::vector<Output>& outputs, Term Output::*side) {
  std::vector<Term> terms;
  for (const Output& output : outputs) terms.push_back(output.*side);
  return verify::operator_count(terms);
}

/// "matmul_add-concat_matmul": the operators of both sides.
std::string stem_of(const Rule& rule) {
  const auto side = [&](Term Output::*which) {
    std::vector<std::string> names;
    const std::function<void(const Term&)> walk = [&](const Term& term) {
      const auto* application = term.as_application();
      if (!application) return;
      for (const Term& argument : application->arguments) walk(argument);
      std::string name(application->op->name);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      names.push_back(std::move(name));
    };
    for (const Output& output : rule.outputs) walk(output.*which);
    constexpr size_t kMostNamed = 4;
    if (names.size() > kMostNamed) names.resize(kMostNamed);
    return names.empty() ? std::string("same") : fmt::format("{}", fmt::join(names, "_"));
  };
  return side(&Output::left) + "-" + side(&Output::right);
}

/// Equations whose sides share operators: rules of several outputs. They are worth a rule where one alone would have a variable on
/// one side only.
class Joiner {
 public:
  Joiner(const OperatorSet& set, int max_operators) : types_(set.variable_types()), max_operators_(max_operators) {}

  /// Groups by the application that the right sides end in, up to renaming.
  void add(const Equation& equation) {
    for (const auto& [from, to] : {std::pair(&equation.left, &equation.right), std::pair(&equation.right, &equation.left)}) {
      if (!has_unbound(*from, *to)) continue;
      const auto* application = to->as_application();
      if (!application) continue;
      Term::Application whole = *application;
      whole.output = 0;
      const Candidate canonical = renamed({{Term(whole), *from}}, types_);
      groups_[canonical.outputs[0].left.text()].push_back({*from, *to, Term(std::move(whole))});
    }
  }

  std::vector<std::vector<Output>> run() const {
    std::vector<std::vector<Output>> result;
    for (const auto& [text, members] : groups_)
      for (size_t a = 0; a < members.size(); ++a)
        for (size_t b = 0; b < members.size(); ++b) {
          if (a == b || members[a].right.as_application()->output >= members[b].right.as_application()->output) continue;
          // The second equation in the first one's variables.
          verify::Bindings names;
          if (!verify::bind(members[b].whole, members[a].whole, names) || !keeps_types(names)) continue;
          std::vector<Output> outputs = {{members[a].left, members[a].right}, {substitute(members[b].left, names), substitute(members[b].right, names)}};
          if (operators(outputs, &Output::left) > max_operators_ || operators(outputs, &Output::right) > max_operators_) continue;
          if (binds_all(outputs)) result.push_back(std::move(outputs));
        }
    return result;
  }

 private:
  struct Member {
    Term left, right, whole;
  };

  bool keeps_types(const verify::Bindings& names) const {
    return std::all_of(names.tensors.begin(), names.tensors.end(), [&](const auto& named) { return types_.at(named.first) == types_.at(named.second.as_variable()->name); });
  }

  static bool has_unbound(const Term& from, const Term& to) {
    const std::vector<std::string> bound = verify::variables(from), used = verify::variables(to);
    return std::any_of(used.begin(), used.end(), [&](const std::string& name) { return std::find(bound.begin(), bound.end(), name) == bound.end(); });
  }

  static bool binds_all(const std::vector<Output>& outputs) {
    std::set<std::string> left, right;
    for (const Output& output : outputs) {
      for (const std::string& name : verify::variables(output.left)) left.insert(name);
      for (const std::string& name : verify::variables(output.right)) right.insert(name);
    }
    return left == right;
  }

  verify::VariableTypes types_;
  int max_operators_;
  std::map<std::string, std::vector<Member>> groups_;
};

/// Whether `special` only says what `general` says of some terms: names of the one replaced give the other, its sides perhaps exchanged.
bool is_instance(const Rule& special, const Rule& general, bool exchanged) {
  if (special.outputs.size() != general.outputs.size()) return false;
  verify::Bindings names;
  for (size_t k = 0; k < general.outputs.size(); ++k) {
    const Output& output = special.outputs[k];
    if (!verify::bind(general.outputs[k].left, exchanged ? output.right : output.left, names) || !verify::bind(general.outputs[k].right, exchanged ? output.left : output.right, names)) return false;
  }
  const verify::Bindings bound = names;
  for (const auto& [name, term] : bound.tensors) {
    const auto* variable = term.as_variable();
    if (!variable) continue;
    for (const auto& [special_name, type] : special.example.types)
      if (special_name == variable->name)
        for (size_t axis = 0; axis < type.shape->size(); ++axis) names.integers.insert_or_assign(fmt::format("{}_{}", name, axis), Dim::symbol(fmt::format("{}_{}", special_name, axis)));
  }
  for (size_t k = 0; k < general.outputs.size(); ++k) {
    const Output made{substitute(general.outputs[k].left, names), substitute(general.outputs[k].right, names)};
    const Output& output = special.outputs[k];
    if (!(made == (exchanged ? Output{output.right, output.left} : output))) return false;
  }
  return true;
}

/// Rules that are an instance of another are left out; of equals the first stays.
std::vector<Rule> without_instances(std::vector<Rule> rules) {
  std::vector<bool> dropped(rules.size());
  const auto covers = [&](const Rule& general, const Rule& special) { return is_instance(special, general, false) || is_instance(special, general, true); };
  for (size_t k = 0; k < rules.size(); ++k)
    for (size_t other = 0; other < rules.size() && !dropped[k]; ++other)
      dropped[k] = other != k && !dropped[other] && covers(rules[other], rules[k]) && (other < k || !covers(rules[k], rules[other]));
  std::vector<Rule> result;
  for (size_t k = 0; k < rules.size(); ++k)
    if (!dropped[k]) result.push_back(std::move(rules[k]));
  return result;
}

/// What each thread needs of its own.
struct Prover {
  explicit Prover(verify::Solver z3) : solver(std::move(z3)) {}
  verify::LawSet laws{verify::all_axioms()};
  verify::Solver solver;
};

}  // namespace

Result<Rule> prove_rule(const std::vector<Output>& outputs, const verify::VariableTypes& types, verify::LawSet& laws, const verify::ProveLimits& limits, verify::Solver& solver) {
  verify::Certificate all;
  for (const Output& output : outputs) {
    TRY(const verify::Proof proof, verify::prove({output.left, output.right, {}}, types, laws, limits, solver));
    if (!proof.certificate) return unsupported(output.left.text() + " = " + output.right.text(), "a proof from the laws expected, none found ({})", verify::name(proof.stop));
    all.uses.insert(all.uses.end(), proof.certificate->uses.begin(), proof.certificate->uses.end());
  }
  return generalised(outputs, types, all, laws.axioms(), laws.signatures(), 0);
}

Result<Library> generate(const OperatorSet& set, const LibraryOptions& options) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto seconds_since = [&](auto start) { return std::chrono::duration<double>(now() - start).count(); };
  const auto start = now();
  Library library;
  TRY(library.statistics.enumeration, enumerate(set, options.enumeration));
  const std::vector<Equation> equations = std::exchange(library.statistics.enumeration.equations, {});
  library.statistics.seconds_enumerating = seconds_since(start);

  const auto proving = now();
  const verify::VariableTypes types = set.variable_types();
  std::vector<Candidate> candidates;
  Joiner joiner(set, options.enumeration.max_operators);
  for (const Equation& equation : equations) {
    candidates.push_back(renamed({{equation.left, equation.right}}, types));
    joiner.add(equation);
  }
  for (const std::vector<Output>& outputs : joiner.run()) candidates.push_back(renamed(outputs, types));
  library.statistics.candidates = static_cast<int>(candidates.size());

  std::vector<Result<Rule>> rules(candidates.size(), Error{ErrorKind::kUnsupported, "", ""});
  ThreadPool pool(std::max(1, options.enumeration.threads));
  std::vector<std::unique_ptr<Prover>> provers;
  for (int k = 0; k < pool.threads(); ++k) {
    TRY(verify::Solver solver, verify::Solver::start());
    provers.push_back(std::make_unique<Prover>(std::move(solver)));
  }
  pool.run(static_cast<int64_t>(candidates.size()), [&](int64_t at, int thread) {
    Prover& prover = *provers[static_cast<size_t>(thread)];
    const Candidate& candidate = candidates[static_cast<size_t>(at)];
    rules[static_cast<size_t>(at)] = prove_rule(candidate.outputs, candidate.types, prover.laws, options.limits, prover.solver);
  });

  std::set<std::string> texts, names;
  for (size_t k = 0; k < candidates.size(); ++k) {
    if (!rules[k].ok()) {
      ++library.statistics.unproved;
      library.statistics.unproved_texts.push_back(rules[k].error().message());
      continue;
    }
    ++library.statistics.proved;
    Rule rule = *std::move(rules[k]);
    const std::string text = rule.text();
    if (!texts.insert(text).second) continue;
    rule.name = fmt::format("{}-{}", stem_of(rule), Hasher().add(text).finish().hex().substr(0, kNameDigits));
    library.rules.push_back(std::move(rule));
  }
  library.rules = without_instances(std::move(library.rules));
  library.statistics.kept = static_cast<int>(library.rules.size());
  library.statistics.seconds_proving = seconds_since(proving);
  return library;
}

}  // namespace isomer::substitutions
