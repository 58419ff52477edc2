#include "verify/prover/ematch.h"

namespace isomer::verify {
namespace {

template <class T>
void append(std::string& key, T number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

void EMatcher::match(const Slots& slots, std::vector<Goal> goals, std::span<const Pattern* const> sought,
                     const Visit& visit) {
  values_ = slots.unbound();
  equations_.clear();
  goals_ = std::move(goals);
  roots_.clear();
  sought_ = sought;
  visit_ = &visit;
  goes_on_ = true;
  new_roots_ = 0;
  meet(0);
}

void EMatcher::meet(size_t at) {
  if (!goes_on_) return;
  if (at == goals_.size()) return seek_next();
  const auto [pattern, node] = goals_[at];
  switch (pattern->kind) {
    case Pattern::Kind::kVariable: {
      const auto variable = static_cast<size_t>(pattern->variable);
      const int bound = values_.tensors[variable];
      if (bound >= 0 && !graph_.equal(bound, node)) return;
      if (bound < 0) values_.tensors[variable] = node;
      meet(at + 1);
      values_.tensors[variable] = bound;
      return;
    }
    case Pattern::Kind::kNumber:
      if (const int number = graph_.find_number(pattern->number); number >= 0 && graph_.equal(number, node))
        meet(at + 1);
      return;
    case Pattern::Kind::kApplication:
      for (const int member : graph_.members(graph_.leader(node))) meet_node(*pattern, member, at + 1);
  }
}

void EMatcher::meet_node(const Pattern& pattern, int node, size_t next) {
  const EGraph::Node& there = graph_.node(node);
  if (there.op != pattern.op || there.output != pattern.output || there.is_double ||
      there.arguments.size() != pattern.arguments.size())
    return;
  const Extraction& read = extractions_.of(pattern, there.operation, signatures_);
  if (!read.fits) return;
  const size_t equations = equations_.size(), goals = goals_.size();
  std::vector<int> bound;
  int* rest = pattern.rest >= 0 ? &values_.rests[static_cast<size_t>(pattern.rest)] : nullptr;
  if (rest && *rest >= 0 && *rest != read.rest) return;
  const bool binds_rest = rest && *rest < 0;
  if (binds_rest) *rest = read.rest;
  bool agrees = true;
  for (const auto& [integer, value] : read.integers) {
    if (!integer->is_name()) {
      equations_.emplace_back(integer, &value);
      continue;
    }
    auto& slot = values_.integers[static_cast<size_t>(integer->terms[0].first)];
    if (slot) {
      agrees = agrees && *slot == value;
    } else {
      slot = value;
      bound.push_back(integer->terms[0].first);
    }
  }
  if (agrees) {
    for (size_t k = 0; k < there.arguments.size(); ++k) goals_.emplace_back(&pattern.arguments[k], there.arguments[k]);
    meet(next);
    goals_.resize(goals);
  }
  for (const int slot : bound) values_.integers[static_cast<size_t>(slot)].reset();
  if (binds_rest) *rest = -1;
  equations_.resize(equations);
}

void EMatcher::seek_next() {
  if (roots_.size() == sought_.size()) {
    goes_on_ = (*visit_)({values_, equations_, roots_});
    return;
  }
  const Pattern& pattern = *sought_[roots_.size()];
  const bool is_last = roots_.size() + 1 == sought_.size();
  for (const int node : graph_.nodes_of(pattern.op)) {
    const bool is_new = !age_ || (*age_)[static_cast<size_t>(node)] <= pattern.depth;
    if (is_last && !is_new && new_roots_ == 0) continue;
    roots_.push_back(node);
    new_roots_ += is_new;
    meet_node(pattern, node, goals_.size());
    new_roots_ -= is_new;
    roots_.pop_back();
  }
}

std::string key_of(int law, const SlotValues& values, const EGraph& graph) {
  std::string key;
  append(key, law);
  for (const int node : values.tensors) append(key, graph.leader(node));
  for (const int rest : values.rests) append(key, rest);
  for (const auto& integer : values.integers) {
    if (integer->is_constant())
      append(key, integer->value());
    else
      key += integer->text() + ";";
  }
  return key;
}

}  // namespace isomer::verify
