#include "graph/passes/fold_constants.h"

#include <algorithm>
#include <set>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/memory_estimate.h"
#include "graph/movement.h"
#include "graph/rounding.h"
#include "util/check.h"

namespace isomer {
namespace {

/// What one folded value may have at most, and the scalar operations to compute it.
constexpr int64_t kMaxElements = int64_t{1} << 23, kMaxDecoded = int64_t{1} << 26;
constexpr int64_t kMaxWork = int64_t{1} << 28;
/// Bytes of a constant that is picked out of others at places that constants say (relative positions' biases), where
/// constants may grow by it.
constexpr int64_t kMostPicked = int64_t{32} << 20;
/// What computing some of them at once may take in memory. The same on every machine: what is folded is part of a
/// proof.
constexpr int64_t kMaxMemory = int64_t{256} << 20, kMaxMemoryDecoding = int64_t{1} << 30;

int64_t elements_of(const Graph& graph, ValueId id) {
  const ValueType& type = graph.value(id).type;
  const auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt;
  return dims ? element_count(*dims) : 0;
}

int64_t bytes_of(const Graph& graph, ValueId id) {
  return byte_size(graph.value(id).type.dtype, elements_of(graph, id));
}

/// Makes a value that a node computes a constant; the node no longer makes it.
void become_constant(Graph& graph, ValueId id, Tensor tensor) {
  release(graph, id);
  Value& value = graph.edit(id);
  value.content = content_of(tensor);
  value.type = ValueType::tensor(tensor.dtype(), Shape(tensor.dims().begin(), tensor.dims().end()));
  value.constant = std::move(tensor);
}

/// Operations that a program's stages run, roughly; and what a runtime may have of them instead.
struct Work {
  int64_t operations = 0;
  FloatClass fp_class = FloatClass::kExact;
  bool picks = false;  ///< data say which elements it reads
};

bool picks(const te::Expr& body) {
  return te::any_node(body, [](const te::Expr& e) {
    const auto* load = te::as<te::Load>(e);
    return load && std::ranges::any_of(load->index, te::has_load);
  });
}

std::optional<Work> work_of(const Graph& graph, NodeId id) {
  const auto program = graph.node(id).op->compute(context_of(graph, id));
  if (!program.ok()) return std::nullopt;
  Work work{0, class_in_doubles(*program), false};
  for (const te::Stage& stage : program->stages) {
    const auto* map = std::get_if<te::MapReduce>(&stage.body);
    if (!map) {
      // Scans, updates and loop nests: by what they produce.
      const auto dims = constants(stage.shape(0));
      if (!dims) return std::nullopt;
      work.operations += 64 * element_count(*dims);
      continue;
    }
    const Dim operations = element_count(map->axes) * element_count(map->reduce);
    if (!operations.is_constant() || operations.value() > kMaxWork) return std::nullopt;
    work.operations += operations.value();
    work.picks |= std::ranges::any_of(map->bodies, picks);
  }
  return work;
}

/// Nothing where it is too much to fold.
std::optional<Work> work_within_limits(const Graph& graph, NodeId id, bool decodes) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs)
    if (input.valid() && !is_computable(graph.value(input).type.dtype)) return std::nullopt;
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    const ValueType& type = graph.value(output).type;
    const auto dims = type.has_shape() && is_computable(type.dtype) ? constants(*type.shape) : std::nullopt;
    if (!dims || element_count(*dims) > (decodes ? kMaxDecoded : kMaxElements)) return std::nullopt;
  }
  const auto work = work_of(graph, id);
  return work && work->operations <= kMaxWork ? work : std::nullopt;
}

/// Of some values together.
struct Size {
  int64_t bytes = 0, elements = 0;
  bool picks = false;     ///< data say which elements are read on the way
  int64_t quantized = 0;  ///< elements of constants that are dequantized among them, also where others read them
  void add(const Graph& graph, ValueId id) {
    bytes += bytes_of(graph, id);
    elements += elements_of(graph, id);
  }
};

/// Of floats, where it does more than to move elements.
bool may_round(const Graph& graph, NodeId id) {
  const std::vector<ValueId>& outputs = graph.node(id).outputs;
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].valid() && is_float(graph.value(outputs[k]).type.dtype) &&
        !movement_of(graph, id, static_cast<int>(k)))
      return true;
  return false;
}

