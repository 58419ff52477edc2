// LSTM GRU RNN: scans over time. Products with W for all steps are one stage before the scan; products with R are
// inside.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

enum Input { kX, kW, kR, kBiases, kLengths, kInitialH, kInitialC, kPeepholes };

// Activations of gates, by name, with their own alpha and beta.

struct Activation {
  std::string name;  ///< lower case
  double alpha = 0, beta = 0;
};

struct ActivationKind {
  std::string_view name;
  te::Expr (*apply)(const te::Expr& x, te::Number alpha, te::Number beta);
  std::optional<double> alpha = std::nullopt;  ///< default, where the function has one
  std::optional<double> beta = std::nullopt;
};

te::Expr number_of(const te::Expr& x, te::Number value) { return te::literal(value, x.dtype()); }
te::Expr sigmoid(const te::Expr& x) { return number_of(x, 1) / (te::exp(-x) + te::Number(1)); }

const ActivationKind kActivations[] = {
    {"relu", [](const te::Expr& x, te::Number, te::Number) { return te::max(x, 0); }},
    {"tanh", [](const te::Expr& x, te::Number, te::Number) { return te::tanh(x); }},
    {"sigmoid", [](const te::Expr& x, te::Number, te::Number) { return sigmoid(x); }},
    {"softsign", [](const te::Expr& x, te::Number, te::Number) { return x / (te::abs(x) + te::Number(1)); }},
    {"softplus", [](const te::Expr& x, te::Number,
                    te::Number) { return te::max(x, 0) + te::log(te::exp(-te::abs(x)) + te::Number(1)); }},
    {"affine", [](const te::Expr& x, te::Number alpha, te::Number beta) { return x * alpha + beta; }, 1.0, 0.0},
    {"leakyrelu",
     [](const te::Expr& x, te::Number alpha, te::Number) { return te::select(x < te::Number(0), x * alpha, x); },
     0.01f},
    {"thresholdedrelu",
     [](const te::Expr& x, te::Number alpha, te::Number) {
       return te::select(number_of(x, alpha) < x, x, number_of(x, 0));
     },
     1.0},
    {"scaledtanh", [](const te::Expr& x, te::Number alpha, te::Number beta) { return te::tanh(x * beta) * alpha; }, 1.0,
     1.0},
    {"hardsigmoid",
     [](const te::Expr& x, te::Number alpha, te::Number beta) { return te::min(te::max(x * alpha + beta, 0), 1); },
     0.2f, 0.5},
    {"elu",
     [](const te::Expr& x, te::Number alpha, te::Number) {
       return te::select(x < te::Number(0), (te::exp(x) - te::Number(1)) * alpha, x);
     },
     1.0},
};

const ActivationKind* find_activation(const std::string& name) {
  const auto found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                  [&](const ActivationKind& kind) { return kind.name == name; });
  return found == std::end(kActivations) ? nullptr : found;
}

/// The node's activations, `names.size()` a direction (the defaults where it has none). Values of activation_alpha and
/// activation_beta are taken in order by the functions that have such a parameter.
Result<std::vector<Activation>> activations_of(const OpContext& context, const std::vector<std::string>& names,
                                               int directions) {
  std::vector<std::string> stated;
  if (context.has_attribute("activations")) stated = context.get_strings("activations");
  if (stated.empty())
    for (int d = 0; d < directions; ++d) stated.insert(stated.end(), names.begin(), names.end());
  if (stated.size() < names.size() * directions)
    return context.invalid("{} activations expected, {} found", names.size() * directions, stated.size());
  stated.resize(names.size() * directions);  // RNN's default has one for each direction of two
  const auto values = [&](std::string_view name) {
    return context.has_attribute(name) ? context.get_floats(name) : std::vector<float>();
  };
  const std::vector<float> alphas = values("activation_alpha"), betas = values("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> result;
  for (std::string name : stated) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const ActivationKind* kind = find_activation(name);
    if (!kind) return context.unsupported("activation '{}'", name);
    Activation activation{name};
    if (kind->alpha) activation.alpha = next_alpha < alphas.size() ? alphas[next_alpha++] : *kind->alpha;
    if (kind->beta) activation.beta = next_beta < betas.size() ? betas[next_beta++] : *kind->beta;
    result.push_back(std::move(activation));
  }
  return result;
}

// Geometry and operands, the same for all three operators but for the number of gates.

struct Recurrent {
  const OpContext& context;
  int gates;
  bool batch_first;
  int directions;
  bool forward_first;
  Dim steps, batch, inputs, hidden;
  std::vector<Activation> activations;
  std::optional<double> clip;

