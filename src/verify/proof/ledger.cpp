#include "verify/proof/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <ranges>

#include "graph/algorithms.h"
#include "graph/all_sizes.h"
#include "graph/equal.h"
#include "graph/rounding.h"
#include "graph/te/simplify.h"
#include "graph/te/symbols.h"
#include "util/append.h"
#include "util/list_hash.h"
#include "verify/proof/node_reader.h"

namespace isomer::verify {
namespace {

/// Says more of the same size.
bool is_simpler(const Dim& dim, const Dim& other) {
  constexpr int64_t kLargest = 1000;
  if (other.is_constant() || dim.is_constant()) return dim.is_constant() && !other.is_constant();
  return te::node_count(dim.expr(), kLargest) < te::node_count(other.expr(), kLargest);
}

}  // namespace

size_t Ledger::NodeHash::operator()(const Node& node) const {
  return mix64(ListHash()(node.arguments) ^
               mix64(static_cast<uint64_t>(node.symbol) << 8 ^ static_cast<uint64_t>(node.output)));
}

Ledger::Node Ledger::canonical(const Node& node) const {
  Node result = node;
  for (int& argument : result.arguments)
    if (argument >= 0) argument = leader(argument);
  if (result.turns) std::ranges::sort(result.arguments);
  return result;
}

int Ledger::depth(std::span<const int> values) const {
  int deepest = 0;
  for (const int value : values) deepest = std::max(deepest, value < 0 ? 0 : depths_[static_cast<size_t>(value)]);
  return deepest;
}

int Ledger::make(Node node, int type) {
  const int value = size();
  depths_.push_back(depth(node.arguments));
  for (const int argument : node.arguments)
    if (argument >= 0) parents_[static_cast<size_t>(leader(argument))].push_back(value);
  nodes_.push_back(std::move(node));
  leaders_.push_back(value);
  types_.push_back(type);
  parents_.emplace_back();
  members_.push_back({value});
  return value;
}

Dim Ledger::known(const Dim& dim) const {
  Dim result = dim;
  // What a symbol stands for has no symbol of which more is known, but for what became known since.
  for (bool changed = !dim.is_constant(); changed;) {
    const Dim before = result;
    result = with_symbols(before, [&](const std::string& name) {
      const auto size = sizes_.find(name);
      return size == sizes_.end() ? te::Expr() : size->second.expr();
    });
    changed = !(result == before);
  }
  return result;
}

ValueType Ledger::known(ValueType type) const {
  for_each_dim(type, [&](Dim& dim) { dim = known(dim); });
  return type;
}

int Ledger::type_id(int value) const {
  const int type = types_[static_cast<size_t>(leader(value))];
  if (sizes_.empty()) return type;
  const auto [place, is_new] = known_types_.try_emplace(type);
  if (is_new) place->second = signatures_.type_id(known(signatures_.type(type)));
  return place->second;
}

bool Ledger::equate(const Dim& a, const Dim& b) {
  const Dim x = known(a), y = known(b);
  const auto is_given = [&](const std::string& name) { return given_.contains(name); };
  const auto replace = [&](const Dim& symbol, const Dim& by) {
    const std::string* name = only_name(symbol);
    if (!name || is_given(*name) || names(by).contains(*name)) return false;
    sizes_.emplace(*name, by);
    known_types_.clear();
    return true;
  };
  // Names that graphs read later brought go first.
  const bool is_later = only_name(x) && only_name(x)->find('#') != std::string::npos;
  if (x == y || (is_later && replace(x, y)) || replace(y, x) || replace(x, y)) return true;
  const bool are_given = std::ranges::all_of(names(x), is_given) && std::ranges::all_of(names(y), is_given);
  return !(are_given && differ_somewhere(x, y));
}

Result<void> Ledger::improve(int leader, const ValueType& type) {
  const ValueType is = this->type(leader), other = known(type);
  const auto contradiction = [&] {
    return invalid("", "equal values of one type expected, {} and {} found", is.text(), other.text());
  };
  if (other.kind == ValueType::Kind::kUnknown) return {};
  ValueType joined = other;
  if (is.kind != ValueType::Kind::kUnknown) {
    if (is.kind != other.kind || is.dtype != other.dtype || is.opaque != other.opaque) return contradiction();
    if (is.shape) joined = is;
    if (is.shape && other.shape) {
      if (is.shape->size() != other.shape->size()) return contradiction();
      for (size_t k = 0; k < is.shape->size(); ++k) {
        const Dim &a = (*is.shape)[k], &b = (*other.shape)[k];
        if (!equate(a, b)) return contradiction();
        if (is_simpler(b, a)) (*joined.shape)[k] = b;
      }
    }
  }
  types_[static_cast<size_t>(leader)] = signatures_.type_id(known(joined));
  return {};
}

void Ledger::know_content(int leader, const Content& content) {
  const auto [known, is_new] = contents_.try_emplace(leader, content);
  if (is_new || known->second.size() != content.size()) return;
  for (size_t k = 0; k < content.size(); ++k) {
    auto& element = known->second[k];
    if (!element || (content[k] && content[k]->is_constant())) element = content[k];
  }
}

Result<int> Ledger::value_of(Node node, const ValueType& type, const std::optional<Content>& content) {
  const auto [known, is_new] = known_.try_emplace(canonical(node), size());
  const int value = is_new ? make(std::move(node), signatures_.type_id(type)) : known->second;
  if (!is_new) TRY_VOID(improve(leader(value), type));
  if (content) know_content(leader(value), *content);
  return value;
}

Result<void> Ledger::merge(int a, int b) {
  std::deque<std::pair<int, int>> pending = {{a, b}};
  while (!pending.empty()) {
    int into = leader(pending.front().first), from = leader(pending.front().second);
    pending.pop_front();
    if (into == from) continue;
    if (members_[static_cast<size_t>(into)].size() < members_[static_cast<size_t>(from)].size()) std::swap(into, from);
    TRY_VOID(improve(into, signatures_.type(types_[static_cast<size_t>(from)])));
    if (const auto constant = tensors_.find(from); constant != tensors_.end()) {
      const auto [other, is_new] = tensors_.emplace(into, constant->second);
      const te::RoundedTensor &a = own_.at(constant->second), &b = own_.at(other->second);
      const double between = is_new ? 0 : distance(a.tensor, b.tensor);
      // Exact ones are the same numbers: zeros of either sign.
      const bool may_differ = !a.distance.is_zero() || !b.distance.is_zero();
      double& apart = apart_[into];
      apart += apart_[from] + between;
      if (apart > 0 && (exact_ || apart > most_apart(a.tensor.dtype()) ||
                        (!may_differ && between > std::numeric_limits<double>::denorm_min())))
        return invalid("", "equal values of the same elements expected, two constants found that are none");
      if (a.distance.is_zero()) other->second = constant->second;
    }
    if (const auto content = contents_.find(from); content != contents_.end()) know_content(into, content->second);
    const std::vector<int> parents = std::move(parents_[static_cast<size_t>(from)]);
    for (const int parent : parents) {
      const auto known = known_.find(canonical(nodes_[static_cast<size_t>(parent)]));
      if (known != known_.end() && known->second == parent) known_.erase(known);
    }
    for (const int member : members_[static_cast<size_t>(from)]) {
      leaders_[static_cast<size_t>(member)] = into;
      members_[static_cast<size_t>(into)].push_back(member);
    }
    members_[static_cast<size_t>(from)].clear();
    for (const int parent : parents) {
      const auto [known, is_new] = known_.try_emplace(canonical(nodes_[static_cast<size_t>(parent)]), parent);
      if (!is_new) pending.emplace_back(known->second, parent);
      parents_[static_cast<size_t>(into)].push_back(parent);
    }
  }
  return {};
}

int Ledger::add_symbol(Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  return static_cast<int>(symbols_.size()) - 1;
}

int Ledger::symbol_named(const std::string& name) {
  const auto known = named_.find(name);
  return known != named_.end() ? known->second : named_.emplace(name, add_symbol({})).first->second;
}

int Ledger::symbol_of_operation(int operation) {
  const auto known = operations_.find(operation);
  return known != operations_.end() ? known->second
                                    : operations_.emplace(operation, add_symbol({{}, operation})).first->second;
}

std::optional<int> Ledger::find_symbol(const isomer::Node& node) const {
  const isomer::Node wanted = without_names(node);
  const auto candidates = of_operators_.find(node.domain + "::" + node.op_type);
  if (candidates == of_operators_.end()) return std::nullopt;
  const SameValue same_place = [](ValueId a, ValueId b) { return a == b; };
  for (const int symbol : candidates->second) {
    const isomer::Node& known = *symbols_[static_cast<size_t>(symbol)].node;
    // Runtimes have other code where more outputs are asked for.
    if ((!exact_ || known.outputs.size() == wanted.outputs.size()) && do_the_same(known, wanted, same_place))
      return symbol;
  }
  return std::nullopt;
}

int Ledger::symbol_of(const isomer::Node& node) {
  if (const auto known = find_symbol(node)) return *known;
  return of_operators_[node.domain + "::" + node.op_type].emplace_back(add_symbol({without_names(node), -1}));
}

std::vector<int> Ledger::siblings(int value) const {
  Node node = nodes_[static_cast<size_t>(value)];
  std::vector<int> result;
  for (node.output = 0;; ++node.output) {
    const auto known = known_.find(canonical(node));
    if (known == known_.end()) return result;
    result.push_back(known->second);
  }
}

std::pair<const OpDef*, int> Ledger::producer(int value) const {
  const Node& node = nodes_[static_cast<size_t>(value)];
  const Symbol& symbol = symbols_[static_cast<size_t>(node.symbol)];
  if (symbol.node) return {symbol.node->op, node.output};
  if (symbol.operation >= 0) return {signatures_.operation(symbol.operation).op, node.output};
  return {nullptr, 0};
}

Result<Ledger::Part> Ledger::part_of(int value) const {
  const Node& there = nodes_[static_cast<size_t>(value)];
  const Symbol& symbol = symbols_[static_cast<size_t>(there.symbol)];
  Part part;
  part.output = there.output;
  std::map<int, ValueId> known;
  std::vector<ValueId> formals;
  const auto input = [&](int argument) {
    if (argument < 0) return ValueId();
    const auto [place, is_new] = known.try_emplace(leader(argument));
    if (!is_new) return place->second;
    const std::string name = fmt::format("x{}", known.size());
    if (const Tensor* constant = tensor(argument)) {
      place->second = part.graph.add_constant(*constant, name);
      part.constants.emplace(place->second, argument);
      return place->second;
    }
    Value formal;
    formal.name = name;
    formal.type = type(argument);
    formal.content = content(argument);
    part.inputs.push_back(argument);
    formals.push_back(part.graph.add_value(std::move(formal)));
    return place->second = formals.back();
  };
  isomer::Node node;
  const auto is_of_negative_zero = [](const auto& attribute) { return has_negative_zero(attribute.second); };
  if (symbol.node && symbol.node->op && std::ranges::none_of(symbol.node->attributes, is_of_negative_zero)) {
    node = *symbol.node;
    if (const auto with_bodies = with_bodies_.find(value); with_bodies != with_bodies_.end()) {
      node.attributes = with_bodies->second.first.attributes;
      for (const int capture : with_bodies->second.second) node.captures.push_back(input(capture));
    }
    for (size_t k = 0; k < node.inputs.size(); ++k) node.inputs[k] = input(there.arguments[k]);
  } else if (symbol.operation >= 0) {
    const auto& operation = signatures_.operation(symbol.operation);
    VariableTypes types;
    std::vector<Term> terms;
    for (size_t k = 0; k < there.arguments.size(); ++k) {
      terms.push_back(Term::variable(fmt::format("x{:06}", k)));
      types.emplace(terms.back().as_variable()->name, type(there.arguments[k]));
    }
    TRY(const Graph alone,
        graph_of({Term(Term::Application{operation.op, there.output, operation.parameters, "", terms})}, types));
    node = alone.node(alone.nodes().front());
    for (ValueId& id : node.inputs) {
      const auto variable = std::find(alone.inputs().begin(), alone.inputs().end(), id);
      if (variable != alone.inputs().end())
        id = input(there.arguments[static_cast<size_t>(variable - alone.inputs().begin())]);
      else if (id.valid())
        id = part.graph.add_constant(*alone.value(id).constant, part.graph.fresh_name("integers"));
    }
  } else {
    return unsupported("", "a value that a known operator gives expected");
  }
  part.graph.set_inputs(std::move(formals));
  std::vector<ValueId> outputs;
  const std::vector<int> made_by_it = siblings(value);
  node.outputs.resize(std::max(node.outputs.size(), made_by_it.size()));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    Value made;
    made.name = fmt::format("y#{}", k);  // no size that is given is called after it
    if (k < made_by_it.size()) made.type = type(made_by_it[k]);
    outputs.push_back(node.outputs[k] = part.graph.add_value(std::move(made)));
  }
  part.node = part.graph.add_node(std::move(node));
  part.graph.set_outputs(std::move(outputs));
  return part;
}

