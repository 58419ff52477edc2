// Pad CenterCropPad: tensors with more around them, or less.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

// Pad

struct PadAxis {
  Dim before = 0, after = 0;
};

/// Pads of every axis, unknown ones empty.
Result<std::vector<std::optional<PadAxis>>> pad_axes(const OpContext& context) {
  const int rank = context.rank(0);
  const std::string& mode = context.get_string("mode");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return context.invalid("mode constant, reflect, edge or wrap expected, '{}' found", mode);
  if (context.has_input(2)) TRY_VOID(expect_scalar(context, 2));
  TRY(const auto pads, vector_content(context, 1));
  std::vector<int> axes(rank);
  for (int k = 0; k < rank; ++k) axes[k] = k;
  const std::vector<std::optional<PadAxis>> unknown(rank);
  if (context.has_input(3)) {
    const auto given = context.ints(3);
    if (!given) return unknown;
    TRY(axes, context.normalize_axes(*given, rank));
  }
  if (!pads) return unknown;
  if (pads->size() != 2 * axes.size())
    return context.invalid("{} pads, two an axis, expected, {} found", 2 * axes.size(), pads->size());
  std::vector<std::optional<PadAxis>> result(rank, PadAxis());
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto& before = (*pads)[k];
    const auto& after = (*pads)[k + axes.size()];
    for (const auto& pad : {before, after})
      if (pad && pad->is_constant() && (pad->value() > kMaxDim || pad->value() < -kMaxDim))
        return context.invalid("pads in [-2^40, 2^40] expected, {} found", pad->text());
    result[axes[k]] = before && after ? std::optional(PadAxis{*before, *after}) : std::nullopt;
  }
  return result;
}

Result<std::vector<ValueType>> pad_infer(const OpContext& context) {
  TRY(const auto pads, pad_axes(context));
  Shape shape = context.shape(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!pads[k]) {
      shape[k] = context.fresh(0, static_cast<int>(k));
      continue;
    }
    const Dim kept = shape[k] + min(pads[k]->before, 0) + min(pads[k]->after, 0);
    const Dim padded = shape[k] + pads[k]->before + pads[k]->after;
    if (kept.is_constant() && kept.value() <= 0 && context.get_string("mode") != "constant" && padded != kept &&
        !padded.is(0))
      return context.invalid("elements to fill dim {} at axis {} from expected, none found", padded.text(), k);
    if (padded.is_constant() && padded.value() < 0)
      return context.invalid("pads that leave axis {} of dim {} at least 0 expected, {} found", k, shape[k].text(),
                             padded.text());
    shape[k] = padded;
  }
  return one(context.dtype(0), std::move(shape));
}

bool is_known_below(const Dim& a, const Dim& b) { return a.is_constant() && b.is_constant() && a.value() < b.value(); }

/// What a position outside [0, count) stands for.
te::Expr filled(const std::string& mode, const te::Expr& position, const PadAxis& pad, const Dim& count) {
  const Dim last = count - 1;
  if (mode == "edge") return clamped(position, 0, last);
  if (mode == "wrap") return te::floor_mod(position, count.expr());
  if (is_known_below(pad.before, count) && is_known_below(pad.after, count))
    return te::select(position < 0, -position,
                      te::select(last.expr() < position, (last * 2).expr() - position, position));
  const te::Expr around = te::floor_mod(position, max(last * 2, 1).expr());
  return te::min(around, (last * 2).expr() - around);
}

Result<te::Program> pad_compute(const OpContext& context) {
  TRY(const auto pads, pad_axes(context));
  const std::string& mode = context.get_string("mode");
  const DataType dtype = context.dtype(0);
  Shape shape = context.shape(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!pads[k]) return context.unsupported("known pads and axes expected");
    shape[k] = shape[k] + pads[k]->before + pads[k]->after;
  }
  std::vector<te::Expr> index;
  te::Expr inside = te::truth(true);
  for (int k = 0; k < context.rank(0); ++k) {
    const PadAxis& pad = *pads[k];
    const te::Expr position = te::axis(k) - pad.before.expr();
    if (pad.before.is(0) && pad.after.is(0)) {
      index.push_back(te::axis(k));
    } else if (mode == "constant") {
      const te::Expr within = te::index(0) <= position && position < context.dim(0, k).expr();
      inside = inside && simplified(within, shape);
      index.push_back(simplified(position, shape));
    } else {
      // Negative pads cut first; what is left is continued.
      const Dim cut = min(pad.before, 0);
      const Dim count = context.dim(0, k) + cut + min(pad.after, 0);
      const te::Expr from_kept = simplified(te::axis(k) - max(pad.before, 0).expr(), shape);
      index.push_back(simplified(filled(mode, from_kept, pad, count) - cut.expr(), shape));
    }
  }
  const te::Expr value = context.has_input(2) ? load_scalar(context, 2) : te::literal(0, dtype);
  return single_map(std::move(shape), te::select(inside, context.load(0, std::move(index)), value));
}