  DataType dtype() const { return context.dtype(kX); }
  /// What all is computed in: states of halves are rounded where they are read, not at each step.
  DataType running() const { return sum_type(dtype()); }
  te::Expr load(int input, std::vector<te::Expr> index) const {
    return te::cast(running(), context.load(input, std::move(index)));
  }
  bool is_reverse(int direction) const { return direction == 1 || !forward_first; }
  Dim width() const { return hidden * gates; }
  Shape state() const { return {batch, hidden}; }
  /// [steps, directions, batch, hidden] or [directions, batch, hidden] in the layout of the node.
  Shape sequence_shape() const {
    return batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
  }
  Shape final_shape() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
  te::Expr apply(int direction, int which, te::Expr x) const {
    const Activation& activation = activations[direction * (activations.size() / directions) + which];
    return find_activation(activation.name)->apply(x, activation.alpha, activation.beta);
  }
  /// The input of a gate's activation, cut to [-clip, clip]. As ONNX Runtime does, the cell of an LSTM is not.
  te::Expr clipped(te::Expr x) const {
    return clip ? te::min(te::max(std::move(x), te::Number(-*clip)), te::Number(*clip)) : x;
  }
  /// Number of steps of an element of the batch.
  te::Expr length(const te::Expr& batch) const {
    if (!context.has_input(kLengths)) return steps.expr();
    return te::min(te::cast(DataType::kInt64, context.load(kLengths, {batch})), steps.expr());
  }
  te::Expr lasts(const te::Expr& step, const te::Expr& batch) const {
    return context.has_input(kLengths) ? step < length(batch) : te::truth(true);
  }
  /// The time at which the scan of a direction is at `step`, and the step at which it is at a time; 0 where the element
  /// has ended.
  te::Expr mirrored(int direction, const te::Expr& step, const te::Expr& batch) const {
    if (!is_reverse(direction)) return step;
    const te::Expr mirror = length(batch) - 1 - step;
    return context.has_input(kLengths) ? te::max(mirror, 0) : mirror;
  }
  /// An initial state at axis(0), axis(1), 0 where absent.
  te::Expr initial(int input, int direction) const {
    if (!context.has_input(input)) return te::literal(0, running());
    const te::Expr b = te::axis(0), h = te::axis(1), d = te::index(direction);
    return load(input, batch_first ? std::vector{b, d, h} : std::vector{d, b, h});
  }
};

Result<Recurrent> recurrent_of(const OpContext& context, int gates,
                               const std::vector<std::string>& default_activations) {
  for (const int i : {kX, kW, kR}) TRY_VOID(expect_rank(context, i, 3));
  const std::string& direction = context.get_string("direction");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional" && direction != "foward")
    return context.invalid("direction forward, reverse or bidirectional expected, '{}' found", direction);
  const int64_t layout = context.get_int("layout");
  Recurrent result{.context = context,
                   .gates = gates,
                   .batch_first = layout == 1,
                   .directions = direction == "bidirectional" ? 2 : 1,
                   .forward_first = direction != "reverse",
                   .steps = context.dim(kX, layout == 1),
                   .batch = context.dim(kX, layout == 0),
                   .inputs = context.dim(kX, 2),
                   .hidden = context.dim(kR, 2),
                   .activations = {},
                   .clip = {}};
  if (context.has_attribute("hidden_size")) {
    const auto hidden = agreed(result.hidden, context.get_int("hidden_size"));
    if (!hidden || hidden->value() < 1)
      return context.invalid("R of hidden_size {} expected, {} found", context.get_int("hidden_size"),
                             text(context.shape(kR)));
    result.hidden = *hidden;
  }
  const Dim directions = result.directions;
  TRY_VOID(expect_shape(context, kW, {directions, result.width(), result.inputs}));
  TRY_VOID(expect_shape(context, kR, {directions, result.width(), result.hidden}));
  TRY_VOID(expect_shape(context, kBiases, {directions, result.width() * 2}));
  TRY_VOID(expect_shape(context, kLengths, {result.batch}));
  for (const int state : {kInitialH, kInitialC}) TRY_VOID(expect_shape(context, state, result.final_shape()));
  TRY_VOID(expect_shape(context, kPeepholes, {directions, result.hidden * 3}));
  TRY(result.activations, activations_of(context, default_activations, result.directions));
  if (context.has_attribute("clip")) result.clip = context.get_float("clip");
  if (result.clip && !(*result.clip >= 0))
    return context.invalid("clip of at least 0 expected, {} found", *result.clip);
  return result;
}