int Ledger::Part::of(ValueId input) const {
  const auto& formals = graph.inputs();
  const auto formal = std::ranges::find(formals, input);
  if (formal != formals.end()) return inputs[static_cast<size_t>(formal - formals.begin())];
  const auto constant = constants.find(input);
  return constant == constants.end() ? -1 : constant->second;
}

std::optional<Content> Ledger::content(int value) const {
  const auto found = contents_.find(leader(value));
  std::optional<Content> result = found == contents_.end() ? std::nullopt : std::optional(found->second);
  for_each_dim(result, [&](Dim& element) { element = known(element); });
  return result;
}

const te::RoundedTensor* Ledger::rounded(int value) const {
  const auto found = tensors_.find(leader(value));
  return found == tensors_.end() ? nullptr : &own_.at(found->second);
}

const Tensor* Ledger::tensor(int value) const {
  const te::RoundedTensor* known = rounded(value);
  return known && known->distance.is_zero() ? &known->tensor : nullptr;
}

std::optional<int> Ledger::find(const Tensor& tensor, bool exact) const {
  const auto candidates = constants_.find(tensor.content_hash());
  if (candidates == constants_.end()) return std::nullopt;
  for (const int value : std::views::reverse(candidates->second))
    if (const auto& own = own_.at(value); own.distance.is_zero() == exact && own.tensor.same_contents(tensor))
      return value;
  return std::nullopt;
}

