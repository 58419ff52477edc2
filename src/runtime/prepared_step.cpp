#include "runtime/prepared_step.h"

#include <algorithm>

#include "runtime/overloaded.h"

namespace isomer::runtime {
namespace {

/// Bytes of the one are bytes of the other. Dynamic values may move when they are written: they overlap as wholes.
bool overlap(const ValueTable& table, int32_t a, int32_t b) {
  const auto base = [&](int32_t number) {
    const auto* view = std::get_if<ViewOf>(&table.value(number).place);
    return view == nullptr ? number : view->value;
  };
  if (base(a) == base(b)) return true;
  const auto *first = std::get_if<InArena>(&table.value(base(a)).place),
             *second = std::get_if<InArena>(&table.value(base(b)).place);
  return first != nullptr && second != nullptr && first->offset < second->offset + table.value(base(b)).bytes &&
         second->offset < first->offset + table.value(base(a)).bytes;
}

bool must_be_staged(const ValueTable& table, const std::vector<Move>& moves) {
  for (size_t k = 0; k < moves.size(); ++k)
    for (size_t later = k; later < moves.size(); ++later)
      if (overlap(table, moves[k].to, moves[later].from)) return true;
  return false;
}

std::vector<PreparedStep> prepare(const Model& model, const std::vector<Step>& steps, ValueTable& table,
                                  int32_t& kernels);

PreparedBody prepare_body(const Model& model, const Body& body, ValueTable& table, int32_t& kernels) {
  return {prepare(model, body.steps, table, kernels), &body.moves, must_be_staged(table, body.moves)};
}

void prepare_kernel(const Model& model, const KernelStep& step, ValueTable& table, PreparedStep& prepared) {
  prepared.kernel = &model.artifact().kernels[step.kernel];
  prepared.arguments = &step.arguments;
  prepared.buffers.resize(step.arguments.size());
  prepared.extents.resize(step.arguments.size());
  for (size_t b = 0; b < step.arguments.size(); ++b) {
    if (step.arguments[b] == -1) continue;
    table.watch(step.arguments[b], &prepared.buffers[b]);
    prepared.extents[b] = table.extents(step.arguments[b]);
  }
}

/// Only asks the device for work.
bool is_spannable(const PreparedStep& prepared, const ValueTable& table) {
  if (const auto* copy = std::get_if<CopyStep>(&prepared.step->action))
    return !table.is_open(copy->move.from) && !table.is_open(copy->move.to);
  return std::holds_alternative<KernelStep>(prepared.step->action) &&
         std::ranges::all_of(*prepared.arguments, [&](int32_t value) { return value == -1 || !table.is_open(value); });
}

std::vector<PreparedStep> prepare(const Model& model, const std::vector<Step>& steps, ValueTable& table,
                                  int32_t& kernels) {
  std::vector<PreparedStep> all(steps.size());
  for (size_t k = 0; k < steps.size(); ++k) {
    PreparedStep& prepared = all[k];
    prepared.step = &steps[k];
    const auto add_body = [&](const Body& body) {
      prepared.bodies.push_back(prepare_body(model, body, table, kernels));
    };
    std::visit(Overloaded{
                   [&](const KernelStep& step) {
                     prepared.number = kernels++;
                     prepare_kernel(model, step, table, prepared);
                   },
                   [&](const CopyStep&) {},
                   [&](const ShapeStep&) {},
                   [&](const BranchStep& step) {
                     add_body(step.then_body);
                     add_body(step.else_body);
                   },
                   [&](const LoopStep& step) { add_body(step.body); },
               },
               steps[k].action);
  }
  for (size_t k = all.size(); k-- > 1;)
    if (is_spannable(all[k - 1], table) && is_spannable(all[k], table)) all[k - 1].span = all[k].span + 1;
  return all;
}

}  // namespace

std::vector<PreparedStep> prepare(const Model& model, const std::vector<Step>& steps, ValueTable& table) {
  int32_t kernels = 0;
  return prepare(model, steps, table, kernels);
}

int64_t scratch_bytes(const Model& model, const std::vector<Step>& steps) {
  int64_t most = 0;
  const auto note = [&](int64_t bytes) { most = std::max(most, bytes); };
  for (const Step& step : steps) {
    std::visit(Overloaded{
                   [&](const KernelStep& kernel) {
                     for (const Part& part : model.artifact().kernels[kernel.kernel].parts) note(part.scratch_bytes);
                   },
                   [&](const CopyStep&) {},
                   [&](const ShapeStep&) {},
                   [&](const BranchStep& branch) {
                     note(scratch_bytes(model, branch.then_body.steps));
                     note(scratch_bytes(model, branch.else_body.steps));
                   },
                   [&](const LoopStep& loop) { note(scratch_bytes(model, loop.body.steps)); },
               },
               step.action);
  }
  return most;
}

}  // namespace isomer::runtime
