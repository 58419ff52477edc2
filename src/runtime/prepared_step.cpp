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

PreparedBody prepare_body(const Model& model, const Body& body, ValueTable& table) {
  return {prepare(model, body.steps, table), &body.moves, must_be_staged(table, body.moves)};
}

void prepare_kernel(const Model& model, const KernelStep& step, ValueTable& table, PreparedStep& prepared) {
  prepared.parts = model.artifact().kernels[step.kernel].parts;
  prepared.arguments = &step.arguments;
  prepared.buffers.resize(step.arguments.size());
  prepared.extents.resize(step.arguments.size());
  for (size_t b = 0; b < step.arguments.size(); ++b) {
    if (step.arguments[b] == -1) continue;
    table.watch(step.arguments[b], &prepared.buffers[b]);
    prepared.extents[b] = table.extents(step.arguments[b]);
  }
}

}  // namespace

std::vector<PreparedStep> prepare(const Model& model, const std::vector<Step>& steps, ValueTable& table) {
  std::vector<PreparedStep> all(steps.size());
  for (size_t k = 0; k < steps.size(); ++k) {
    all[k].step = &steps[k];
    std::visit(Overloaded{
                   [&](const KernelStep& step) { prepare_kernel(model, step, table, all[k]); },
                   [&](const CopyStep&) {},
                   [&](const ShapeStep&) {},
                   [&](const BranchStep& step) {
                     all[k].bodies.push_back(prepare_body(model, step.then_body, table));
                     all[k].bodies.push_back(prepare_body(model, step.else_body, table));
                   },
                   [&](const LoopStep& step) { all[k].bodies.push_back(prepare_body(model, step.body, table)); },
               },
               steps[k].action);
  }
  return all;
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
