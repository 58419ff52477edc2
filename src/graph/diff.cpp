#include "graph/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "graph/algorithms.h"
#include "graph/hash.h"
#include "graph/infer.h"
#include "graph/op_def.h"
#include "graph/te/program_text.h"

namespace isomer {
namespace {

bool are_alike(const Node& a, const Node& b) {
  return a.op_type == b.op_type && a.domain == b.domain && a.inputs.size() == b.inputs.size() &&
         a.outputs.size() == b.outputs.size();
}

bool have_equal_attributes(const Node& a, const Node& b) {
  return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && attribute_hash(x.second) == attribute_hash(y.second);
                    });
}

/// By ValueId::index, of the expression that makes each value, down to inputs and the elements of constants.
std::vector<Hash128> expression_hashes(const Graph& graph, size_t count, Ports ports) {
  std::vector<Hash128> result(count);
  const auto at = [&](ValueId id) -> Hash128& { return result[static_cast<size_t>(id.index)]; };
  for (const ValueId id : graph.values()) {
    const Value& value = graph.value(id);
    if (value.producer.valid()) continue;
    Hasher hasher;
    at(id) = value.constant ? hasher.add(value.constant->content_hash()).finish() : hasher.add(value.name).finish();
  }
  // What stands in an input by default is no part of what is made of it.
  for (size_t k = 0; k < graph.inputs().size(); ++k) {
    const ValueId input = graph.inputs()[k];
    at(input) = ports == Ports::kByPlace ? Hasher().add(k).finish() : Hasher().add(graph.value(input).name).finish();
  }
  const auto order = topological_order(graph);
  if (!order.ok()) return result;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    Hasher hasher;
    hasher.add(node.domain).add(node.op_type);
    for (const auto& [name, attribute] : node.attributes) hasher.add(name).add(attribute_hash(attribute));
    for (const auto* list : {&node.inputs, &node.captures}) {
      hasher.add(list->size());
      for (const ValueId input : *list) hasher.add(input.valid() ? at(input) : Hash128());
    }
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (node.outputs[k].valid()) at(node.outputs[k]) = Hasher(hasher).add(k).finish();
  }
  return result;
}

/// Whether they are one operation, however its attributes are spelled: a kernel's shape may be said or read off it.
bool are_one_operation(const Graph& before, NodeId a, const Graph& after, NodeId b) {
  const Node &x = before.node(a), &y = after.node(b);
  if (have_equal_attributes(x, y)) return true;
  if (x.op != y.op || !x.op || !x.op->compute || x.is_opaque() || y.is_opaque()) return false;
  const auto program = x.op->compute(context_of(before, a)), other = y.op->compute(context_of(after, b));
  return program.ok() && other.ok() && te::print(*program) == te::print(*other);
}

class Differ {
 public:
  Differ(const Graph& before, const Graph& after, Ports ports)
      : before_(before),
        after_(after),
        ports_(ports),
        readers_(after.consumers()),
        to_after_(before.use_counts().size()),
        to_before_(readers_.size()),
        hashes_before_(expression_hashes(before_, to_after_.size(), ports)),
        hashes_after_(expression_hashes(after_, to_before_.size(), ports)) {}

  GraphDiff run() {
    pair_equal();
    pair_names();
    while (pair_around()) {
    }
    sort_nodes();
    find_places();
    compare_ports("input", before_.inputs(), after_.inputs());
    compare_ports("output", before_.outputs(), after_.outputs());
    result_.paired = std::move(to_before_);
    return std::move(result_);
  }

 private:
  ValueId& after_of(ValueId before) { return to_after_[static_cast<size_t>(before.index)]; }
  ValueId& before_of(ValueId after) { return to_before_[static_cast<size_t>(after.index)]; }

