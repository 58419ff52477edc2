#include "graph/hash.h"

#include <algorithm>
#include <bit>
#include <map>

#include "graph/algorithms.h"
#include "graph/op_def.h"
#include "util/check.h"

namespace isomer {
namespace {

enum class Leaf : uint64_t { kInput = 1, kConstant, kCapture, kUndefined, kOmitted, kNode, kUnique };

Hasher tagged(Leaf leaf) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(leaf));
  return hasher;
}

/// Symbols in order of first appearance, so that "batch" and "N" at the same places are the same.
class Symbols {
 public:
  /// Those that are an input's dim by themselves come first: the order of terms in a sum follows their names.
  explicit Symbols(const Graph& graph) {
    for (const ValueId input : graph.inputs())
      if (const auto& shape = graph.value(input).type.shape)
        for (const Dim& dim : *shape)
          if (const te::Expr expr = dim.expr(); const te::Symbol* symbol = te::as<te::Symbol>(expr))
            number(symbol->name);
  }

  Hash128 hash(const Dim& dim) {
    const te::Expr renamed = te::transform(dim.expr(), [&](const te::Expr& expr) {
      const te::Symbol* symbol = te::as<te::Symbol>(expr);
      return symbol ? te::symbol(fmt::format("s{:06}", number(symbol->name))) : te::Expr();
    });
    return Dim(renamed).expr()->hash;
  }

  void add(Hasher& hasher, const ValueType& type) {
    hasher.add(static_cast<uint64_t>(type.kind)).add(static_cast<uint64_t>(type.dtype)).add(type.opaque);
    hasher.add(type.shape ? type.shape->size() + 1 : 0);
    if (type.shape)
      for (const Dim& dim : *type.shape) hasher.add(hash(dim));
  }

 private:
  uint64_t number(const std::string& name) { return numbers_.emplace(name, numbers_.size()).first->second; }
  std::map<std::string, uint64_t> numbers_;
};

