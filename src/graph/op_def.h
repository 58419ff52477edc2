// The row of an operator: everything that is known about it, in one place (DESIGN.md, section 2).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/element_map.h"
#include "graph/float_class.h"
#include "graph/graph.h"
#include "graph/te/program.h"

namespace isomer {

namespace te {
class Array;
}
class OpContext;
class NodeForm;

/// A formal input or output, written "name", "name?" (optional) or "name*" (variadic, last; at least one), followed by
/// ":T" where its type variable is not "T". All actuals of one variable have one dtype, except under "name*:T~"
/// (heterogeneous). An optional one without a name, "?", is known to others only: a node that has it is opaque.
struct Parameter {
  enum class Arity : uint8_t { kRequired, kOptional, kVariadic };
  constexpr Parameter(const char* spec);
  std::string_view name;
  std::string_view type = "T";
  Arity arity = Arity::kRequired;
  bool heterogeneous = false;
};

/// The element types that a type variable may take. Operators whose row allows a type that is not in kComputable are
/// opaque where it occurs.
struct TypeVariable {
  std::string_view name;
  TypeSet types;
};

enum class AttributeKind : uint8_t {
  kInt,
  kFloat,
  kString,
  kTensor,
  kGraph,
  kInts,
  kFloats,
  kStrings,
};

/// An attribute of the newest form: required, optional without default, or with one.
struct AttributeDef {
  std::string_view name;
  AttributeKind kind;
  bool required = false;
  std::optional<Attribute> fallback = std::nullopt;
  /// Of an integer: whether the node would be the same with the fallback, whatever it is.
  bool (*is_idle)(const OpContext&) = nullptr;
  /// A node that has another value than the fallback is opaque.
  bool fixed = false;
  /// An integer that is 0 or 1: runtimes differ in which of the two others mean.
  bool is_flag = false;
};
inline AttributeDef required(std::string_view name, AttributeKind kind) { return {name, kind, true}; }
inline AttributeDef optional(std::string_view name, AttributeKind kind) { return {name, kind}; }
inline AttributeDef with_default(std::string_view name, int64_t value) {
  return {name, AttributeKind::kInt, false, value};
}
inline AttributeDef with_default(std::string_view name, int value) { return with_default(name, int64_t{value}); }
inline AttributeDef with_default(std::string_view name, float value) {
  return {name, AttributeKind::kFloat, false, value};
}
inline AttributeDef with_default(std::string_view name, double value) {
  return with_default(name, static_cast<float>(value));
}
inline AttributeDef with_default(std::string_view name, const char* value) {
  return {name, AttributeKind::kString, false, std::string(value)};
}
inline AttributeDef with_default(std::string_view name, std::vector<int64_t> value) {
  return {name, AttributeKind::kInts, false, std::move(value)};
}
inline AttributeDef with_default(std::string_view name, std::vector<float> value) {
  return {name, AttributeKind::kFloats, false, std::move(value)};
}
/// One whose other values the row does not know.
template <class Value>
AttributeDef only(std::string_view name, Value value) {
  AttributeDef def = with_default(name, value);
  def.fixed = true;
  return def;
}

inline AttributeDef zero_or_one(std::string_view name, int value) {
  AttributeDef def = with_default(name, value);
  def.is_flag = true;
  return def;
}

/// Turns a node of one form into another (node_form.h); an error where the target form cannot say it.
using Reform = std::function<Result<void>(NodeForm&)>;

/// An older (or the newest) form of the operator: opsets from `since` up to the next version's have it.
struct Version {
  int since;
  Reform to_newest = nullptr;    ///< nullptr: the same form, but for the set of types
  Reform from_newest = nullptr;  ///< the way back, for export; nullptr: the same form
};

/// A law of the operator over exact numbers, in the text form of terms: "Add(a,b) = Add(b,a)". `shapes` names the
/// family of operand shapes on which it holds and is checked.
struct Axiom {
  std::string_view law;
  std::string_view shapes;
  FloatClass float_class = FloatClass::kExact;
};

/// Runs a body of a control-flow operator on inputs in the order of its formal inputs (captures are supplied).
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  virtual Result<std::vector<te::Array>> run(const Graph& body, std::span<const te::Array> inputs) = 0;
};