bool Ledger::is_rounded_to(int value, const Tensor& tensor) const {
  return std::ranges::any_of(members(value), [&](int member) {
    const auto own = own_.find(member);
    return own != own_.end() && own->second.tensor.same_contents(tensor);
  });
}

int Ledger::make_constant(const te::RoundedTensor& rounded) {
  const Tensor& tensor = rounded.tensor;
  const ValueType type = ValueType::tensor(tensor.dtype(), Shape(tensor.dims().begin(), tensor.dims().end()));
  const int value = make({add_symbol({}), 0, {}, false}, signatures_.type_id(type));
  constants_[tensor.content_hash()].push_back(value);
  tensors_.emplace(value, value);
  own_.emplace(value, rounded);
  const auto content = content_of(tensor);
  if (content && rounded.distance.is_zero()) contents_.emplace(value, *content);
  return value;
}

int Ledger::constant(const Tensor& tensor) {
  const auto known = find(tensor, true);
  return known ? *known : make_constant({tensor, {}});
}

Result<void> Ledger::round(int value, const te::RoundedTensor& rounded) {
  if (rounded.distance.is_zero()) return merge(value, constant(rounded.tensor));
  return is_rounded_to(value, rounded.tensor) ? Result<void>() : merge(value, make_constant(rounded));
}

