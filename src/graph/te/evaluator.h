// The evaluator of programs, generic over its scalars: it walks the expressions and loops as they stand, and is the
// reference that faster readers are compared with. `Concrete<Algebra>` (algebra.h) and `SymbolicScalars`
// (symbolic_scalars.h) are the scalars; an unknown one can only come from the latter. Users call evaluate.h.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/te/algebra.h"
#include "graph/te/integer.h"
#include "graph/te/program.h"
#include "graph/tensor.h"

namespace isomer::te {

/// A tensor, row-major.
template <class Scalar>
struct Values {
  DataType dtype = DataType::kUndefined;
  Dims dims;
  std::vector<Scalar> elements;
};

/// An evaluation that would go beyond these is an error.
struct EvaluationLimits {
  int64_t elements = int64_t{1} << 28;  ///< of one tensor
  int64_t steps = int64_t{1} << 34;     ///< elements, terms of reductions and rounds of loops, all together
};

template <class Scalars>
class Evaluator {
 public:
  using Scalar = typename Scalars::Scalar;
  using Buffer = Values<Scalar>;

  /// Inputs may be nullptr: absent, or unknown. All arguments outlive the evaluator.
  Evaluator(const Program& program, Scalars& scalars, std::vector<const Buffer*> inputs, EvaluationLimits limits)
      : program_(program),
        scalars_(scalars),
        inputs_(std::move(inputs)),
        limits_(limits),
        stages_(program.stages.size()) {}

  /// Computed when first asked for, with the stages that it reads.
  const Buffer& value(const StageValue& at) { return stage(at.stage)[at.component]; }

 private:
  /// What variables and inner buffers mean at one point of the evaluation.
  struct Frame {
    std::vector<int64_t> axes, reduce, loops;
    int64_t time = 0;
    const std::vector<Scalar>* left = nullptr;
    const std::vector<Scalar>* right = nullptr;
    std::vector<std::vector<Buffer>>* inner = nullptr;
    std::vector<Buffer>* states = nullptr;
    std::vector<Buffer>* locals = nullptr;
  };

  const std::vector<Buffer>& stage(int index) {
    CHECK(index >= 0 && index < static_cast<int>(stages_.size())) << index;
    if (!stages_[index]) {
      CHECK(index < reading_) << "stage " << reading_ << " reads stage " << index;
      const int outer = std::exchange(reading_, index);
      stages_[index] = std::visit([&](const auto& body) { return run(body); }, program_.stages[index].body);
      reading_ = outer;
    }
    return *stages_[index];
  }

  // Scalars

  Scalar evaluate(const Expr& expr, const Frame& frame) {
    return visit(
        expr, [&](const Literal& e) { return literal(expr, e); }, [&](const Var& e) { return variable(e, frame); },
        [&](const Symbol& e) { return scalars_.symbol(e.name); },
        [&](const Unary& e) { return scalars_.unary(e.op, e.operand.dtype(), evaluate(e.operand, frame)); },
        [&](const Binary& e) {
          const Scalar left = evaluate(e.left, frame);
          return scalars_.binary(e.op, e.left.dtype(), left, evaluate(e.right, frame));
        },
        [&](const Select& e) {
          const auto holds = scalars_.truth(evaluate(e.condition, frame));
          if (holds) return evaluate(*holds ? e.then : e.otherwise, frame);
          const Scalar then = evaluate(e.then, frame);
          return scalars_.either(then, evaluate(e.otherwise, frame));
        },
        [&](const Cast& e) { return scalars_.cast(e.operand.dtype(), expr.dtype(), evaluate(e.operand, frame)); },
        [&](const Load& e) { return load(e, frame); });
  }

  /// Conversions of literals may be slow (an inverse in a field), so each is done once.
  Scalar literal(const Expr& expr, const Literal& e) {
    if (!is_float(expr.dtype())) return scalars_.literal(e.value, expr.dtype());
    auto& known = literals_[&*expr];
    if (!known) known.emplace(expr, scalars_.literal(e.value, expr.dtype()));
    return known->second;
  }