/// Opset 2 had pads and value as attributes; opset 1 called them paddings and value.
Version pad_attributes(int since, const char* name) {
  const Version pads = ints_attribute_to_input(since, name, 1);
  return {since,
          [=](NodeForm& form) -> Result<void> {
            TRY_VOID(pads.to_newest(form));
            TRY(const auto value, form.take_float("value"));
            if (!value || *value == 0) return {};
            if (!is_float(form.type(0).dtype)) return form.unsupported("a known float type expected");
            form.set_input(2, form.scalar(form.type(0).dtype, *value, "value"));
            return {};
          },
          [=](NodeForm& form) -> Result<void> {
            if (form.has_input(2)) {
              const Tensor* value = form.constant(2);
              if (!value || value->count() != 1 || !is_float(value->dtype()))
                return form.unsupported("a constant value expected where the opset has it as an attribute");
              if (value->real(0) != 0) form.set("value", static_cast<float>(value->real(0)));
            }
            return pads.from_newest(form);
          }};
}

/// Before opset 18 pads were of all axes.
Result<void> pad_all_axes(NodeForm& form) {
  if (!form.has_input(3)) return {};
  const auto pads = form.ints(1), axes = form.ints(3);
  if (!form.has_rank(0) || !pads || !axes)
    return form.unsupported("constant pads and axes expected where the opset has no axes");
  const int rank = form.rank(0);
  std::vector<int64_t> all(2 * rank, 0);
  for (size_t k = 0; k < axes->size(); ++k) {
    const int64_t axis = (*axes)[k] < 0 ? (*axes)[k] + rank : (*axes)[k];
    all[axis] = (*pads)[k];
    all[axis + rank] = (*pads)[k + axes->size()];
  }
  form.set_input(1, form.ints(std::move(all), "pads"));
  form.drop_inputs_from(3);
  return {};
}

Result<void> refuse_wrap(NodeForm& form) {
  const auto mode = form.node().attributes.find("mode");
  if (mode != form.node().attributes.end() && std::get<std::string>(mode->second) == "wrap")
    return form.unsupported("mode wrap is newer than the opset");
  return {};
}

// CenterCropPad

/// The sizes that axes come to; nothing where unknown, and no entry for those that stay.
Result<std::vector<std::pair<int, std::optional<Dim>>>> centered_sizes(const OpContext& context) {
  std::vector<int64_t> given(context.rank(0));
  for (size_t k = 0; k < given.size(); ++k) given[k] = static_cast<int64_t>(k);
  if (context.has_attribute("axes")) given = context.get_ints("axes");
  TRY(const std::vector<int> axes, context.normalize_axes(given, context.rank(0)));
  TRY(const auto sizes, vector_content(context, 1));
  if (sizes && sizes->size() != axes.size())
    return context.invalid("a shape of {} elements expected, {} found", axes.size(), sizes->size());
  std::vector<std::pair<int, std::optional<Dim>>> result;
  for (size_t k = 0; k < axes.size(); ++k) {
    const std::optional<Dim> size = sizes ? (*sizes)[k] : std::nullopt;
    if (size && size->is_constant() && size->value() < 0)
      return context.invalid("sizes of at least 0 in shape expected, {} found", size->text());
    result.emplace_back(axes[k], size);
  }
  return result;
}

