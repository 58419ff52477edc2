// The meaning of an operator: a short list of stages, each defining one value (or a tuple of values of one shape) from
// the operator's inputs and the stages before it. What each reader makes of it stands in DESIGN.md, section 2.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "graph/te/dim.h"
#include "graph/te/expr.h"
#include "graph/te/statement.h"

namespace isomer::te {

/// An associative operation on tuples with an identity. `combine[k]` is component k of left ∘ right, an expression over
/// operand(kLeft, j) and operand(kRight, j).
struct Monoid {
  std::string name;
  std::vector<Expr> identity;
  std::vector<Expr> combine;
  bool commutative = true;
  int arity() const { return static_cast<int>(identity.size()); }
};

Monoid sum(DataType dtype);
Monoid product(DataType dtype);
Monoid maximum(DataType dtype);  ///< identity: -inf, or the least value of an integer type; false for bool
Monoid minimum(DataType dtype);
/// (value, int64 index): the index of the largest (smallest) value; of equal ones the lowest index, or the highest.
/// NaN never wins over a number.
Monoid argmax(DataType dtype, bool last_index);
Monoid argmin(DataType dtype, bool last_index);
/// (count, mean, M2) of values given as (1, x, 0): Welford/Chan's parallel update; variance = M2 / count.
Monoid welford(DataType dtype);
/// (m, l, o): running maximum, Σ exp(x - m), Σ exp(x - m)·v of pairs given as (x, 1, v) (Milakov, Gimelshein 2018).
Monoid online_softmax(DataType dtype);

/// out[i] = combine over r of body(i, r), componentwise for tuples; a map where `reduce` is empty and `combine` has no
/// components. Bodies read axis(k) < axes[k] and reduce_axis(k) < reduce[k].
struct MapReduce {
  Shape axes;
  Shape reduce;
  Monoid combine;
  std::vector<Expr> bodies;
};

/// State k after step t is value[t] of component k: steps run t = 0 … trip-1 and each evaluates `steps`, map/reduce
/// stages that may load kState buffers (of step t-1), kInner buffers of this step and var(kTime, 0); next[k] says which
/// inner stage becomes state k. The value of component k has shape [trip, states[k].shape…].
struct Scan {
  struct State {
    Shape shape;
    Expr init;  ///< over axis(k)
  };
  Dim trip;
  std::vector<State> states;
  std::vector<MapReduce> steps;
  std::vector<int> next;
};

/// Starts from init(axis) over `shape`, then for every j (reduce_axis(k) < updates[k], in row-major order) combines
/// value(j) into element index(j): replaces it where `combine` has no components. An index out of range is an error.
struct Update {
  Shape shape;
  Expr init;
  Shape updates;
  std::vector<Expr> index;
  Expr value;
  Monoid combine;
};

/// A reference program for what has no tensor expression (TopK, NonZero, …); never rewritten. Component k of the stage
/// is the buffer `outputs[k]` of `body`.
struct Imperative {
  Procedure body;
  std::vector<int> outputs;
};

struct Stage {
  std::variant<MapReduce, Scan, Update, Imperative> body;
  int components() const;
  DataType dtype(int component) const;
  /// Of one component; dims may hold loads of earlier scalar stages where data decide the size.
  Shape shape(int component) const;
};

struct StageValue {
  int stage = -1;
  int component = 0;
  bool operator==(const StageValue&) const = default;
};

struct Program {
  std::vector<Stage> stages;
  /// Which stage value each output of the operator is; stage -1 for an output that the node does not have.
  std::vector<StageValue> outputs;

  // Builders: append a stage and return the value that it defines (component 0).
  StageValue map(Shape axes, Expr body);
  StageValue reduce(Shape axes, Shape reduce, Monoid combine, std::vector<Expr> bodies);
  StageValue reduce(Shape axes, Shape reduce, Monoid combine, Expr body);
  StageValue scan(Scan scan);
  StageValue update(Update update);
  StageValue imperative(Imperative imperative);

  /// A load from a stage of this program.
  Expr load(StageValue value, std::vector<Expr> index) const;
  DataType dtype(StageValue value) const { return stages[value.stage].dtype(value.component); }
  Shape shape(StageValue value) const { return stages[value.stage].shape(value.component); }
};

/// axis(0) … axis(rank - 1)
std::vector<Expr> axes(int rank);
/// Inside a scan: the state after the step before; a value that an inner stage of this step computed.
Expr load_state(int state, DataType dtype, std::vector<Expr> index);
Expr load_inner(int inner, DataType dtype, std::vector<Expr> index);
Expr time_step();

}  // namespace isomer::te