Result<std::vector<int>> Ledger::apply(int operation, std::span<const int> arguments) {
  std::vector<int> types;
  for (const int argument : arguments) types.push_back(type_id(argument));
  const auto& applied = signatures_.apply(operation, types);
  if (!applied.ok()) return applied.error();
  const bool turns = types.size() == 2 && commutes_(signatures_.operation(applied->operation).op, types[0], types[1]);
  std::vector<int> outputs;
  for (size_t k = 0; k < applied->types.size(); ++k) {
    Node node{
        symbol_of_operation(applied->operation), static_cast<int>(k), {arguments.begin(), arguments.end()}, turns};
    TRY(const int output, value_of(std::move(node), signatures_.type(applied->types[k])));
    outputs.push_back(output);
  }
  return outputs;
}

/// Reads one graph into a ledger, bodies where they stand. Sizes that data decide have names that mean nothing beyond
/// the graph that they were inferred in: outside of it they are others. Names that inputs or formals bring, of this
/// graph or of one around it, stay.
class Ledger::Reader {
 public:
  explicit Reader(Ledger& ledger) : ledger_(ledger) {}

  /// `inputs`: what the first ones are, -1 for one that goes by its name; `captured`: what the captures stand for;
  /// `depth`: of the loops around.
  Result<Numbers> read(const Graph& graph, std::span<const int> inputs, std::span<const int> captured, int depth,
                       const std::string& around) {
    // What is captured or given has the names of the graph around, as they are placed there.
    give(graph, graph.captures(), prefix_);
    give(graph, graph.inputs(), prefix_);
    TRY_VOID(check_names(graph));
    if (ledger_.graphs_ > 1 || !around.empty()) prefix_ = fmt::format("{}#", ledger_.scopes_++);
    Numbers numbers;
    numbers.values.assign(graph.mark().values, -1);
    const auto set = [&](ValueId id, int number) { numbers.values[static_cast<size_t>(id.index)] = number; };
    for (size_t k = 0; k < graph.inputs().size(); ++k) {
      if (k < inputs.size() && inputs[k] >= 0) {
        set(graph.inputs()[k], inputs[k]);
        continue;
      }
      const Value& value = graph.value(graph.inputs()[k]);
      const ValueType type = ledger_.known(placed(value.type));
      if (around.empty()) for_each_dim(type, [&](const Dim& dim) { ledger_.given_.merge(names(dim)); });
      const std::string name =
          around.empty() ? "input " + value.name : fmt::format("formal {} {} of {}: {}", k, depth, around, type.text());
      TRY(const int number, ledger_.value_of({ledger_.symbol_named(name), 0, {}, false}, type, placed(value.content)));
      if (!around.empty()) ledger_.depths_[static_cast<size_t>(number)] = depth;
      set(graph.inputs()[k], number);
    }
    for (size_t k = 0; k < captured.size(); ++k) set(graph.captures()[k], captured[k]);
    for (const ValueId id : graph.values())
      if (graph.is_constant(id)) set(id, ledger_.constant(*graph.value(id).constant));
    TRY(const std::vector<NodeId> order, topological_order(graph));
    NodeReader terms(graph, ledger_.signatures_);
    for (const NodeId id : order) {
      const isomer::Node& node = graph.node(id);
      std::vector<int> arguments;
      for (size_t k = 0; k < count_given(node.inputs); ++k) arguments.push_back(numbers.at(node.inputs[k]));
      TRY_VOID(read_bodies(graph, id, depth, numbers, arguments));
      TRY(const std::vector<int> outputs, raw(graph, node, arguments, depth));
      for (size_t k = 0; k < node.outputs.size(); ++k)
        if (node.outputs[k].valid()) {
          set(node.outputs[k], outputs[k]);
          // Alone it would stand elsewhere, and what is drawn in its bodies would be drawn as often as there.
          if (node.op && node.op->control && (around_.empty() || !has_opaque(node)))
            ledger_.with_bodies_.try_emplace(outputs[k], node, numbers.at(node.captures));
          if (const auto known = known_tensor(graph.value(node.outputs[k])); known && !is_float(known->dtype()))
            TRY_VOID(ledger_.round(outputs[k], {*known, {}}));
        }
      const auto spelled = terms.read(id);
      if (!spelled) continue;
      std::vector<int> operands;
      for (const size_t input : spelled->arguments) operands.push_back(numbers.at(node.inputs[input]));
      const auto same = ledger_.apply(placed(spelled->operation), operands);
      // The node stands for itself then: in a branch for other inputs than these, or of sizes that data decide.
      const auto is_left = [&](ErrorKind kind) { return kind == ErrorKind::kUnsupported || !around.empty(); };
      if (!same.ok() && is_left(same.error().kind)) continue;
      TRY_VOID(same);
      for (size_t k = 0; k < node.outputs.size(); ++k) TRY_VOID(ledger_.merge(outputs[k], (*same)[k]));
    }
    return numbers;
  }

