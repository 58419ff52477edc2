// Isomer's C++ interface to operators of users: schema, inference and meaning of nodes that Isomer does not know. C++20
// and its library alone.
//
// What is given to a call (OptimizeOptions::operators and the like) is known to that call alone. Its nodes are then
// checked, run, rewritten, fused and compiled as all others are; models that are written keep them as they were. The
// meaning is trusted: proofs and checks are of the same meaning. docs/adding-an-operator.md goes through an example.
//
// Functions of an operator are called often, by several threads at once, and give the same answer each time. A failure
// of kind `unsupported` leaves the node as it is, untouched; any other one refuses the model with its sentence. NoValue
// is such a failure of kind `invalid`; what else is thrown passes through.
#ifndef ISOMER_OPERATOR_H
#define ISOMER_OPERATOR_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isomer/expected.h"

namespace isomer {

namespace te {
struct ExprNode;
}
namespace detail {
class OperatorAccess;
struct MeaningState;
struct NodeState;
struct StepState;
}  // namespace detail

/// A size of a tensor: an integer, or arithmetic over names where it varies.
class Size {
 public:
  Size(int64_t value = 0);
  /// Nothing where it varies.
  std::optional<int64_t> value() const;
  std::string text() const;  ///< "2*seq + 1"
  /// Equal for all sizes of the names.
  bool operator==(const Size& other) const;
  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  /// Rounded down; NoValue where b is 0.
  friend Size operator/(const Size& a, const Size& b);

 private:
  friend class detail::OperatorAccess;
  std::shared_ptr<const te::ExprNode> node_;
};
using Sizes = std::vector<Size>;

struct TensorType {
  std::string type;  ///< "float32"
  Sizes shape;
};

/// A scalar: what is computed at each place of a tensor. Operands of one operation have one type, and numbers take the
/// type of what they stand beside; NoValue is thrown where types don't fit. Floats are computed in their type as
/// written, integers wrap, and what a condition rules out is not evaluated.
class Expression {
 public:
  std::string type() const;  ///< "float32", "int64", "bool"

 private:
  friend class detail::OperatorAccess;
  std::shared_ptr<const te::ExprNode> node_;
};
using Expressions = std::vector<Expression>;

/// The place along axis k of what is computed, and along axis k of what is summed over: int64.
Expression axis(int k);
Expression reduced_axis(int k);
Expression number(double value, const std::string& type);
Expression integer(int64_t value, const std::string& type = "int64");
Expression size(const Size& size);  ///< int64

Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression operator*(const Expression& a, const Expression& b);
/// Of integers truncated; a division by 0 ends a run with an error.
Expression operator/(const Expression& a, const Expression& b);
Expression operator+(const Expression& a, double b);
Expression operator-(const Expression& a, double b);
Expression operator*(const Expression& a, double b);
Expression operator/(const Expression& a, double b);
Expression operator+(double a, const Expression& b);
Expression operator-(double a, const Expression& b);
Expression operator*(double a, const Expression& b);
Expression operator/(double a, const Expression& b);
Expression operator-(const Expression& a);
/// bool
Expression operator<(const Expression& a, const Expression& b);
Expression operator<=(const Expression& a, const Expression& b);
Expression operator>(const Expression& a, const Expression& b);
Expression operator>=(const Expression& a, const Expression& b);
Expression operator==(const Expression& a, const Expression& b);
Expression operator<(const Expression& a, double b);
Expression operator<=(const Expression& a, double b);
Expression operator>(const Expression& a, double b);
Expression operator>=(const Expression& a, double b);
Expression operator==(const Expression& a, double b);
/// Of bools.
Expression operator&&(const Expression& a, const Expression& b);
Expression operator||(const Expression& a, const Expression& b);
Expression operator!(const Expression& a);
Expression select(const Expression& condition, const Expression& then, const Expression& otherwise);
/// As ONNX's Cast: floats to integers truncate, integers wrap, bool is what is not 0.
Expression cast(const std::string& type, const Expression& a);
/// NaN where one of them is.
Expression min(const Expression& a, const Expression& b);
Expression max(const Expression& a, const Expression& b);
Expression min(const Expression& a, double b);
Expression max(const Expression& a, double b);
Expression pow(const Expression& a, const Expression& b);
Expression pow(const Expression& a, double b);
/// Of integers, rounded down, and what is left then.
Expression floor_divide(const Expression& a, const Expression& b);
Expression floor_remainder(const Expression& a, const Expression& b);
Expression abs(const Expression& a);
/// Of floats. round: half to even.
Expression exp(const Expression& a);
Expression log(const Expression& a);
Expression sqrt(const Expression& a);
Expression sin(const Expression& a);
Expression cos(const Expression& a);
Expression tanh(const Expression& a);
Expression erf(const Expression& a);
Expression floor(const Expression& a);
Expression ceil(const Expression& a);
Expression round(const Expression& a);
Expression is_nan(const Expression& a);  ///< bool

/// A node of the operator: what it is given. NoValue where something is asked for that is not there.
class OperatorNode {
 public:
  std::string name() const;  ///< for sentences: node 'x'
  int inputs() const;
  bool has_input(int input) const;
  std::string type(int input) const;
  Sizes shape(int input) const;
  /// Of all inputs together, as NumPy broadcasts.
  Sizes broadcast_shape() const;
  /// Elements of an input of integers or bools, where they are known when the model is read. Where the meaning depends
  /// on them, their not being known is a failure of kind `unsupported`.
  std::optional<std::vector<int64_t>> known_integers(int input) const;

