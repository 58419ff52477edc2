#include "graph/te/validate.h"

#include <algorithm>

#include "graph/te/print.h"

namespace isomer::te {
namespace {

/// A buffer that may be read: its rank and type.
struct Signature {
  DataType dtype;
  size_t rank;
};

/// What is in scope where an expression stands.
struct Scope {
  size_t axes = 0, reduce = 0, loops = 0;
  bool time = false;
  const std::vector<DataType>* operands = nullptr;  ///< of a monoid's combine
  const std::vector<std::vector<Signature>>* inner = nullptr;
  const std::vector<Signature>* states = nullptr;
  const std::vector<Signature>* locals = nullptr;
};

class Validator {
 public:
  explicit Validator(const Program& program) : program_(program) {}

  Result<void> check() {
    for (size_t i = 0; i < program_.stages.size(); ++i) {
      const auto checked = std::visit([&](const auto& body) { return check(body, Scope()); }, program_.stages[i].body);
      if (!checked.ok()) return Error(checked.error()).within(fmt::format("stage s{}", i));
      stages_.push_back(signatures(program_.stages[i]));
    }
    for (const StageValue& output : program_.outputs)
      if (output.stage >= 0 && !find_in(stages_, output.stage, output.component))
        return invalid("output", "s{}.{} does not exist", output.stage, output.component);
    return {};
  }

 private:
  static std::vector<Signature> signatures(const Stage& stage) {
    std::vector<Signature> result;
    for (int k = 0; k < stage.components(); ++k) result.push_back({stage.dtype(k), stage.shape(k).size()});
    return result;
  }

  static const Signature* find_in(const std::vector<std::vector<Signature>>& buffers, int index, int component) {
    if (index < 0 || index >= static_cast<int>(buffers.size())) return nullptr;
    return find_in(buffers[index], component);
  }
  static const Signature* find_in(const std::vector<Signature>& buffers, int index) {
    return index >= 0 && index < static_cast<int>(buffers.size()) ? &buffers[index] : nullptr;
  }

  const Signature* find(const BufferRef& ref, const Scope& scope) const {
    switch (ref.kind) {
      case BufferRef::Kind::kInput: return nullptr;
      case BufferRef::Kind::kStage: return find_in(stages_, ref.index, ref.component);
      case BufferRef::Kind::kInner: return scope.inner ? find_in(*scope.inner, ref.index, ref.component) : nullptr;
      case BufferRef::Kind::kState:
        return scope.states && ref.component == 0 ? find_in(*scope.states, ref.index) : nullptr;
      case BufferRef::Kind::kLocal:
        return scope.locals && ref.component == 0 ? find_in(*scope.locals, ref.index) : nullptr;
    }
    return nullptr;
  }

  static bool in_scope(const Var& v, DataType dtype, const Scope& scope) {
    const auto within = [&](size_t count) { return v.index >= 0 && v.index < static_cast<int>(count); };
    switch (v.kind) {
      case VarKind::kSpatial: return within(scope.axes);
      case VarKind::kReduce: return within(scope.reduce);
      case VarKind::kTime: return scope.time && within(1);
      case VarKind::kLeft:
      case VarKind::kRight:
        return scope.operands && within(scope.operands->size()) && (*scope.operands)[v.index] == dtype;
      case VarKind::kLoop: return within(scope.loops);
    }
    return false;
  }

  Result<void> check(const Expr& expr, const Scope& scope, DataType dtype) const {
    if (!expr) return invalid("", "an expression is missing");
    if (expr.dtype() != dtype)
      return invalid("", "{} of type {} expected, {} found", print(expr), name(dtype), name(expr.dtype()));
    std::optional<Error> error;
    for_each_node(expr, [&](const Expr& e) {
      if (error) return;
      if (const Var* v = as<Var>(e); v && !in_scope(*v, e.dtype(), scope))
        error = invalid("", "{} is not defined here", print(e));
      const Load* load = as<Load>(e);
      if (!load || (load->buffer.kind == BufferRef::Kind::kInput && load->buffer.index >= 0)) return;
      const Signature* from = find(load->buffer, scope);
      if (!from)
        error = invalid("", "{} reads what is not defined here", print(e));
      else if (from->rank != load->index.size() || from->dtype != e.dtype())
        error = invalid("", "{} reads a buffer of type {} and rank {}", print(e), name(from->dtype), from->rank);
    });
    if (error) return std::move(*error);
    return {};
  }

  Result<void> check(const Shape& shape, const Scope& scope) const {
    for (const Dim& dim : shape) TRY_VOID(check(dim.expr(), scope, DataType::kInt64));
    return {};
  }

  Result<void> check(const Monoid& monoid, const std::vector<Expr>& values) const {
    if (monoid.identity.size() != values.size() || monoid.combine.size() != values.size())
      return invalid("", "{} values expected by {}, {} found", monoid.identity.size(), monoid.name, values.size());
    std::vector<DataType> types;
    for (const Expr& value : values) types.push_back(value.dtype());
    Scope operands;
    operands.operands = &types;
    for (size_t k = 0; k < values.size(); ++k) {
      TRY_VOID(check(monoid.identity[k], Scope(), types[k]));
      TRY_VOID(check(monoid.combine[k], operands, types[k]));
    }
    return {};
  }