 private:
  /// Names in what is known of these values, which have the prefix here (a number and "#") but for those that were
  /// given before. Sizes that iterations change are called after the place of what has them (infer_anew).
  void give(const Graph& graph, const std::vector<ValueId>& values, const std::string& prefix) {
    const auto look = [&](const Dim& dim) {
      for (const std::string& name : names(dim))
        given_.try_emplace(name, name.starts_with("step ") && name.ends_with("#?") ? name : prefix + name);
    };
    for (const ValueId id : values) {
      for_each_dim(graph.value(id).type, look);
      for_each_dim(graph.value(id).content, look);
    }
  }

  /// A size that data decide is called after its value and axis, "value.1?": none that was given may be.
  Result<void> check_names(const Graph& graph) const {
    for (const ValueId id : graph.values()) {
      const Value& value = graph.value(id);
      if (!value.producer.valid() || !value.type.has_shape()) continue;
      for (size_t k = 0; k < value.type.shape->size(); ++k) {
        const std::string size = size_by_data(value.name, static_cast<int64_t>(k));
        if ((*value.type.shape)[k] == Dim::symbol(size) && given_.contains(size))
          return unsupported(value.name, "a value of another name expected, a size is called {}", size);
      }
    }
    return {};
  }

  Dim placed(const Dim& dim) const {
    return with_symbols(dim, [&](const std::string& name) {
      const auto given = given_.find(name);
      return te::symbol(given == given_.end() ? prefix_ + name : given->second);
    });
  }
  int placed(int operation) const {
    const auto& [op, parameters] = ledger_.signatures_.operation(operation);
    return ledger_.signatures_.operation_id(*op, placed(parameters));
  }
  /// A type, what is known of elements, parameters.
  template <class Whole>
  Whole placed(Whole whole) const {
    for_each_dim(whole, [&](Dim& dim) { dim = placed(dim); });
    return whole;
  }

