#include "search/fuse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/op_context.h"
#include "graph/te/rewrite_program.h"
#include "graph/te/simplify.h"
#include "kernel/access.h"
#include "kernel/tree.h"

namespace isomer {
namespace {

using te::BufferRef;
using te::Expr;

/// What a program is made of, as far as fusion asks.
enum class Form : uint8_t {
  kMovement,  ///< maps that compute nothing: each element is one of an input, or a constant
  kMap,       ///< maps only
  kRows,      ///< reductions that use each element that they read a few times
  kAnchor,    ///< sums of products that use what they read many times
  kOther,     ///< scans, updates, imperative stages
};

/// Elements of a row that is passed on inside of a task.
constexpr int64_t kLongestRow = 16'384;
constexpr int kMostTerms = 20'000;  ///< of an operator: more take minutes to generate code for
constexpr int64_t kMostRead = 64;   ///< integers that data decide, of an input
constexpr int kMostFused = 2'000;   ///< terms of a task of several
constexpr int kMostRepeated = 64;   ///< terms of what is computed again by each that reads it

bool computes(const Expr& expr) {
  return te::any_node(expr, [](const Expr& e) {
    return e.dtype() != DataType::kInt64 && (te::as<te::Unary>(e) || te::as<te::Binary>(e));
  });
}

/// How often the elements that a reduction reads are used, on average.
double reuse(const te::MapReduce& stage, const Graph& graph, const std::vector<ValueId>& inputs,
             const te::Program& program) {
  double points = 1;
  for (const auto* dims : {&stage.axes, &stage.reduce})
    for (const Dim& dim : *dims) points *= static_cast<double>(dim.constant().value_or(1));
  double read = 0;
  for (const Expr& body : stage.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      if (!load) return;
      Shape shape;
      if (load->buffer.kind == BufferRef::Kind::kInput && inputs[load->buffer.index].valid())
        shape = *graph.value(inputs[load->buffer.index]).type.shape;
      if (load->buffer.kind == BufferRef::Kind::kStage)
        shape = program.stages[load->buffer.index].shape(load->buffer.component);
      read = std::max(read, static_cast<double>(element_count(shape).constant().value_or(1)));
    });
  return points / std::max(read, 1.0);
}

Form form_of(const te::Program& program, const Graph& graph, const std::vector<ValueId>& inputs) {
  Form form = Form::kMovement;
  for (const te::Stage& stage : program.stages) {
    const auto* body = std::get_if<te::MapReduce>(&stage.body);
    if (!body) return Form::kOther;
    if (body->combine.arity() == 0) {
      for (const Expr& e : body->bodies)
        if (computes(e)) form = std::max(form, Form::kMap);
    } else {
      form = std::max(form, reuse(*body, graph, inputs, program) > 4 ? Form::kAnchor : Form::kRows);
    }
  }
  return form;
}

/// Whether each element is one of an input, found by sums of indices: readers take it from there at no cost.
bool renames(const te::Program& program) {
  for (const te::Stage& stage : program.stages) {
    const auto* body = std::get_if<te::MapReduce>(&stage.body);
    const auto* load = body && body->bodies.size() == 1 ? te::as<te::Load>(body->bodies[0]) : nullptr;
    if (!load) return false;
    bool sums = true;
    for (const Expr& index : load->index)
      te::for_each_node(index, [&](const Expr& e) {
        const auto* binary = te::as<te::Binary>(e);
        sums &= te::as<te::Var>(e) || te::as<te::Literal>(e) ||
                (binary && (binary->op == te::BinaryOp::kAdd || binary->op == te::BinaryOp::kMul));
      });
    if (!sums) return false;
  }
  return true;
}

double terms(const te::Program& program) {
  double count = 0;
  for (const te::Stage& stage : program.stages)
    if (const auto* body = std::get_if<te::MapReduce>(&stage.body))
      for (const Expr& e : body->bodies) te::for_each_node(e, [&](const Expr&) { ++count; });
  return count;
}

/// Looks at every load of an input, of a program of maps and reductions, with its stage.
void for_each_input(const te::Program& program,
                    const std::function<void(const te::Load&, const te::MapReduce&)>& look) {
  for (const te::Stage& stage : program.stages) {
    const auto& body = std::get<te::MapReduce>(stage.body);
    for (const Expr& e : body.bodies)
      te::for_each_node(e, [&](const Expr& part) {
        if (const auto* load = te::as<te::Load>(part); load && load->buffer.kind == BufferRef::Kind::kInput)
          look(*load, body);
      });
  }
}

/// Whether every load of input `number` takes the element at the point of the stage, of a stage of the input's shape.
bool reads_in_place(const te::Program& program, int number, const Shape& shape) {
  bool in_place = true;
  for_each_input(program, [&](const te::Load& load, const te::MapReduce& stage) {
    if (load.buffer.index == number) in_place &= stage.axes == shape && kernel::is_point(load.index, shape);
  });
  return in_place;
}

/// Whether stages read input `number` at more points than it has elements.
bool reads_again(const te::Program& program, int number, const Shape& shape) {
  bool again = false;
  for_each_input(program, [&](const te::Load& load, const te::MapReduce& stage) {
    if (load.buffer.index == number)
      again |= element_count(stage.axes).constant().value_or(0) > element_count(shape).constant().value_or(0);
  });
  return again;
}

/// Iterators of one step stand still: the window of a pointwise convolution does not move.
Expr without_points(const Expr& index, const te::MapReduce& stage) {
  return te::transform(index, [&](const Expr& e) {
    const auto* variable = te::as<te::Var>(e);
    const bool is_point = variable && variable->kind != te::VarKind::kLoop &&
                          (variable->kind == te::VarKind::kReduce ? stage.reduce : stage.axes)[variable->index].is(1);
    return is_point ? te::index(0) : Expr();
  });
}

/// The dims of a buffer by a load of it: plain iterators, each of the dim's extent and none twice (dims of 1: index 0
/// too). The number of reduce iterators among them; -1 where it is no such load.
int reduced_dims(const te::Load& load, const Shape& shape, const te::MapReduce& stage) {
  int reduced = 0;
  std::set<std::pair<te::VarKind, int>> used;
  for (size_t k = 0; k < load.index.size(); ++k) {
    const Expr index = te::simplify_index(without_points(load.index[k], stage));
    if (shape[k].is(1) && te::as_constant(index) == 0) continue;
    const auto* variable = te::as<te::Var>(index);
    if (!variable || variable->kind == te::VarKind::kLoop || !used.insert({variable->kind, variable->index}).second)
      return -1;
    const bool reduces = variable->kind == te::VarKind::kReduce;
    if (!((reduces ? stage.reduce : stage.axes)[variable->index] == shape[k])) return -1;
    reduced += reduces;
  }
  return reduced;
}

/// The dim along which every load of input `number` is one of whole rows: the stages reduce it, always the same, or
/// read it at their point, all others are their axes. Nothing where there is none.
std::optional<size_t> row_dim(const te::Program& program, int number, const Shape& shape) {
  std::optional<size_t> along;
  bool regular = true;
  for_each_input(program, [&](const te::Load& load, const te::MapReduce& stage) {
    if (load.buffer.index != number) return;
    const int reduced = reduced_dims(load, shape, stage);
    regular &= reduced == 0 ? stage.axes == shape && kernel::is_point(load.index, shape) : reduced == 1;
    for (size_t k = 0; regular && reduced == 1 && k < load.index.size(); ++k) {
      const Expr index = te::simplify_index(without_points(load.index[k], stage));
      const auto* variable = te::as<te::Var>(index);
      if (!variable || variable->kind != te::VarKind::kReduce) continue;
      regular &= !along || *along == k;
      along = k;
    }
  });
  return regular ? along : std::nullopt;
}

/// Whether a program only brings the axes of its one input into another order.
bool permutes_axes(const te::Program& program) {
  const auto* body = program.stages.size() == 1 ? std::get_if<te::MapReduce>(&program.stages[0].body) : nullptr;
  const auto* load = body && body->bodies.size() == 1 ? te::as<te::Load>(body->bodies[0]) : nullptr;
  if (!load || body->combine.arity() > 0 || load->index.size() != body->axes.size()) return false;
  std::set<int> axes;
  for (const Expr& index : load->index) {
    const auto* variable = te::as<te::Var>(index);
    if (!variable || variable->kind != te::VarKind::kSpatial) return false;
    axes.insert(variable->index);
  }
  return axes.size() == body->axes.size();
}

class Fuser {
 public:
  Fuser(const Graph& graph, const FuseOptions& options, TaskDecider& decider)
      : graph_(graph), options_(options), decider_(decider), uses_(graph.use_counts()) {}

