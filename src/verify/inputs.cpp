#include "verify/inputs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/bind.h"
#include "graph/infer.h"
#include "util/random.h"

namespace isomer {
namespace {

constexpr int64_t kDefaultIntegers = 8;
/// How many readers deep a value is followed.
constexpr int kMaxDepth = 16;

bool loads_input(const te::Expr& expr, int input) {
  bool found = false;
  te::for_each_node(expr, [&](const te::Expr& e) {
    const te::Load* load = te::as<te::Load>(e);
    found |= load && load->buffer.kind == te::BufferRef::Kind::kInput && load->buffer.index == input;
  });
  return found;
}

/// Only this input's elements, moved or cast: the output holds the same values.
bool moves_input(const te::Expr& body, int input) {
  const te::Expr* expr = &body;
  while (const te::Cast* cast = te::as<te::Cast>(*expr)) expr = &cast->operand;
  const te::Load* load = te::as<te::Load>(*expr);
  return load && load->buffer.kind == te::BufferRef::Kind::kInput && load->buffer.index == input;
}

class BoundSearch {
 public:
  explicit BoundSearch(const Graph& graph) : graph_(graph), consumers_(graph.consumers()) {}

  std::optional<int64_t> of(ValueId value, int depth = 0) {
    if (depth > kMaxDepth) return std::nullopt;
    std::optional<int64_t> bound;
    for (const NodeId reader : consumers_[value.index]) tighten(bound, through(reader, value, depth));
    return bound;
  }

 private:
  static void tighten(std::optional<int64_t>& bound, std::optional<int64_t> other) {
    if (other) bound = bound ? std::min(*bound, *other) : *other;
  }

  std::optional<int64_t> through(NodeId reader, ValueId value, int depth) {
    const Node& node = graph_.node(reader);
    if (node.is_opaque() || !node.op->compute) return std::nullopt;
    const OpContext context = context_of(graph_, reader);
    for (int i = 0; i < context.input_count(); ++i)
      if (context.has_input(i) && !context.type(i).has_shape()) return std::nullopt;
    const auto program = node.op->compute(context);
    if (!program.ok()) return std::nullopt;
    std::optional<int64_t> bound;
    for (int i = 0; i < context.input_count(); ++i) {
      if (node.inputs[i] != value) continue;
      for (const te::Stage& stage : program->stages)
        if (const auto* body = std::get_if<te::MapReduce>(&stage.body))
          for (const te::Expr& expr : body->bodies) {
            tighten(bound, indexed_axis(context, expr, i));
            if (moves_input(expr, i) && program->stages.size() == 1) tighten(bound, of(node.outputs[0], depth + 1));
          }
    }
    return bound;
  }

  static std::optional<int64_t> indexed_axis(const OpContext& context, const te::Expr& body, int input) {
    std::optional<int64_t> bound;
    te::for_each_node(body, [&](const te::Expr& e) {
      const te::Load* load = te::as<te::Load>(e);
      if (!load || load->buffer.kind != te::BufferRef::Kind::kInput) return;
      for (size_t axis = 0; axis < load->index.size(); ++axis)
        if (loads_input(load->index[axis], input))
          tighten(bound, context.dim(load->buffer.index, static_cast<int>(axis)).constant());
    });
    return bound;
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> consumers_;
};

Tensor fill_floats(DataType dtype, const Dims& dims, const std::pair<double, double>* range, Fill fill,
                   Random& random) {
  std::vector<double> values(element_count(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (fill) {
      case Fill::kRandom: values[i] = range ? random.uniform(range->first, range->second) : random.normal(); break;
      case Fill::kZeros: values[i] = 0; break;
      case Fill::kOnes: values[i] = 1; break;
      case Fill::kArange: values[i] = static_cast<double>(i); break;
    }
  }
  return Tensor::from_doubles(dtype, dims, values);
}

Tensor fill_integers(DataType dtype, const Dims& dims, int64_t low, int64_t bound, Fill fill, Random& random) {
  std::vector<int64_t> values(element_count(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (fill) {
      case Fill::kRandom: values[i] = low + static_cast<int64_t>(random.below(std::max<int64_t>(bound, 1))); break;
      case Fill::kZeros: values[i] = 0; break;
      case Fill::kOnes: values[i] = 1; break;
      case Fill::kArange: values[i] = static_cast<int64_t>(i); break;
    }
  }
  return Tensor::from_ints(dtype, dims, values);
}

}  // namespace

std::optional<int64_t> index_bound(const Graph& graph, ValueId value) { return BoundSearch(graph).of(value); }

Result<std::vector<Tensor>> generate_inputs(const Graph& graph, const FillOptions& options) {
  if (const auto unbound = free_dims(graph); !unbound.empty())
    return unsupported("inputs", "concrete dims expected, {} found; bind them with --dim {}=SIZE",
                       fmt::join(unbound, ", "), unbound.front());
  BoundSearch bounds(graph);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    if (value.constant) {
      tensors.push_back(*value.constant);
      continue;
    }
    if (!value.type.has_shape())
      return unsupported(value.name, "an input of known shape expected, {} found; give it with --input-shapes",
                         value.type.text());
    const DataType dtype = value.type.dtype;
    if (!is_computable(dtype))
      return unsupported(value.name, "an input of a number type expected, {} found", name(dtype));
    Random random(options.seed * 0x100000001b3ULL + i);
    const Dims dims = *constants(*value.type.shape);
    auto range = options.ranges.find(value.name);
    if (range == options.ranges.end() && is_float(dtype)) range = options.ranges.find("");
    const bool ranged = range != options.ranges.end();
    if (is_float(dtype)) {
      tensors.push_back(fill_floats(dtype, dims, ranged ? &range->second : nullptr, options.fill, random));
    } else if (ranged) {
      const auto bounded = [](double value) { return static_cast<int64_t>(std::clamp(value, -0x1p61, 0x1p61)); };
      const int64_t low = bounded(range->second.first), high = bounded(range->second.second);
      tensors.push_back(fill_integers(dtype, dims, low, high - low + 1, options.fill, random));
    } else {
      const auto known = options.bounds.find(value.name);
      const int64_t other = known == options.bounds.end() ? kDefaultIntegers : known->second;
      const int64_t bound = dtype == DataType::kBool ? 2 : bounds.of(graph.inputs()[i]).value_or(other);
      tensors.push_back(fill_integers(dtype, dims, 0, bound, options.fill, random));
    }
  }
  return tensors;
}

}  // namespace isomer