Result<std::vector<ValueType>> center_infer(const OpContext& context) {
  TRY(const auto sizes, centered_sizes(context));
  Shape shape = context.shape(0);
  for (const auto& [axis, size] : sizes) shape[axis] = size.value_or(context.fresh(0, axis));
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> center_compute(const OpContext& context) {
  TRY(const auto sizes, centered_sizes(context));
  Shape shape = context.shape(0);
  std::vector<te::Expr> index = te::axes(context.rank(0));
  te::Expr inside = te::truth(true);
  for (const auto& [axis, size] : sizes) {
    if (!size) return context.unsupported("a known shape expected");
    const Dim& from = context.dim(0, axis);
    shape[axis] = *size;
    const Dim cut = floor_div(max(from - *size, 0), 2), added = floor_div(max(*size - from, 0), 2);
    const te::Expr place = te::axis(axis) - added.expr();
    inside = inside && te::index(0) <= place && place < min(from, *size).expr();
    index[axis] = place + cut.expr();
  }
  inside = simplified(inside, shape);
  for (te::Expr& expr : index) expr = simplified(expr, shape);
  return single_map(std::move(shape),
                    te::select(inside, context.load(0, std::move(index)), te::literal(0, context.dtype(0))));
}

}  // namespace

std::vector<OpDef> padding() {
  return {
      {.name = "Pad",
       .since = 21,
       .inputs = {"data", "pads:int64", "constant_value?", "axes?:Tind"},
       .outputs = {"output"},
       .types = {{"T", kComputable}, {"Tind", kIndices}},
       .attributes = {with_default("mode", "constant")},
       .versions = {{19},
                    {18, nullptr, refuse_wrap},
                    {13, nullptr, in_turn({refuse_wrap, pad_all_axes})},
                    {11, nullptr, in_turn({refuse_wrap, pad_all_axes})},
                    [] {
                      Version version = pad_attributes(2, "pads");
                      version.from_newest = in_turn({refuse_wrap, pad_all_axes, version.from_newest});
                      return version;
                    }(),
                    [] {
                      Version version = pad_attributes(1, "paddings");
                      version.from_newest = in_turn({refuse_wrap, pad_all_axes, version.from_newest});
                      return version;
                    }()},
       .infer = pad_infer,
       .compute = pad_compute,
       .axioms = {{"Pad(x){pads=[0,0,0,0,0,0,0,0]} = x", "ranked"},
                  {"Pad(Pad(x){pads=[a,b,c,d,e,f,g,h]}){pads=[i,j,k,l,m,n,o,p]} = Pad(x){pads=[a + i,b + j,c + k,d + "
                   "l,e + m,f + n,g + o,h + p]} if 0 <= a && 0 <= b && 0 <= c && 0 <= d && 0 <= e && 0 <= f && 0 <= g "
                   "&& 0 <= h && 0 <= i && 0 <= j && 0 <= k && 0 <= l && 0 <= m && 0 <= n && 0 <= o && 0 <= p",
                   "ranked"},
                  {"Pad(Add(x,y)){pads=[a,b,c,d,e,f,g,h]} = "
                   "Add(Pad(x){pads=[a,b,c,d,e,f,g,h]},Pad(y){pads=[a,b,c,d,e,f,g,h]})",
                   "equal"},
                  {"Pad(Mul(x,y)){pads=[a,b,c,d,e,f,g,h]} = "
                   "Mul(Pad(x){pads=[a,b,c,d,e,f,g,h]},Pad(y){pads=[a,b,c,d,e,f,g,h]})",
                   "equal"},
                  {"Pad(Mul(x,s)){pads=[a,b,c,d,e,f,g,h]} = Mul(Pad(x){pads=[a,b,c,d,e,f,g,h]},s) if s_rank == 0",
                   "broadcast", FloatClass::kFinite},
                  {"Pad(Relu(x)){pads=[a,b,c,d,e,f,g,h]} = Relu(Pad(x){pads=[a,b,c,d,e,f,g,h]})", "equal",
                   FloatClass::kSignOfZero},
                  {"Pad(Concat(x,y){axis=0}){pads=[0,b,c,d,0,f,g,h]} = "
                   "Concat(Pad(x){pads=[0,b,c,d,0,f,g,h]},Pad(y){pads=[0,b,c,d,0,f,g,h]}){axis=0}",
                   "ranked"},
                  {"Pad(Concat(x,y){axis=1}){pads=[a,0,c,d,e,0,g,h]} = "
                   "Concat(Pad(x){pads=[a,0,c,d,e,0,g,h]},Pad(y){pads=[a,0,c,d,e,0,g,h]}){axis=1}",
                   "ranked"}}},
      {.name = "CenterCropPad",
       .since = 18,
       .inputs = {"input_data", "shape:Tind"},
       .outputs = {"output_data"},
       .types = {{"T", kPlain}, {"Tind", kIndices}},
       .attributes = {optional("axes", AttributeKind::kInts)},
       .infer = center_infer,
       .compute = center_compute},
  };
}

}  // namespace isomer::ops