Result<std::vector<ValueType>> types_of(const Recurrent& recurrent) {
  const ValueType last = ValueType::tensor(recurrent.dtype(), recurrent.final_shape());
  return std::vector{ValueType::tensor(recurrent.dtype(), recurrent.sequence_shape()), last, last};
}

/// X · Wᵀ + Wb as [directions, steps, batch, gates * hidden], with Rb too for the first `biased` gates.
te::StageValue project(te::Program& program, const Recurrent& r, int biased) {
  const OpContext& context = r.context;
  const te::Expr d = te::axis(0), t = te::axis(1), b = te::axis(2), row = te::axis(3), k = te::reduce_axis(0);
  const Shape shape = {r.directions, r.steps, r.batch, r.width()};
  const te::Expr x = r.load(kX, r.batch_first ? std::vector{b, t, k} : std::vector{t, b, k});
  const te::StageValue product = sum_over(program, shape, {r.inputs}, x * r.load(kW, {d, row, k}));
  if (!context.has_input(kBiases)) return product;
  te::Expr of_r = r.load(kBiases, {d, row + r.width().expr()});
  if (biased < r.gates) of_r = te::select(row < (r.hidden * biased).expr(), of_r, te::literal(0, r.running()));
  return program.map(shape, program.load(product, {d, t, b, row}) + (r.load(kBiases, {d, row}) + of_r));
}

/// Inside the scan of one direction, at axis(0) = batch, axis(1) = hidden unit.
struct Cell {
  const te::Program& program;
  const Recurrent& r;
  te::StageValue projected;
  int direction;

  te::Expr batch() const { return te::axis(0); }
  te::Expr unit() const { return te::axis(1); }
  te::Expr row(int gate) const { return unit() + (r.hidden * gate).expr(); }
  te::Expr from_input(int gate) const {
    return program.load(projected,
                        {te::index(direction), r.mirrored(direction, te::time_step(), batch()), batch(), row(gate)});
  }
  te::Expr before(int state) const { return te::load_state(state, r.running(), {batch(), unit()}); }
  te::Expr inner(int stage) const { return te::load_inner(stage, r.running(), {batch(), unit()}); }
  /// Of the stage that `recurrent_product` made.
  te::Expr from_state(int stage, int gate) const { return te::load_inner(stage, r.running(), {batch(), row(gate)}); }
  /// Σ_k operand[batch, k] * R[first + row, k] over `rows` rows.
  te::MapReduce recurrent_product(const te::Expr& operand, const Dim& first, const Dim& rows) const {
    const te::Expr weight = r.load(kR, {te::index(direction), te::axis(1) + first.expr(), te::reduce_axis(0)});
    return {{r.batch, rows}, {r.hidden}, te::sum(r.running()), {operand * weight}};
  }
  te::MapReduce map(te::Expr body) const { return {r.state(), {}, {}, {std::move(body)}}; }
  /// The state after this step: kept where the element's sequence has ended.
  te::MapReduce next(te::Expr value, int state) const {
    return map(te::select(r.lasts(te::time_step(), batch()), std::move(value), before(state)));
  }
  te::Expr activate(int which, te::Expr x) const { return r.apply(direction, which, std::move(x)); }
};

/// Scans of all directions as the operator's outputs: the sequence of state 0, then the last value of each state.
/// `biased`: as for project.
template <class Step>
Result<te::Program> scan_directions(const Recurrent& r, int biased, int states, Step step) {
  te::Program program;
  const te::StageValue projected = project(program, r, biased);
  std::vector<te::StageValue> scans;
  for (int d = 0; d < r.directions; ++d) {
    te::Scan scan{.trip = r.steps, .states = {}, .steps = {}, .next = {}};
    for (int k = 0; k < states; ++k) scan.states.push_back({r.state(), r.initial(kInitialH + k, d)});
    step(Cell{program, r, projected, d}, scan);
    scans.push_back(program.scan(std::move(scan)));
  }
  const auto by_direction = [&](const te::Expr& direction, auto value) {
    const te::Expr first = value(0);
    return r.directions == 1 ? first : te::select(te::equal(direction, 0), first, value(1));
  };
  program.outputs.resize(states + 1);
  if (r.context.wants_output(0)) {
    const te::Expr t = te::axis(r.batch_first), b = te::axis(r.batch_first ? 0 : 2),
                   d = te::axis(r.batch_first ? 2 : 1);
    const te::Expr value = by_direction(d, [&](int direction) {
      return program.load(scans[direction], {r.mirrored(direction, t, b), b, te::axis(3)});
    });
    program.outputs[0] = program.map(
        r.sequence_shape(), te::cast(r.dtype(), te::select(r.lasts(t, b), value, te::literal(0, r.running()))));
  }
  for (int k = 0; k < states; ++k) {
    if (!r.context.wants_output(k + 1)) continue;
    const te::Expr b = te::axis(!r.batch_first), d = te::axis(r.batch_first), h = te::axis(2);
    const te::Expr value = by_direction(d, [&](int direction) {
      te::StageValue state = scans[direction];
      state.component = k;
      te::Expr initial = te::literal(0, r.running());
      if (r.context.has_input(kInitialH + k))
        initial = r.load(kInitialH + k, r.batch_first ? std::vector{b, te::index(direction), h}
                                                      : std::vector{te::index(direction), b, h});
      return te::select(te::equal(r.steps.expr(), 0), initial, program.load(state, {(r.steps - 1).expr(), b, h}));
    });
    program.outputs[k + 1] = program.map(r.final_shape(), te::cast(r.dtype(), value));
  }
  return program;
}