  int outputs() const;
  bool wants_output(int output) const;

  bool has_attribute(const std::string& name) const;  ///< always, where it is required or has a default
  int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  std::string text(const std::string& name) const;
  std::vector<int64_t> integers(const std::string& name) const;
  std::vector<float> reals(const std::string& name) const;

  /// An element of an input; an expression of int64 for each axis. Where axes alone decide the place it must be inside
  /// of the tensor by the expression itself or a comparison of it in a `select` around it, else the model is refused.
  /// Where data decide it, one outside ends a run with an error.
  Expression element(int input, const Expressions& index) const;
  /// The element of an input that broadcasts, as in NumPy, to the place axis(0) … in a tensor of `shape`.
  Expression element_at(int input, const Sizes& shape) const;

 private:
  friend class detail::OperatorAccess;
  explicit OperatorNode(const detail::NodeState& state) : state_(state) {}
  const detail::NodeState& state_;
};

/// A tensor that the meaning computes.
class Stage {
 public:
  std::string type() const;
  const Sizes& shape() const { return shape_; }
  Expression element(const Expressions& index) const;

 private:
  friend class detail::OperatorAccess;
  std::shared_ptr<const te::ExprNode> load_;  ///< of some element, in the meaning's own terms
  Sizes shape_;
};

enum class Combine { sum, product, maximum, minimum };

struct Recurrence;

/// The meaning in the making: tensors, each computed from inputs and the tensors before it.
class Meaning {
 public:
  /// body at each place: axis(0) … are the place.
  Stage map(const Sizes& shape, const Expression& body);
  /// All values of body over reduced_axis(0) … < over[0] … combined, at each place.
  Stage reduce(Combine combine, const Sizes& shape, const Sizes& over, const Expression& body);
  /// The largest (or smallest) value, and the place of the first that is: int64, counted along `over` in row-major
  /// order.
  std::pair<Stage, Stage> arg_extremum(Combine maximum_or_minimum, const Sizes& shape, const Sizes& over,
                                       const Expression& body);
  /// The values of all steps, by state: [steps, shape of the state…].
  std::vector<Stage> scan(const Recurrence& recurrence);

 private:
  friend class detail::OperatorAccess;
  explicit Meaning(detail::MeaningState& state) : state_(state) {}
  detail::MeaningState& state_;
};

/// States that change step by step: an exponential moving average, a recurrent network.
struct Recurrence {
  struct State {
    Sizes shape;
    Expression first;  ///< before the first step, at axis(0) …
  };
  /// A step: element k of a state as it was, and how many steps went before.
  class Step {
   public:
    Expression state(int k, const Expressions& index) const;
    Expression number() const;  ///< int64
    /// As those of Meaning, of this step alone.
    Stage map(const Sizes& shape, const Expression& body);
    Stage reduce(Combine combine, const Sizes& shape, const Sizes& over, const Expression& body);

   private:
    friend class detail::OperatorAccess;
    explicit Step(detail::StepState& state) : state_(state) {}
    detail::StepState& state_;
  };
  Size steps;
  std::vector<State> states;
  /// The next states, each computed by a map or reduction of the step.
  std::function<std::vector<Stage>(Step& step)> next;
};

/// An attribute: its type is that of the default.
struct OperatorAttribute {
  enum class Presence { fallback, required, optional };
  std::string name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<float>> value;
  Presence presence = Presence::fallback;
};

/// A type variable, which stands for one of `types` in each node.
struct TypeParameter {
  std::string name;
  std::vector<std::string> types;
};

/// An operator of a domain of yours.
struct Operator {
  std::string domain, name;
  int since = 1;  ///< version of the domain that has it; nodes of models that import an older one stay as they are
  /// "x", "scale?" (may be left out), "xs*" (the last: any number, at least one); followed by ":V" where its type
  /// variable is not T, or by a type: "indices:int64".
  std::vector<std::string> inputs, outputs;
  std::vector<TypeParameter> types = {{"T", {"float32"}}};
  std::vector<OperatorAttribute> attributes = {};
  /// Types and shapes of all outputs that the operator can have. The ranks of all inputs are known.
  std::function<Expected<std::vector<TensorType>>(const OperatorNode& node)> infer;
  /// What each output is, in order, of the types and shapes that were inferred; those that nobody wants may be left out
  /// at the end.
  std::function<Expected<std::vector<Stage>>(const OperatorNode& node, Meaning& meaning)> compute;
};

}  // namespace isomer

#endif
