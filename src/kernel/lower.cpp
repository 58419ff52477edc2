#include "kernel/lower.h"

#include <algorithm>

#include "graph/te/simplify.h"
#include "kernel/tree.h"
#include "kernel/unguarded.h"
#include "util/check.h"

namespace isomer::kernel {
namespace {

using te::BufferRef;

class Lowering {
 public:
  Lowering(const te::Program& program, const std::vector<TaskType>& inputs, const std::vector<SizeNames>& sizes)
      : program_(program) {
    // They come first: shapes of the inputs read them.
    std::vector<int> size_buffers;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int buffer =
          add_buffer(fmt::format("sizes{}", i), DataType::kInt64, {static_cast<int64_t>(sizes[i].size())});
      for (size_t k = 0; k < sizes[i].size(); ++k)
        sizes_.emplace(sizes[i][k], load_buffer(kernel_, buffer, {te::index(static_cast<int64_t>(k))}));
      size_buffers.push_back(buffer);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool present = inputs[i].dtype != DataType::kUndefined;
      kernel_.inputs.push_back(present ? add_buffer(fmt::format("in{}", i), inputs[i].dtype, inputs[i].shape) : -1);
    }
    kernel_.inputs.insert(kernel_.inputs.end(), size_buffers.begin(), size_buffers.end());
  }

  Result<Kernel> run() {
    for (size_t s = 0; s < program_.stages.size(); ++s) {
      name_ = fmt::format("s{}", s);
      std::visit([&](const auto& stage) { lower(stage, program_.stages[s]); }, program_.stages[s].body);
    }
    for (const te::StageValue& output : program_.outputs)
      kernel_.outputs.push_back(output.stage < 0 ? -1 : stages_[output.stage][output.component]);
    TRY_VOID(check_sizes());
    mark_unguarded(kernel_);
    return std::move(kernel_);
  }

 private:
  int add_buffer(std::string name, DataType dtype, Shape shape) {
    for (Dim& dim : shape) dim = Dim(globalized(dim.expr()));
    kernel_.buffers.push_back({std::move(name), dtype, std::move(shape)});
    return static_cast<int>(kernel_.buffers.size()) - 1;
  }

  /// The buffers of a stage's components. Those whose sizes data decide get them before the stage runs.
  std::vector<int> add_stage_buffers(const te::Stage& stage) {
    std::vector<int> buffers;
    for (int c = 0; c < stage.components(); ++c) {
      buffers.push_back(add_buffer(c == 0 ? name_ : fmt::format("{}.{}", name_, c), stage.dtype(c), stage.shape(c)));
      size(kernel_.body, buffers.back());
    }
    return buffers;
  }

  /// Appends a Resize where loads decide the shape.
  void size(Statements& statements, int buffer) const {
    std::vector<Expr> extents;
    for (const Dim& dim : kernel_.buffers[buffer].shape) extents.push_back(dim.expr());
    if (std::any_of(extents.begin(), extents.end(), [](const Expr& extent) { return !loads(extent).empty(); }))
      statements.push_back({Resize{buffer, std::move(extents)}});
  }

  /// Loads of the program's buffers become loads of the kernel's, the time of a scan the variable of its loop, a loop
  /// of an imperative stage a loop of the kernel's.
  Expr globalized(const Expr& expr) const {
    return te::transform(expr, [&](const Expr& e) -> Expr {
      if (const auto* variable = te::as<te::Var>(e)) {
        if (variable->kind == te::VarKind::kTime) return loop_variable(time_);
        if (variable->kind == te::VarKind::kLoop) return loop_variable(loops_.at(variable->index));
        return {};
      }
      if (const auto* symbol = te::as<te::Symbol>(e)) {
        const auto found = sizes_.find(symbol->name);
        return found == sizes_.end() ? Expr() : found->second;
      }
      const auto* load = te::as<te::Load>(e);
      if (!load) return {};
      const BufferRef& from = load->buffer;
      switch (from.kind) {
        case BufferRef::Kind::kInput: return load_buffer(kernel_, kernel_.inputs[from.index], load->index);
        case BufferRef::Kind::kStage: return load_buffer(kernel_, stages_[from.index][from.component], load->index);
        case BufferRef::Kind::kInner: return load_buffer(kernel_, inner_[from.index][from.component], load->index);
        case BufferRef::Kind::kLocal: return load_buffer(kernel_, locals_[from.index], load->index);
        case BufferRef::Kind::kState: return load_buffer(kernel_, before_[from.index], load->index);
      }
      return {};
    });
  }

