#include "verify/prover/saturate.h"

#include <algorithm>

#include "graph/te/simplify.h"
#include "util/check.h"
#include "util/stable_sort.h"
#include "verify/proof/law_family.h"
#include "verify/prover/planned_term.h"

namespace isomer::verify {
namespace {

constexpr int kOld = 1 << 20;

bool holds(const PreparedLaw::Comparison& comparison, const PreparedLaw& law, const SlotValues& values) {
  const Dim left = *comparison.left.value(values, law.integers), right = *comparison.right.value(values, law.integers);
  if (!left.is_constant() || !right.is_constant())
    return te::simplify_index(te::binary(comparison.op, left.expr(), right.expr())) == te::truth(true);
  if (comparison.op == te::BinaryOp::kEqual) return left.value() == right.value();
  return comparison.op == te::BinaryOp::kLess ? left.value() < right.value() : left.value() <= right.value();
}

}  // namespace

std::string_view name(Saturated stop) {
  switch (stop) {
    case Saturated::kProved: return "proved";
    case Saturated::kClosed: return "nothing new";
    case Saturated::kRounds: return "limit of rounds";
    case Saturated::kNodes: return "limit of nodes";
  }
  return "";
}

Saturation::Saturation(EGraph& graph, LawSet& laws)
    : graph_(graph), laws_(laws), matcher_(graph, laws.extractions(), laws.signatures()) {
  matcher_.look_for_new(age_);
  for (const auto& law : laws.prepared()) deepest_ = std::max({deepest_, law->left.depth, law->right.depth});
}

LawUse Saturation::use(int instance) const {
  const Instance& used = instances_[static_cast<size_t>(instance)];
  std::vector<Term> tensors;
  for (const int node : used.values.tensors) tensors.push_back(graph_.term(node));
  return {used.law, laws_.bindings(*laws_.prepared()[static_cast<size_t>(used.law)], used.values, tensors)};
}

/// Only patterns that reach down to what is new can have new matches.
void Saturation::date_nodes() {
  age_.assign(static_cast<size_t>(graph_.size()), kOld);
  for (int id = seen_nodes_; id < graph_.size(); ++id) age_[static_cast<size_t>(id)] = 0;
  seen_nodes_ = graph_.size();
  std::vector<int> level = graph_.take_grown();
  for (int age = 1; age <= deepest_; ++age) {
    std::vector<int> above;
    for (const int leader : level)
      for (const int parent : graph_.parents(leader)) {
        int& known = age_[static_cast<size_t>(parent)];
        if (known <= age && known > 0) continue;
        known = std::min(known, age);
        above.push_back(graph_.leader(parent));
      }
    std::sort(above.begin(), above.end());
    above.erase(std::unique(above.begin(), above.end()), above.end());
    level = std::move(above);
  }
}

/// As if patterns were found one after the other, each everywhere: the last one's nodes count first.
std::vector<Saturation::Match> Saturation::matches(const PreparedLaw& law, const PreparedLaw::Direction& sought) {
  std::vector<std::pair<std::vector<int>, Match>> found;
  matcher_.match(law, {}, sought, [&](const EMatch& match) {
    found.push_back({{match.roots.rbegin(), match.roots.rend()}, {match.values, match.equations}});
    return true;
  });
  if (sought.size() > 1) stable_sort(found, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Match> result;
  for (auto& [roots, match] : found) result.push_back(std::move(match));
  return result;
}

bool Saturation::solve(const PreparedLaw& law, Match& match) const {
  SlotValues& values = match.values;
  for (const DimSlot& dim : law.dims) {
    const Shape& shape =
        *laws_.signatures().type(graph_.node(values.tensors[static_cast<size_t>(dim.variable)]).type).shape;
    const Dim there = dim_or_none(shape, dim.axis);
    std::optional<Dim>& slot = values.integers[static_cast<size_t>(dim.slot)];
    if (slot && *slot != there) return false;
    slot = there;
  }
  return verify::solve(match.equations, values) && hold(match.equations, values, law.integers);
}

/// As draws are: what check_law never tries is not used either.
bool Saturation::is_instance(const PreparedLaw& law, const SlotValues& values) {
  for (const auto& integer : values.integers)
    if (!integer || (integer->is_constant() && integer->value() < 0)) return false;
  if (!std::all_of(law.comparisons.begin(), law.comparisons.end(),
                   [&](const auto& comparison) { return holds(comparison, law, values); }))
    return false;
  std::vector<ValueType> types, bound;
  for (size_t k = 0; k < law.tensors.size(); ++k) {
    types.push_back(laws_.signatures().type(graph_.node(values.tensors[k]).type));
    if (!law.says_rank[k]) bound.push_back(types.back());
  }
  if (!is_drawn(law.family, types) || !is_of_family(law.family, bound)) return false;
  if (!law.condition) return true;
  Bindings bindings;
  for (size_t k = 0; k < law.integers.size(); ++k) bindings.integers.emplace(law.integers[k], *values.integers[k]);
  return substitute(law.condition, bindings) == te::truth(true);
}

void Saturation::use_law(const PreparedLaw& law, const PreparedLaw::Direction& sought, Match match) {
  if (!solve(law, match) || !is_instance(law, match.values)) return;
  if (!used_.insert(key_of(law.index, match.values, graph_)).second) return;
  const auto planned = [&](const Pattern& pattern) {
    return plan(pattern, match.values, law.integers, graph_, laws_.signatures());
  };
  const auto left = planned(law.left), right = left ? planned(law.right) : std::nullopt;
  if (!left || !right || left->type != right->type || laws_.signatures().type(left->type).dtype == DataType::kUndefined)
    return;
  // What a pattern leaves out has its default, which is seen when it is spelled out: then it may be a term that is not
  // there.
  for (const Pattern* pattern : sought) {
    const auto found = pattern == &law.left ? left : pattern == &law.right ? right : planned(*pattern);
    if (!found || found->node < 0) return;
  }
  if (left->node >= 0 && right->node >= 0 && graph_.equal(left->node, right->node)) return;
  EGraph::Reason reason{static_cast<int>(instances_.size()), {}};
  const int from = make(*left, graph_, reason.premises), to = make(*right, graph_, reason.premises);
  if (graph_.equal(from, to)) return;
  instances_.push_back({law.index, std::move(match.values)});
  graph_.merge(from, to, std::move(reason));
}

Saturated Saturation::run(int left, int right, const SaturationLimits& limits) {
  if (graph_.equal(left, right)) return Saturated::kProved;
  struct Found {
    const PreparedLaw* law;
    const PreparedLaw::Direction* sought;
    Match match;
  };
  while (rounds_ < limits.rounds) {
    ++rounds_;
    date_nodes();
    std::vector<Found> found;
    for (const auto& law : laws_.prepared())
      for (const PreparedLaw::Direction& sought : law->directions)
        for (Match& match : matches(*law, sought)) found.push_back({law.get(), &sought, std::move(match)});
    const size_t before = instances_.size();
    for (Found& each : found) {
      use_law(*each.law, *each.sought, std::move(each.match));
      if (graph_.equal(left, right)) return Saturated::kProved;
      if (graph_.size() > limits.nodes) return Saturated::kNodes;
    }
    if (instances_.size() == before) return Saturated::kClosed;
  }
  return Saturated::kRounds;
}

}  // namespace isomer::verify