// RNN: H = f(X Wᵀ + H Rᵀ + b)

const std::vector<std::string> kRnnActivations = {"Tanh"};

Result<Recurrent> rnn_of(const OpContext& context) { return recurrent_of(context, 1, kRnnActivations); }

Result<std::vector<ValueType>> infer_rnn(const OpContext& context) {
  TRY(const Recurrent r, rnn_of(context));
  return types_of(r);
}

Result<te::Program> compute_rnn(const OpContext& context) {
  TRY(const Recurrent r, rnn_of(context));
  return scan_directions(r, 1, 1, [&](const Cell& cell, te::Scan& scan) {
    const te::Expr state = te::load_state(0, r.running(), {te::axis(0), te::reduce_axis(0)});
    scan.steps = {cell.recurrent_product(state, 0, r.hidden),
                  cell.next(cell.activate(0, r.clipped(cell.from_input(0) + cell.from_state(0, 0))), 0)};
    scan.next = {1};
  });
}

// GRU: gates z, r, h. H = (1 - z) ∘ g(X Whᵀ + (r ∘ H) Rhᵀ + b) + z ∘ H, or with linear_before_reset
// g(X Whᵀ + r ∘ (H Rhᵀ + Rb) + Wb).

const std::vector<std::string> kGruActivations = {"Sigmoid", "Tanh"};

Result<Recurrent> gru_of(const OpContext& context) { return recurrent_of(context, 3, kGruActivations); }

Result<std::vector<ValueType>> infer_gru(const OpContext& context) {
  TRY(const Recurrent r, gru_of(context));
  return types_of(r);
}

Result<te::Program> compute_gru(const OpContext& context) {
  TRY(const Recurrent r, gru_of(context));
  const bool linear = context.get_int("linear_before_reset") != 0;
  return scan_directions(r, linear ? 2 : 3, 1, [&](const Cell& cell, te::Scan& scan) {
    const te::Expr k = te::reduce_axis(0);
    const auto gate = [&](int which) {
      return cell.activate(0, r.clipped(cell.from_input(which) + cell.from_state(0, which)));
    };
    const te::Expr state = te::load_state(0, r.running(), {te::axis(0), k});
    te::Expr candidate;
    if (linear) {
      te::Expr product = cell.from_state(0, 2);
      if (context.has_input(kBiases)) product = product + r.load(kBiases, {te::index(cell.direction), cell.row(5)});
      scan.steps = {cell.recurrent_product(state, 0, r.width()), cell.map(gate(0))};
      candidate = cell.from_input(2) + gate(1) * product;
    } else {
      scan.steps = {cell.recurrent_product(state, 0, r.hidden * 2), cell.map(gate(0)),
                    cell.map(gate(1) * cell.before(0)),
                    cell.recurrent_product(te::load_inner(2, r.running(), {te::axis(0), k}), r.hidden * 2, r.hidden)};
      candidate = cell.from_input(2) + cell.inner(3);
    }
    const te::Expr update = cell.inner(1);
    scan.steps.push_back(
        cell.next((te::Number(1) - update) * cell.activate(1, r.clipped(candidate)) + update * cell.before(0), 0));
    scan.next = {static_cast<int>(scan.steps.size()) - 1};
  });
}

// LSTM: gates i, o, f, c. C = f ∘ C + i ∘ c, H = o ∘ h(C); i and f look at the cell before, o at the one after.

const std::vector<std::string> kLstmActivations = {"Sigmoid", "Tanh", "Tanh"};

Result<Recurrent> lstm_of(const OpContext& context) { return recurrent_of(context, 4, kLstmActivations); }

