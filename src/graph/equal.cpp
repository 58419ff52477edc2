#include "graph/equal.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "graph/hash.h"
#include "graph/op_def.h"

namespace isomer {
namespace {

using Place = std::optional<std::string>;

/// The symbolic dims of two graphs, in pairs.
class PairedSymbols {
 public:
  /// Pairs those that are dims by themselves.
  void meet(const ValueType& first, const ValueType& second) {
    if (!first.shape || !second.shape) return;
    for (size_t k = 0; k < std::min(first.shape->size(), second.shape->size()); ++k) {
      const auto* a = te::as<te::Symbol>((*first.shape)[k].expr());
      const auto* b = te::as<te::Symbol>((*second.shape)[k].expr());
      if (a && b && !first_of_.contains(b->name) && second_of_.try_emplace(a->name, b->name).second)
        first_of_.emplace(b->name, a->name);
    }
  }

  bool same(const ValueType& first, const ValueType& second) const {
    if (first.kind != second.kind || first.dtype != second.dtype || first.opaque != second.opaque ||
        first.shape.has_value() != second.shape.has_value())
      return false;
    return !first.shape || std::equal(first.shape->begin(), first.shape->end(), second.shape->begin(),
                                      second.shape->end(), [&](const Dim& a, const Dim& b) { return same(a, b); });
  }

 private:
  bool same(const Dim& first, const Dim& second) const {
    const te::Expr renamed = te::transform(first.expr(), [&](const te::Expr& expr) {
      const te::Symbol* symbol = te::as<te::Symbol>(expr);
      const auto known = symbol ? second_of_.find(symbol->name) : second_of_.end();
      return known == second_of_.end() ? te::Expr() : te::symbol(known->second);
    });
    return Dim(renamed) == second;
  }