  std::vector<Expr> globalized(std::vector<Expr> list) const {
    for (Expr& e : list) e = globalized(e);
    return list;
  }

  /// A block over new loops, one for each of its iterators. A million times nothing is done in no time.
  Statement nest(Block block, const Shape& axes, const Shape& reduce) {
    std::vector<Expr> extents;
    for (const Dim& dim : axes) extents.push_back(globalized(dim.expr()));
    for (const Dim& dim : reduce) extents.push_back(globalized(dim.expr()));
    if (is_empty(axes) || is_empty(reduce)) std::fill(extents.begin(), extents.end(), te::index(0));
    return under_loops(kernel_, extents, [&](const std::vector<Expr>& variables) {
      for (size_t k = 0; k < extents.size(); ++k)
        (k < axes.size() ? block.axes : block.reduce).push_back({extents[k], variables[k]});
      return std::move(block);
    });
  }

  static bool is_empty(const Shape& shape) {
    return std::any_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is(0); });
  }

  Statement map(std::string name, const Shape& axes, Write write, Expr body) {
    Block block;
    block.name = std::move(name);
    block.writes = {std::move(write)};
    block.bodies = {std::move(body)};
    return nest(std::move(block), axes, {});
  }

  /// Without selects that always choose the same: a transposed convolution whose windows do not overlap reads nothing
  /// outside of its input.
  static Expr decided(const Expr& body, const te::MapReduce& stage) {
    const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
      const auto* variable = te::as<te::Var>(leaf);
      const bool is_axis = variable && variable->kind == te::VarKind::kSpatial;
      if (!is_axis && !(variable && variable->kind == te::VarKind::kReduce)) return {};
      const auto extent = (is_axis ? stage.axes : stage.reduce)[variable->index].constant();
      return {0, extent ? std::optional(*extent - 1) : std::nullopt};
    };
    return te::transform(body, [&](const Expr& e) -> Expr {
      const auto* select = te::as<te::Select>(e);
      if (!select || te::has_load(select->condition)) return {};
      const Expr condition = te::simplify_index(select->condition, ranges);
      if (condition == te::truth(true)) return select->then;
      return condition == te::truth(false) ? select->otherwise : Expr();
    });
  }

  /// Of a reduction over what may be empty all elements are initialized by a block of its own, beforehand.
  void map_reduce(Statements& statements, const std::string& name, const te::MapReduce& stage,
                  const std::vector<int>& buffers) {
    Block block;
    block.name = name;
    block.combine = stage.combine;
    for (const int buffer : buffers) block.writes.push_back({buffer, te::axes(static_cast<int>(stage.axes.size()))});
    const bool has_terms = std::all_of(stage.reduce.begin(), stage.reduce.end(),
                                       [](const Dim& dim) { return dim.constant().value_or(0) > 0; });
    block.initialize = block.is_reduction() && !is_empty(stage.reduce);
    if (block.is_reduction() && !has_terms) {
      Block initial;
      initial.name = name + ".initial";
      initial.writes = block.writes;
      initial.bodies = stage.combine.identity;
      statements.push_back(nest(std::move(initial), stage.axes, {}));
    }
    for (const Expr& body : stage.bodies) block.bodies.push_back(globalized(decided(body, stage)));
    statements.push_back(nest(std::move(block), stage.axes, stage.reduce));
  }

  void lower(const te::MapReduce& body, const te::Stage& stage) {
    stages_.push_back(add_stage_buffers(stage));
    map_reduce(kernel_.body, name_, body, stages_.back());
  }

  /// for t { state k before t: its initial value or state k [t - 1, …]; inner stages; state k [t, …] = inner stage
  /// next[k] }
  void lower(const te::Scan& scan, const te::Stage& stage) {
    const std::vector<int> states = add_stage_buffers(stage);
    Loop steps;
    steps.variable = time_ = kernel_.next_variable++;
    const bool does_nothing = std::all_of(scan.states.begin(), scan.states.end(),
                                          [](const te::Scan::State& state) { return is_empty(state.shape); });
    steps.extent = does_nothing ? te::index(0) : globalized(scan.trip.expr());
    steps.ordered = true;
    before_.clear();
    for (size_t k = 0; k < scan.states.size(); ++k) {
      const te::Scan::State& state = scan.states[k];
      const std::string name = fmt::format("{}.before{}", name_, k);
      before_.push_back(add_buffer(name, stage.dtype(static_cast<int>(k)), state.shape));
      size(steps.body, before_.back());
      const std::vector<Expr> point = te::axes(static_cast<int>(state.shape.size()));
      std::vector<Expr> previous = {loop_variable(time_) - 1};
      previous.insert(previous.end(), point.begin(), point.end());
      steps.body.push_back(map(name, state.shape, {before_.back(), point},
                               te::select(te::equal(loop_variable(time_), 0), globalized(state.init),
                                          load_buffer(kernel_, states[k], std::move(previous)))));
    }
    for (size_t i = 0; i < scan.steps.size(); ++i) {
      const te::MapReduce& step = scan.steps[i];
      const std::string name = fmt::format("{}.inner{}", name_, i);
      std::vector<int> buffers;
      for (size_t c = 0; c < step.bodies.size(); ++c) {
        buffers.push_back(add_buffer(c == 0 ? name : fmt::format("{}.{}", name, c), step.bodies[c].dtype(), step.axes));
        size(steps.body, buffers.back());
      }
      inner_.push_back(std::move(buffers));
      map_reduce(steps.body, name, step, inner_.back());
    }
    for (size_t k = 0; k < scan.states.size(); ++k) {
      const int rank = static_cast<int>(scan.states[k].shape.size());
      std::vector<Expr> index = {loop_variable(time_)};
      for (Expr& axis : te::axes(rank)) index.push_back(std::move(axis));
      steps.body.push_back(map(k == 0 ? name_ : fmt::format("{}.{}", name_, k), scan.states[k].shape,
                               {states[k], std::move(index)},
                               load_buffer(kernel_, inner_[scan.next[k]][0], te::axes(rank))));
    }
    kernel_.body.push_back({std::move(steps)});
    stages_.push_back(states);
    inner_.clear();
  }

  /// A map that sets the initial elements, then ordered loops around a block without iterators.
  void lower(const te::Update& update, const te::Stage& stage) {
    stages_.push_back(add_stage_buffers(stage));
    const int buffer = stages_.back()[0];
    const int rank = static_cast<int>(update.shape.size());
    kernel_.body.push_back(map(name_ + ".init", update.shape, {buffer, te::axes(rank)}, globalized(update.init)));
    std::vector<Loop> loops;
    std::vector<Expr> point;
    for (const Dim& dim : update.updates) {
      loops.emplace_back(kernel_.next_variable++, globalized(dim.expr()), true);
      point.push_back(loop_variable(loops.back().variable));
    }
    const auto at_update = [&](const Expr& expr) {
      return te::transform(globalized(expr), [&](const Expr& e) -> Expr {
        const auto* variable = te::as<te::Var>(e);
        return variable && variable->kind == te::VarKind::kReduce ? point[variable->index] : Expr();
      });
    };
    Block block;
    block.name = name_;
    block.combine = update.combine;
    block.writes = {{buffer, {}}};
    for (const Expr& e : update.index) block.writes[0].index.push_back(at_update(e));
    block.bodies = {at_update(update.value)};
    Statement statement = {std::move(block)};
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      loop->body.push_back(std::move(statement));
      statement = {std::move(*loop)};
    }
    kernel_.body.push_back(std::move(statement));
  }

  void lower(const te::Imperative& imperative, const te::Stage&) {
    locals_.clear();
    for (const te::Local& local : imperative.body.locals)
      locals_.push_back(add_buffer(fmt::format("{}.local{}", name_, locals_.size()), local.dtype, local.shape));
    for (const int local : locals_) {
      // Locals are zero before the first store; those that a Resize gives their extents are so by its meaning.
      const Shape& shape = kernel_.buffers[local].shape;
      const int rank = static_cast<int>(shape.size());
      if (resizes(imperative.body.block, local)) {
        sized_.insert(local);
        continue;
      }
      size(kernel_.body, local);
      kernel_.body.push_back(map(kernel_.buffers[local].name + ".zero",
                                 imperative.body.locals[local - locals_[0]].shape, {local, te::axes(rank)},
                                 te::literal(0, kernel_.buffers[local].dtype)));
    }
    stores_ = 0;
    for (Statement& statement : lower(imperative.body.block)) kernel_.body.push_back(std::move(statement));
    std::vector<int> outputs;
    for (const int output : imperative.outputs) outputs.push_back(locals_[output]);
    stages_.push_back(std::move(outputs));
  }

  bool resizes(const te::Block& block, int buffer) const {
    for (const te::Statement& statement : block) {
      const bool found =
          std::visit(te::Overloaded{[&](const te::For& s) { return resizes(*s.body, buffer); },
                                    [&](const te::While& s) { return resizes(*s.body, buffer); },
                                    [&](const te::If& s) {
                                      return resizes(*s.then, buffer) || (s.otherwise && resizes(*s.otherwise, buffer));
                                    },
                                    [&](const te::Store&) { return false; },
                                    [&](const te::Resize& s) { return locals_[s.local] == buffer; }},
                     statement.body);
      if (found) return true;
    }
    return false;
  }

  Statements lower(const te::Block& block) {
    Statements result;
    for (const te::Statement& statement : block)
      result.push_back(std::visit([&](const auto& s) { return lower(s); }, statement.body));
    return result;
  }

  Statement lower(const te::For& loop) {
    Loop result(kernel_.next_variable++, globalized(loop.extent), true);
    loops_[loop.loop] = result.variable;
    result.body = lower(*loop.body);
    return {std::move(result)};
  }
  Statement lower(const te::While& loop) { return {While{globalized(loop.condition), lower(*loop.body)}}; }
  Statement lower(const te::If& branch) {
    return {Branch{globalized(branch.condition), lower(*branch.then),
                   branch.otherwise ? lower(*branch.otherwise) : Statements()}};
  }
  Statement lower(const te::Store& store) {
    Block block;
    block.name = fmt::format("{}.store{}", name_, stores_++);
    block.writes = {{locals_[store.local], globalized(store.index)}};
    block.bodies = {globalized(store.value)};
    return {std::move(block)};
  }
  Statement lower(const te::Resize& resize) { return {Resize{locals_[resize.local], globalized(resize.extents)}}; }

  /// Symbols stand only where a statement of an imperative stage sets the extents.
  Result<void> check_sizes() const {
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      if (sized_.contains(static_cast<int>(b))) continue;
      for (const Dim& dim : kernel_.buffers[b].shape) {
        std::optional<std::string> unbound;
        te::for_each_node(dim.expr(), [&](const Expr& e) {
          if (const auto* symbol = te::as<te::Symbol>(e)) unbound = symbol->name;
        });
        if (unbound)
          return unsupported(kernel_.buffers[b].name, "sizes that are known expected, '{}' is not bound", *unbound);
      }
    }
    return {};
  }

  const te::Program& program_;
  Kernel kernel_;
  std::map<std::string, Expr> sizes_;     ///< loads of what symbols stand for
  std::string name_;                      ///< of the stage at hand
  std::vector<std::vector<int>> stages_;  ///< buffers of the components of earlier stages
  int time_ = -1;                         ///< the variable of the steps of the scan at hand
  std::vector<int> before_;               ///< the buffers of its states before a step
  std::vector<std::vector<int>> inner_;   ///< and of its inner stages
  std::vector<int> locals_;               ///< buffers of the imperative stage at hand
  std::map<int, int> loops_;              ///< variables of its loops
  int stores_ = 0;
  std::set<int> sized_;  ///< locals that get their extents from statements of their stages
};

}  // namespace

Result<Kernel> lower(const te::Program& program, const std::vector<TaskType>& inputs,
                     const std::vector<SizeNames>& sizes) {
  return Lowering(program, inputs, sizes).run();
}

}  // namespace isomer::kernel
