// The structs of the file's plan, field by field in its order (plan_bytes.h).
#pragma once

#include "runtime/artifact.h"
#include "util/hash.h"

namespace isomer::runtime {

template <class A>
void fields(A& a, Part& part) {
  a(part.entry, part.iterations, part.grain, part.scratch_bytes, part.turns, part.followers);
}
template <class A>
void fields(A& a, Module& module) {
  a(module.arch, module.image);
}
template <class A>
void fields(A& a, Launch& launch) {
  a(launch.function, launch.blocks[0], launch.blocks[1], launch.blocks[2], launch.threads[0], launch.threads[1],
    launch.threads[2], launch.buffers, launch.takes_turn, launch.turns, launch.followers, launch.shared_bytes);
}
template <class A>
void fields(A& a, Kernel& kernel) {
  a(kernel.parts, kernel.module, kernel.launches);
}
template <class A>
void fields(A& a, InInput& place) {
  a(place.number);
}
template <class A>
void fields(A& a, InOutput& place) {
  a(place.number);
}
template <class A>
void fields(A& a, InWeights& place) {
  a(place.number);
}
template <class A>
void fields(A& a, InArena& place) {
  a(place.offset);
}
template <class A>
void fields(A&, Dynamic&) {}
template <class A>
void fields(A& a, ViewOf& place) {
  a(place.value, place.offset);
}
template <class A>
void fields(A& a, Value& value) {
  a(value.name, value.type, value.dims, value.bytes, value.place);
}
template <class A>
void fields(A& a, Port& port) {
  a(port.name, port.value, port.below, port.not_zero);
}
template <class A>
void fields(A& a, Move& move) {
  a(move.from, move.to);
}
template <class A>
void fields(A& a, Body& body) {
  a(body.steps, body.moves);
}
template <class A>
void fields(A& a, KernelStep& step) {
  a(step.kernel, step.arguments);
}
template <class A>
void fields(A& a, CopyStep& step) {
  a(step.move);
}
template <class A>
void fields(A& a, ShapeStep& step) {
  a(step.of, step.to);
}
template <class A>
void fields(A& a, BranchStep& step) {
  a(step.condition, step.then_body, step.else_body);
}
template <class A>
void fields(A& a, Stack& stack) {
  a(stack.from, stack.to);
}
template <class A>
void fields(A& a, LoopStep& step) {
  a(step.trip_count, step.condition, step.iteration, step.body, step.stacks);
}
template <class A>
void fields(A& a, Step& step) {
  a(step.name, step.operators, step.flops, step.action);
}
template <class A>
void fields(A& a, Target& target) {
  a(target.name, target.features, target.device);
}
template <class A>
void fields(A& a, Variant& variant) {
  a(variant.target, variant.bindings, variant.values, variant.inputs, variant.outputs, variant.arena_bytes,
    variant.steps);
}
template <class A>
void fields(A& a, Provenance& p) {
  a(p.producer, p.source_hash, p.seed, p.history);
}
template <class A>
void fields(A& a, Hash128& hash) {
  a(hash.low, hash.high);
}

/// Where a weight lies in the section.
struct WeightPlace {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
template <class A>
void fields(A& a, WeightPlace& place) {
  a(place.offset, place.bytes);
}

struct Plan {
  Provenance provenance;
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<WeightPlace> weights;
  std::vector<Hash128> chunks;
  std::vector<Variant> variants;
};
template <class A>
void fields(A& a, Plan& plan) {
  a(plan.provenance, plan.modules, plan.kernels, plan.weights, plan.chunks, plan.variants);
}

}  // namespace isomer::runtime