class ConstantFolder {
 public:
  ConstantFolder(Graph& graph, PassContext& context, bool is_body)
      : graph_(graph), context_(context), uses_(graph.use_counts()), is_body_(is_body) {
    for (const NodeId id : graph.nodes())
      captured_.insert(graph.node(id).captures.begin(), graph.node(id).captures.end());
  }

  Result<int> fold() {
    TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order)
      if (can_compute(id)) computable_.push_back(id);
    if (computable_.empty()) return 0;
    choose();
    if (chosen_.empty()) return 0;
    return evaluate(chosen_);
  }

 private:
  bool marked(ValueId id) const { return static_cast<size_t>(id.index) < known_.size() && known_[id.index]; }
  bool is_known(ValueId id) const { return !id.valid() || graph_.is_constant(id) || marked(id); }

  bool can_compute(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.is_opaque() || !node.op->compute || (context_.options.keep_composites && dequantizes(*node.op)) ||
        !std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return is_known(v); }))
      return false;
    const auto work = work_within_limits(graph_, id, context_.options.decodes);
    if (!work || !context_.allows(work->fp_class)) return false;
    const auto is_captured = [&](ValueId output) { return captured_.contains(output); };
    const bool is_in_body = is_body_ || std::any_of(node.outputs.begin(), node.outputs.end(), is_captured);
    if (!context_.options.rounds_in_bodies && is_in_body && may_round(graph_, id)) return false;
    if (work->picks) picking_.insert(id);
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      if (static_cast<size_t>(output.index) >= known_.size()) known_.resize(uses_.size());
      known_[output.index] = true;
    }
    return true;
  }

  /// From the last computable node to the first: those with a reader that stays are folded where the bytes allow it;
  /// where not they stay, and so their producers have a reader that stays.
  void choose() {
    std::vector<int> left = uses_;  // reads by nodes that stay, or are not decided yet
    for (auto id = computable_.rbegin(); id != computable_.rend(); ++id) {
      const Node& node = graph_.node(*id);
      std::vector<ValueId> needed;
      Size made;
      for (const ValueId output : node.outputs)
        if (output.valid() && left[output.index] > 0) {
          needed.push_back(output);
          made.add(graph_, output);
        }
      if (needed.empty()) {
        drop_reads(node, left);
        continue;
      }
      const Size freed = freed_by(*id, left);
      const int64_t growth = made.bytes - freed.bytes;
      const bool is_decoded =
          context_.options.decodes && (made.elements <= std::max(freed.elements, freed.quantized) ||
                                       (freed.picks && freed.quantized == 0 && made.bytes <= kMostPicked));
      // Numbers that are quantized are so on purpose: runtimes compute with them as they are.
      const int64_t largest = freed.quantized > 0 ? PassOptions().largest_grown : context_.options.largest_grown;
      const bool may_grow =
          is_decoded || is_built(needed, made) || (made.bytes <= largest && context_.may_grow(growth));
      if (growth > 0 && !may_grow) continue;
      chosen_.insert(chosen_.end(), needed.begin(), needed.end());
      drop_reads(node, left);
    }
  }

  bool is_built(const std::vector<ValueId>& values, const Size& size) const {
    const auto is_left = [&](ValueId value) { return context_.options.left_uncomputed.contains(value); };
    return !is_body_ && size.bytes <= context_.options.largest_built && std::ranges::none_of(values, is_left);
  }

  static void drop_reads(const Node& node, std::vector<int>& left) {
    for (const ValueId input : node.inputs)
      if (input.valid()) --left[input.index];
  }

  /// What nobody reads any more of the constants once the node, and what only it needs, is gone.
  Size freed_by(NodeId id, const std::vector<int>& left) const {
    std::vector<std::pair<ValueId, int>> read;
    std::vector<NodeId> pending = {id};
    Size freed;
    while (!pending.empty()) {
      const NodeId each = pending.back();
      const Node& node = graph_.node(each);
      pending.pop_back();
      freed.picks |= picking_.contains(each);
      if (dequantizes(*node.op)) freed.quantized += elements_of(graph_, node.inputs[0]);
      for (const ValueId input : node.inputs) {
        if (!input.valid()) continue;
        auto entry = std::find_if(read.begin(), read.end(), [&](const auto& e) { return e.first == input; });
        if (entry == read.end()) entry = read.insert(read.end(), {input, 0});
        if (++entry->second != left[input.index]) continue;
        if (graph_.is_constant(input))
          freed.add(graph_, input);
        else if (graph_.value(input).producer.valid())
          pending.push_back(graph_.value(input).producer);
      }
    }
    return freed;
  }

  /// A graph of nothing but what these values need.
  Graph cone_of(const std::vector<ValueId>& values) const {
    Graph cone = graph_;
    cone.set_inputs({});
    cone.set_captures({});
    cone.set_outputs(values);
    std::vector<bool> needed(graph_.mark().values, false);
    for (const ValueId id : values) needed[id.index] = true;
    for (auto id = computable_.rbegin(); id != computable_.rend(); ++id) {
      const Node& node = graph_.node(*id);
      if (std::any_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId v) { return v.valid() && needed[v.index]; }))
        for (const ValueId input : node.inputs)
          if (input.valid()) needed[input.index] = true;
    }
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (std::none_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId v) { return v.valid() && needed[v.index]; }))
        cone.remove_node(id);
    }
    return cone;
  }

  Result<int> evaluate(const std::vector<ValueId>& values) {
    InterpretOptions options;
    options.threads = context_.options.threads;
    options.round_values = true;
    const Graph cone = cone_of(values);
    TRY(const GraphMemory memory, memory_to_interpret(cone, true));
    const bool fits = memory.peak <= (context_.options.decodes ? kMaxMemoryDecoding : kMaxMemory);
    if (!fits && values.size() == 1) return 0;
    const auto results = fits ? interpret(cone, {}, options) : unsupported("", "less memory expected");
    if (!results.ok()) {
      // They are too many, or one of them can't be computed (a division by zero, an index out of range): find out
      // which, keep it as it is.
      if (values.size() == 1) return 0;
      int folded = 0;
      const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
      for (const auto& part :
           {std::vector(values.begin(), values.begin() + half), std::vector(values.begin() + half, values.end())}) {
        TRY(const int here, evaluate(part));
        folded += here;
      }
      return folded;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      context_.step("fold constant", label(graph_, graph_.value(values[i]).producer));
      become_constant(graph_, values[i], te::to_tensor((*results)[i]));
    }
    return static_cast<int>(values.size());
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<int> uses_;
  std::vector<bool> known_;
  std::vector<NodeId> computable_;
  std::vector<ValueId> chosen_;
  std::set<NodeId> picking_;  ///< data say which elements they read
  bool is_body_;
  std::set<ValueId> captured_;  ///< by bodies of nodes
};

