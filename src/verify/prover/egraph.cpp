#include "verify/prover/egraph.h"

#include <algorithm>
#include <set>

#include "util/check.h"
#include "util/hash.h"

namespace isomer::verify {

size_t EGraph::KeyHash::operator()(const Key& key) const {
  uint64_t result = mix64(static_cast<uint64_t>(key.operation) << 8 ^ static_cast<uint64_t>(key.output));
  for (const int argument : key.arguments) result = mix64(result ^ static_cast<uint64_t>(argument));
  return result;
}

EGraph::Key EGraph::key_of(int operation, int output, std::span<const int> arguments) const {
  Key key{operation, output, {}};
  key.arguments.reserve(arguments.size());
  for (const int argument : arguments) key.arguments.push_back(leader(argument));
  return key;
}

int EGraph::leader(int node) const { return leaders_[static_cast<size_t>(node)]; }

int EGraph::make(Node node) {
  const int id = size();
  if (node.op) by_op_[node.op].push_back(id);
  nodes_.push_back(std::move(node));
  leaders_.push_back(id);
  members_.push_back({id});
  parents_.emplace_back();
  edges_.emplace_back();
  return id;
}

Result<int> EGraph::add(const Term& term) {
  const auto* application = term.as_application();
  if (!application) {
    if (const auto known = leaf_nodes_.find(term); known != leaf_nodes_.end()) return known->second;
    TRY(const TypedTerm typed, spelled_out(term, variables_, signatures_));
    const int id = make({nullptr, static_cast<int>(leaves_.size()), 0, {}, signatures_.type_id(typed.type), false});
    leaves_.push_back(term);
    leaf_nodes_.emplace(term, id);
    return id;
  }
  std::vector<int> arguments, types;
  for (const Term& argument : application->arguments) {
    TRY(const int id, add(argument));
    arguments.push_back(id);
    types.push_back(node(id).type);
  }
  TRY(const TypedOperation typed, typed_operation(term, types, signatures_));
  return add_exactly(typed.operation, application->output, std::move(arguments), typed.type);
}

int EGraph::add_exactly(int operation, int output, std::vector<int> arguments, int type) {
  const int congruent = add(operation, output, arguments, type);
  const auto is_it = [&](int id) {
    const Node& there = node(id);
    return there.op && there.operation == operation && there.output == output && there.arguments == arguments;
  };
  for (const int id : members(leader(congruent)))
    if (is_it(id)) return id;
  const int own = make({signatures_.operation(operation).op, operation, output, std::move(arguments), type, true});
  unite(own, congruent, kCongruence);
  return own;
}

int EGraph::add_number(const te::Number& number) { return add(Term(Term::Number{number})).value(); }

int EGraph::find_number(const te::Number& number) const {
  const auto known = leaf_nodes_.find(Term(Term::Number{number}));
  return known == leaf_nodes_.end() ? -1 : known->second;
}

int EGraph::find(int operation, int output, std::span<const int> arguments) const {
  const auto known = known_.find(key_of(operation, output, arguments));
  return known == known_.end() ? -1 : known->second;
}

int EGraph::add(int operation, int output, std::vector<int> arguments, int type) {
  Key key = key_of(operation, output, arguments);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const int id = make({signatures_.operation(operation).op, operation, output, std::move(arguments), type, false});
  for (size_t k = 0; k < key.arguments.size(); ++k)
    if (std::find(key.arguments.begin(), key.arguments.begin() + static_cast<std::ptrdiff_t>(k), key.arguments[k]) ==
        key.arguments.begin() + static_cast<std::ptrdiff_t>(k))
      parents_[static_cast<size_t>(key.arguments[k])].push_back(id);
  known_.emplace(std::move(key), id);
  return id;
}

void EGraph::merge(int a, int b, Reason reason) {
  if (equal(a, b)) return;
  CHECK(node(a).type == node(b).type) << term(a).text() << " and " << term(b).text();
  reasons_.push_back(std::move(reason));
  unite(a, b, static_cast<int>(reasons_.size()) - 1);
}

/// Adds the edge a → b to the forest of proofs, a's tree turned so that a is its root.
void EGraph::link(int a, int b, int reason) {
  Edge edge{b, reason};
  for (int id = a; id >= 0;) {
    std::swap(edges_[static_cast<size_t>(id)], edge);
    const int next = edge.to;
    edge.to = id;
    id = next;
  }
}

void EGraph::unite(int a, int b, int reason) {
  struct Pending {
    int a, b, reason;
  };
  std::vector<Pending> pending = {{a, b, reason}};
  for (size_t next = 0; next < pending.size(); ++next) {
    const Pending now = pending[next];
    auto small = static_cast<size_t>(leader(now.a)), large = static_cast<size_t>(leader(now.b));
    if (small == large) continue;
    link(now.a, now.b, now.reason);
    if (parents_[small].size() > parents_[large].size()) std::swap(small, large);
    for (const int id : members_[small]) leaders_[static_cast<size_t>(id)] = static_cast<int>(large);
    members_[large].insert(members_[large].end(), members_[small].begin(), members_[small].end());
    for (const int parent : parents_[small]) {
      Node& above = nodes_[static_cast<size_t>(parent)];
      if (above.is_double) continue;
      const auto [known, is_new] = known_.emplace(key_of(above.operation, above.output, above.arguments), parent);
      if (!is_new && known->second != parent) {
        above.is_double = true;
        pending.push_back({parent, known->second, kCongruence});
      } else {
        parents_[large].push_back(parent);
      }
    }
    grown_.push_back(static_cast<int>(large));
  }
}

std::span<const int> EGraph::nodes_of(const OpDef* op) const {
  const auto found = by_op_.find(op);
  return found == by_op_.end() ? std::span<const int>() : std::span<const int>(found->second);
}

Term EGraph::term(int id) const {
  const Node& root = node(id);
  if (!root.op) return leaves_[static_cast<size_t>(root.operation)];
  Term::Application application{root.op, root.output, signatures_.operation(root.operation).parameters, "", {}};
  for (const int argument : root.arguments) application.arguments.push_back(term(argument));
  return Term(std::move(application));
}

std::vector<int> EGraph::explain(int a, int b) const {
  CHECK(equal(a, b));
  std::set<int> numbers;
  std::vector<bool> is_used(nodes_.size());  // the edge from a node, already explained
  std::vector<std::pair<int, int>> pending = {{a, b}};
  const auto depth_of = [&](int id) {
    int result = 0;
    for (int up = edges_[static_cast<size_t>(id)].to; up >= 0; up = edges_[static_cast<size_t>(up)].to) ++result;
    return result;
  };
  const auto use = [&](int id) {
    if (is_used[static_cast<size_t>(id)]) return;
    is_used[static_cast<size_t>(id)] = true;
    const Edge& edge = edges_[static_cast<size_t>(id)];
    if (edge.reason == kCongruence) {
      const Node &one = node(id), &other = node(edge.to);
      for (size_t k = 0; k < one.arguments.size(); ++k) pending.emplace_back(one.arguments[k], other.arguments[k]);
      return;
    }
    const Reason& reason = reasons_[static_cast<size_t>(edge.reason)];
    numbers.insert(reason.number);
    pending.insert(pending.end(), reason.premises.begin(), reason.premises.end());
  };
  while (!pending.empty()) {
    auto [left, right] = pending.back();
    pending.pop_back();
    int left_depth = depth_of(left), right_depth = depth_of(right);
    while (left != right) {
      int& deeper = left_depth >= right_depth ? left : right;
      --(left_depth >= right_depth ? left_depth : right_depth);
      use(deeper);
      deeper = edges_[static_cast<size_t>(deeper)].to;
    }
  }
  return {numbers.begin(), numbers.end()};
}

std::vector<int> EGraph::take_grown() {
  std::vector<int> result = std::exchange(grown_, {});
  for (int& id : result) id = leader(id);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace isomer::verify