  Scalar variable(const Var& e, const Frame& frame) {
    const auto of = [&](const std::vector<int64_t>& iterators) {
      CHECK(e.index < static_cast<int>(iterators.size())) << "iterator " << e.index << " of " << iterators.size();
      return scalars_.integer(iterators[e.index]);
    };
    const auto component = [&](const std::vector<Scalar>* side) {
      CHECK(side && e.index < static_cast<int>(side->size())) << "operand " << e.index;
      return (*side)[e.index];
    };
    switch (e.kind) {
      case VarKind::kSpatial: return of(frame.axes);
      case VarKind::kReduce: return of(frame.reduce);
      case VarKind::kTime: return scalars_.integer(frame.time);
      case VarKind::kLeft: return component(frame.left);
      case VarKind::kRight: return component(frame.right);
      case VarKind::kLoop: return of(frame.loops);
    }
    return scalars_.integer(0);
  }

  const Buffer* buffer(const BufferRef& ref, const Frame& frame) {
    const auto at = [&](auto* buffers) {
      CHECK(buffers && ref.index < static_cast<int>(buffers->size())) << "buffer " << ref.index;
      return &(*buffers)[ref.index];
    };
    switch (ref.kind) {
      case BufferRef::Kind::kInput: return *at(&inputs_);
      case BufferRef::Kind::kStage: return &stage(ref.index)[ref.component];
      case BufferRef::Kind::kInner: return &(*at(frame.inner))[ref.component];
      case BufferRef::Kind::kState: return at(frame.states);
      case BufferRef::Kind::kLocal: return at(frame.locals);
    }
    return nullptr;
  }

  Scalar load(const Load& e, const Frame& frame) {
    const Buffer* from = buffer(e.buffer, frame);
    if (!from) return scalars_.unknown("an input that is read is absent");
    const std::vector<int64_t> index = indices(e.index, frame);
    if (index.size() < e.index.size()) return scalars_.unknown("an index is unknown");
    if (const auto at = offset(*from, index)) return from->elements[*at];
    return scalars_.unknown("an index is out of range");
  }

  /// Shorter than the list when an index is unknown.
  std::vector<int64_t> indices(const std::vector<Expr>& list, const Frame& frame) {
    std::vector<int64_t> result;
    result.reserve(list.size());
    for (const Expr& expr : list) {
      const auto i = scalars_.index(evaluate(expr, frame));
      if (!i) break;
      result.push_back(*i);
    }
    return result;
  }