bool has_real_zero(const Tensor& tensor) {
  bool found = false;
  for (int64_t i = 0; i < tensor.count() && is_float(tensor.dtype()); ++i) found = found || tensor.real(i) == 0;
  return found;
}

/// Nodes that hold their output, and values whose elements inference knows.
Result<int> fold_known(Graph& graph, PassContext& context) {
  int changes = 0;
  const std::vector<int> uses = graph.use_counts();
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.is_opaque()) continue;
    const std::vector<ValueId> outputs = node.outputs;
    if (node.op->constant && outputs[0].valid() && uses[outputs[0].index] > 0) {
      TRY(Tensor held, node.op->constant(context_of(graph, id)));
      context.step("constant node to constant", label(graph, id));
      become_constant(graph, outputs[0], std::move(held));
      ++changes;
      continue;
    }
    for (const ValueId output : outputs) {
      if (!output.valid() || uses[output.index] == 0) continue;
      auto tensor = known_tensor(graph.value(output));
      const auto bytes = tensor ? static_cast<int64_t>(tensor->bytes().size()) : 0;
      if (!tensor || bytes > context.options.small_constant) continue;
      // Contents are integers: they don't know -0.
      const FloatClass fp_class = has_real_zero(*tensor) ? FloatClass::kSignOfZero : FloatClass::kExact;
      if (!context.allows(fp_class) || !context.may_grow(bytes)) continue;
      context.step("fold known content", label(graph, id), fp_class);
      become_constant(graph, output, std::move(*tensor));
      ++changes;
    }
  }
  return changes;
}

Result<int> fold(Graph& graph, PassContext& context, bool is_body) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return fold(body, context, true); }));
  TRY(const int known, fold_known(graph, context));
  TRY(const int computed, ConstantFolder(graph, context, is_body).fold());
  return changes + known + computed;
}

}  // namespace

bool can_be_folded(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return !node.is_opaque() && node.op->compute && work_within_limits(graph, id, false);
}

Result<int> fold_constants(Graph& graph, PassContext& context) { return fold(graph, context, false); }

}  // namespace isomer