class GraphHasher {
 public:
  /// `captures`: hashes of the outer values, in the order of graph.captures(). `within`: hashes are compared within
  /// this graph only, so that a constant that no other has the type of need not be read.
  GraphHasher(const Graph& graph, const std::vector<Hash128>& captures, bool within = false) : graph_(graph) {
    const std::vector<ValueId> values = graph.values();
    hashes_.resize(values.empty() ? 0 : values.back().index + 1);
    std::map<std::pair<DataType, Dims>, int> like;
    for (const ValueId id : values)
      if (const auto& constant = graph.value(id).constant) ++like[{constant->dtype(), constant->dims()}];
    for (const ValueId id : values) {
      const auto& constant = graph.value(id).constant;
      const bool unique = within && constant && like[{constant->dtype(), constant->dims()}] == 1;
      hashes_[id.index] =
          unique ? tagged(Leaf::kUnique).add(static_cast<uint64_t>(id.index)).finish() : source_hash(graph.value(id));
    }
    Symbols symbols(graph);
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value& input = graph.value(graph.inputs()[i]);
      Hasher hasher = tagged(Leaf::kInput);
      hasher.add(i);
      symbols.add(hasher, input.type);
      if (input.constant) hasher.add(input.constant->content_hash());
      hashes_[graph.inputs()[i].index] = hasher.finish();
    }
    for (size_t i = 0; i < graph.captures().size(); ++i) {
      Hasher hasher = tagged(Leaf::kCapture);
      if (i < captures.size())
        hasher.add(captures[i]);
      else
        hasher.add(i);
      hashes_[graph.captures()[i].index] = hasher.finish();
    }
    auto order = topological_order(graph);
    CHECK(order.ok()) << order.error().message();
    order_ = std::move(*order);
    for (const NodeId id : order_) absorb(id);
  }

  const std::vector<Hash128>& values() const { return hashes_; }

  /// Over inputs, outputs and the multiset of nodes, each seen from below (what it computes) and from above (who reads
  /// it).
  Hash128 finish() const {
    Hasher hasher;
    hasher.add(graph_.inputs().size());
    for (const ValueId input : graph_.inputs()) hasher.add(hashes_[input.index]);
    hasher.add(graph_.outputs().size());
    for (const ValueId output : graph_.outputs()) hasher.add(hash_of(output));
    std::vector<Hash128> nodes = seen_from_readers();
    std::sort(nodes.begin(), nodes.end());
    hasher.add(nodes.size());
    for (const Hash128& node : nodes) hasher.add(node);
    return hasher.finish();
  }

 private:
  Hash128 hash_of(ValueId id) const { return id.valid() ? hashes_[id.index] : tagged(Leaf::kOmitted).finish(); }

  static Hash128 source_hash(const Value& value) {
    if (!value.constant) return tagged(Leaf::kUndefined).finish();
    return tagged(Leaf::kConstant).add(value.constant->content_hash()).finish();
  }

  void absorb(NodeId id) {
    const Node& node = graph_.node(id);
    Hasher hasher = tagged(Leaf::kNode);
    hasher.add(node.domain).add(node.op_type);
    size_t last = node.inputs.size();
    while (last > 0 && !node.inputs[last - 1].valid()) --last;
    hasher.add(last);
    for (size_t i = 0; i < last; ++i) hasher.add(hash_of(node.inputs[i]));
    if (node.is_opaque() || (!node.op->outputs.empty() && node.op->outputs.back().arity == Parameter::Arity::kVariadic))
      hasher.add(node.outputs.size());
    std::vector<Hash128> captures;
    for (const ValueId capture : node.captures) captures.push_back(hash_of(capture));
    for (const auto& [name, attribute] : node.attributes)
      if (!is_default(node, name, attribute)) hasher.add(name).add(hash_attribute(attribute, captures));
    const Hash128 hash = hasher.finish();
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) hashes_[node.outputs[i].index] = Hasher().add(hash).add(i).finish();
    if (static_cast<size_t>(id.index) >= node_hashes_.size()) node_hashes_.resize(id.index + 1);
    node_hashes_[id.index] = hash;
  }

  static bool is_default(const Node& node, const std::string& name, const Attribute& attribute) {
    if (node.is_opaque()) return false;
    for (const AttributeDef& def : node.op->attributes)
      if (def.name == name) return def.fallback && hash_attribute(*def.fallback, {}) == hash_attribute(attribute, {});
    return false;
  }

 public:
  static Hash128 hash_attribute(const Attribute& attribute, const std::vector<Hash128>& captures) {
    Hasher hasher;
    hasher.add(attribute.index());
    const auto add = te::Overloaded{
        [&](int64_t value) { hasher.add(static_cast<uint64_t>(value)); },
        [&](float value) { hasher.add(uint64_t{std::bit_cast<uint32_t>(value)}); },
        [&](const std::string& value) { hasher.add(std::string_view(value)); },
        [&](const Tensor& value) { hasher.add(value.content_hash()); },
        [&](const GraphPtr& value) { hasher.add(GraphHasher(*value, captures).finish()); },
        [&](const RawAttribute& value) { hasher.add(std::string_view(value.bytes)); },
    };
    std::visit(te::Overloaded{add,
                              [&]<class T>(const std::vector<T>& list) {
                                hasher.add(list.size());
                                for (const T& item : list) add(item);
                              }},
               attribute);
    return hasher.finish();
  }

 private:
  /// For each node its hash and a hash of its readers, theirs included, and at which places they read.
  std::vector<Hash128> seen_from_readers() const {
    std::vector<std::vector<Hash128>> uses(hashes_.size());
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      if (graph_.outputs()[i].valid())
        uses[graph_.outputs()[i].index].push_back(tagged(Leaf::kUndefined).add(i).finish());
    std::vector<Hash128> nodes;
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const Node& node = graph_.node(*id);
      Hasher hasher;
      hasher.add(node_hashes_[id->index]);
      for (const ValueId output : node.outputs) {
        if (!output.valid()) continue;
        std::vector<Hash128>& readers = uses[output.index];
        std::sort(readers.begin(), readers.end());
        hasher.add(readers.size());
        for (const Hash128& reader : readers) hasher.add(reader);
      }
      const Hash128 seen = hasher.finish();
      nodes.push_back(seen);
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i].valid()) uses[node.inputs[i].index].push_back(Hasher().add(seen).add(i).finish());
      for (const ValueId capture : node.captures) uses[capture.index].push_back(Hasher().add(seen).finish());
    }
    return nodes;
  }

  const Graph& graph_;
  std::vector<NodeId> order_;
  std::vector<Hash128> hashes_;
  std::vector<Hash128> node_hashes_;
};

}  // namespace

Hash128 structural_hash(const Graph& graph) { return GraphHasher(graph, {}).finish(); }
std::vector<Hash128> value_hashes(const Graph& graph) { return GraphHasher(graph, {}, true).values(); }
Hash128 attribute_hash(const Attribute& attribute) { return GraphHasher::hash_attribute(attribute, {}); }

}  // namespace isomer
