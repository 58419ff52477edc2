#include "verify/prover/saturate.h"

#include <algorithm>

#include "graph/te/simplify.h"
#include "util/check.h"
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

template <class T>
void append(std::string& key, T number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
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

Saturation::Saturation(EGraph& graph, LawSet& laws) : graph_(graph), laws_(laws) {
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

void Saturation::match_class(const Pattern& pattern, int node, const Match& match, std::vector<Match>& found) const {
  switch (pattern.kind) {
    case Pattern::Kind::kVariable: {
      const int bound = match.values.tensors[static_cast<size_t>(pattern.variable)];
      if (bound >= 0 && !graph_.equal(bound, node)) return;
      found.push_back(match);
      if (bound < 0) found.back().values.tensors[static_cast<size_t>(pattern.variable)] = node;
      return;
    }
    case Pattern::Kind::kNumber:
      if (const int number = graph_.find_number(pattern.number); number >= 0 && graph_.equal(number, node))
        found.push_back(match);
      return;
    case Pattern::Kind::kApplication:
      for (const int member : graph_.members(graph_.leader(node))) match_node(pattern, member, match, found);
  }
}

void Saturation::match_node(const Pattern& pattern, int node, const Match& match, std::vector<Match>& found) const {
  const EGraph::Node& there = graph_.node(node);
  if (there.op != pattern.op || there.output != pattern.output || there.is_double ||
      there.arguments.size() != pattern.arguments.size())
    return;
  const Extraction& read = laws_.extract(pattern, there.operation);
  if (!read.fits) return;
  Match next = match;
  if (pattern.rest >= 0) {
    int& rest = next.values.rests[static_cast<size_t>(pattern.rest)];
    if (rest >= 0 && rest != read.rest) return;
    rest = read.rest;
  }
  for (const auto& [integer, value] : read.integers) {
    if (integer->is_name()) {
      std::optional<Dim>& slot = next.values.integers[static_cast<size_t>(integer->terms[0].first)];
      if (slot && *slot != value) return;
      slot = value;
    } else {
      next.equations.emplace_back(integer, &value);
    }
  }
  std::vector<Match> matches = {std::move(next)};
  for (size_t k = 0; k < there.arguments.size() && !matches.empty(); ++k) {
    std::vector<Match> extended;
    for (const Match& each : matches) match_class(pattern.arguments[k], there.arguments[k], each, extended);
    matches = std::move(extended);
  }
  found.insert(found.end(), std::make_move_iterator(matches.begin()), std::make_move_iterator(matches.end()));
}

std::vector<Saturation::Match> Saturation::matches(const PreparedLaw& law, const PreparedLaw::Direction& sought) const {
  std::vector<Match> result = {{law.unbound(), {}, false}};
  for (size_t k = 0; k < sought.size() && !result.empty(); ++k) {
    std::vector<Match> extended;
    for (const int node : graph_.nodes_of(sought[k]->op)) {
      const bool is_new = age_[static_cast<size_t>(node)] <= sought[k]->depth;
      const size_t before = extended.size();
      for (const Match& match : result)
        if (is_new || match.is_new || k + 1 < sought.size()) match_node(*sought[k], node, match, extended);
      if (is_new)
        for (size_t m = before; m < extended.size(); ++m) extended[m].is_new = true;
    }
    result = std::move(extended);
  }
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

bool Saturation::is_known(const PreparedLaw& law, const SlotValues& values) {
  std::string key;
  append(key, law.index);
  for (const int node : values.tensors) append(key, graph_.leader(node));
  for (const int rest : values.rests) append(key, rest);
  for (const auto& integer : values.integers) {
    if (integer->is_constant())
      append(key, integer->value());
    else
      key += integer->text() + ";";
  }
  return !used_.insert(std::move(key)).second;
}

void Saturation::use_law(const PreparedLaw& law, const PreparedLaw::Direction& sought, Match match) {
  if (!solve(law, match) || !is_instance(law, match.values) || is_known(law, match.values)) return;
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