  std::map<std::string, std::string> second_of_, first_of_;
};

bool same_number(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

/// What stands for what in two graphs, from their outputs down.
class Pairing {
 public:
  /// `outer`: of the values that the captures of two bodies stand for.
  Pairing(const Graph& first, const Graph& second, const SameValue& outer)
      : first_(first), second_(second), outer_(outer) {}

  Place run() {
    if (first_.inputs().size() != second_.inputs().size())
      return fmt::format("{} inputs expected, {} found", first_.inputs().size(), second_.inputs().size());
    if (first_.outputs().size() != second_.outputs().size())
      return fmt::format("{} outputs expected, {} found", first_.outputs().size(), second_.outputs().size());
    for (size_t k = 0; k < first_.inputs().size(); ++k)
      symbols_.meet(first_.value(first_.inputs()[k]).type, second_.value(second_.inputs()[k]).type);
    for (size_t k = 0; k < first_.inputs().size(); ++k) {
      const ValueId a = first_.inputs()[k], b = second_.inputs()[k];
      const Value &x = first_.value(a), &y = second_.value(b);
      if (!symbols_.same(x.type, y.type))
        return fmt::format("input {}: {} expected, {} found", y.name, x.type.text(), y.type.text());
      if (x.constant.has_value() != y.constant.has_value() || (x.constant && !x.constant->same_contents(*y.constant)))
        return fmt::format("input {}: another default", y.name);
      if (!pair(a, b)) return fmt::format("input {} stands for two", y.name);
    }
    for (size_t k = 0; k < first_.outputs().size(); ++k)
      if (Place place = meet(first_.outputs()[k], second_.outputs()[k])) return place;
    if (Place place = finish()) return place;
    return meet_dead_nodes();
  }

 private:
  static bool is_in(const std::vector<ValueId>& list, ValueId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  }

  bool pair(ValueId first, ValueId second) {
    const auto [a, is_new] = second_of_.try_emplace(first, second);
    const auto [b, is_other_new] = first_of_.try_emplace(second, first);
    return is_new == is_other_new && a->second == second && b->second == first;
  }

  std::string place(ValueId second) const {
    const Value& value = second_.value(second);
    return value.producer.valid() ? label(second_, value.producer) : "'" + value.name + "'";
  }

  /// Two values that have to be the same; what makes them is looked at later.
  Place meet(ValueId first, ValueId second) {
    if (!first.valid() && !second.valid()) return {};
    if (!first.valid() || !second.valid()) return std::string("a value is left out in one of them only");
    const bool is_known = second_of_.contains(first);
    if (!pair(first, second)) return place(second) + ": read where another value is expected";
    if (!is_known) pending_.emplace_back(first, second);
    return {};
  }

  Place finish() {
    while (!pending_.empty()) {
      const auto [first, second] = pending_.back();
      pending_.pop_back();
      if (Place place = look_below(first, second)) return place;
    }
    return {};
  }

  Place look_below(ValueId first, ValueId second) {
    const auto& captures = first_.captures();
    const auto& other_captures = second_.captures();
    const auto captured = std::find(captures.begin(), captures.end(), first);
    const auto other = std::find(other_captures.begin(), other_captures.end(), second);
    if ((captured == captures.end()) != (other == other_captures.end())) return place(second) + ": another value";
    if (captured != captures.end())
      return outer_(ValueId{static_cast<int32_t>(captured - captures.begin())},
                    ValueId{static_cast<int32_t>(other - other_captures.begin())})
                 ? Place()
                 : place(second) + ": another value of the graph around it";
    const Value &x = first_.value(first), &y = second_.value(second);
    if (x.constant.has_value() != y.constant.has_value() || x.producer.valid() != y.producer.valid())
      return place(second) + ": computed otherwise";
    if (x.constant) return x.constant->same_contents(*y.constant) ? Place() : place(second) + ": other elements";
    if (!x.producer.valid()) return {};
    if (x.output_index != y.output_index) return place(second) + ": another output of its node";
    return meet_nodes(x.producer, y.producer);
  }

  Place meet_nodes(NodeId first, NodeId second) {
    const auto [a, is_new] = node_of_.try_emplace(first, second);
    if (!is_new) return a->second == second ? Place() : label(second_, second) + ": shared otherwise";
    const Node &x = first_.node(first), &y = second_.node(second);
    Place below;
    const SameValue same = [&](ValueId p, ValueId q) {
      if (!below) below = meet(p, q);
      return !below;
    };
    if (do_the_same(x, y, same)) return {};
    if (below) return below;
    return x.domain == y.domain && x.op_type == y.op_type
               ? fmt::format("{}: other attributes or operands", label(second_, second))
               : fmt::format("{}: {} expected", label(second_, second), x.op_type);
  }

  /// Those that no output needs: the ones that nobody reads, in an order that names do not decide.
  Place meet_dead_nodes() {
    const std::vector<NodeId> dead = sinks(first_, node_of_.size()), others = sinks(second_, node_of_.size());
    if (dead.size() != others.size())
      return fmt::format("{} nodes that nobody reads expected, {} found", dead.size(), others.size());
    for (size_t k = 0; k < dead.size(); ++k)
      if (Place place = meet_nodes(dead[k], others[k])) return place;
    if (Place place = finish()) return place;
    const size_t count = first_.nodes().size(), found = second_.nodes().size();
    if (count != found || node_of_.size() != count) return fmt::format("{} nodes expected, {} found", count, found);
    return {};
  }

  /// Nothing where all nodes were met.
  static std::vector<NodeId> sinks(const Graph& graph, size_t met) {
    std::vector<NodeId> result;
    const std::vector<NodeId> nodes = graph.nodes();
    if (nodes.size() == met) return result;
    const std::vector<int> uses = graph.use_counts();
    for (const NodeId id : nodes) {
      const auto& outputs = graph.node(id).outputs;
      const auto is_read = [&](ValueId value) {
        return value.valid() && (uses[value.index] > 0 || is_in(graph.outputs(), value));
      };
      if (std::none_of(outputs.begin(), outputs.end(), is_read)) result.push_back(id);
    }
    const std::vector<Hash128> hashes = value_hashes(graph);
    const auto key = [&](NodeId id) {
      const Node& node = graph.node(id);
      for (const ValueId output : node.outputs)
        if (output.valid()) return std::pair(node.op_type, hashes[output.index]);
      return std::pair(node.op_type, Hash128());
    };
    std::sort(result.begin(), result.end(), [&](NodeId a, NodeId b) { return key(a) < key(b); });
    return result;
  }

  const Graph& first_;
  const Graph& second_;
  const SameValue& outer_;
  PairedSymbols symbols_;
  std::map<ValueId, ValueId> second_of_, first_of_;
  std::map<NodeId, NodeId> node_of_;
  std::vector<std::pair<ValueId, ValueId>> pending_;
};

bool same_attribute(const Attribute& first, const Attribute& second, const SameValue& captured) {
  const auto same = te::Overloaded{
      [](float a, float b) { return same_number(a, b); },
      [](const Tensor& a, const Tensor& b) { return a.same_contents(b); },
      [&](const GraphPtr& a, const GraphPtr& b) { return !Pairing(*a, *b, captured).run(); },
      [](const auto& a, const auto& b) { return a == b; },
  };
  return first.index() == second.index() &&
         std::visit(
             [&]<class T>(const T& a) {
               const T& b = std::get<T>(second);
               if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>)
                 return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
               else
                 return same(a, b);
             },
             first);
}

const Attribute* attribute_or_default(const Node& node, const std::string& name) {
  if (const auto found = node.attributes.find(name); found != node.attributes.end()) return &found->second;
  if (node.is_opaque()) return nullptr;
  for (const AttributeDef& def : node.op->attributes)
    if (def.name == name) return def.fallback ? &*def.fallback : nullptr;
  return nullptr;
}

}  // namespace

size_t count_given(const std::vector<ValueId>& values) {
  size_t count = values.size();
  while (count > 0 && !values[count - 1].valid()) --count;
  return count;
}

bool has_negative_zero(const Attribute& attribute) {
  const auto is_one = [](float number) { return number == 0 && std::signbit(number); };
  if (const auto* number = std::get_if<float>(&attribute)) return is_one(*number);
  const auto* numbers = std::get_if<std::vector<float>>(&attribute);
  return numbers && std::any_of(numbers->begin(), numbers->end(), is_one);
}

std::vector<const Graph*> bodies_of(const Attribute& attribute) {
  std::vector<const Graph*> result;
  if (const auto* one = std::get_if<GraphPtr>(&attribute)) result.push_back(one->get());
  if (const auto* several = std::get_if<std::vector<GraphPtr>>(&attribute))
    for (const GraphPtr& each : *several) result.push_back(each.get());
  return result;
}

bool has_opaque(const Node& node) {
  const auto holds_one = [](const Graph* body) {
    const std::vector<NodeId> nodes = body->nodes();
    return std::ranges::any_of(nodes, [&](NodeId id) { return has_opaque(body->node(id)); });
  };
  return node.is_opaque() || std::ranges::any_of(node.attributes, [&](const auto& attribute) {
           return std::ranges::any_of(bodies_of(attribute.second), holds_one);
         });
}

bool do_the_same(const Node& first, const Node& second, const SameValue& same) {
  if (first.domain != second.domain || first.op_type != second.op_type || first.is_opaque() != second.is_opaque())
    return false;
  const bool outputs_count = first.is_opaque() || (!first.op->outputs.empty() &&
                                                   first.op->outputs.back().arity == Parameter::Arity::kVariadic);
  if (outputs_count && first.outputs.size() != second.outputs.size()) return false;
  // Captures are numbered; a body's are met by number.
  const SameValue captured = [&](ValueId a, ValueId b) {
    return same(first.captures[static_cast<size_t>(a.index)], second.captures[static_cast<size_t>(b.index)]);
  };
  for (const auto* node : {&first, &second})
    for (const auto& [name, attribute] : node->attributes) {
      const Attribute* a = attribute_or_default(first, name);
      const Attribute* b = attribute_or_default(second, name);
      if (!a || !b || !same_attribute(*a, *b, captured)) return false;
    }
  const size_t count = count_given(first.inputs);
  if (count != count_given(second.inputs)) return false;
  for (size_t k = 0; k < count; ++k)
    if (!same(first.inputs[k], second.inputs[k])) return false;
  return true;
}

std::optional<std::string> difference(const Graph& first, const Graph& second) {
  const SameValue by_number = [](ValueId a, ValueId b) { return a == b; };
  return Pairing(first, second, by_number).run();
}

Node without_names(const Node& node) {
  Node result;
  result.op = node.op;
  result.domain = node.domain;
  result.op_type = node.op_type;
  for (size_t k = 0; k < count_given(node.inputs); ++k)
    result.inputs.push_back(node.inputs[k].valid() ? ValueId{0} : ValueId{});
  result.outputs.assign(node.outputs.size(), ValueId{0});
  for (const auto& [name, attribute] : node.attributes) {
    const std::vector<const Graph*> bodies = bodies_of(attribute);
    std::vector<int64_t> sizes;
    for (const Graph* body : bodies) {
      sizes.push_back(static_cast<int64_t>(body->inputs().size()));
      sizes.push_back(static_cast<int64_t>(body->outputs().size()));
    }
    result.attributes.emplace(name, bodies.empty() ? attribute : Attribute(std::move(sizes)));
  }
  return result;
}

}  // namespace isomer