  /// Constants are one where their elements are: pair_equal has paired those.
  bool pair(ValueId before, ValueId after) {
    return before.valid() && after.valid() && !before_.is_constant(before) && !after_.is_constant(after) &&
           pair_any(before, after);
  }
  bool pair_any(ValueId before, ValueId after) {
    if (after_of(before).valid() || before_of(after).valid()) return false;
    after_of(before) = after;
    before_of(after) = before;
    return true;
  }

  Hash128 hash_before(ValueId id) const { return hashes_before_[static_cast<size_t>(id.index)]; }
  Hash128 hash_after(ValueId id) const { return hashes_after_[static_cast<size_t>(id.index)]; }

  /// What is the same expression in both; of those that stand in a graph several times first those of one name, then
  /// one after the other.
  void pair_equal() {
    std::map<std::pair<Hash128, std::string>, ValueId> named;
    for (const ValueId id : before_.values()) named.try_emplace({hash_before(id), before_.value(id).name}, id);
    for (const ValueId id : after_.values())
      if (const auto found = named.find({hash_after(id), after_.value(id).name}); found != named.end())
        pair_any(found->second, id);
    std::map<Hash128, std::vector<ValueId>> known;
    for (const ValueId id : before_.values())
      if (!after_of(id).valid()) known[hash_before(id)].push_back(id);
    for (auto& [hash, ids] : known) std::reverse(ids.begin(), ids.end());
    for (const ValueId id : after_.values()) {
      if (before_of(id).valid()) continue;
      const auto found = known.find(hash_after(id));
      if (found == known.end() || found->second.empty()) continue;
      pair_any(found->second.back(), id);
      found->second.pop_back();
    }
  }

  void pair_names() {
    const auto pair_of_one_type = [&](ValueId before, ValueId after) {
      if (before_.value(before).type == after_.value(after).type) pair(before, after);
    };
    if (ports_ == Ports::kByPlace)
      for (size_t k = 0; k < std::min(before_.outputs().size(), after_.outputs().size()); ++k)
        pair_of_one_type(before_.outputs()[k], after_.outputs()[k]);
    std::map<std::string, ValueId> known;
    for (const ValueId id : before_.values())
      if (!before_.value(id).name.empty()) known.emplace(before_.value(id).name, id);
    for (const ValueId id : after_.values()) {
      const auto found = known.find(after_.value(id).name);
      if (found != known.end()) pair_of_one_type(found->second, id);
    }
  }

  /// What alike nodes read whose results are paired, and what alike nodes give that read the same.
  bool pair_around() {
    bool has_paired = false;
    for (const NodeId id : before_.nodes()) {
      const Node& node = before_.node(id);
      for (const ValueId output : node.outputs) {
        const ValueId there = output.valid() ? after_of(output) : ValueId();
        const NodeId maker = there.valid() ? after_.value(there).producer : NodeId();
        if (maker.valid()) has_paired = pair_operands(node, after_.node(maker)) || has_paired;
      }
      has_paired = pair_results(id) || has_paired;
    }
    return has_paired;
  }

  bool pair_operands(const Node& a, const Node& b) {
    if (!are_alike(a, b)) return false;
    bool has_paired = false;
    for (size_t k = 0; k < a.inputs.size(); ++k)
      if (a.inputs[k].valid() && b.inputs[k].valid() &&
          before_.value(a.inputs[k]).type == after_.value(b.inputs[k]).type)
        has_paired = pair(a.inputs[k], b.inputs[k]) || has_paired;
    return has_paired;
  }

  bool pair_results(NodeId id) {
    const Node& node = before_.node(id);
    const auto first = std::find_if(node.inputs.begin(), node.inputs.end(), [](ValueId v) { return v.valid(); });
    const ValueId there = first == node.inputs.end() ? ValueId() : after_of(*first);
    if (!there.valid()) return false;
    for (const NodeId reader : readers_[static_cast<size_t>(there.index)]) {
      const Node& other = after_.node(reader);
      if (!are_alike(node, other) || !read_the_same(node, other) || !are_one_operation(before_, id, after_, reader))
        continue;
      bool has_paired = false;
      for (size_t k = 0; k < node.outputs.size(); ++k)
        has_paired = pair(node.outputs[k], other.outputs[k]) || has_paired;
      if (has_paired) return true;
    }
    return false;
  }

