#include "graph/memory_estimate.h"

#include <algorithm>
#include <set>

#include "graph/infer.h"
#include "graph/run_order.h"
#include "graph/te/integer.h"
#include "graph/te/interpret.h"

namespace isomer {
namespace {

using te::saturating_add;

int64_t packed(DataType dtype, int64_t count) {
  return te::saturate(static_cast<__int128>(std::max(bit_width(dtype), 1)) * count / 8);
}

/// How the values of a run lie in memory.
enum class Values : uint8_t { kDoubles, kOwnTypes };

class Estimate {
 public:
  Estimate(const Graph& graph, Values values, bool rounds) : graph_(graph), values_(values), rounds_(rounds) {}

  Result<GraphMemory> run() {
    TRY(const RunOrder order, run_order(graph_));
    std::vector<int> uses = order.uses;
    for (const ValueId input : graph_.inputs())
      if (!graph_.value(input).constant) result_.inputs = saturating_add(result_.inputs, given_bytes(input));
    live_ = result_.inputs;
    note_peak({});
    for (const NodeId id : order.nodes) {
      const Node& node = graph_.node(id);
      int64_t made = 0, largest = 0;
      for (const ValueId output : node.outputs) {
        if (!output.valid()) continue;
        made = saturating_add(made, bytes_of(output));
        largest = std::max(largest, bytes_of(output));
      }
      TRY(const int64_t inside, inside_of(id));
      const int64_t before = live_;
      live_ = saturating_add(live_, made);
      // Rounding makes one output anew.
      const int64_t rounding = rounds_ ? largest : 0;
      note_peak(id, std::max(saturating_add(before, inside), saturating_add(live_, rounding)));
      for (const auto* list : {&node.inputs, &node.captures})
        for (const ValueId value : *list)
          if (value.valid()) release(value, --uses[value.index]);
      for (const ValueId value : node.outputs)
        if (value.valid()) release(value, uses[value.index]);
    }
    for (const ValueId output : graph_.outputs()) result_.outputs = saturating_add(result_.outputs, bytes_of(output));
    return std::move(result_);
  }

 private:
  std::optional<int64_t> count_of(ValueId id) const {
    const ValueType& type = graph_.value(id).type;
    return type.has_shape() ? element_count(*type.shape).constant() : std::nullopt;
  }

  int64_t given_bytes(ValueId id) {
    const auto count = count_of(id);
    result_.is_complete &= count.has_value();
    return count ? packed(graph_.value(id).type.dtype, *count) : 0;
  }

  int64_t bytes_of(ValueId id) {
    if (values_ == Values::kOwnTypes || !graph_.value(id).producer.valid()) return given_bytes(id);
    const auto count = count_of(id);
    result_.is_complete &= count.has_value();
    return count ? std::min(te::Array::bytes_for(*count), te::kSaturated) : 0;
  }

  /// What saturated stays: nothing is taken from it.
  void release(ValueId id, int uses_left) {
    if (uses_left == 0 && graph_.value(id).producer.valid() && live_ < te::kSaturated) live_ -= bytes_of(id);
  }

  void note_peak(NodeId id) { note_peak(id, live_); }
  void note_peak(NodeId id, int64_t bytes) {
    if (bytes <= result_.peak) return;
    result_.peak = bytes;
    result_.where = id.valid() ? label(graph_, id) : "";
  }

  /// Of the node while it runs, its outputs included. Constants that it reads are counted as weights.
  Result<int64_t> inside_of(NodeId id) {
    const Node& node = graph_.node(id);
    for (const ValueId input : node.inputs)
      if (input.valid() && graph_.is_constant(input) && counted_.insert(input).second)
        result_.weights =
            saturating_add(result_.weights, static_cast<int64_t>(graph_.value(input).constant->bytes().size()));
    int64_t bodies = 0;
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* body = std::get_if<GraphPtr>(&attribute)) {
        TRY(const GraphMemory memory, Estimate(**body, values_, rounds_).run());
        result_.weights = saturating_add(result_.weights, memory.weights);
        result_.is_complete &= memory.is_complete;
        bodies = std::max(bodies, memory.peak);
      }
    if (node.is_opaque() || node.op->control || values_ == Values::kOwnTypes) {
      int64_t made = 0;
      for (const ValueId output : node.outputs)
        if (output.valid()) made = saturating_add(made, bytes_of(output));
      // What a loop's iterations made is stacked in the end.
      const bool stacks = !node.is_opaque() && node.op->control && !std::holds_alternative<BranchForm>(node.op->form);
      return saturating_add(bodies, stacks ? saturating_add(made, made) : made);
    }
    const OpContext context = context_of(graph_, id);
    for (int i = 0; i < context.input_count(); ++i)
      if (context.has_input(i) && !context.type(i).has_shape()) {
        result_.is_complete = false;
        return int64_t{0};
      }
    const auto program = node.op->compute(context);
    const te::ProgramMemory memory = program.ok() ? te::memory_of(*program) : te::ProgramMemory{0, false};
    result_.is_complete &= memory.is_complete;
    return memory.peak;
  }

  const Graph& graph_;
  const Values values_;
  const bool rounds_;
  GraphMemory result_;
  int64_t live_ = 0;
  std::set<ValueId> counted_;
};

}  // namespace

Result<GraphMemory> memory_to_interpret(const Graph& graph, bool round_values) {
  return Estimate(graph, Values::kDoubles, round_values).run();
}
Result<GraphMemory> memory_to_run(const Graph& graph) { return Estimate(graph, Values::kOwnTypes, false).run(); }

Result<void> check_fits(const GraphMemory& memory, MemoryLimit limit, std::string_view purpose) {
  if (limit.allows(memory.weights, memory.peak)) return {};
  return limit.refusal(memory.peak,
                       memory.where.empty() ? std::string(purpose) : fmt::format("{} (at {})", purpose, memory.where));
}

}  // namespace isomer
