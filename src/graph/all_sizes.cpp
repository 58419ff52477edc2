#include "graph/all_sizes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "graph/each_dim.h"
#include "graph/infer.h"
#include "graph/node_program.h"
#include "graph/te/symbols.h"

namespace isomer {
namespace {

/// Numbers in the place of sizes: primes, so that products tell what they were made of, that differ by less than 40 and
/// by more, so that what is added to one does not make the other of it both times.
struct Choice {
  int64_t first, step;
};
constexpr std::array<Choice, 2> kChoices = {{{127, 1}, {211, 40}}};

bool is_prime(int64_t number) {
  for (int64_t k = 2; k * k <= number; ++k)
    if (number % k == 0) return false;
  return true;
}

/// So many, which none of the constants is a multiple of.
std::vector<int64_t> numbers(size_t count, const Choice& choice, const std::vector<Dim>& constants) {
  std::vector<int64_t> result;
  for (int64_t next = choice.first; result.size() < count; ++next) {
    const auto is_multiple = [&](const Dim& constant) { return !constant.is(0) && constant.value() % next == 0; };
    if (!is_prime(next) || std::ranges::any_of(constants, is_multiple)) continue;
    result.push_back(next);
    next += choice.step - 1;
  }
  return result;
}

std::optional<Dim> count_of(std::span<const ValueType> types) {
  Dim result = 0;
  for (const ValueType& type : types) {
    if (!type.has_shape()) return std::nullopt;
    result = result + element_count(*type.shape);
  }
  return result;
}

/// Of an operand of this size where the output has the axes; or the index says itself that the size may be 1.
bool is_read_in_place(const te::Expr& index, const Dim& size, const Shape& axes) {
  if (te::as_constant(index) == 0) return true;
  const auto* either = te::as<te::Select>(index);
  const auto* axis = te::as<te::Var>(either ? either->otherwise : index);
  if (!axis || axis->kind != te::VarKind::kSpatial) return false;
  return either ? index == te::select(te::equal(size.expr(), 1), te::index(0), either->otherwise)
                : axes[static_cast<size_t>(axis->index)] == size;
}

/// Of an operand, at each axis.
bool is_read_in_place(const te::Load& load, const Graph& graph, const Node& node, const Shape& axes) {
  if (load.buffer.kind != te::BufferRef::Kind::kInput) return false;
  const Shape& shape = *graph.value(node.inputs[static_cast<size_t>(load.buffer.index)]).type.shape;
  return std::ranges::equal(
      load.index, shape, [&](const te::Expr& index, const Dim& size) { return is_read_in_place(index, size, axes); });
}

/// Whether the row reads operands in place alone: what is broadcast so is told apart from what is not.
bool only_broadcasts(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto program = program_of(graph, id);
  const auto* map =
      program && program->stages.size() == 1 ? std::get_if<te::MapReduce>(&program->stages[0].body) : nullptr;
  const auto reads_elsewhere = [&](const te::Expr& e) {
    const auto* load = te::as<te::Load>(e);
    return load && !is_read_in_place(*load, graph, node, map->axes);
  };
  return map && map->reduce.empty() &&
         std::ranges::none_of(map->bodies, [&](const te::Expr& body) { return te::any_node(body, reads_elsewhere); });
}

}  // namespace

bool fit_all_sizes(const OpDef& op, std::span<const ValueType> operands, const std::vector<Dim*>& told,
                   const std::function<Result<std::vector<ValueType>>()>& infer) {
  std::vector<Dim> sizes, constants, said;
  for (const Dim* dim : told) {
    said.push_back(*dim);
    if (dim->is_constant())
      constants.push_back(*dim);
    else if (std::ranges::find(sizes, *dim) == sizes.end())
      sizes.push_back(*dim);
  }
  if (sizes.empty()) return true;
  if (operands.size() == 1) {
    const auto types = infer();
    if (!types.ok()) return false;
    const auto made = count_of(*types);
    if (made && made == count_of(operands)) return true;
    // Parts may add up to the whole by chance, at any numbers.
    if (types->size() > 1 && op.outputs.back().arity == Parameter::Arity::kVariadic) return false;
  }
  bool fits = true;
  for (const Choice& choice : kChoices) {
    const std::vector<int64_t> values = numbers(sizes.size(), choice, constants);
    for (size_t k = 0; k < told.size(); ++k)
      if (!said[k].is_constant())
        *told[k] = values[static_cast<size_t>(std::ranges::find(sizes, said[k]) - sizes.begin())];
    fits = fits && infer().ok();
  }
  for (size_t k = 0; k < told.size(); ++k) *told[k] = said[k];
  return fits;
}

bool fits_all_sizes(const Graph& graph, NodeId id) {
  Graph changed = graph;
  const Node& node = graph.node(id);
  std::vector<ValueType> operands;
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs)
    if (input.valid() && std::ranges::find(inputs, input) == inputs.end()) {
      inputs.push_back(input);
      if (!graph.value(input).content) operands.push_back(graph.value(input).type);
    }
  std::vector<Dim*> told;
  for (const ValueId input : inputs) {
    for_each_dim(changed.edit(input).type, [&](Dim& dim) { told.push_back(&dim); });
    for_each_dim(changed.edit(input).content, [&](Dim& dim) { told.push_back(&dim); });
  }
  return fit_all_sizes(*node.op, operands, told, [&] { return infer_types(context_of(changed, id)); }) ||
         only_broadcasts(graph, id);
}

bool differ_somewhere(const Dim& a, const Dim& b) {
  constexpr Choice kLarge = {2'147'483'659, 40};
  std::set<std::string> all = names(a);
  all.merge(names(b));
  for (const Choice& choice : {kChoices[0], kChoices[1], kLarge}) {
    const std::vector<int64_t> values = numbers(all.size(), choice, {});
    const auto with_numbers = [&](const Dim& dim) {
      return with_symbols(dim, [&](const std::string& name) {
        return te::index(values[static_cast<size_t>(std::distance(all.begin(), all.find(name)))]);
      });
    };
    if (!(with_numbers(a) == with_numbers(b))) return true;
  }
  return false;
}

}  // namespace isomer