/// How a control-flow operator uses its bodies, for whoever compiles it.
/// The bool of one element in input `condition` says which of the two bodies makes the outputs.
struct BranchForm {
  int condition = 0;
  std::string_view then_body, else_body;  ///< names of attributes
};
/// The body's inputs are the number of the iteration, the condition and the states; its outputs the next condition, the
/// next states and what is stacked along a new first axis. The operator's inputs from `first_state` on are the first
/// states, its outputs the last ones and the stacks.
struct LoopForm {
  int trip_count = 0,
      condition = 1;  ///< inputs; where they are omitted nothing, and no condition of the body, ends the loop
  int first_state = 2;
  std::string_view body;
};
using ControlForm = std::variant<std::monostate, BranchForm, LoopForm>;

/// What an operator is given besides its first input: further inputs that are lists of int64, and attributes.
struct Spelling {
  std::vector<std::vector<int64_t>> lists = {};
  Attributes attributes = {};
};

/// Rows of other domains than the standard's say what is known: a node with more inputs, outputs or attributes is of a
/// newer form, and opaque.
struct OpDef {
  std::string_view domain = "";
  std::string_view name;
  int since;  ///< version of the newest form
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  std::vector<TypeVariable> types;
  std::vector<AttributeDef> attributes = {};
  bool early = false;                  ///< ONNX Runtime takes the newest form in models of older opsets, too
  std::vector<Version> versions = {};  ///< older ones, newest first; `since` itself need not be listed
  /// Output types from input types and contents. An error of kind kUnsupported makes the node opaque; kInvalid the
  /// model invalid. Called with all input ranks known, after arity, types and attributes were checked.
  std::function<Result<std::vector<ValueType>>(const OpContext&)> infer;
  /// The meaning, for the same context; shapes equal to the inferred ones. Inputs that decide the program (axes, pads,
  /// a target shape) are read by OpContext::ints and the like; where these are unknown: kUnsupported.
  std::function<Result<te::Program>(const OpContext&)> compute = nullptr;
  /// Control flow instead of `compute`.
  std::function<Result<std::vector<te::Array>>(const OpContext&, std::span<const te::Array>, BodyRunner&)> control =
      nullptr;
  /// Of such an operator, unless `expand` writes it as others.
  ControlForm form = {};
  /// Writes the operator out in more primitive ones: its canonical spelling, and what export falls back on where the
  /// model's opset lacks it.
  Reform expand = nullptr;
  /// The way back: where `root` may be the last node of an expansion, the node that it would stand for (inputs and
  /// attributes; outputs are root's). The caller expands the proposal and compares, so a wrong guess costs time only.
  std::function<std::optional<Node>(const Graph&, NodeId root)> recognize = nullptr;
  /// Where the operator does an element map by itself: what it is given besides the source. The caller infers the
  /// proposal and compares its expression, so a wrong guess costs time only.
  std::function<std::optional<Spelling>(const ElementMap&)> spell = nullptr;
  /// The input, if there is one, whose elements say the output's shape and nothing else: the shape itself may stand
  /// there.
  std::optional<int> shape_input = std::nullopt;
  /// Of an operator that holds its output, a constant that is written as a node.
  std::function<Result<Tensor>(const OpContext&)> constant = nullptr;
  std::vector<Axiom> axioms = {};
};

/// Of operators that no file holds: export writes them out.
inline constexpr std::string_view kOwnDomain = "isomer";

/// Rows of operators that do not come with the program: a user's.
struct OpTable {
  std::vector<OpDef> rows;
  std::shared_ptr<const void> owner = nullptr;  ///< of the names in them
  const OpDef* find(std::string_view domain, std::string_view name) const;
};

/// The row of an operator, or nullptr; of those that come with the program first.
const OpDef* find_op(std::string_view domain, std::string_view name, const OpTable* more = nullptr);
/// Of the standard domain or ours.
const OpDef* find_op(std::string_view name);
/// All rows, in the order of their families.
const std::vector<const OpDef*>& all_ops();

constexpr Parameter::Parameter(const char* spec) {
  const std::string_view text(spec);
  const size_t colon = text.find(':');
  name = text.substr(0, colon);
  if (colon != std::string_view::npos) type = text.substr(colon + 1);
  if (!type.empty() && type.back() == '~') {
    heterogeneous = true;
    type.remove_suffix(1);
  }
  if (name.back() == '?') arity = Arity::kOptional;
  if (name.back() == '*') arity = Arity::kVariadic;
  if (arity != Arity::kRequired) name.remove_suffix(1);
}

}  // namespace isomer
