// TermRecorder: stages evaluated one element at a time, when it is asked for. Integers are known when recorded.
#include <array>
#include <map>

#include "graph/algorithms.h"
#include "graph/infer.h"
#include "graph/te/failure.h"
#include "graph/te/integer_algebra.h"
#include "substitutions/discover/recording.h"
#include "verify/proof/term_graph.h"

namespace isomer::substitutions {
namespace {

using Scalar = std::variant<int64_t, uint32_t>;  ///< an integer, or an operation
constexpr uint32_t kUnknown = ~uint32_t{0};
constexpr size_t kMaxRank = 16;

using Indices = std::array<int64_t, kMaxRank>;

/// What variables mean at one point.
struct Frame {
  const Indices* axes = nullptr;
  const Indices* reduce = nullptr;
  std::span<const Scalar> left, right;  ///< of a monoid
};

/// Integer arithmetic, short for what indices are made of.
int64_t index_arithmetic(te::BinaryOp op, DataType dtype, int64_t a, int64_t b) {
  if (dtype == DataType::kInt64) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if (op == te::BinaryOp::kAdd) return static_cast<int64_t>(x + y);
    if (op == te::BinaryOp::kSub) return static_cast<int64_t>(x - y);
    if (op == te::BinaryOp::kMul) return static_cast<int64_t>(x * y);
    if (op == te::BinaryOp::kLess) return a < b;
    if (op == te::BinaryOp::kLessEqual) return a <= b;
  }
  if (dtype == DataType::kBool && op == te::BinaryOp::kAnd) return a & b;
  return te::apply_integer(op, dtype, a, b);
}

bool advance(Indices& index, const Dims& dims) {
  size_t k = dims.size();
  while (k > 0 && ++index[k - 1] == dims[k - 1]) index[--k] = 0;
  return k > 0;
}

}  // namespace

/// The values of a graph and of the stages inside its nodes.
class TermRecorder::Values {
 public:
  explicit Values(Graph graph) : graph_(std::move(graph)) {}