  static std::optional<int64_t> offset(const Buffer& buffer, const std::vector<int64_t>& index) {
    CHECK(index.size() == buffer.dims.size()) << index.size() << " indices into rank " << buffer.dims.size();
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0 || index[i] >= buffer.dims[i]) return std::nullopt;
      at = at * buffer.dims[i] + index[i];
    }
    return at;
  }

  // Extents and loops

  void step() {
    if (++steps_ > limits_.steps) fail_unsupported("the evaluation takes more than {} steps", limits_.steps);
  }

  int64_t extent(const Expr& expr, const Frame& frame) {
    const auto value = scalars_.index(evaluate(expr, frame));
    if (!value) fail_unsupported("an extent is unknown");
    if (*value < 0) fail("an extent of at least 0 expected, {} found", *value);
    return *value;
  }
  Dims extents(const Shape& shape, const Frame& frame = {}) {
    Dims dims;
    for (const Dim& dim : shape) dims.push_back(extent(dim.expr(), frame));
    return dims;
  }

  /// A buffer of these dims, filled by `element` at each index.
  Buffer filled(DataType dtype, Dims dims, Scalar value) {
    int64_t count = 1;
    for (const int64_t dim : dims) count = saturating_mul(count, dim);
    if (count > limits_.elements) fail_unsupported("a tensor of more than {} elements", limits_.elements);
    return {dtype, std::move(dims), std::vector<Scalar>(count, std::move(value))};
  }

  /// Calls body(index) in row-major order.
  template <class F>
  void for_each_index(const Dims& dims, std::vector<int64_t>& index, F&& body) {
    index.assign(dims.size(), 0);
    if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
    for (;;) {
      step();
      body();
      size_t k = dims.size();
      while (k > 0 && ++index[k - 1] == dims[k - 1]) index[--k] = 0;
      if (k == 0) return;
    }
  }

  // Stages

  std::vector<Scalar> evaluate_all(const std::vector<Expr>& list, const Frame& frame) {
    std::vector<Scalar> result;
    result.reserve(list.size());
    for (const Expr& expr : list) result.push_back(evaluate(expr, frame));
    return result;
  }

  std::vector<Scalar> combined(const Monoid& monoid, const std::vector<Scalar>& left,
                               const std::vector<Scalar>& right) {
    Frame operands;
    operands.left = &left;
    operands.right = &right;
    return evaluate_all(monoid.combine, operands);
  }

  std::vector<Buffer> run(const MapReduce& s) { return run(s, Frame()); }
  std::vector<Buffer> run(const MapReduce& s, Frame frame) {
    const bool is_map = s.combine.combine.empty();
    CHECK(!is_map || s.reduce.empty()) << "a reduction without an operation";
    const Dims dims = extents(s.axes, frame), range = extents(s.reduce, frame);
    std::vector<Buffer> out;
    for (const Expr& body : s.bodies) out.push_back(filled(body.dtype(), dims, scalars_.zero(body.dtype())));
    int64_t at = 0;
    for_each_index(dims, frame.axes, [&] {
      std::vector<Scalar> result;
      if (is_map) {
        result = evaluate_all(s.bodies, frame);
      } else {
        result = evaluate_all(s.combine.identity, frame);
        for_each_index(range, frame.reduce,
                       [&] { result = combined(s.combine, result, evaluate_all(s.bodies, frame)); });
      }
      for (size_t k = 0; k < out.size(); ++k) out[k].elements[at] = std::move(result[k]);
      ++at;
    });
    return out;
  }

  std::vector<Buffer> run(const Scan& s) {
    Frame frame;
    const int64_t trip = extents({s.trip})[0];
    std::vector<Buffer> states, out;
    for (const Scan::State& state : s.states) {
      states.push_back(std::move(run(MapReduce{state.shape, {}, {}, {state.init}})[0]));
      Dims dims = states.back().dims;
      dims.insert(dims.begin(), trip);
      out.push_back(filled(state.init.dtype(), std::move(dims), scalars_.zero(state.init.dtype())));
    }
    for (int64_t t = 0; t < trip; ++t) {
      step();
      std::vector<std::vector<Buffer>> inner;
      frame.time = t;
      frame.states = &states;
      frame.inner = &inner;
      for (const MapReduce& body : s.steps) inner.push_back(run(body, frame));
      std::vector<Buffer> next;
      for (size_t k = 0; k < states.size(); ++k) {
        next.push_back(inner[s.next[k]][0]);
        CHECK(next[k].dims == states[k].dims) << "state " << k << " changes its shape";
        std::copy(next[k].elements.begin(), next[k].elements.end(),
                  out[k].elements.begin() + t * static_cast<int64_t>(next[k].elements.size()));
      }
      states = std::move(next);
    }
    return out;
  }

  std::vector<Buffer> run(const Update& s) {
    std::vector<Buffer> out = run(MapReduce{s.shape, {}, {}, {s.init}});
    Frame frame;
    for_each_index(extents(s.updates), frame.reduce, [&] {
      Scalar& element = store_target(out[0], s.index, frame);
      Scalar value = evaluate(s.value, frame);
      element = s.combine.combine.empty() ? std::move(value) : std::move(combined(s.combine, {element}, {value})[0]);
    });
    return out;
  }

  Scalar& store_target(Buffer& buffer, const std::vector<Expr>& index, const Frame& frame) {
    const std::vector<int64_t> known = indices(index, frame);
    if (known.size() < index.size()) fail_unsupported("an index that is written to is unknown");
    const auto at = offset(buffer, known);
    if (!at) fail("an index that is written to is out of range");
    return buffer.elements[*at];
  }

  // Imperative stages

  std::vector<Buffer> run(const Imperative& s) {
    std::set<int> resized;
    collect_resized(s.body.block, resized);
    std::vector<Buffer> locals;
    for (const Local& local : s.body.locals) {
      const bool later = resized.contains(static_cast<int>(locals.size()));
      locals.push_back(later ? Buffer{local.dtype, Dims(local.shape.size(), 0), {}} : zeroed(local));
    }
    Frame frame;
    frame.locals = &locals;
    execute(s.body.block, frame);
    std::vector<Buffer> out;
    for (const int local : s.outputs) out.push_back(locals[local]);
    return out;
  }

  /// What a Resize will size has no extents before.
  static void collect_resized(const Block& block, std::set<int>& out) {
    for (const Statement& statement : block)
      std::visit(Overloaded{[&](const For& s) { collect_resized(*s.body, out); },
                            [&](const While& s) { collect_resized(*s.body, out); },
                            [&](const If& s) {
                              collect_resized(*s.then, out);
                              if (s.otherwise) collect_resized(*s.otherwise, out);
                            },
                            [&](const Store&) {}, [&](const Resize& s) { out.insert(s.local); }},
                 statement.body);
  }
  Buffer zeroed(const Local& local) { return filled(local.dtype, extents(local.shape), scalars_.zero(local.dtype)); }

  bool holds(const Expr& condition, const Frame& frame) {
    const auto value = scalars_.truth(evaluate(condition, frame));
    if (!value) fail_unsupported("the condition of a statement is unknown");
    return *value;
  }

  void execute(const Block& block, Frame& frame) {
    for (const Statement& statement : block)
      std::visit([&](const auto& body) { execute(body, frame); }, statement.body);
  }
  void execute(const For& s, Frame& frame) {
    const int64_t end = extent(s.extent, frame);
    if (static_cast<int>(frame.loops.size()) <= s.loop) frame.loops.resize(s.loop + 1);
    for (int64_t i = 0; i < end; ++i) {
      step();
      frame.loops[s.loop] = i;
      execute(*s.body, frame);
    }
  }
  void execute(const While& s, Frame& frame) {
    while (holds(s.condition, frame)) {
      step();
      execute(*s.body, frame);
    }
  }
  void execute(const If& s, Frame& frame) {
    const bool chosen = holds(s.condition, frame);
    if (const auto& block = chosen ? s.then : s.otherwise) execute(*block, frame);
  }
  void execute(const Store& s, Frame& frame) {
    Scalar value = evaluate(s.value, frame);
    store_target((*frame.locals)[s.local], s.index, frame) = std::move(value);
  }
  void execute(const Resize& s, Frame& frame) {
    Buffer& local = (*frame.locals)[s.local];
    Dims dims;
    for (const Expr& e : s.extents) dims.push_back(extent(e, frame));
    local = filled(local.dtype, std::move(dims), scalars_.zero(local.dtype));
  }

  const Program& program_;
  Scalars& scalars_;
  std::vector<const Buffer*> inputs_;
  EvaluationLimits limits_;
  std::vector<std::optional<std::vector<Buffer>>> stages_;
  int reading_ = std::numeric_limits<int>::max();  ///< the stage being computed: it reads earlier ones only
  std::unordered_map<const ExprNode*, std::optional<std::pair<Expr, Scalar>>> literals_;
  int64_t steps_ = 0;
};

}  // namespace isomer::te