  Result<void> read_bodies(const Graph& graph, NodeId id, int depth, Numbers& numbers, std::vector<int>& arguments) {
    const isomer::Node& node = graph.node(id);
    const std::vector<int> inputs = arguments;
    for (const auto& [name, attribute] : node.attributes)
      for (const Graph* body : bodies_of(attribute)) {
        const bool binds = !body->inputs().empty();
        const std::string place = node.domain + "::" + node.op_type;
        Reader inside(*this);
        const std::string which = fmt::format("body {} {} {}", place, name, numbers.bodies[{id, name}].size());
        inside.around_.push_back({ledger_.symbol_named(which), 0, inputs, false});
        if (!node.op) inside.give(*body, body->inputs(), "");
        TRY(Numbers inner, inside.read(*body, {}, numbers.at(node.captures), depth + binds, place));
        // Nobody tells what types these have: whoever does the same says the same.
        if (!node.op) append(arguments, inner.at(body->inputs()));
        append(arguments, inner.at(body->outputs()));
        numbers.bodies[{id, name}].push_back(std::move(inner));
      }
    return {};
  }

  Result<std::vector<int>> raw(const Graph& graph, const isomer::Node& node, const std::vector<int>& arguments,
                               int depth) {
    const int symbol = node.op ? ledger_.symbol_of(node) : instance(graph, node, arguments);
    std::vector<int> outputs;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const Value made = node.outputs[k].valid() ? graph.value(node.outputs[k]) : Value();
      TRY(const int output,
          ledger_.value_of({symbol, static_cast<int>(k), arguments, false}, placed(made.type), placed(made.content)));
      int& known = ledger_.depths_[static_cast<size_t>(output)];
      known = std::min(known, depth);  // what its bodies are given is bound
      outputs.push_back(output);
    }
    return outputs;
  }

  /// The symbol of a node that is there already. Else one of its own for each node of the first graph, for those of
  /// later ones that of a node that does the same with equal values, each once.
  int instance(const Graph& graph, const isomer::Node& node, const std::vector<int>& arguments) {
    if (!node.name.starts_with('#')) return ledger_.add_symbol({});
    const Node wanted = ledger_.canonical({ledger_.symbol_of(node), 0, arguments, false});
    const auto made = std::ranges::find_if(node.outputs, [](ValueId output) { return output.valid(); });
    const std::string name = made == node.outputs.end() ? std::string() : graph.value(*made).name;
    const auto are_equal = [&](const Node& a, const Node& b) { return ledger_.canonical(a) == ledger_.canonical(b); };
    const auto [known, is_new] = ledger_.marked_.try_emplace(node.name);
    const Instance* best = nullptr;
    for (const Instance& each : ledger_.instances_) {
      const bool fits = is_new && ledger_.last_graphs_.at(each.symbol) != ledger_.graphs_ &&
                        ledger_.canonical(each.node) == wanted && std::ranges::equal(each.around, around_, are_equal);
      if (fits && (!best || (each.name == name && best->name != name))) best = &each;
    }
    if (is_new) known->second = best ? best->symbol : ledger_.add_symbol({});
    if (!best) ledger_.instances_.push_back({name, wanted, around_, known->second});
    ledger_.last_graphs_[known->second] = ledger_.graphs_;
    return known->second;
  }

  Ledger& ledger_;
  std::string prefix_;
  std::vector<Node> around_;                  ///< whose bodies the graph is in
  std::map<std::string, std::string> given_;  ///< names that are not of this graph alone, by what they are here
};

Result<Ledger::Numbers> Ledger::add(const Graph& graph, std::span<const int> inputs) {
  ++graphs_;
  return Reader(*this).read(graph, inputs, {}, depth(inputs), "");
}

}  // namespace isomer::verify
