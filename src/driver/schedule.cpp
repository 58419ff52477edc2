#include "isomer/schedule.h"

#include <algorithm>
#include <set>

#include "driver/nest_state.h"
#include "graph/te/print.h"
#include "kernel/access.h"
#include "kernel/tree.h"

namespace isomer {
namespace {

kernel::LoopId internal(Loop loop) { return {loop.number}; }
Loop external(kernel::LoopId loop) { return {loop.variable}; }

kernel::Argument internal(Argument argument) {
  return std::visit(te::Overloaded{[](Loop loop) { return kernel::Argument(internal(loop)); },
                                   [](const Loops& loops) {
                                     kernel::LoopIds ids;
                                     for (const Loop loop : loops) ids.push_back(internal(loop));
                                     return kernel::Argument(std::move(ids));
                                   },
                                   [](auto value) { return kernel::Argument(std::move(value)); }},
                    std::move(argument));
}

Argument external(const kernel::Argument& argument) {
  return std::visit(te::Overloaded{[](kernel::LoopId loop) { return Argument(external(loop)); },
                                   [](const kernel::LoopIds& ids) {
                                     Loops loops;
                                     for (const kernel::LoopId id : ids) loops.push_back(external(id));
                                     return Argument(std::move(loops));
                                   },
                                   [](const auto& value) { return Argument(value); }},
                    argument);
}

Integers extents_of(const std::vector<kernel::Iterator>& iterators) {
  Integers extents;
  for (const kernel::Iterator& iterator : iterators) extents.push_back(te::as_constant(iterator.extent).value_or(0));
  return extents;
}

}  // namespace

bool Machine::has(const std::string& extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

std::vector<std::string> Nest::blocks() const { return state_.view.blocks(); }

bool Nest::has_block(const std::string& name) const { return state_.view.has_block(name); }

Block Nest::block(const std::string& name) const {
  const kernel::View& view = state_.view;
  if (!view.has_block(name)) throw NoValue(fmt::format("the name of a block expected, '{}' found", name));
  const kernel::Block& block = view.block(name);
  Block result;
  result.name = name;
  result.axes = extents_of(block.axes);
  result.reduction = extents_of(block.reduce);
  if (block.is_reduction()) result.combines = block.combine.name.empty() ? "other" : block.combine.name;
  for (const kernel::Write& write : block.writes) result.writes.push_back(view.buffer(write.buffer).name);
  if (!block.writes.empty()) result.stores = kernel::write_strides(view.kernel(), block);
  const auto names = [&](const te::BufferRef& buffer) { return view.buffer(buffer.index).name; };
  for (const te::Expr& body : block.bodies) result.bodies.push_back(te::print(body, names));
  for (const kernel::LoadAccess& access : kernel::load_accesses(view.kernel(), block))
    result.loads.push_back({view.buffer(access.buffer).name, access.axes, access.reduce});
  for (const kernel::LoopId loop : view.loops(name)) result.loops.push_back(external(loop));
  result.is_alone = view.is_alone(name);
  return result;
}

Buffer Nest::buffer(const std::string& name) const {
  const kernel::Kernel& kernel = state_.view.kernel();
  const int number = kernel.find_buffer(name);
  if (number < 0) throw NoValue(fmt::format("the name of a buffer expected, '{}' found", name));
  const kernel::Buffer& buffer = state_.view.buffer(number);
  Buffer result;
  result.name = name;
  result.type = isomer::name(buffer.dtype);
  for (const Dim& dim : buffer.shape) result.shape.push_back(dim.is_constant() ? dim.value() : 0);
  switch (buffer.scope) {
    case kernel::Scope::kArgument: break;
    case kernel::Scope::kCache: result.scope = "cache"; break;
    case kernel::Scope::kRegister: result.scope = "registers"; break;
    case kernel::Scope::kShared: result.scope = "shared"; break;
  }
  result.is_input = std::find(kernel.inputs.begin(), kernel.inputs.end(), number) != kernel.inputs.end();
  result.is_output = kernel::is_output(kernel, number);
  result.is_constant = buffer.is_constant;
  return result;
}

int64_t Nest::extent(Loop loop) const {
  return state_.view.has_loop(internal(loop)) ? state_.view.extent(internal(loop)) : 0;
}

const Machine& Nest::machine() const { return state_.machine; }

std::string Nest::text() const { return kernel::print(state_.view.kernel()); }

Expected<Results> Schedule::apply(const std::string& primitive, Arguments arguments) {
  if (primitive == "set_layout")
    return Failure{
        "set_layout: a buffer of the task's own expected (transform_layout), inputs and outputs lie as the "
        "graph has them"};
  kernel::Arguments given;
  std::transform(arguments.begin(), arguments.end(), std::back_inserter(given),
                 [](Argument& argument) { return internal(std::move(argument)); });
  const auto made = state_.builder->schedule.apply(primitive, std::move(given));
  if (!made.ok()) return Failure{made.error().message()};
  Results results;
  std::transform(made->begin(), made->end(), std::back_inserter(results.all),
                 [](const kernel::Argument& argument) { return external(argument); });
  return results;
}

int64_t Schedule::decide(const std::string& of, const std::string& what, Integers candidates, int64_t preferred) {
  const std::set<int64_t> different(candidates.begin(), candidates.end());
  if (different.size() == candidates.size() && different.contains(preferred))
    return state_.builder->decide(of, what, std::move(candidates), preferred);
  if (!*state_.misuse)
    *state_.misuse = Failure{fmt::format(
        "{}.{}: candidates that differ, with the preferred one, {}, expected among them", of, what, preferred)};
  return preferred;
}

bool Schedule::attempt(const std::function<Expected<void>()>& steps) {
  const kernel::Schedule before = state_.builder->schedule;
  if (succeeded(steps)) return true;
  state_.builder->schedule = before;
  return false;
}

Expected<void> succeeded(const std::function<Expected<void>()>& steps) {
  try {
    return steps();
  } catch (const NoValue& failure) {
    return Failure{failure.what()};
  }
}

}  // namespace isomer
