#include "search/tasks/form.h"

#include <algorithm>
#include <set>

#include "graph/te/simplify.h"
#include "kernel/access.h"
#include "kernel/tree.h"

namespace isomer::search {
namespace {

using te::BufferRef;
using te::Expr;

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

/// Whether the load is found by iterator k of its stage in dim k.
bool is_own_row(const te::Load& load, const te::MapReduce& stage, size_t k) {
  return load.index[k] == te::axis(static_cast<int>(k)) || (stage.axes[k].is(1) && te::as_constant(load.index[k]) == 0);
}

}  // namespace

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

double term_count(const te::Program& program) {
  double count = 0;
  for (const te::Stage& stage : program.stages)
    if (const auto* body = std::get_if<te::MapReduce>(&stage.body))
      for (const Expr& e : body->bodies) te::for_each_node(e, [&](const Expr&) { ++count; });
  return count;
}

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

bool reads_in_place(const te::Program& program, int number, const Shape& shape) {
  bool in_place = true;
  for_each_input(program, [&](const te::Load& load, const te::MapReduce& stage) {
    if (load.buffer.index == number) in_place &= stage.axes == shape && kernel::is_point(load.index, shape);
  });
  return in_place;
}

bool reads_again(const te::Program& program, int number, const Shape& shape) {
  bool again = false;
  for_each_input(program, [&](const te::Load& load, const te::MapReduce& stage) {
    if (load.buffer.index == number)
      again |= element_count(stage.axes).constant().value_or(0) > element_count(shape).constant().value_or(0);
  });
  return again;
}

bool reads_once(const te::Program& program, int number, const Shape& shape) {
  int loads = 0;
  bool once = true;
  for_each_input(program, [&](const te::Load& load, const te::MapReduce& stage) {
    if (load.buffer.index != number) return;
    Shape points = stage.axes;
    points.insert(points.end(), stage.reduce.begin(), stage.reduce.end());
    once &= element_count(points) == element_count(shape);
    ++loads;
  });
  return once && loads == 1;
}

size_t row_axes(const te::Program& program, int number) {
  std::optional<size_t> rows;
  bool regular = true;
  for_each_input(program, [&](const te::Load& load, const te::MapReduce& stage) {
    if (load.buffer.index != number) return;
    size_t count = 0;
    while (count < load.index.size() && count < stage.axes.size() && is_own_row(load, stage, count)) ++count;
    for (size_t k = count; k < load.index.size(); ++k) regular &= te::as_constant(load.index[k]) == 0;
    regular &= stage.reduce.empty() && count < stage.axes.size() && (!rows || *rows == count);
    rows = count;
  });
  return regular ? rows.value_or(0) : 0;
}

bool stays_in_rows(const te::Program& program, const Shape& rows, const std::vector<int>& inputs) {
  for (const te::Stage& stage : program.stages) {
    const auto* body = std::get_if<te::MapReduce>(&stage.body);
    if (!body || body->axes.size() < rows.size() || !std::equal(rows.begin(), rows.end(), body->axes.begin()))
      return false;
    bool stays = true;
    for (const Expr& e : body->bodies)
      te::for_each_node(e, [&](const Expr& part) {
        const auto* load = te::as<te::Load>(part);
        if (!load || (load->buffer.kind == BufferRef::Kind::kInput &&
                      std::find(inputs.begin(), inputs.end(), load->buffer.index) == inputs.end()))
          return;
        stays &= load->index.size() >= rows.size();
        for (size_t k = 0; stays && k < rows.size(); ++k) stays &= is_own_row(*load, *body, k);
      });
    if (!stays) return false;
  }
  return true;
}

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

}  // namespace isomer::search