  bool read_the_same(const Node& a, const Node& b) {
    const auto are_one = [&](ValueId x, ValueId y) { return x.valid() ? after_of(x) == y && y.valid() : !y.valid(); };
    return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(), are_one) &&
           std::equal(a.captures.begin(), a.captures.end(), b.captures.begin(), b.captures.end(), are_one);
  }

  void sort_nodes() {
    std::set<NodeId> met;
    for (const NodeId id : before_.nodes()) {
      const NodeId there = counterpart(before_.node(id));
      if (!there.valid() || !met.insert(there).second) {
        removed_.push_back(id);
        continue;
      }
      const bool is_same =
          read_the_same(before_.node(id), after_.node(there)) && are_one_operation(before_, id, after_, there);
      (is_same ? result_.same : changed_).push_back({id, there});
    }
    for (const NodeId id : after_.nodes())
      if (!met.contains(id)) added_.push_back(id);
  }

  /// The node of the same operator that gives what this one gives.
  NodeId counterpart(const Node& node) {
    for (const ValueId output : node.outputs) {
      const ValueId there = output.valid() ? after_of(output) : ValueId();
      const NodeId maker = there.valid() ? after_.value(there).producer : NodeId();
      if (maker.valid() && are_alike(node, after_.node(maker))) return maker;
    }
    return {};
  }

  /// Nodes of both graphs that give one value, or of which one reads what another gives in one graph alone.
  void find_places() {
    struct Member {
      const Graph* graph;
      NodeId node;
      int number;
    };
    std::vector<Member> members;
    int number = 0;
    for (const GraphDiff::Pair& pair : changed_) {
      members.push_back({&before_, pair.before, number});
      members.push_back({&after_, pair.after, number++});
    }
    for (const NodeId id : removed_) members.push_back({&before_, id, number++});
    for (const NodeId id : added_) members.push_back({&after_, id, number++});

    std::vector<int> parent(static_cast<size_t>(number));
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&](int k) {
      while (parent[static_cast<size_t>(k)] != k) k = parent[static_cast<size_t>(k)];
      return k;
    };
    // A pair of values is one: what was removed and what stands there instead meet in it.
    const auto key = [&](const Graph* graph, ValueId value) {
      const ValueId other = graph == &after_ ? before_of(value) : ValueId();
      return other.valid() ? std::pair(&before_, other.index) : std::pair(graph, value.index);
    };
    std::map<std::pair<const Graph*, int>, int> makers;
    for (const Member& member : members)
      for (const ValueId output : member.graph->node(member.node).outputs) {
        if (!output.valid()) continue;
        const auto [known, is_new] = makers.try_emplace(key(member.graph, output), member.number);
        if (!is_new) parent[static_cast<size_t>(root(member.number))] = root(known->second);
      }
    // What reads a pair reads the same in both graphs: it is another place.
    const auto is_paired = [&](const Graph* graph, ValueId value) {
      return (graph == &after_ ? before_of(value) : after_of(value)).valid();
    };
    for (const Member& member : members)
      for (const ValueId input : member.graph->node(member.node).inputs) {
        if (input.valid() && is_paired(member.graph, input)) continue;
        const auto made = input.valid() ? makers.find(key(member.graph, input)) : makers.end();
        if (made != makers.end()) parent[static_cast<size_t>(root(member.number))] = root(made->second);
      }
    std::map<int, size_t> places;
    number = 0;
    const auto place = [&]() -> GraphDiff::Place& {
      const auto [known, is_new] = places.try_emplace(root(number++), result_.places.size());
      if (is_new) result_.places.emplace_back();
      return result_.places[known->second];
    };
    for (const GraphDiff::Pair& pair : changed_) place().changed.push_back(pair);
    for (const NodeId id : removed_) place().removed.push_back(id);
    for (const NodeId id : added_) place().added.push_back(id);
  }

  using Kind = GraphDiff::InterfaceChange::Kind;

  std::string described(std::string_view what, const Graph& graph, ValueId id) const {
    return fmt::format("{} {} {}", what, graph.value(id).name, graph.value(id).type.text());
  }

  /// For each of the second list the place in the first one of what it is there; -1: it is new.
  std::vector<int> counterparts(const std::vector<ValueId>& before, const std::vector<ValueId>& after) const {
    std::map<std::string, std::vector<int>> known;
    for (size_t k = before.size(); k-- > 0;) known[before_.value(before[k]).name].push_back(static_cast<int>(k));
    std::vector<int> result(after.size(), -1);
    for (size_t k = 0; k < after.size(); ++k) {
      if (ports_ == Ports::kByPlace) {
        if (k < before.size()) result[k] = static_cast<int>(k);
      } else if (const auto found = known.find(after_.value(after[k]).name);
                 found != known.end() && !found->second.empty()) {
        result[k] = found->second.back();
        found->second.pop_back();
      }
    }
    return result;
  }

  void compare_ports(std::string_view what, const std::vector<ValueId>& before, const std::vector<ValueId>& after) {
    const auto add = [&](Kind kind, std::string text) { result_.interface.push_back({kind, std::move(text)}); };
    const std::vector<int> there = counterparts(before, after);
    std::vector<int> kept;
    std::copy_if(there.begin(), there.end(), std::back_inserter(kept), [](int place) { return place >= 0; });
    for (size_t k = 0; k < before.size(); ++k)
      if (std::find(kept.begin(), kept.end(), static_cast<int>(k)) == kept.end())
        add(Kind::kRemoved, described(what, before_, before[k]));
    std::vector<int> in_order = kept;
    std::sort(in_order.begin(), in_order.end());
    for (size_t k = 0, number = 0; k < after.size(); ++k) {
      if (there[k] < 0) {
        add(Kind::kAdded, described(what, after_, after[k]));
        continue;
      }
      const ValueId x = before[static_cast<size_t>(there[k])], y = after[k];
      const auto differs = [&](const std::string& how) {
        add(Kind::kChanged, fmt::format("{} {}: {}", what, after_.value(y).name, how));
      };
      if (there[k] != in_order[number++]) differs(fmt::format("number {} -> {}", there[k], k));
      if (before_.value(x).type != after_.value(y).type)
        differs(before_.value(x).type.text() + " -> " + after_.value(y).type.text());
      if (what == "output") compare_results(x, y, differs);
      const auto &first = before_.value(x).constant, &second = after_.value(y).constant;
      if (what == "input" && (first ? !second || first->content_hash() != second->content_hash() : second.has_value()))
        differs("other elements by default");
    }
  }

  template <class Differs>
  void compare_results(ValueId x, ValueId y, const Differs& differs) {
    if (before_of(y) == x || hash_before(x) == hash_after(y)) return;
    if (before_of(y).valid())
      differs("now what " + before_.value(before_of(y)).name + " was");
    else if (after_of(x).valid())
      differs("what it was is now " + after_.value(after_of(x)).name);
    else if (before_.is_constant(x) && after_.is_constant(y) && before_.value(x).type == after_.value(y).type)
      differs("other elements of " + after_.value(y).type.text());
  }

  const Graph &before_, &after_;
  const Ports ports_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<ValueId> to_after_, to_before_;
  const std::vector<Hash128> hashes_before_, hashes_after_;
  std::vector<GraphDiff::Pair> changed_;
  std::vector<NodeId> removed_, added_;
  GraphDiff result_;
};

}  // namespace

GraphDiff diff(const Graph& before, const Graph& after, Ports ports) { return Differ(before, after, ports).run(); }

}  // namespace isomer