  Result<std::vector<Task>> run() {
    TRY(const std::vector<NodeId> order, needed_nodes());
    add_sizes(graph_.inputs());
    add_sizes(graph_.captures());
    for (const NodeId id : order) TRY_VOID(add(id));
    std::vector<Task> tasks;
    for (Group& group : groups_)
      if (!group.task.nodes.empty()) tasks.push_back(std::move(group.task));
    return tasks;
  }

 private:
  struct Group {
    Task task;
    Form form = Form::kMovement;
    double terms = 0;       ///< of its expressions, those that it reads from its own stages written out: what code
                            ///< generation may have to
    bool has_rows = false;  ///< a chain of reductions over rows that pass whole ones on
  };

  Result<std::vector<NodeId>> needed_nodes() const {
    TRY(std::vector<NodeId> order, topological_order(graph_));
    std::set<ValueId> needed(graph_.outputs().begin(), graph_.outputs().end());
    std::vector<NodeId> result;
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = graph_.node(*id);
      if (std::none_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId v) { return v.valid() && needed.contains(v); }))
        continue;
      result.push_back(*id);
      for (const auto* list : {&node.inputs, &node.captures}) needed.insert(list->begin(), list->end());
    }
    std::reverse(result.begin(), result.end());
    return result;
  }

  Result<void> add(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.is_opaque())
      return unsupported(label(graph_, id), "a node that has a row expected, {}", node.opaque_reason);
    if (node.op->control) return add_control(id);
    if (!node.op->compute)
      return unsupported(label(graph_, id), "a node with a tensor expression expected, none found");
    TRY(std::vector<ValueId> sizes_of, sources_of_sizes(id));
    TRY(te::Program program, program_of(id));
    specialize(program, node.inputs);
    const bool is_open = !sizes_of.empty() || std::ranges::any_of(node.outputs, [&](ValueId value) {
      return value.valid() && !constants(*graph_.value(value).type.shape);
    });
    Group group;
    group.task.nodes = {id};
    group.task.inputs = node.inputs;
    group.task.program = std::move(program);
    group.form = is_open ? Form::kOther : form_of(group.task.program, graph_, node.inputs);
    group.task.sizes_of = std::move(sizes_of);
    group.terms = terms(group.task.program);
    if (group.terms > kMostTerms)
      return unsupported(label(graph_, id), "an operator of at most {} terms expected, {} found", kMostTerms,
                         group.terms);
    std::vector<te::StageValue> outputs;
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId value = node.outputs[k];
      if (!value.valid() || uses_[value.index] == 0) continue;
      group.task.outputs.push_back(value);
      outputs.push_back(group.task.program.outputs[k]);
    }
    group.task.program.outputs = std::move(outputs);
    const int index = static_cast<int>(groups_.size());
    for (int host = -1; options_.enabled && (host = find_host(group)) >= 0;) take(host, group);
    if (const auto chain = options_.enabled && options_.attention ? find_rows(group) : std::nullopt) {
      take(chain->second, group);
      take(chain->first, group);
      group.has_rows = true;
    }
    for (const ValueId output : group.task.outputs) group_of_[output] = index;
    add_sizes(group.task.outputs);
    groups_.push_back(std::move(group));
    return {};
  }

  /// The node's meaning. Where it depends on integers that data decide, the program reads them if the row can.
  Result<te::Program> program_of(NodeId id) const {
    const OpContext context = context_of(graph_, id);
    auto program = graph_.node(id).op->compute(context);
    if (program.ok() || program.error().kind != ErrorKind::kUnsupported) return program;
    std::deque<Content> contents;
    OpContext read = context;
    for (int i = 0; i < context.input_count(); ++i) {
      if (!context.has_input(i) || context.dtype(i) != DataType::kInt64 || context.rank(i) > 1) continue;
      const auto count = element_count(context.shape(i)).constant();
      if (!count || *count > kMostRead || context.dims(i)) continue;
      const Content* const known = context.content(i);
      Content& content = contents.emplace_back();
      for (int64_t k = 0; k < *count; ++k)
        content.push_back(
            known && (*known)[static_cast<size_t>(k)]
                ? (*known)[static_cast<size_t>(k)]
                : Dim(context.load(i, std::vector<Expr>(static_cast<size_t>(context.rank(i)), te::index(k)))));
      read = read.with_content(i, content);
    }
    if (contents.empty()) return program;
    auto reading = graph_.node(id).op->compute(read);
    return reading.ok() ? std::move(reading) : std::move(program);
  }

  /// What data decide the size of is a source of the sizes that its dims are.
  void add_sizes(const std::vector<ValueId>& values) {
    for (const ValueId value : values) {
      const ValueType& type = graph_.value(value).type;
      if (!type.has_shape() || !is_computable(type.dtype)) continue;
      for (const Dim& dim : *type.shape)
        if (const std::string symbol = symbol_of(dim); !symbol.empty()) size_of_.try_emplace(symbol, value);
    }
  }

  /// Values that have the sizes which the node's program may ask for by name. An output's own sizes are the program's.
  Result<std::vector<ValueId>> sources_of_sizes(NodeId id) const {
    const Node& node = graph_.node(id);
    std::vector<ValueId> sources;
    std::optional<std::string> missing;
    const auto look = [&](const Expr& expr, bool is_own) {
      te::for_each_node(expr, [&](const Expr& e) {
        const auto* symbol = te::as<te::Symbol>(e);
        if (!symbol) return;
        const auto found = size_of_.find(symbol->name);
        if (found == size_of_.end()) {
          if (!is_own) missing = symbol->name;
        } else if (std::ranges::find(sources, found->second) == sources.end()) {
          sources.push_back(found->second);
        }
      });
    };
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const ValueId value : *list) {
        if (!value.valid()) continue;
        const Value& known = graph_.value(value);
        if (!known.type.has_shape())
          return unsupported(label(graph_, id), "values of known rank expected, '{}' of type {} found", known.name,
                             known.type.text());
        for (const Dim& dim : *known.type.shape) look(dim.expr(), list == &node.outputs);
        if (known.content && list == &node.inputs)
          for (const auto& element : *known.content)
            if (element) look(element->expr(), true);
      }
    if (missing)
      return unsupported(label(graph_, id), "sizes that a value before it has expected, '{}' is that of none",
                         *missing);
    return sources;
  }

  /// A node over bodies is a task of its own, for which values may have any sizes.
  Result<void> add_control(NodeId id) {
    const Node& node = graph_.node(id);
    if (std::holds_alternative<std::monostate>(node.op->form))
      return unsupported(label(graph_, id), "a branch or a loop expected, other control flow found");
    Group group;
    group.form = Form::kOther;
    Task& task = group.task;
    task.runs_bodies = true;
    task.nodes = {id};
    task.inputs = node.inputs;
    task.inputs.insert(task.inputs.end(), node.captures.begin(), node.captures.end());
    for (const ValueId output : node.outputs)
      if (output.valid() && uses_[output.index] > 0) task.outputs.push_back(output);
    for (const auto* list : {&task.inputs, &task.outputs})
      for (const ValueId value : *list) {
        if (!value.valid()) continue;
        const ValueType& type = graph_.value(value).type;
        if (!type.has_shape() || !is_computable(type.dtype))
          return unsupported(label(graph_, id), "tensors of numbers with known rank expected, '{}' of type {} found",
                             graph_.value(value).name, type.text());
      }
    for (const ValueId output : task.outputs) group_of_[output] = static_cast<int>(groups_.size());
    add_sizes(task.outputs);
    groups_.push_back(std::move(group));
    return {};
  }

  /// Constants of one element become literals, vectors whose elements are all the same, too: zero points of channels.
  void specialize(te::Program& program, const std::vector<ValueId>& inputs) const {
    std::map<int, Expr> literals;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (!inputs[k].valid() || !graph_.is_constant(inputs[k])) continue;
      const Tensor& tensor = *graph_.value(inputs[k]).constant;
      const bool is_one = tensor.count() == 1 || (tensor.dims().size() == 1 && tensor.count() > 0 && is_splat(tensor));
      if (!is_one || !is_computable(tensor.dtype())) continue;
      const DataType dtype = tensor.dtype();
      literals.emplace(static_cast<int>(k),
                       is_float(dtype) ? te::literal(tensor.real(0), dtype) : te::literal(tensor.integer(0), dtype));
    }
    if (literals.empty()) return;
    te::rewrite(program, [&](const Expr& e) -> Expr {
      const auto* load = te::as<te::Load>(e);
      if (!load || load->buffer.kind != BufferRef::Kind::kInput) return {};
      const auto literal = literals.find(load->buffer.index);
      return literal == literals.end() ? Expr() : literal->second;
    });
  }

  /// The host's nodes go into the group.
  void take(int host, Group& group) {
    group = merged(std::move(groups_[host]), std::move(group));
    groups_[host] = {};
  }

  /// The group that makes input k of this one, that alone, and for nothing else; -1: there is none.
  int maker(const Group& group, size_t k) const {
    const ValueId value = group.task.inputs[k];
    const auto found = value.valid() ? group_of_.find(value) : group_of_.end();
    if (found == group_of_.end()) return -1;
    std::ptrdiff_t times = 0;
    for (const NodeId id : group.task.nodes) {
      const std::vector<ValueId>& inputs = graph_.node(id).inputs;
      times += std::count(inputs.begin(), inputs.end(), value);
    }
    if (groups_[found->second].task.outputs.size() != 1 || uses_[value.index] != times) return -1;
    return std::count(graph_.outputs().begin(), graph_.outputs().end(), value) ? -1 : found->second;
  }

  /// Whether one node reads the input. Several of the group, as x and sigmoid(x) in x * sigmoid(x), are an epilogue
  /// that holds what it computes with for long.
  bool is_read_by_one(const Group& group, size_t k) const {
    const ValueId value = group.task.inputs[k];
    return std::count_if(group.task.nodes.begin(), group.task.nodes.end(), [&](NodeId id) {
             const std::vector<ValueId>& inputs = graph_.node(id).inputs;
             return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
           }) == 1;
  }

  bool together(ValueId value, bool preferred) {
    return decider_.decide({TaskChoice::Kind::kTogether, value}, preferred);
  }

  /// The group that the new one joins.
  int find_host(const Group& group) {
    int best = -1;
    for (size_t k = 0; k < group.task.inputs.size(); ++k) {
      const int host = maker(group, k);
      if (host < 0) continue;
      const Meeting meeting = meeting_of(groups_[host], group, static_cast<int>(k));
      if (meeting == Meeting::kNever ||
          !together(group.task.inputs[k], meeting == Meeting::kUsual && is_read_by_one(group, k)))
        continue;
      if (best < 0 || groups_[host].form > groups_[best].form) best = host;
    }
    return best;
  }

  /// Attention: a reduction over what reductions over rows made of the rows of another reduction. The groups of these
  /// two, in the order of the graph; what they pass on stays in cache, a block of rows at a time.
  std::optional<std::pair<int, int>> find_rows(const Group& group) {
    if (group.form != Form::kAnchor && group.form != Form::kRows) return std::nullopt;
    for (size_t k = 0; k < group.task.inputs.size(); ++k) {
      const int rows = maker(group, k);
      if (rows < 0 || groups_[rows].form != Form::kRows || groups_[rows].has_rows || !is_read_by_one(group, k))
        continue;
      const Shape& shape = *graph_.value(group.task.inputs[k]).type.shape;
      const auto along = row_dim(group.task.program, static_cast<int>(k), shape);
      if (!along || shape[*along].value() > kLongestRow || shape[*along].value() < 2) continue;
      // What the rows are multiplied with is no constant: those have schedules that are better than this.
      bool weighs = false;
      for_each_input(group.task.program, [&](const te::Load& load, const te::MapReduce&) {
        weighs |= graph_.is_constant(group.task.inputs[load.buffer.index]);
      });
      if (weighs) continue;
      for (size_t j = 0; j < groups_[rows].task.inputs.size(); ++j) {
        const int source = maker(groups_[rows], j);
        if (source < 0 || (groups_[source].form != Form::kAnchor && groups_[source].form != Form::kRows) ||
            groups_[source].has_rows || !is_read_by_one(groups_[rows], j))
          continue;
        if (!(*graph_.value(groups_[rows].task.inputs[j]).type.shape == shape)) continue;
        if (row_dim(groups_[rows].task.program, static_cast<int>(j), shape) == along &&
            together(group.task.inputs[k], true))
          return std::pair(source, rows);
      }
    }
    return std::nullopt;
  }

  /// Each load of what the host makes becomes the host's terms.
  static double terms_together(const Group& host, const Group& group) {
    double loads = 0;
    for_each_input(group.task.program, [&](const te::Load& load, const te::MapReduce&) {
      loads += group.task.inputs[load.buffer.index] == host.task.outputs[0];
    });
    return group.terms + loads * host.terms;
  }

  /// Whether a group may be computed with what makes an input of it.
  enum class Meeting : uint8_t {
    kNever,
    kPossible,  ///< it depends on sizes and caches what is gained
    kUsual,
  };

  Meeting meeting_of(const Group& host, const Group& group, int input) const {
    if (host.form == Form::kOther || group.form == Form::kOther || terms_together(host, group) > kMostFused)
      return Meeting::kNever;
    const Shape& shape = *graph_.value(group.task.inputs[input]).type.shape;
    const bool in_place = reads_in_place(group.task.program, input, shape);
    if (host.form == Form::kMap && host.terms > kMostRepeated && reads_again(group.task.program, input, shape))
      return Meeting::kNever;
    const auto usual_if = [](bool is_usual) { return is_usual ? Meeting::kUsual : Meeting::kPossible; };
    switch (host.form) {
      case Form::kMovement: return usual_if(group.form < Form::kRows || renames(host.task.program));
      case Form::kMap:
        return usual_if(group.form == Form::kMovement || group.form == Form::kMap ||
                        (group.form == Form::kRows && in_place));
      case Form::kRows:
      case Form::kAnchor:
        if ((group.form <= Form::kMap && in_place) || (host.has_rows && permutes_axes(group.task.program)))
          return Meeting::kUsual;
        return passes_rows(host, group, input) ? Meeting::kPossible : Meeting::kNever;
      case Form::kOther: return Meeting::kNever;
    }
    return Meeting::kNever;
  }

  /// Whether the host's sums are made into rows that the group's reduction runs along: a block of them may stay in
  /// cache between the two (a depthwise convolution and the pointwise one behind it).
  bool passes_rows(const Group& host, const Group& group, int input) const {
    if (host.form != Form::kAnchor || group.form < Form::kRows || host.has_rows || group.has_rows) return false;
    const Shape& shape = *graph_.value(group.task.inputs[input]).type.shape;
    const auto along = row_dim(group.task.program, input, shape);
    return along && shape[*along].value() >= 2 && shape[*along].value() <= kLongestRow;
  }

  /// The host's program, then the group's over the host's output.
  Group merged(Group host, Group group) const {
    Group result;
    result.form = std::max(host.form, group.form);
    result.terms = terms_together(host, group);
    result.has_rows = host.has_rows || group.has_rows || (host.form >= Form::kRows && group.form >= Form::kRows);
    Task& task = result.task;
    task.nodes = host.task.nodes;
    task.nodes.insert(task.nodes.end(), group.task.nodes.begin(), group.task.nodes.end());
    task.inputs = host.task.inputs;
    task.outputs = group.task.outputs;
    task.program = std::move(host.task.program);
    const te::StageValue passed = task.program.outputs[0];
    const int offset = static_cast<int>(task.program.stages.size());
    std::vector<BufferRef> sources;
    for (const ValueId value : group.task.inputs) {
      if (value == host.task.outputs[0]) {
        sources.push_back({BufferRef::Kind::kStage, passed.stage, passed.component});
        continue;
      }
      auto known = std::find(task.inputs.begin(), task.inputs.end(), value);
      if (known == task.inputs.end()) known = task.inputs.insert(task.inputs.end(), value);
      sources.push_back({BufferRef::Kind::kInput, static_cast<int>(known - task.inputs.begin()), 0});
    }
    te::rewrite(group.task.program, [&](const Expr& e) -> Expr {
      const auto* load = te::as<te::Load>(e);
      if (!load) return {};
      if (load->buffer.kind == BufferRef::Kind::kInput)
        return te::load(sources[load->buffer.index], e.dtype(), load->index);
      if (load->buffer.kind == BufferRef::Kind::kStage)
        return te::load({BufferRef::Kind::kStage, load->buffer.index + offset, load->buffer.component}, e.dtype(),
                        load->index);
      return {};
    });
    for (te::Stage& stage : group.task.program.stages) task.program.stages.push_back(std::move(stage));
    task.program.outputs = group.task.program.outputs;
    for (te::StageValue& output : task.program.outputs) output.stage += offset;
    return result;
  }

  const Graph& graph_;
  const FuseOptions& options_;
  TaskDecider& decider_;
  std::vector<int> uses_;
  std::vector<Group> groups_;
  std::map<ValueId, int> group_of_;
  std::map<std::string, ValueId> size_of_;  ///< by symbol: a value of which it is a dim
};

}  // namespace