  Result<void> prepare() {
    for (size_t k = 0; k < graph_.inputs().size(); ++k) operands_.emplace(graph_.inputs()[k], static_cast<int>(k));
    TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order) {
      const Node& node = graph_.node(id);
      if (!node.op->compute)
        return unsupported(label(graph_, id), "an operator with a tensor expression expected, it has none");
      TRY(te::Program program, node.op->compute(context_of(graph_, id)));
      auto made = std::make_unique<Application>();
      made->inputs = node.inputs;
      made->program = std::move(program);
      for (size_t k = 0; k < node.outputs.size(); ++k) made_by_.emplace(node.outputs[k], std::pair(made.get(), k));
      for (size_t stage = 0; stage < made->program.stages.size(); ++stage) {
        const auto dims = constants(made->program.stages[stage].shape(0));
        if (!dims || dims->size() > kMaxRank) return unsupported(label(graph_, id), "dims that are known expected");
        made->dims.push_back(*dims);
        made->elements.emplace_back(static_cast<size_t>(made->program.stages[stage].components()));
      }
      applications_.push_back(std::move(made));
    }
    for (const ValueId output : graph_.outputs()) dims_.push_back(*constants(*graph_.value(output).type.shape));
    return {};
  }

  const Dims& dims(size_t term) const { return dims_[term]; }
  Recording& recording() { return recording_; }
  uint32_t element(size_t term, uint32_t position) { return std::get<1>(value(graph_.outputs()[term], position)); }

 private:
  struct Application {
    std::vector<ValueId> inputs;
    te::Program program;
    std::vector<Dims> dims;                                       ///< of each stage
    std::vector<std::vector<std::vector<Scalar>>> elements = {};  ///< of each component of each stage, once asked for
  };

  Scalar value(ValueId id, int64_t position) {
    if (const auto operand = operands_.find(id); operand != operands_.end())
      return recording_.element(operand->second, static_cast<uint32_t>(position));
    if (const auto made = made_by_.find(id); made != made_by_.end()) {
      const auto& [application, output] = made->second;
      return stage(*application, application->program.outputs[output], position);
    }
    const Tensor& constant = *graph_.value(id).constant;
    return is_float(constant.dtype()) ? Scalar(recording_.number(constant.number(position).value_or(0)))
                                      : Scalar(constant.integer(position));
  }

  Scalar stage(Application& application, const te::StageValue& at, int64_t position) {
    const auto number = static_cast<size_t>(at.stage);
    auto& components = application.elements[number];
    auto& known = components[static_cast<size_t>(at.component)];
    if (known.empty()) known.assign(static_cast<size_t>(element_count(application.dims[number])), Scalar(kUnknown));
    if (known[static_cast<size_t>(position)] == Scalar(kUnknown)) {
      const auto* body = std::get_if<te::MapReduce>(&application.program.stages[number].body);
      if (!body) te::fail_unsupported("steps that follow each other");
      std::vector<Scalar> made = run(application, *body, application.dims[number], position);
      for (size_t k = 0; k < made.size(); ++k)
        if (!components[k].empty()) components[k][static_cast<size_t>(position)] = made[k];
    }
    return known[static_cast<size_t>(position)];
  }

  std::vector<Scalar> run(Application& application, const te::MapReduce& body, const Dims& dims, int64_t position) {
    Indices axes = {}, reduce = {};
    for (size_t k = dims.size(); k-- > 0; position /= dims[k]) axes[k] = position % dims[k];
    const Frame frame = {&axes, &reduce, {}, {}};
    std::vector<Scalar> result(body.bodies.size()), next = result, combined = result;
    const auto evaluate = [&](const std::vector<te::Expr>& list, const Frame& at, std::vector<Scalar>& out) {
      for (size_t k = 0; k < list.size(); ++k)
        out[k] = is_float(list[k].dtype()) ? Scalar(real(application, list[k], at))
                                           : Scalar(integer(application, list[k], at));
    };
    evaluate(body.combine.combine.empty() ? body.bodies : body.combine.identity, frame, result);
    if (body.combine.combine.empty()) return result;
    const auto range = constants(body.reduce);
    if (!range || range->size() > kMaxRank) te::fail_unsupported("dims that are known expected");
    if (element_count(*range) == 0) return result;
    do {
      evaluate(body.bodies, frame, next);
      evaluate(body.combine.combine, {nullptr, nullptr, result, next}, combined);
      result.swap(combined);
    } while (advance(reduce, *range));
    return result;
  }

  Scalar load(Application& application, const te::Load& e, const Frame& frame) {
    const bool is_stage = e.buffer.kind == te::BufferRef::Kind::kStage;
    if (!is_stage && e.buffer.kind != te::BufferRef::Kind::kInput) te::fail_unsupported("steps that follow each other");
    const auto index = static_cast<size_t>(e.buffer.index);
    const ValueId input = is_stage ? ValueId() : application.inputs[index];
    const auto& dims = is_stage ? application.dims[index] : dims_of(input);
    int64_t position = 0;
    for (size_t k = 0; k < e.index.size(); ++k) {
      const int64_t at = integer(application, e.index[k], frame);
      if (at < 0 || at >= dims[k]) te::fail("an index is out of range");
      position = position * dims[k] + at;
    }
    return is_stage ? stage(application, {e.buffer.index, e.buffer.component}, position) : value(input, position);
  }

  const Dims& dims_of(ValueId id) {
    auto& known = input_dims_[id];
    if (!known) known = *constants(*graph_.value(id).type.shape);
    return *known;
  }

  static const Scalar& operand(const te::Var& e, const Frame& frame) {
    const auto side = e.kind == te::VarKind::kLeft    ? frame.left
                      : e.kind == te::VarKind::kRight ? frame.right
                                                      : std::span<const Scalar>();
    CHECK(e.index < static_cast<int>(side.size())) << "operand " << e.index;
    return side[static_cast<size_t>(e.index)];
  }

  int64_t integer(Application& application, const te::Expr& expr, const Frame& frame) {
    return te::visit(
        expr, [&](const te::Literal& e) { return te::wrap(expr.dtype(), e.value.to_int64()); },
        [&](const te::Var& e) {
          if (e.kind == te::VarKind::kSpatial) return (*frame.axes)[static_cast<size_t>(e.index)];
          if (e.kind == te::VarKind::kReduce) return (*frame.reduce)[static_cast<size_t>(e.index)];
          return std::get<0>(operand(e, frame));
        },
        [&](const te::Symbol& e) -> int64_t { te::fail("the dim '{}' has no value", e.name); },
        [&](const te::Unary& e) -> int64_t {
          if (is_float(e.operand.dtype())) te::fail_unsupported("data decide");
          return te::apply_integer(e.op, e.operand.dtype(), integer(application, e.operand, frame));
        },
        [&](const te::Binary& e) -> int64_t {
          if (is_float(e.left.dtype())) te::fail_unsupported("data decide");
          const int64_t left = integer(application, e.left, frame);
          return index_arithmetic(e.op, e.left.dtype(), left, integer(application, e.right, frame));
        },
        [&](const te::Select& e) {
          return integer(application, integer(application, e.condition, frame) != 0 ? e.then : e.otherwise, frame);
        },
        [&](const te::Cast& e) -> int64_t {
          if (is_float(e.operand.dtype())) te::fail_unsupported("data become integers");
          return te::wrap(expr.dtype(), te::unwrap(e.operand.dtype(), integer(application, e.operand, frame)));
        },
        [&](const te::Load& e) { return std::get<0>(load(application, e, frame)); });
  }

  uint32_t real(Application& application, const te::Expr& expr, const Frame& frame) {
    return te::visit(
        expr, [&](const te::Literal& e) { return recording_.number(e.value); },
        [&](const te::Var& e) { return std::get<1>(operand(e, frame)); },
        [&](const te::Symbol& e) -> uint32_t { te::fail("the dim '{}' has no value", e.name); },
        [&](const te::Unary& e) { return recording_.unary(e.op, real(application, e.operand, frame)); },
        [&](const te::Binary& e) {
          const uint32_t left = real(application, e.left, frame);
          return recording_.binary(e.op, left, real(application, e.right, frame));
        },
        [&](const te::Select& e) {
          return real(application, integer(application, e.condition, frame) != 0 ? e.then : e.otherwise, frame);
        },
        [&](const te::Cast& e) {
          if (is_float(e.operand.dtype())) return real(application, e.operand, frame);
          return recording_.number(
              te::Number(static_cast<int64_t>(te::unwrap(e.operand.dtype(), integer(application, e.operand, frame)))));
        },
        [&](const te::Load& e) { return std::get<1>(load(application, e, frame)); });
  }

  Graph graph_;
  Recording recording_;
  std::map<ValueId, int> operands_;
  std::map<ValueId, std::pair<Application*, size_t>> made_by_;
  std::map<ValueId, std::optional<Dims>> input_dims_;
  std::vector<std::unique_ptr<Application>> applications_;
  std::vector<Dims> dims_;
};

TermRecorder::TermRecorder(std::unique_ptr<Values> values) : values_(std::move(values)) {}
TermRecorder::TermRecorder(TermRecorder&&) noexcept = default;
TermRecorder::~TermRecorder() = default;

const Dims& TermRecorder::dims(size_t term) const { return values_->dims(term); }
Recording& TermRecorder::recording() { return values_->recording(); }
uint32_t TermRecorder::element(size_t term, uint32_t position) { return values_->element(term, position); }

Result<TermRecorder> TermRecorder::make(std::span<const verify::Term> terms, std::span<const Dims> operands) {
  static constexpr const char* kNames[] = {"a", "b"};
  verify::VariableTypes types;
  for (size_t k = 0; k < operands.size(); ++k)
    types.emplace(kNames[k], ValueType::tensor(DataType::kFloat32, {operands[k].begin(), operands[k].end()}));
  TRY(Graph graph, verify::graph_of({terms.begin(), terms.end()}, types));
  auto values = std::make_unique<Values>(std::move(graph));
  TRY_VOID(values->prepare());
  return TermRecorder(std::move(values));
}

}  // namespace isomer::substitutions
