// Reshape Flatten Squeeze Unsqueeze Transpose DepthToSpace SpaceToDepth: the same elements in another order or shape.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"
#include "graph/te/integer.h"
#include "graph/te/simplifier.h"
#include "graph/te/symbols.h"

namespace isomer::ops {
namespace {

using InferShape = Result<std::optional<Shape>> (*)(const OpContext&);

/// Operators whose output has input 0's elements in row-major order under the shape that `infer_shape` gives; nothing
/// where even the rank is unknown.
Infer reshapes(InferShape infer_shape) {
  return [=](const OpContext& context) -> Result<std::vector<ValueType>> {
    TRY(auto shape, infer_shape(context));
    return std::vector<ValueType>{{ValueType::Kind::kTensor, context.dtype(0), std::move(shape), {}}};
  };
}

Compute reshaped(InferShape infer_shape) {
  return [=](const OpContext& context) -> Result<te::Program> {
    TRY(const auto shape, infer_shape(context));
    if (!shape) return context.unsupported("a known output shape expected");
    return single_map(*shape, context.load(0, reshaped_index(context.shape(0), *shape)));
  };
}

/// The dim that makes `known` and it hold as many elements as `from`. Equal dims are cancelled first, taken as not 0: a
/// zero beside an inferred dim is ambiguous and no model has it.
Result<Dim> missing_dim(const OpContext& context, Shape from, Shape known) {
  for (auto dim = known.begin(); dim != known.end();) {
    const auto same = std::find(from.begin(), from.end(), *dim);
    if (same == from.end()) {
      ++dim;
      continue;
    }
    from.erase(same);
    dim = known.erase(dim);
  }
  const Dim whole = element_count(from), part = element_count(known);
  if (part.is(1)) return whole;
  const bool divisible = !part.is(0) && (!whole.is_constant() || !part.is_constant() || floor_mod(whole, part).is(0));
  if (!divisible)
    return context.invalid("a shape for {} elements expected, {} times an inferred dim found", whole.text(),
                           part.text());
  te::Simplifier simplifier({});
  const te::Polynomial a = simplifier.polynomial(whole.expr()), b = simplifier.polynomial(part.expr());
  const te::Division division = te::divide(a, b);
  if (division.remainder.is(0) && division.quotient.is_exact()) return Dim(te::to_expr(division.quotient));
  return floor_div(whole, part);
}

/// Of Reshape's shape.
bool has_no_zero(const OpContext& context) {
  const auto target = vector_content(context, 1);
  return target.ok() && *target && std::all_of((*target)->begin(), (*target)->end(), [](const auto& element) {
           return element && element->is_constant() && !element->is(0);
         });
}

/// Whether the dim at an axis is what the target says there, whatever the sizes are: 0 copies the dim of `from`, and -1
/// is made up. Free sizes are at least 1; those that data decide may be 0, as may n - 5.
bool is_said(const Dim& element, const Shape& from, size_t axis, bool copies_zero) {
  const bool may_copy = copies_zero && axis < from.size();
  if (element.is_constant() || (axis < from.size() && from[axis] == element)) return true;
  const te::Interval range = te::bounds(element.expr(), range_of_size);
  if (range.low.value_or(-1) >= (may_copy ? 1 : 0)) return true;
  if (range.low.value_or(-1) < 0) return false;
  // Where a factor of the elements is 0 there are none, and a dim that is copied is 0 too, or others are.
  te::Simplifier simplifier({});
  const te::Polynomial count = simplifier.polynomial(element_count(from).expr());
  return te::divide(count, simplifier.polynomial(element.expr())).remainder.is(0);
}

Result<std::optional<Shape>> reshape_shape(const OpContext& context) {
  TRY(std::optional<Content> target, vector_content(context, 1));
  if (!target) return std::optional<Shape>();
  const Shape& from = context.shape(0);
  const bool copies_zero = context.get_int("allowzero") == 0;
  Shape shape, known;
  int inferred = -1, unknown = -1;
  bool has_minus_one = false, has_zero = false;
  for (size_t k = 0; k < target->size(); ++k) {
    std::optional<Dim>& element = (*target)[k];
    if (element && !is_said(*element, from, k, copies_zero)) element.reset();
    if (!element || element->is(-1)) {
      if (element && std::exchange(has_minus_one, true))
        return context.invalid("at most one -1 in shape expected, two found");
      if (!element) unknown = unknown == -1 ? static_cast<int>(k) : static_cast<int>(target->size());
      if (element) inferred = static_cast<int>(k);
      shape.push_back(context.fresh(0, static_cast<int>(k)));
      continue;
    }
    if (element->is_constant() && element->value() < 0)
      return context.invalid("dims of at least -1 in shape expected, {} found", element->text());
    has_zero |= element->is(0);
    if (element->is(0) && copies_zero && k >= from.size())
      return context.invalid("a 0 in shape only at axes that data of rank {} has expected, one at axis {} found",
                             from.size(), k);
    shape.push_back(element->is(0) && copies_zero ? from[k] : *element);
    known.push_back(shape.back());
  }
  if (has_minus_one && has_zero && !copies_zero)
    return context.invalid("no -1 beside a 0 in shape expected with allowzero");
  const bool one_missing = (inferred >= 0) + (unknown >= 0) == 1 && unknown < static_cast<int>(target->size());
  if (one_missing) {
    TRY(shape[std::max(inferred, unknown)], missing_dim(context, from, known));
  } else if (inferred < 0 && unknown < 0) {
    const Dim found = element_count(shape), expected = element_count(from);
    if (found.is_constant() && expected.is_constant() && found != expected)
      return context.invalid("a shape of {} elements expected, {} found", expected.text(), text(shape));
  }
  return std::optional(std::move(shape));
}

Result<std::optional<Shape>> flatten_shape(const OpContext& context) {
  const Shape& from = context.shape(0);
  const int rank = context.rank(0);
  const int64_t axis = context.get_int("axis");
  if (axis < -rank || axis > rank) return context.invalid("axis in [{}, {}] expected, {} found", -rank, rank, axis);
  const auto middle = from.begin() + (axis < 0 ? axis + rank : axis);
  return std::optional(Shape{element_count(Shape(from.begin(), middle)), element_count(Shape(middle, from.end()))});
}

Result<std::optional<Shape>> squeeze_shape(const OpContext& context) {
  const Shape& from = context.shape(0);
  Shape shape;
  if (!context.has_input(1)) {
    if (!std::all_of(from.begin(), from.end(), [](const Dim& dim) { return dim.is_constant(); }))
      return std::optional<Shape>();
    std::copy_if(from.begin(), from.end(), std::back_inserter(shape), [](const Dim& dim) { return !dim.is(1); });
    return std::optional(std::move(shape));
  }
  const auto given = context.ints(1);
  if (!given) {
    TRY(const auto count, vector_length(context, 1));
    if (!count || *count > context.rank(0)) return std::optional<Shape>();
    for (int k = 0; k < context.rank(0) - *count; ++k) shape.push_back(context.fresh(0, k));
    return std::optional(std::move(shape));
  }
  TRY(const std::vector<int> axes, context.normalize_axes(*given, context.rank(0)));
  for (int k = 0; k < context.rank(0); ++k) {
    if (std::find(axes.begin(), axes.end(), k) == axes.end())
      shape.push_back(from[k]);
    else if (from[k].is_constant() && !from[k].is(1))
      return context.invalid("dim 1 at axis {} expected, {} found", k, from[k].text());
  }
  return std::optional(std::move(shape));
}

Result<std::optional<Shape>> unsqueeze_shape(const OpContext& context) {
  const Shape& from = context.shape(0);
  const auto given = context.ints(1);
  if (!given) {
    TRY(const auto count, vector_length(context, 1));
    if (!count || *count > context.rank(0) + int64_t{64}) return std::optional<Shape>();
    Shape shape;
    for (int k = 0; k < context.rank(0) + *count; ++k) shape.push_back(context.fresh(0, k));
    return std::optional(std::move(shape));
  }
  const int rank = context.rank(0) + static_cast<int>(given->size());
  TRY(const std::vector<int> axes, context.normalize_axes(*given, rank));
  Shape shape;
  auto next = from.begin();
  for (int k = 0; k < rank; ++k)
    shape.push_back(std::find(axes.begin(), axes.end(), k) != axes.end() ? Dim(1) : *next++);
  return std::optional(std::move(shape));
}

/// The int64 target that makes Reshape give `to` from `from`: constants as they are, 0 where a dim is kept, one -1.
std::optional<std::vector<int64_t>> reshape_target(const Shape& from, const Shape& to) {
  std::vector<int64_t> target;
  bool has_inferred = false;
  for (size_t k = 0; k < to.size(); ++k) {
    if (to[k].is_constant() && to[k].value() > 0) {
      target.push_back(to[k].value());
    } else if (k < from.size() && from[k] == to[k]) {
      target.push_back(0);
    } else {
      if (to[k].is_constant() || has_inferred) return std::nullopt;
      has_inferred = true;
      target.push_back(-1);
    }
  }
  return target;
}

std::optional<Spelling> spell_reshape(const ElementMap& map) {
  if (!only_moves(map)) return std::nullopt;
  const Shape &from = *map.from.shape, &to = *map.to.shape;
  auto target = reshape_target(from, to);
  if (!target) return std::nullopt;
  // Quotients and remainders by symbols have no normal form: they are compared one by one.
  // A Reshape gives its -1 what makes up the elements; without one, all that it is given must be read.
  const bool is_symbolic = !constants(from) || !constants(to);
  const bool has_all = element_count(from) == element_count(to) || std::ranges::find(*target, -1) != target->end();
  const bool keeps = keeps_order(map) || (is_symbolic && has_all && is_same_index(map, reshaped_index(from, to)));
  return keeps ? std::optional(Spelling{.lists = {std::move(*target)}}) : std::nullopt;
}

/// Writes the node out as a Reshape where its target can be said in constants.
Result<void> expand_to_reshape(NodeForm& form) {
  if (!form.has_rank(0) || !form.has_output(0)) return {};
  const ValueType& to = form.graph().value(form.node().outputs[0]).type;
  if (!to.has_shape()) return {};
  auto target = reshape_target(*form.type(0).shape, *to.shape);
  if (!target) return {};
  return form.emit_as(0, "Reshape", {form.input(0), form.ints(std::move(*target), "shape")});
}

/// Axes of Squeeze and Unsqueeze were an attribute before opset 13, and not negative before opset 11.
Version axes_attribute(int since, bool unsqueeze) {
  Version version = ints_attribute_to_input(since, "axes", 1);
  if (since >= 11) return version;
  version.from_newest =
      in_turn({version.from_newest, [=](NodeForm& form) -> Result<void> {
                 const auto found = form.node().attributes.find("axes");
                 const auto* axes = found == form.node().attributes.end()
                                        ? nullptr
                                        : std::get_if<std::vector<int64_t>>(&found->second);
                 return count_from_front("axes", unsqueeze && axes ? static_cast<int>(axes->size()) : 0)(form);
               }});
  return version;
}

Result<std::vector<int>> permutation(const OpContext& context) {
  const int rank = context.rank(0);
  std::vector<int> perm(rank);
  if (!context.has_attribute("perm")) {
    std::iota(perm.rbegin(), perm.rend(), 0);
    return perm;
  }
  const std::vector<int64_t>& given = context.get_ints("perm");
  std::vector<bool> seen(rank, false);
  bool valid = static_cast<int>(given.size()) == rank;
  for (int k = 0; valid && k < rank; ++k) {
    valid = given[k] >= 0 && given[k] < rank && !seen[given[k]];
    if (!valid) break;
    seen[given[k]] = true;
    perm[k] = static_cast<int>(given[k]);
  }
  if (!valid) return context.invalid("a permutation of the {} axes as perm expected, {} found", rank, given);
  return perm;
}

Result<std::vector<ValueType>> transpose_infer(const OpContext& context) {
  TRY(const std::vector<int> perm, permutation(context));
  Shape shape;
  for (const int axis : perm) shape.push_back(context.dim(0, axis));
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> transpose_compute(const OpContext& context) {
  TRY(const std::vector<int> perm, permutation(context));
  Shape shape(perm.size());
  std::vector<te::Expr> index(perm.size());
  for (size_t k = 0; k < perm.size(); ++k) {
    shape[k] = context.dim(0, perm[k]);
    index[perm[k]] = te::axis(static_cast<int>(k));
  }
  return single_map(std::move(shape), context.load(0, std::move(index)));
}

std::optional<Spelling> spell_transpose(const ElementMap& map) {
  if (!only_moves(map)) return std::nullopt;
  const Shape &from = *map.from.shape, &to = *map.to.shape;
  if (from.size() != to.size()) return std::nullopt;
  std::vector<int64_t> perm(to.size(), -1);
  std::vector<bool> used(from.size(), false);
  for (size_t k = 0; k < from.size(); ++k) {
    const auto axis = axis_of(map.index[k]);
    if (!axis) continue;
    if (perm[*axis] >= 0 || !(from[k] == to[*axis])) return std::nullopt;
    perm[*axis] = static_cast<int64_t>(k);
    used[k] = true;
  }
  // Axes of extent 1 take the places that are left, in order.
  for (size_t k = 0; k < from.size(); ++k) {
    if (used[k]) continue;
    if (!from[k].is(1) || te::as_constant(map.index[k]) != 0) return std::nullopt;
    const auto free =
        std::find_if(perm.begin(), perm.end(), [&](const int64_t& p) { return p < 0 && to[&p - perm.data()].is(1); });
    if (free == perm.end()) return std::nullopt;
    *free = static_cast<int64_t>(k);
  }
  return Spelling{.attributes = {{"perm", std::move(perm)}}};
}

/// Both block operators split one input into [n, (block, block, c | h, block, w, block …)], permute, and merge again.
struct BlockMove {
  Shape split;
  std::vector<int64_t> perm;
  Shape merged;
};

Result<int64_t> block_size(const OpContext& context) {
  if (context.rank(0) != 4) return context.invalid("input of rank 4 expected, shape {} found", text(context.shape(0)));
  const int64_t block = context.get_int("blocksize");
  if (block < 1) return context.invalid("blocksize of at least 1 expected, {} found", block);
  if (const std::string& mode = context.get_string("mode"); mode != "DCR" && mode != "CRD")
    return context.invalid("mode DCR or CRD expected, '{}' found", mode);
  return block;
}

Result<Dim> divided(const OpContext& context, int axis, const Dim& divisor) {
  const Dim& dim = context.dim(0, axis);
  if (dim.is_constant() && !floor_mod(dim, divisor).is(0))
    return context.invalid("dim {} at axis {} to be a multiple of {} expected", dim.text(), axis, divisor.text());
  return floor_div(dim, divisor);
}

bool is_crd(const OpContext& context) { return context.get_string("mode") == "CRD"; }

Result<BlockMove> depth_to_space(const OpContext& context) {
  TRY(const int64_t block, block_size(context));
  TRY(const Dim depth, divided(context, 1, Dim(block) * Dim(block)));
  const Shape& in = context.shape(0);
  const Shape merged = {in[0], depth, in[2] * block, in[3] * block};
  if (is_crd(context)) return BlockMove{{in[0], depth, block, block, in[2], in[3]}, {0, 1, 4, 2, 5, 3}, merged};
  return BlockMove{{in[0], block, block, depth, in[2], in[3]}, {0, 3, 4, 1, 5, 2}, merged};
}

Result<BlockMove> space_to_depth(const OpContext& context) {
  TRY(const int64_t block, block_size(context));
  TRY(const Dim height, divided(context, 2, block));
  TRY(const Dim width, divided(context, 3, block));
  const Shape& in = context.shape(0);
  return BlockMove{{in[0], in[1], height, block, width, block},
                   is_crd(context) ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4},
                   {in[0], in[1] * (Dim(block) * Dim(block)), height, width}};
}

using Move = Result<BlockMove> (*)(const OpContext&);

Infer block_infer(Move move) {
  return [=](const OpContext& context) -> Result<std::vector<ValueType>> {
    TRY(const BlockMove blocks, move(context));
    return one(context.dtype(0), blocks.merged);
  };
}

Compute block_compute(Move move) {
  return [=](const OpContext& context) -> Result<te::Program> {
    TRY(const BlockMove blocks, move(context));
    // Where the output's element stands among the split and permuted axes, then among the input's.
    Shape permuted;
    for (const int64_t axis : blocks.perm) permuted.push_back(blocks.split[axis]);
    const std::vector<te::Expr> inner = reshaped_index(permuted, blocks.merged);
    std::vector<te::Expr> position(blocks.split.size());
    for (size_t k = 0; k < inner.size(); ++k) position[blocks.perm[k]] = inner[k];
    std::vector<te::Expr> index = reshaped_index(context.shape(0), blocks.split);
    for (te::Expr& expr : index) {
      expr = te::transform(expr, [&](const te::Expr& e) {
        const te::Var* variable = te::as<te::Var>(e);
        return variable ? position[variable->index] : te::Expr();
      });
      expr = simplified(expr, blocks.merged);
    }
    return single_map(blocks.merged, context.load(0, std::move(index)));
  };
}

/// Reshape, Transpose, Reshape, where both targets can be said in constants.
Reform block_expand(Move move) {
  return [=](NodeForm& form) -> Result<void> {
    if (!form.has_rank(0)) return {};
    const OpContext context(*form.node().op, form.node().attributes, form.label(),
                            {{true, form.type(0), nullptr, nullptr}}, {});
    TRY(const BlockMove blocks, move(context));
    Shape permuted;
    for (const int64_t axis : blocks.perm) permuted.push_back(blocks.split[axis]);
    auto split = reshape_target(context.shape(0), blocks.split);
    auto merged = reshape_target(permuted, blocks.merged);
    if (!split || !merged) return {};
    TRY(const ValueId parts, form.emit("Reshape", {form.input(0), form.ints(std::move(*split), "shape")}));
    TRY(const ValueId moved, form.emit("Transpose", {parts}, {{"perm", blocks.perm}}));
    return form.emit_as(0, "Reshape", {moved, form.ints(std::move(*merged), "shape")});
  };
}

struct BlockChain {
  ValueId input;
  std::vector<int64_t> perm;
  Shape split;
};

std::optional<BlockChain> block_chain(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* merge = pattern.node(root, "Reshape");
  const Node* move = merge ? pattern.producer(merge->inputs[0], "Transpose") : nullptr;
  const Node* split = move ? pattern.producer(move->inputs[0], "Reshape") : nullptr;
  if (!split || !move->attributes.contains("perm")) return std::nullopt;
  const ValueType& parts = graph.value(split->outputs[0]).type;
  if (!parts.has_shape() || parts.shape->size() != 6) return std::nullopt;
  return BlockChain{split->inputs[0], std::get<std::vector<int64_t>>(move->attributes.find("perm")->second),
                    *parts.shape};
}

std::optional<Node> recognize_depth_to_space(const Graph& graph, NodeId root) {
  const auto chain = block_chain(graph, root);
  const bool crd = chain && chain->perm == std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  if (!chain || (!crd && chain->perm != std::vector<int64_t>{0, 3, 4, 1, 5, 2})) return std::nullopt;
  const Dim& block = chain->split[2];
  if (!block.is_constant()) return std::nullopt;
  Attributes attributes = {{"blocksize", block.value()}};
  if (crd) attributes.emplace("mode", std::string("CRD"));
  return Pattern(graph).make("DepthToSpace", {chain->input}, std::move(attributes));
}

std::optional<Node> recognize_space_to_depth(const Graph& graph, NodeId root) {
  const auto chain = block_chain(graph, root);
  if (!chain || chain->perm != std::vector<int64_t>{0, 3, 5, 1, 2, 4} || !chain->split[3].is_constant())
    return std::nullopt;
  return Pattern(graph).make("SpaceToDepth", {chain->input}, {{"blocksize", chain->split[3].value()}});
}

}  // namespace

std::vector<OpDef> layout() {
  const std::vector<TypeVariable> any = {{"T", kComputable}};
  const Reform flatten_from_front = count_from_front("axis");
  AttributeDef allowzero = zero_or_one("allowzero", 0);
  allowzero.is_idle = has_no_zero;
  return {
      {.name = "Reshape",
       .since = 21,
       .inputs = {"data", "shape:int64"},
       .outputs = {"reshaped"},
       .types = any,
       .attributes = {allowzero},
       .versions = {{19},
                    {14},
                    without(13, {"allowzero"}),
                    without(5, {"allowzero"}),
                    [&] {
                      Version first = ints_attribute_to_input(1, "shape", 1);
                      first.to_newest = in_turn({drop_consumed_inputs, first.to_newest});
                      first.from_newest = in_turn({without(1, {"allowzero"}).from_newest, first.from_newest});
                      return first;
                    }()},
       .infer = reshapes(reshape_shape),
       .compute = reshaped(reshape_shape),
       .spell = spell_reshape,
       .shape_input = 1,
       .axioms = {{"Reshape(Reshape(x){..p}){..q} = Reshape(x){..q}", "equal"},
                  {"Reshape(x){shape=[x_0,x_1]} = x", "ranked"},
                  {"Reshape(x){shape=[x_0,x_1,x_2]} = x", "ranked"},
                  {"Reshape(x){shape=[x_0,x_1,x_2,x_3]} = x", "ranked"},
                  {"Reshape(Add(x,y)){..p} = Add(Reshape(x){..p},Reshape(y){..p})", "equal"},
                  {"Reshape(Mul(x,y)){..p} = Mul(Reshape(x){..p},Reshape(y){..p})", "equal"},
                  {"Reshape(Max(x,y)){..p} = Max(Reshape(x){..p},Reshape(y){..p})", "equal", FloatClass::kSignOfZero},
                  {"Reshape(Relu(x)){..p} = Relu(Reshape(x){..p})", "equal", FloatClass::kSignOfZero},
                  {"Reshape(Mul(x,s)){..p} = Mul(Reshape(x){..p},s) if s_rank == 0", "ranked"},
                  {"Reshape(Sigmoid(x)){..p} = Sigmoid(Reshape(x){..p})", "equal", FloatClass::kReassociated},
                  {"Reshape(Tanh(x)){..p} = Tanh(Reshape(x){..p})", "equal", FloatClass::kReassociated},
                  {"Reshape(Exp(x)){..p} = Exp(Reshape(x){..p})", "equal", FloatClass::kReassociated}}},
      {.name = "Flatten",
       .since = 21,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = any,
       .attributes = {with_default("axis", 1)},
       .versions = {{13}, {11}, {9, nullptr, flatten_from_front}, {1, nullptr, flatten_from_front}},
       .infer = reshapes(flatten_shape),
       .compute = reshaped(flatten_shape),
       .expand = expand_to_reshape},
      {.name = "Squeeze",
       .since = 21,
       .inputs = {"data", "axes?:int64"},
       .outputs = {"squeezed"},
       .types = any,
       .versions = {{13}, axes_attribute(11, false), axes_attribute(1, false)},
       .infer = reshapes(squeeze_shape),
       .compute = reshaped(squeeze_shape),
       .expand = expand_to_reshape,
       .axioms = {{"Add(x,Squeeze(y){axes=[0]}) = Add(x,y)", "images"},
                  {"Mul(x,Squeeze(y){axes=[0]}) = Mul(x,y)", "images"},
                  {"Squeeze(Mul(x,s)){axes=[a]} = Mul(Squeeze(x){axes=[a]},s) if s_rank == 0", "ranked"}}},
      {.name = "Unsqueeze",
       .since = 21,
       .inputs = {"data", "axes:int64"},
       .outputs = {"expanded"},
       .types = any,
       .versions = {{13}, axes_attribute(11, true), axes_attribute(1, true)},
       .infer = reshapes(unsqueeze_shape),
       .compute = reshaped(unsqueeze_shape),
       .expand = expand_to_reshape,
       .axioms =
           {{"Concat(Unsqueeze(x){axes=[1]},Unsqueeze(y){axes=[1]}){axis=0} = Unsqueeze(Concat(x,y){axis=0}){axes=[1]}",
             "ranked"},
            {"Concat(Unsqueeze(x){axes=[1,2]},Unsqueeze(y){axes=[1,2]}){axis=0} = "
             "Unsqueeze(Concat(x,y){axis=0}){axes=[1,2]}",
             "ranked"},
            {"Concat(Unsqueeze(x){axes=[1,2,3]},Unsqueeze(y){axes=[1,2,3]}){axis=0} = "
             "Unsqueeze(Concat(x,y){axis=0}){axes=[1,2,3]}",
             "ranked"},
            {"Unsqueeze(Squeeze(x){axes=[a]}){axes=[a]} = x", "ranked"},
            {"Unsqueeze(Squeeze(x){axes=[a,b]}){axes=[a,b]} = x", "ranked"},
            {"Unsqueeze(Squeeze(x){axes=[a,b,c]}){axes=[a,b,c]} = x", "ranked"},
            {"Unsqueeze(Mul(x,s)){..p} = Mul(Unsqueeze(x){..p},s) if s_rank == 0", "ranked"}}},
      {.name = "Transpose",
       .since = 21,
       .inputs = {"data"},
       .outputs = {"transposed"},
       .types = any,
       .attributes = {optional("perm", AttributeKind::kInts)},
       .versions = {{13}, {1}},
       .infer = transpose_infer,
       .compute = transpose_compute,
       .spell = spell_transpose,
       .axioms =
           {{"Transpose(Transpose(x){perm=[1,0]}){perm=[1,0]} = x", "ranked"},
            {"Transpose(Add(x,y)){..p} = Add(Transpose(x){..p},Transpose(y){..p})", "equal"},
            {"Transpose(Mul(x,y)){..p} = Mul(Transpose(x){..p},Transpose(y){..p})", "equal"},
            {"Transpose(Relu(x)){..p} = Relu(Transpose(x){..p})", "equal", FloatClass::kSignOfZero},
            {"Transpose(Concat(x,y){axis=0}){perm=[1,0]} = "
             "Concat(Transpose(x){perm=[1,0]},Transpose(y){perm=[1,0]}){axis=1}",
             "ranked"},
            {"Transpose(x){perm=[0,1]} = x", "ranked"},
            {"Transpose(x){perm=[0,1,2]} = x", "ranked"},
            {"Transpose(x){perm=[0,1,2,3]} = x", "ranked"},
            {"Transpose(Transpose(x){perm=[a,b]}){perm=[c,d]} = Transpose(x){perm=[select(c == 0, a, b),select(d == 0, "
             "a, b)]}",
             "ranked"},
            {"Transpose(Transpose(x){perm=[a,b,c]}){perm=[d,e,f]} = Transpose(x){perm=[select(d == 0, a, select(d == "
             "1, b, c)),select(e == 0, a, select(e == 1, b, c)),select(f == 0, a, select(f == 1, b, c))]}",
             "ranked"},
            {"Transpose(Transpose(x){perm=[a,b,c,d]}){perm=[e,f,g,h]} = Transpose(x){perm=[select(e == 0, a, select(e "
             "== 1, b, select(e == 2, c, d))),select(f == 0, a, select(f == 1, b, select(f == 2, c, d))),select(g == "
             "0, a, select(g == 1, b, select(g == 2, c, d))),select(h == 0, a, select(h == 1, b, select(h == 2, c, "
             "d)))]}",
             "ranked"},
            {"Transpose(Concat(x,y){axis=e}){perm=[a,b]} = "
             "Concat(Transpose(x){perm=[a,b]},Transpose(y){perm=[a,b]}){axis=select(a == e, 0, 1)}",
             "ranked"},
            {"Transpose(Concat(x,y){axis=e}){perm=[a,b,c]} = "
             "Concat(Transpose(x){perm=[a,b,c]},Transpose(y){perm=[a,b,c]}){axis=select(a == e, 0, select(b == e, 1, "
             "2))}",
             "ranked"},
            {"Transpose(Concat(x,y){axis=e}){perm=[a,b,c,d]} = "
             "Concat(Transpose(x){perm=[a,b,c,d]},Transpose(y){perm=[a,b,c,d]}){axis=select(a == e, 0, select(b == e, "
             "1, select(c == e, 2, 3)))}",
             "ranked"},
            {"Transpose(Mul(x,s)){..p} = Mul(Transpose(x){..p},s) if s_rank == 0", "broadcast"},
            {"Transpose(Max(x,y)){..p} = Max(Transpose(x){..p},Transpose(y){..p})", "equal", FloatClass::kSignOfZero},
            {"Transpose(Sigmoid(x)){..p} = Sigmoid(Transpose(x){..p})", "equal", FloatClass::kReassociated},
            {"Transpose(Tanh(x)){..p} = Tanh(Transpose(x){..p})", "equal", FloatClass::kReassociated},
            {"Transpose(Exp(x)){..p} = Exp(Transpose(x){..p})", "equal", FloatClass::kReassociated},
            {"Transpose(Sqrt(x)){..p} = Sqrt(Transpose(x){..p})", "equal"},
            {"Transpose(x){perm=[1,0]} = Reshape(x){shape=[x_1,x_0]} if x_0 == 1", "ranked"},
            {"Transpose(x){perm=[0,2,1]} = Reshape(x){shape=[x_0,x_2,x_1]} if x_1 == 1", "ranked"}}},
      {.name = "DepthToSpace",
       .since = 13,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kPlain}},
       .attributes = {required("blocksize", AttributeKind::kInt), with_default("mode", "DCR")},
       .versions = {{11}, without(1, {"mode"})},
       .infer = block_infer(depth_to_space),
       .compute = block_compute(depth_to_space),
       .expand = block_expand(depth_to_space),
       .recognize = recognize_depth_to_space},
      {.name = "SpaceToDepth",
       .since = 28,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kPlain}},
       .attributes = {required("blocksize", AttributeKind::kInt), with_default("mode", "DCR")},
       .versions = {without(13, {"mode"}), without(1, {"mode"})},
       .infer = block_infer(space_to_depth),
       .compute = block_compute(space_to_depth),
       .expand = block_expand(space_to_depth),
       .recognize = recognize_space_to_depth,
       .axioms = {{"SpaceToDepth(DepthToSpace(x){blocksize=b}){blocksize=b} = x", "images"},
                  {"DepthToSpace(SpaceToDepth(x){blocksize=b}){blocksize=b} = x", "images"}}},
  };
}

}  // namespace isomer::ops