Result<std::vector<Task>> fuse(const Graph& graph, const FuseOptions& options, TaskDecider& decider) {
  return Fuser(graph, options, decider).run();
}

Result<std::vector<Task>> fuse(const Graph& graph, const FuseOptions& options) {
  TaskDecider decider;
  return fuse(graph, options, decider);
}

int viewed_input(const te::Program& program, const std::vector<kernel::TaskType>& inputs) {
  if (program.stages.size() != 1 || program.outputs.size() != 1) return -1;
  const auto* body = std::get_if<te::MapReduce>(&program.stages[0].body);
  if (!body || body->combine.arity() != 0 || body->bodies.size() != 1) return -1;
  const auto* load = te::as<te::Load>(body->bodies[0]);
  if (!load || load->buffer.kind != BufferRef::Kind::kInput) return -1;
  const kernel::TaskType& input = inputs[load->buffer.index];
  // Of a view one dim may follow from the number of elements.
  const auto open = std::ranges::count_if(body->axes, [](const Dim& dim) { return !dim.is_constant(); });
  if (open > 1 || (open == 1 && std::ranges::any_of(body->axes, [](const Dim& dim) { return dim.is(0); }))) return -1;
  if (input.dtype != body->bodies[0].dtype() || !(element_count(input.shape) == element_count(body->axes))) return -1;
  const auto offset = [](const Shape& shape, const std::vector<Expr>& index) {
    Expr result = te::index(0);
    for (size_t k = 0; k < index.size(); ++k) result = result * shape[k].expr() + index[k];
    return result;
  };
  const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
    const auto* variable = te::as<te::Var>(leaf);
    const auto extent = variable ? body->axes[variable->index].constant() : std::nullopt;
    if (!extent) return {};
    return {0, *extent - 1};
  };
  const Expr moved =
      offset(input.shape, load->index) - offset(body->axes, te::axes(static_cast<int>(body->axes.size())));
  return te::as_constant(te::simplify_index(without_points(moved, *body), ranges)) == 0 ? load->buffer.index : -1;
}

int viewed_input(const kernel::Kernel& kernel) {
  std::vector<const kernel::Block*> blocks;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) { blocks.push_back(&block); });
  if (blocks.size() != 1 || blocks[0]->is_reduction() || blocks[0]->bodies.size() != 1) return -1;
  const auto* load = te::as<te::Load>(blocks[0]->bodies[0]);
  if (!load) return -1;
  const kernel::Buffer &from = kernel.buffers[load->buffer.index], &to = kernel.buffers[blocks[0]->writes[0].buffer];
  const auto input = std::find(kernel.inputs.begin(), kernel.inputs.end(), load->buffer.index);
  if (input == kernel.inputs.end() || from.dtype != to.dtype || !(element_count(from.shape) == element_count(to.shape)))
    return -1;
  const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
    const auto* variable = te::as<te::Var>(leaf);
    if (!variable) return {};
    return {0, te::as_constant(blocks[0]->axes[variable->index].extent).value_or(0) - 1};
  };
  const Expr moved = kernel::offset_of(from, load->index) - kernel::offset_of(to, blocks[0]->writes[0].index);
  return te::as_constant(te::simplify_index(moved, ranges)) == 0 ? static_cast<int>(input - kernel.inputs.begin()) : -1;
}

}  // namespace isomer
