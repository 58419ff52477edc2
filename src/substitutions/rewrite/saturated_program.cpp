#include "substitutions/rewrite/saturated_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "util/check.h"

namespace isomer::substitutions {

using verify::Pattern;
using verify::Term;

namespace {

/// Costs are asked of what is read.
void demand_all(Program& program) {
  std::vector<int> all;
  for (int id = 0; id < program.value_count(); ++id)
    if (program.value(id).producer >= 0) all.push_back(id);
  program.set_outputs(std::move(all));
}

}  // namespace

SaturatedProgram::SaturatedProgram(const Program& program, Substitutions& rules)
    : program_(program), rules_(rules), graph_(leaf_types_, program.theory().signatures()) {
  add_values();
  ranks_.resize(static_cast<size_t>(program_.application_count()));
}

void SaturatedProgram::add_values() {
  for (int id = static_cast<int>(first_arguments_.size()); id < program_.application_count(); ++id) {
    CHECK(program_.application(id).operation != Program::kOpaque) << "a program without opaque applications expected";
    first_arguments_.emplace_back(program_.arguments(id).begin(), program_.arguments(id).end());
  }
  nodes_.reserve(static_cast<size_t>(program_.value_count()));
  for (int id = static_cast<int>(nodes_.size()); id < program_.value_count(); ++id) {
    const Program::Value& value = program_.value(id);
    int node = -1;
    if (value.producer >= 0) {
      std::vector<int> arguments;
      for (const int argument : first_arguments_[static_cast<size_t>(value.producer)])
        arguments.push_back(node_of(argument));
      node = graph_.add(program_.application(value.producer).operation, value.index, std::move(arguments), value.type);
    } else {
      const std::string name = fmt::format("v{}", id);
      leaf_types_.emplace(name, program_.theory().signatures().type(value.type));
      node = graph_.add(Term::variable(name)).value();
      leaves_.emplace(value.index, id);
    }
    nodes_.push_back(node);
    if (node == static_cast<int>(values_.size())) values_.push_back(id);
  }
  demand_all(program_);
}

void SaturatedProgram::read_leaders() {
  for (int id = 0; id < program_.application_count(); ++id) {
    const auto arguments = program_.arguments(id);
    for (size_t k = 0; k < arguments.size(); ++k) program_.set_argument(id, static_cast<int>(k), leader(arguments[k]));
  }
}

std::vector<int> SaturatedProgram::equal_to(int value) const {
  std::vector<int> result;
  for (const int node : graph_.members(graph_.leader(node_of(value))))
    if (!graph_.node(node).is_double) result.push_back(value_of(node));
  std::sort(result.begin(), result.end());
  return result;
}

int SaturatedProgram::same(int value) const {
  const verify::EGraph::Node& node = graph_.node(node_of(value));
  return value_of(node.op ? graph_.find(node.operation, node.output, node.arguments) : node_of(value));
}

EqualValues SaturatedProgram::classes() const {
  EqualValues result{std::vector<int>(nodes_.size()), std::vector<std::vector<int>>(nodes_.size())};
  for (int id = 0; id < program_.value_count(); ++id) {
    result.leaders[static_cast<size_t>(id)] = leader(id);
    if (leader(id) == id) result.members[static_cast<size_t>(id)] = equal_to(id);
  }
  return result;
}

std::vector<int64_t> SaturatedProgram::key(const Match& match) const {
  return key(match, [&](int value) { return leader(value); });
}

std::vector<int64_t> SaturatedProgram::key(const Match& match, const std::function<int64_t(int value)>& tensor) {
  std::vector<int64_t> key = {match.substitution};
  for (const int value : match.values.tensors) key.push_back(tensor(value));
  for (const auto& integer : match.values.integers)
    key.push_back(integer->is_constant() ? integer->value()
                                         : static_cast<int64_t>(std::hash<std::string>()(integer->text())));
  for (const int rest : match.values.rests) key.push_back(rest);
  return key;
}

std::optional<std::vector<Match>> SaturatedProgram::find_matches(const GrowthPolicy& policy) const {
  const EqualValues equal = classes();
  std::vector<Match> result;
  std::set<std::vector<int64_t>> known;
  for (int id = 0; id < program_.application_count(); ++id) {
    if (policy.is_late()) return std::nullopt;
    const int first = program_.application(id).first_value;
    const std::vector<int>& members = equal.members[static_cast<size_t>(equal.leaders[static_cast<size_t>(first)])];
    if (!std::binary_search(members.begin(), members.end(), first)) continue;
    for (Match& match : rules_.matches(program_, equal, id)) {
      if (!policy.is_allowed(program_, match)) continue;
      std::vector<int64_t> there = key(match);
      if (!used_.contains(there) && known.insert(std::move(there)).second) result.push_back(std::move(match));
    }
  }
  return result;
}

SaturatedProgram::Rank SaturatedProgram::rank(const Match& match, const GrowthPolicy& policy) {
  Rank result{0, std::numeric_limits<int>::max(), 1};
  for (const int id : match.applications) {
    result.rise = std::max(result.rise, ranks_[static_cast<size_t>(id)].rise);
    result.generation = std::max(result.generation, generation(id) + 1);
  }
  const auto kind = [&](int value) {
    return 2 * static_cast<int64_t>(program_.value(value).type) + program_.value(value).is_constant;
  };
  const auto [known, is_new] = differences_.try_emplace(key(match, kind), 0);
  if (is_new) {
    Program with = program_;
    const Added added = add_targets(with, match, rules_);
    demand_all(with);
    for (const int id : std::set<int>(added.built.begin(), added.built.end())) known->second += policy.cost(with, id);
    for (const int id : std::set<int>(match.applications.begin(), match.applications.end()))
      known->second -= policy.cost(program_, id);
  }
  result.rise += std::max(0.0, known->second);
  if (known->second < 0) result.gain = -std::ilogb(-known->second);
  return result;
}

std::vector<int> SaturatedProgram::joined(const Match& match) const {
  std::vector<int> result;
  for (const int root : match.roots) result.push_back(leader(root));
  std::sort(result.begin(), result.end());
  result.push_back(match.substitution);
  return result;
}

Grown SaturatedProgram::grow(const GrowthLimits& limits, const GrowthPolicy& policy) {
  const int share = std::max(1, (limits.applications - program_.application_count()) / std::max(1, limits.rounds));
  for (int round = 0; round < limits.rounds; ++round) {
    read_leaders();
    const auto found = find_matches(policy);
    if (!found) return Grown::kStopped;
    std::vector<std::pair<Rank, size_t>> ranked;
    for (const Match& match : *found) {
      if (policy.is_late()) return Grown::kStopped;
      ranked.emplace_back(rank(match, policy), ranked.size());
    }
    std::sort(ranked.begin(), ranked.end());
    bool is_changed = false;
    const int most = program_.application_count() + share;
    std::set<std::pair<int, int>> taken;
    for (const auto& [rank, number] : ranked) {
      if (policy.is_late()) return Grown::kStopped;
      if (program_.application_count() >= limits.applications) return Grown::kApplications;
      if (program_.application_count() >= most) break;
      const Match& match = (*found)[number];
      if (match.roots.size() > 1) {
        // What n applications share can be joined in 2^n ways: one of each in a round, those of what was joined in the
        // next.
        const auto is_taken = [&](int id) { return taken.contains({match.substitution, id}); };
        if (std::any_of(match.applications.begin(), match.applications.end(), is_taken) ||
            !joined_.insert(joined(match)).second)
          continue;
        for (const int id : match.applications) taken.emplace(match.substitution, id);
      }
      is_changed = use(match) || is_changed;
      ranks_.resize(static_cast<size_t>(program_.application_count()), rank);
    }
    if (!is_changed) return Grown::kClosed;
  }
  return Grown::kRounds;
}

bool SaturatedProgram::use(const Match& match) {
  used_.insert(key(match));
  Use used{match, add_targets(program_, match, rules_)};
  add_values();
  const auto& sources = rules_[match.substitution].sources;
  std::vector<std::pair<int, int>> equations;
  for (size_t k = 0; k < sources.size(); ++k) {
    const int root = root_of(sources[k], match);
    if (leader(root) != leader(used.added.targets[k]))
      equations.emplace_back(node_of(root), node_of(used.added.targets[k]));
  }
  if (equations.empty()) return false;
  const verify::EGraph::Reason reason{static_cast<int>(uses_.size()), premises(match)};
  uses_.push_back(std::move(used));
  for (const auto& [left, right] : equations) graph_.merge(left, right, reason);
  return true;
}

int SaturatedProgram::root_of(const Pattern& pattern, const Match& match) const {
  const int application = match.applications[static_cast<size_t>(pattern.id - rules_[match.substitution].first_id)];
  return program_.application(application).first_value + pattern.output;
}

std::vector<int> SaturatedProgram::roots(const Use& use) const {
  std::vector<int> result;
  for (const Pattern& source : rules_[use.match.substitution].sources) result.push_back(root_of(source, use.match));
  return result;
}

std::vector<std::pair<int, int>> SaturatedProgram::premises(const Match& match) const {
  std::vector<std::pair<int, int>> result;
  for (const Pattern& source : rules_[match.substitution].sources) add_premises(source, match, result);
  return result;
}

/// What each pattern below stands for equals what the application above it read.
void SaturatedProgram::add_premises(const Pattern& pattern, const Match& match,
                                    std::vector<std::pair<int, int>>& premises) const {
  const std::vector<int>& arguments =
      first_arguments_[static_cast<size_t>(program_.value(root_of(pattern, match)).producer)];
  const auto standing_for = [&](const Pattern& argument, int value) {
    if (argument.kind == Pattern::Kind::kVariable) return match.values.tensors[static_cast<size_t>(argument.variable)];
    if (argument.kind == Pattern::Kind::kApplication) return root_of(argument, match);
    for (const int equal : equal_to(value))
      if (const te::Number* number = program_.number(equal); number && *number == argument.number) return equal;
    return -1;
  };
  const auto try_order = [&](bool turned) {
    std::vector<std::pair<int, int>> found;
    for (size_t k = 0; k < arguments.size(); ++k) {
      const int read = arguments[turned ? 1 - k : k], there = standing_for(pattern.arguments[k], read);
      if (there < 0 || leader(read) != leader(there)) return false;
      found.emplace_back(node_of(read), node_of(there));
    }
    premises.insert(premises.end(), found.begin(), found.end());
    return true;
  };
  CHECK(try_order(false) || (arguments.size() == 2 && try_order(true)))
      << "a match whose applications read what its patterns say expected";
  for (const Pattern& argument : pattern.arguments)
    if (argument.kind == Pattern::Kind::kApplication) add_premises(argument, match, premises);
}

std::vector<int> SaturatedProgram::find(const Program& other) const {
  std::vector<int> result(static_cast<size_t>(other.application_count()), -1),
      nodes(static_cast<size_t>(other.value_count()), -1);
  for (int id = 0; id < other.value_count(); ++id)
    if (const auto leaf = leaves_.find(other.value(id).index); other.value(id).producer < 0 && leaf != leaves_.end())
      nodes[static_cast<size_t>(id)] = node_of(leaf->second);
  const auto order = other.order();
  CHECK(order) << "a program without cycle expected";
  for (const int id : *order) {
    const Program::Application& there = other.application(id);
    std::vector<int> arguments;
    for (const int argument : other.arguments(id)) arguments.push_back(nodes[static_cast<size_t>(argument)]);
    if (std::find(arguments.begin(), arguments.end(), -1) != arguments.end()) continue;
    for (int turn = 0; turn < 2 && result[static_cast<size_t>(id)] < 0; ++turn) {
      if (turn == 1 &&
          (arguments.size() != 2 ||
           !program_.theory().commutes(other.op(id), graph_.node(arguments[0]).type, graph_.node(arguments[1]).type)))
        break;
      if (turn == 1) std::swap(arguments[0], arguments[1]);
      for (int k = 0; k < there.value_count; ++k) {
        const int node = graph_.find(there.operation, k, arguments);
        nodes[static_cast<size_t>(there.first_value + k)] = node;
        if (node >= 0) result[static_cast<size_t>(id)] = program_.value(value_of(node)).producer;
      }
    }
  }
  return result;
}

std::vector<int> SaturatedProgram::explain(const std::vector<std::pair<int, int>>& equations) const {
  std::set<int> result;
  for (const auto& [left, right] : equations) {
    const std::vector<int> numbers = graph_.explain(node_of(left), node_of(right));
    result.insert(numbers.begin(), numbers.end());
  }
  return {result.begin(), result.end()};
}

}  // namespace isomer::substitutions
