#include "search/tasks/fuse.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/op_context.h"
#include "graph/te/rewrite_program.h"
#include "search/tasks/form.h"

namespace isomer::search {
namespace {

using te::BufferRef;
using te::Expr;

/// Elements of a row that is passed on inside of a task.
constexpr int64_t kLongestRow = 16'384;
constexpr int kMostTerms = 20'000;  ///< of an operator: more take minutes to generate code for
constexpr int64_t kMostRead = 64;   ///< integers that data decide, of an input
constexpr int kMostFused = 2'000;   ///< terms of a task of several
constexpr int kMostRepeated = 64;   ///< terms of what is computed again by each that reads it

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
    Shape rows = {};        ///< the first dims of its output, if it computes each row of rows alone, with reductions
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
    group.terms = term_count(group.task.program);
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
      const bool is_usual = meeting == Meeting::kRow || (meeting == Meeting::kUsual && is_read_by_one(group, k));
      if (meeting == Meeting::kNever || !together(group.task.inputs[k], is_usual)) continue;
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
            groups_[source].has_rows || (groups_[rows].rows.empty() && !is_read_by_one(groups_[rows], j)))
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
    kUsual,     ///< where one node of the group reads it
    kRow,       ///< a row at a time, which stays in cache, whoever of the group reads it
  };

  Meeting meeting_of(const Group& host, const Group& group, int input) const {
    if (host.form == Form::kOther || group.form == Form::kOther || terms_together(host, group) > kMostFused)
      return Meeting::kNever;
    const Shape& shape = *graph_.value(group.task.inputs[input]).type.shape;
    const bool in_place = reads_in_place(group.task.program, input, shape);
    if (host.form == Form::kMap && host.terms > kMostRepeated && reads_again(group.task.program, input, shape))
      return Meeting::kNever;
    if (!rows_together(host, group, input).empty()) return Meeting::kRow;
    const bool is_summed_once = group.form == Form::kRows && reads_once(group.task.program, input, shape);
    const auto usual_if = [](bool is_usual) { return is_usual ? Meeting::kUsual : Meeting::kPossible; };
    switch (host.form) {
      case Form::kMovement: return usual_if(group.form < Form::kRows || renames(host.task.program));
      case Form::kMap:
        return usual_if(group.form == Form::kMovement || group.form == Form::kMap ||
                        (group.form == Form::kRows && in_place) || is_summed_once);
      case Form::kRows:
      case Form::kAnchor:
        if ((group.form <= Form::kMap && in_place) || (host.has_rows && permutes_axes(group.task.program)))
          return Meeting::kUsual;
        return passes_rows(host, group, input) ? Meeting::kPossible : Meeting::kNever;
      case Form::kOther: return Meeting::kNever;
    }
    return Meeting::kNever;
  }

  /// The rows that both compute one after the other, where the host makes of each of its rows a sum that the group
  /// reads for each element of the row (x / sum(x)), or a row of those that the group's are made of: normalization,
  /// softmax, however they are written out. None where it is not so.
  Shape rows_together(const Group& host, const Group& group, int input) const {
    if (!options_.rows || host.has_rows || group.has_rows || host.form > Form::kRows || group.form > Form::kRows)
      return {};
    const Shape& shape = *graph_.value(group.task.inputs[static_cast<size_t>(input)]).type.shape;
    if (!group.rows.empty()) {
      const bool passes = host.form == Form::kRows ? host.rows == group.rows : host.form == Form::kMap;
      return passes && begins_with(shape, group.rows) && stays_in_rows(group.task.program, group.rows, {input})
                 ? group.rows
                 : Shape();
    }
    if (host.form != Form::kRows || group.form > Form::kMap) return {};
    const size_t axes = row_axes(group.task.program, input);
    if (axes == 0) return {};
    const Shape& made = *graph_.value(group.task.outputs[0]).type.shape;
    const Shape rows(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(std::min(axes, made.size())));
    const int64_t length = element_count(Shape(made.begin() + static_cast<std::ptrdiff_t>(rows.size()), made.end()))
                               .constant()
                               .value_or(0);
    if (length < 2 || length > kLongestRow) return {};
    // They share what the sums are of: its second reading is from cache.
    for (size_t k = 0; k < group.task.inputs.size(); ++k) {
      const auto& of = host.task.inputs;
      const auto same = std::find(of.begin(), of.end(), group.task.inputs[k]);
      if (same == of.end() || !group.task.inputs[k].valid() || !(*graph_.value(*same).type.shape == made)) continue;
      if (stays_in_rows(host.task.program, rows, {static_cast<int>(same - of.begin())}) &&
          stays_in_rows(group.task.program, rows, {input, static_cast<int>(k)}))
        return rows;
    }
    return {};
  }

  static bool begins_with(const Shape& shape, const Shape& first) {
    return shape.size() >= first.size() && std::equal(first.begin(), first.end(), shape.begin());
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
    const auto read = std::find(group.task.inputs.begin(), group.task.inputs.end(), host.task.outputs[0]);
    result.rows = rows_together(host, group, static_cast<int>(read - group.task.inputs.begin()));
    if (result.rows.empty() && group.form <= Form::kMap) result.rows = host.rows;
    result.form = std::max(host.form, group.form);
    result.terms = terms_together(host, group);
    result.has_rows = host.has_rows || group.has_rows ||
                      (host.form >= Form::kRows && group.form >= Form::kRows && result.rows.empty());
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

}  // namespace isomer::search
