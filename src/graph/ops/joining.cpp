// Concat Split: tensors put together along an axis, and taken apart.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/te/integer.h"

namespace isomer::ops {
namespace {

// Concat

Result<Shape> concat_shape(const OpContext& context, int axis) {
  Shape shape = context.shape(0);
  for (int i = 1; i < context.input_count(); ++i) {
    const Shape& next = context.shape(i);
    if (next.size() != shape.size())
      return context.invalid("inputs of one rank expected, shapes {} and {} found", text(context.shape(0)), text(next));
    for (size_t k = 0; k < shape.size(); ++k) {
      if (static_cast<int>(k) == axis) {
        shape[k] = shape[k] + next[k];
        continue;
      }
      const auto common = agreed(shape[k], next[k]);
      if (!common)
        return context.invalid("inputs that differ only along axis {} expected, shapes {} and {} found", axis,
                               text(context.shape(0)), text(next));
      shape[k] = *common;
    }
  }
  return shape;
}

/// Each element looks for its piece among all.
constexpr int kMaxPieces = 4096;

Result<std::vector<ValueType>> concat_infer(const OpContext& context) {
  if (context.input_count() > kMaxPieces) return context.unsupported("more than {} inputs", kMaxPieces);
  for (int i = 0; i < context.input_count(); ++i)
    if (!context.has_input(i)) return context.invalid("input {} expected, none found", i);
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  TRY(Shape shape, concat_shape(context, axis));
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> concat_compute(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  TRY(Shape shape, concat_shape(context, axis));
  std::vector<te::Expr> begins, pieces;
  Dim begin = 0;
  for (int i = 0; i < context.input_count(); ++i) {
    const Dim& extent = context.dim(i, axis);
    if (extent.is(0) && i + 1 < context.input_count()) continue;
    std::vector<te::Expr> index = te::axes(context.rank(0));
    index[axis] = index[axis] - begin.expr();
    begins.push_back(begin.expr());
    pieces.push_back(context.load(i, std::move(index)));
    begin = begin + extent;
  }
  return single_map(std::move(shape), choose(te::axis(axis), begins, pieces));
}

// Split

struct Cut {
  int axis;
  std::vector<std::optional<Dim>> sizes;  ///< one an output at least; unknown ones empty
};

Result<Cut> split_sizes(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  const Dim& whole = context.dim(0, axis);
  const auto outputs = static_cast<size_t>(context.output_count());
  if (context.has_input(1)) {
    if (context.has_attribute("num_outputs"))
      return context.invalid("either split or num_outputs expected, both found");
    TRY(auto sizes, vector_content(context, 1));
    if (!sizes) return Cut{axis, std::vector<std::optional<Dim>>(outputs)};
    if (sizes->size() != outputs)
      return context.invalid("sizes of {} outputs in split expected, {} found", outputs, sizes->size());
    Dim total = 0;
    for (const auto& size : *sizes) {
      if (size && size->is_constant() && size->value() < 0)
        return context.invalid("sizes of at least 0 in split expected, {} found", size->text());
      total = total + size.value_or(0);
    }
    const bool all_known = std::all_of(sizes->begin(), sizes->end(), [](const auto& size) { return size.has_value(); });
    if (all_known && total.is_constant() && whole.is_constant() && total != whole)
      return context.invalid("sizes in split that sum to {} expected, {} found", whole.text(), total.text());
    return Cut{axis, *std::move(sizes)};
  }
  if (!context.has_attribute("num_outputs")) return context.invalid("split or num_outputs expected, neither found");
  const int64_t count = context.get_int("num_outputs");
  if (count < 1 || static_cast<uint64_t>(count) != outputs)
    return context.invalid("num_outputs of {}, the number of outputs, expected, {} found", outputs, count);
  const Dim part = ceil_div(whole, count), last = whole - part * (count - 1);
  if (last.is_constant() && last.value() < 0)
    return context.invalid("a dim that splits into {} parts of {} expected, {} found", count, part.text(),
                           whole.text());
  std::vector<std::optional<Dim>> sizes(outputs, part);
  sizes.back() = last;
  return Cut{axis, std::move(sizes)};
}

Result<std::vector<ValueType>> split_infer(const OpContext& context) {
  TRY(const Cut cut, split_sizes(context));
  std::vector<ValueType> types;
  for (size_t i = 0; i < cut.sizes.size(); ++i) {
    Shape shape = context.shape(0);
    shape[cut.axis] = cut.sizes[i].value_or(context.fresh(static_cast<int>(i), cut.axis));
    types.push_back(ValueType::tensor(context.dtype(0), std::move(shape)));
  }
  return types;
}

Result<te::Program> split_compute(const OpContext& context) {
  TRY(const Cut cut, split_sizes(context));
  te::Program program;
  Dim begin = 0;
  for (size_t i = 0; i < cut.sizes.size(); ++i) {
    if (!cut.sizes[i]) return context.unsupported("known sizes expected");
    Shape shape = context.shape(0);
    shape[cut.axis] = *cut.sizes[i];
    std::vector<te::Expr> index = te::axes(context.rank(0));
    index[cut.axis] = index[cut.axis] + begin.expr();
    const bool wanted = context.wants_output(static_cast<int>(i));
    program.outputs.push_back(wanted ? program.map(std::move(shape), context.load(0, std::move(index)))
                                     : te::StageValue{});
    begin = begin + *cut.sizes[i];
  }
  return program;
}

/// Without sizes, forms before opset 18 split evenly among the outputs.
Result<void> count_outputs(NodeForm& form) {
  if (form.has_input(1)) return {};
  const auto count = static_cast<int64_t>(form.node().outputs.size());
  const auto found = form.node().attributes.find("axis");
  const auto* written = found == form.node().attributes.end() ? nullptr : std::get_if<int64_t>(&found->second);
  const int64_t rank = form.has_rank(0) ? form.rank(0) : 0, axis = written ? *written : 0;
  if (count > 0 && -rank <= axis && axis < rank) {
    const Dim& whole = (*form.type(0).shape)[axis < 0 ? axis + rank : axis];
    if (whole.is_constant() && whole.value() % count != 0)
      return form.invalid("a dim that splits into {} equal parts expected, {} found", count, whole.text());
  }
  form.set("num_outputs", count);
  return {};
}

/// The way back: an uneven last part must be said in sizes.
Result<void> size_outputs(NodeForm& form) {
  TRY(const auto count, form.take_int("num_outputs"));
  if (!count || form.has_input(1)) return {};
  // Where the sizes are not known the split came without them: it is even, else the model was wrong before.
  if (!form.has_rank(0)) return {};
  const auto found = form.node().attributes.find("axis");
  int64_t axis = found == form.node().attributes.end() ? 0 : std::get<int64_t>(found->second);
  if (axis < 0) axis += form.rank(0);
  const Dim& whole = (*form.type(0).shape)[axis];
  if (!whole.is_constant() || floor_mod(whole, *count).is(0)) return {};
  const int64_t part = te::ceil_div(whole.value(), *count);
  std::vector<int64_t> sizes(*count, part);
  sizes.back() = whole.value() - part * (*count - 1);
  form.set_input(1, form.ints(std::move(sizes), "split"));
  return {};
}

Version split_version(int since) {
  if (since == 13) return {13, count_outputs, size_outputs};
  const Version attribute = ints_attribute_to_input(since, "split", 1);
  return {since, in_turn({attribute.to_newest, count_outputs}),
          in_turn({size_outputs, attribute.from_newest, since < 11 ? count_from_front("axis") : nullptr})};
}

}  // namespace

std::vector<OpDef> joining() {
  const std::vector<TypeVariable> any = {{"T", kPlain}};
  return {
      {.name = "Concat",
       .since = 13,
       .inputs = {"inputs*"},
       .outputs = {"concat_result"},
       .types = any,
       .attributes = {required("axis", AttributeKind::kInt)},
       .versions = {{11},
                    {4, nullptr, count_from_front("axis")},
                    {1,
                     [](NodeForm& form) -> Result<void> {
                       if (!form.has("axis")) form.set("axis", int64_t{1});
                       return {};
                     },
                     count_from_front("axis")}},
       .infer = concat_infer,
       .compute = concat_compute,
       .axioms = {{"Concat(Concat(x,y){axis=a},z){axis=a} = Concat(x,Concat(y,z){axis=a}){axis=a}", "ranked"},
                  {"Concat(x,y,z){..p} = Concat(Concat(x,y){..p},z){..p}", "ranked"},
                  {"Concat(x,y,z,u){..p} = Concat(Concat(x,y,z){..p},u){..p}", "ranked"},
                  {"Concat(Concat(x,y){axis=a},Concat(z,w){axis=a}){axis=b} = "
                   "Concat(Concat(x,z){axis=b},Concat(y,w){axis=b}){axis=a} if 0 <= a && a < b",
                   "ranked"},
                  {"Concat(Add(x,y),Add(z,w)){..p} = Add(Concat(x,z){..p},Concat(y,w){..p})", "ranked"},
                  {"Concat(Mul(x,y),Mul(z,w)){..p} = Mul(Concat(x,z){..p},Concat(y,w){..p})", "ranked"},
                  {"Concat(Max(x,y),Max(z,w)){..p} = Max(Concat(x,z){..p},Concat(y,w){..p})", "ranked",
                   FloatClass::kSignOfZero},
                  {"Concat(Relu(x),Relu(y)){..p} = Relu(Concat(x,y){..p})", "ranked", FloatClass::kSignOfZero},
                  {"Concat(Sigmoid(x),Sigmoid(y)){..p} = Sigmoid(Concat(x,y){..p})", "ranked",
                   FloatClass::kReassociated},
                  {"Concat(Tanh(x),Tanh(y)){..p} = Tanh(Concat(x,y){..p})", "ranked", FloatClass::kReassociated},
                  {"Concat(Exp(x),Exp(y)){..p} = Exp(Concat(x,y){..p})", "ranked", FloatClass::kReassociated},
                  {"Concat(Sqrt(x),Sqrt(y)){..p} = Sqrt(Concat(x,y){..p})", "ranked"},
                  {"Concat(Erf(x),Erf(y)){..p} = Erf(Concat(x,y){..p})", "ranked", FloatClass::kReassociated},
                  {"Concat(Mul(x,s),Mul(y,s)){..p} = Mul(Concat(x,y){..p},s) if s_rank == 0", "ranked"},
                  {"Concat(Add(x,b),Add(y,b)){axis=0} = Add(Concat(x,y){axis=0},b) if b_rank == x_rank - 1", "ranked"},
                  {"Concat(Mul(x,b),Mul(y,b)){axis=0} = Mul(Concat(x,y){axis=0},b) if b_rank == x_rank - 1", "ranked"},
                  {"Concat(Add(x,b),Add(y,b)){axis=a} = Add(Concat(x,y){axis=a},b) if b_rank == 1 && a + 1 < x_rank",
                   "ranked"},
                  {"Concat(Mul(x,b),Mul(y,b)){axis=a} = Mul(Concat(x,y){axis=a},b) if b_rank == 1 && a + 1 < x_rank",
                   "ranked"},
                  {"Concat(Add(x,b),Add(y,c)){axis=-1} = Add(Concat(x,y){axis=-1},Concat(b,c){axis=0}) if b_rank == 1 "
                   "&& c_rank == 1 && b_0 == x_back1 && c_0 == y_back1",
                   "ranked"},
                  {"Concat(Mul(x,b),Mul(y,c)){axis=-1} = Mul(Concat(x,y){axis=-1},Concat(b,c){axis=0}) if b_rank == 1 "
                   "&& c_rank == 1 && b_0 == x_back1 && c_0 == y_back1",
                   "ranked"},
                  {"Concat(Add(x,b),Add(y,c)){axis=1} = Add(Concat(x,y){axis=1},Concat(b,c){axis=0}) if b_rank == "
                   "x_rank - 1 && c_rank == x_rank - 1 && b_0 == x_1 && c_0 == y_1",
                   "images"},
                  {"Concat(Mul(x,b),Mul(y,c)){axis=1} = Mul(Concat(x,y){axis=1},Concat(b,c){axis=0}) if b_rank == "
                   "x_rank - 1 && c_rank == x_rank - 1 && b_0 == x_1 && c_0 == y_1",
                   "images"},
                  {"Concat(Slice(x){axes=[a],ends=[s],starts=[r]},Slice(x){axes=[a],ends=[t],starts=[s]}){axis=a} = "
                   "Slice(x){axes=[a],ends=[t],starts=[r]} if r < s && s < t",
                   "ranked"}}},
      {.name = "Split",
       .since = 18,
       .inputs = {"input", "split?:int64"},
       .outputs = {"outputs*"},
       .types = any,
       .attributes = {with_default("axis", 0), optional("num_outputs", AttributeKind::kInt)},
       .versions = {split_version(13), split_version(11), split_version(2), split_version(1)},
       .infer = split_infer,
       .compute = split_compute,
       .axioms = {{"Split(Concat(x,y){axis=a}){axis=a,split=[s,t]} = x", "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=a,split=[s,t]}.1 = y", "ranked"},
                  {"Concat(Split(x){axis=a,split=[s,t]},Split(x){axis=a,split=[s,t]}.1){axis=a} = x", "ranked"},
                  {"Split(x){axis=a,split=[s,t]} = Slice(x){axes=[a],ends=[s],starts=[0]}", "ranked"},
                  {"Split(x){axis=a,split=[s,t]}.1 = Slice(x){axes=[a],ends=[s + t],starts=[s]}", "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]} = "
                   "Concat(Split(x){axis=b,split=[s,t]},Split(y){axis=b,split=[s,t]}){axis=a} if 0 <= a && a < b",
                   "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]} = "
                   "Concat(Split(x){axis=b,split=[s,t]},Split(y){axis=b,split=[s,t]}){axis=a} if 0 <= b && b < a",
                   "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]}.1 = "
                   "Concat(Split(x){axis=b,split=[s,t]}.1,Split(y){axis=b,split=[s,t]}.1){axis=a} if 0 <= a && a < b",
                   "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]}.1 = "
                   "Concat(Split(x){axis=b,split=[s,t]}.1,Split(y){axis=b,split=[s,t]}.1){axis=a} if 0 <= b && b < a",
                   "ranked"},
                  {"Split(Split(x){axis=a,split=[s,t]}){axis=a,split=[u,v]} = Split(x){axis=a,split=[u,v + t]}",
                   "ranked"},
                  {"Split(Split(x){axis=a,split=[s,t]}.1){axis=a,split=[u,v]} = Split(Split(x){axis=a,split=[s + "
                   "u,v]}){axis=a,split=[s,u]}.1",
                   "ranked"},
                  {"Split(Split(x){axis=a,split=[s,t]}.1){axis=a,split=[u,v]}.1 = Split(x){axis=a,split=[s + u,v]}.1",
                   "ranked"},
                  {"Split(x){axis=a,split=[u,v,t]} = Split(x){axis=a,split=[u,v + t]}", "ranked"},
                  {"Split(x){axis=a,split=[u,v,t]}.1 = Split(Split(x){axis=a,split=[u + v,t]}){axis=a,split=[u,v]}.1",
                   "ranked"},
                  {"Split(x){axis=a,split=[u,v,t]}.2 = Split(x){axis=a,split=[u + v,t]}.1", "ranked"}}},
  };
}

}  // namespace isomer::ops