Result<std::vector<ValueType>> infer_lstm(const OpContext& context) {
  TRY(const Recurrent r, lstm_of(context));
  return types_of(r);
}

Result<te::Program> compute_lstm(const OpContext& context) {
  TRY(const Recurrent r, lstm_of(context));
  const bool coupled = context.get_int("input_forget") != 0;
  return scan_directions(r, 4, 2, [&](const Cell& cell, te::Scan& scan) {
    const te::Expr state = te::load_state(0, r.running(), {te::axis(0), te::reduce_axis(0)});
    const auto gate = [&](int which, int peephole, const te::Expr& memory) {
      te::Expr sum = cell.from_input(which) + cell.from_state(0, which);
      if (context.has_input(kPeepholes) && peephole >= 0)
        sum = sum + r.load(kPeepholes, {te::index(cell.direction), cell.row(peephole)}) * memory;
      return cell.activate(peephole >= 0 ? 0 : 1, r.clipped(sum));
    };
    const te::Expr memory = cell.before(1);
    const te::Expr input = gate(0, 0, memory);
    const te::Expr forget = coupled ? te::Number(1) - input : gate(2, 2, memory);
    const te::Expr after = cell.inner(1);
    scan.steps = {cell.recurrent_product(state, 0, r.width()),
                  cell.next(forget * memory + input * gate(3, -1, memory), 1),
                  cell.next(gate(1, 1, after) * cell.activate(2, after), 0)};
    scan.next = {2, 1};
  });
}

// Forms of older opsets: no layout before 14, no linear_before_reset before 3; output_sequence of 1 to 6 says nothing
// that the outputs in use don't.

Result<void> drop_output_sequence(NodeForm& form) {
  form.drop("output_sequence");
  return {};
}

Result<void> state_output_sequence(NodeForm& form) {
  form.set("output_sequence", int64_t{form.has_output(0)});
  return {};
}

std::vector<Version> recurrent_versions() {
  const Version older = without(7, {"layout"});
  return {{14}, older, {1, drop_output_sequence, in_turn({state_output_sequence, older.from_newest})}};
}

std::vector<Version> gru_versions() {
  std::vector<Version> versions = recurrent_versions();
  versions.back().since = 3;
  const Version oldest = without(1, {"layout", "linear_before_reset"});
  versions.push_back({1, drop_output_sequence, in_turn({state_output_sequence, oldest.from_newest})});
  return versions;
}

std::vector<AttributeDef> recurrent_attributes(std::vector<AttributeDef> further) {
  std::vector<AttributeDef> defs = {optional("activation_alpha", AttributeKind::kFloats),
                                    optional("activation_beta", AttributeKind::kFloats),
                                    optional("clip", AttributeKind::kFloat),
                                    with_default("direction", "forward"),
                                    optional("hidden_size", AttributeKind::kInt),
                                    zero_or_one("layout", 0)};
  defs.insert(defs.end(), further.begin(), further.end());
  return defs;
}

}  // namespace

std::vector<OpDef> recurrent() {
  return {
      {.name = "LSTM",
       .since = 22,
       .inputs = {"X", "W", "R", "B?", "sequence_lens?:int32", "initial_h?", "initial_c?", "P?"},
       .outputs = {"Y?", "Y_h?", "Y_c?"},
       .types = {{"T", kFloats}},
       .attributes =
           recurrent_attributes({optional("activations", AttributeKind::kStrings), with_default("input_forget", 0)}),
       .versions = recurrent_versions(),
       .infer = infer_lstm,
       .compute = compute_lstm},

      {.name = "GRU",
       .since = 22,
       .inputs = {"X", "W", "R", "B?", "sequence_lens?:int32", "initial_h?"},
       .outputs = {"Y?", "Y_h?"},
       .types = {{"T", kFloats}},
       .attributes = recurrent_attributes(
           {optional("activations", AttributeKind::kStrings), with_default("linear_before_reset", 0)}),
       .versions = gru_versions(),
       .infer = infer_gru,
       .compute = compute_gru},

      {.name = "RNN",
       .since = 22,
       .inputs = {"X", "W", "R", "B?", "sequence_lens?:int32", "initial_h?"},
       .outputs = {"Y?", "Y_h?"},
       .types = {{"T", kFloats}},
       .attributes = recurrent_attributes(
           {{"activations", AttributeKind::kStrings, false, std::vector<std::string>{"Tanh", "Tanh"}}}),
       .versions = recurrent_versions(),
       .infer = infer_rnn,
       .compute = compute_rnn},
  };
}

}  // namespace isomer::ops