  Result<void> check(const MapReduce& s, Scope scope) const {
    TRY_VOID(check(s.axes, scope));
    TRY_VOID(check(s.reduce, scope));
    scope.axes = s.axes.size();
    scope.reduce = s.reduce.size();
    if (s.bodies.empty()) return invalid("", "a body is missing");
    for (const Expr& body : s.bodies) {
      if (!body) return invalid("", "a body is missing");
      TRY_VOID(check(body, scope, body.dtype()));
    }
    if (!s.combine.combine.empty() || !s.combine.identity.empty()) return check(s.combine, s.bodies);
    if (!s.reduce.empty()) return invalid("", "a reduction without a monoid");
    return {};
  }

  Result<void> check(const Scan& s, Scope scope) const {
    TRY_VOID(check(Shape{s.trip}, scope));
    if (s.next.size() != s.states.size())
      return invalid("", "{} next values expected, {} found", s.states.size(), s.next.size());
    std::vector<Signature> states;
    for (const Scan::State& state : s.states) {
      TRY_VOID(check(MapReduce{state.shape, {}, {}, {state.init}}, scope));
      states.push_back({state.init.dtype(), state.shape.size()});
    }
    std::vector<std::vector<Signature>> inner;
    scope.time = true;
    scope.states = &states;
    scope.inner = &inner;
    for (const MapReduce& step : s.steps) {
      TRY_VOID(check(step, scope));
      inner.push_back(signatures(Stage{step}));
    }
    for (size_t k = 0; k < s.next.size(); ++k) {
      const Signature* next = find_in(inner, s.next[k], 0);
      if (!next || next->dtype != states[k].dtype || next->rank != states[k].rank)
        return invalid("", "step {} can't be the next state {}", s.next[k], k);
    }
    return {};
  }

  Result<void> check(const Update& s, Scope scope) const {
    TRY_VOID(check(MapReduce{s.shape, {}, {}, {s.init}}, scope));
    TRY_VOID(check(s.updates, scope));
    scope.reduce = s.updates.size();
    TRY_VOID(check(s.value, scope, s.init.dtype()));
    return check_access({s.init.dtype(), s.shape.size()}, s.index, scope, s.combine, s.value);
  }
  Result<void> check_access(const Signature& target, const std::vector<Expr>& index, const Scope& scope,
                            const Monoid& combine, const Expr& value) const {
    if (index.size() != target.rank) return invalid("", "{} indices expected, {} found", target.rank, index.size());
    for (const Expr& i : index) TRY_VOID(check(i, scope, DataType::kInt64));
    if (combine.combine.empty() && combine.identity.empty()) return {};
    return check(combine, {value});
  }

  Result<void> check(const Imperative& s, Scope scope) const {
    std::vector<Signature> locals;
    for (const Local& local : s.body.locals) {
      TRY_VOID(check(local.shape, scope));
      locals.push_back({local.dtype, local.shape.size()});
    }
    scope.locals = &locals;
    for (const int output : s.outputs)
      if (!find_in(locals, output)) return invalid("", "local{} does not exist", output);
    if (s.outputs.empty()) return invalid("", "an output is missing");
    return check(s.body.block, scope);
  }

  Result<void> check(const Block& block, const Scope& scope) const {
    for (const Statement& statement : block)
      TRY_VOID(std::visit([&](const auto& body) { return check(body, scope); }, statement.body));
    return {};
  }
  Result<void> check(const For& s, Scope scope) const {
    TRY_VOID(check(s.extent, scope, DataType::kInt64));
    if (s.loop < 0 || s.loop > 64) return invalid("", "loop variable k{} is none of k0 … k64", s.loop);
    scope.loops = std::max(scope.loops, static_cast<size_t>(s.loop) + 1);
    return check(*s.body, scope);
  }
  Result<void> check(const While& s, const Scope& scope) const {
    TRY_VOID(check(s.condition, scope, DataType::kBool));
    return check(*s.body, scope);
  }
  Result<void> check(const If& s, const Scope& scope) const {
    TRY_VOID(check(s.condition, scope, DataType::kBool));
    TRY_VOID(check(*s.then, scope));
    if (!s.otherwise) return {};
    return check(*s.otherwise, scope);
  }
  Result<void> check(const Store& s, const Scope& scope) const {
    const Signature* target = find_in(*scope.locals, s.local);
    if (!target) return invalid("", "local{} does not exist", s.local);
    TRY_VOID(check(s.value, scope, target->dtype));
    return check_access(*target, s.index, scope, {}, s.value);
  }
  Result<void> check(const Resize& s, const Scope& scope) const {
    const Signature* target = find_in(*scope.locals, s.local);
    if (!target) return invalid("", "local{} does not exist", s.local);
    return check_access(*target, s.extents, scope, {}, {});
  }

  const Program& program_;
  std::vector<std::vector<Signature>> stages_;
};

}  // namespace

Result<void> validate(const Program& program) { return Validator(program).check(); }

}  // namespace isomer::te
