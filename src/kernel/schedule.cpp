#include "kernel/schedule.h"

#include <algorithm>
#include <functional>
#include <map>

#include "kernel/access_plan.h"
#include "kernel/compact.h"
#include "kernel/micro_kernel.h"
#include "kernel/primitives.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

using Run = std::function<Result<Arguments>(Kernel&, const Arguments&)>;

/// What a primitive returns, as arguments of later ones.
Arguments as_arguments(LoopId loop) { return {loop}; }
Arguments as_arguments(std::string name) { return {std::move(name)}; }
Arguments as_arguments(const LoopIds& loops) { return {loops.begin(), loops.end()}; }

template <class T>
Result<Arguments> as_arguments(Result<T> result) {
  if (!result.ok()) return std::move(result).error();
  return as_arguments(*std::move(result));
}
Result<Arguments> as_arguments(Result<void> result) {
  if (!result.ok()) return std::move(result).error();
  return Arguments();
}

std::string_view kind(const Argument& argument) {
  return std::visit(
      te::Overloaded{[](int64_t) { return "an integer"; }, [](const std::string&) { return "a name"; },
                     [](LoopId) { return "a loop like k4"; }, [](const Integers&) { return "a list like [4, 8]"; },
                     [](const LoopIds&) { return "loops like {k4, k5}"; }},
      argument);
}

/// Calls a typed primitive with arguments of a trace.
template <class R, class... Parameters, size_t... I>
Result<Arguments> call(R (*primitive)(Kernel&, Parameters...), Kernel& kernel, const Arguments& arguments,
                       std::index_sequence<I...>) {
  if (arguments.size() != sizeof...(Parameters))
    return invalid("", "{} arguments expected, {} found", sizeof...(Parameters), arguments.size());
  const Arguments like = {Argument(std::remove_cvref_t<Parameters>())...};
  for (size_t k = 0; k < like.size(); ++k)
    if (arguments[k].index() != like[k].index())
      return invalid(fmt::format("argument {}", k + 1), "{} expected, '{}' found", kind(like[k]), print(arguments[k]));
  return as_arguments(primitive(kernel, std::get<std::remove_cvref_t<Parameters>>(arguments[I])...));
}

template <class R, class... Parameters>
Run adapted(R (*primitive)(Kernel&, Parameters...)) {
  return [primitive](Kernel& kernel, const Arguments& arguments) {
    return call(primitive, kernel, arguments, std::index_sequence_for<Parameters...>());
  };
}

struct Primitive {
  std::string_view name;
  Run run;
};

const std::vector<Primitive>& all_primitives() {
  static const std::vector<Primitive> all = {
      {"split", adapted(primitives::split)},
      {"fuse", adapted(primitives::fuse)},
      {"reorder", adapted(primitives::reorder)},
      {"parallel", adapted(primitives::parallel)},
      {"vectorize", adapted(primitives::vectorize)},
      {"unroll", adapted(primitives::unroll)},
      {"bind", adapted(primitives::bind)},
      {"peel", adapted(primitives::peel)},
      {"partition", adapted(primitives::partition)},
      {"shift_inwards", adapted(primitives::shift_inwards)},
      {"split_padding", adapted(primitives::split_padding)},
      {"skip_padding", adapted(primitives::skip_padding)},
      {"skip_border", adapted(primitives::skip_border)},
      {"annotate", adapted(primitives::annotate)},
      {"compute_inline", adapted(primitives::compute_inline)},
      {"reverse_compute_inline", adapted(primitives::reverse_compute_inline)},
      {"tabulate", adapted(primitives::tabulate)},
      {"compute_at", adapted(primitives::compute_at)},
      {"reverse_compute_at", adapted(primitives::reverse_compute_at)},
      {"join", adapted(primitives::join)},
      {"cache_read", adapted(primitives::cache_read)},
      {"reindex", adapted(primitives::reindex)},
      {"cache_write", adapted(primitives::cache_write)},
      {"set_scope", adapted(primitives::set_scope)},
      {"storage_align", adapted(primitives::storage_align)},
      {"swizzle", adapted(primitives::swizzle)},
      {"transform_layout", adapted(primitives::transform_layout)},
      {"set_layout", adapted(primitives::set_layout)},
      {"widen", adapted(primitives::widen)},
      {"pad", adapted(primitives::pad)},
      {"split_dims", adapted(primitives::split_dims)},
      {"split_axis", adapted(primitives::split_axis)},
      {"collapse", adapted(primitives::collapse)},
      {"flatten", adapted(primitives::flatten)},
      {"decompose_reduction", adapted(primitives::decompose_reduction)},
      {"keep_in_registers", adapted(primitives::keep_in_registers)},
      {"reduce_in_lanes", adapted(primitives::reduce_in_lanes)},
      {"rfactor", adapted(primitives::rfactor)},
      {"split_k", adapted(primitives::split_k)},
      {"accumulate_in", adapted(primitives::accumulate_in)},
      {"multiply_words", adapted(primitives::multiply_words)},
      {"tensorize", adapted(primitives::tensorize)},
  };
  return all;
}

const Primitive* primitive_of(std::string_view name) {
  const auto& all = all_primitives();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Primitive& p) { return p.name == name; });
  return found != all.end() ? &*found : nullptr;
}

template <class T>
Result<T> single(Result<Arguments> results) {
  if (!results.ok()) return std::move(results).error();
  return std::get<T>(results->front());
}

Result<LoopIds> several(Result<Arguments> results) {
  if (!results.ok()) return std::move(results).error();
  LoopIds loops;
  for (const Argument& result : *results) loops.push_back(std::get<LoopId>(result));
  return loops;
}

Result<void> nothing(Result<Arguments> results) {
  if (!results.ok()) return std::move(results).error();
  return {};
}

/// What one thread sees alone must not be written in one nest and read in another.
Result<void> check_scopes(const Kernel& kernel, const std::string& primitive) {
  std::vector<int> nests(kernel.buffers.size());  // that use the buffer
  for (const Statement& root : kernel.body)
    for (const int buffer : touched(root)) ++nests[static_cast<size_t>(buffer)];
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    // What is shared is so before its writer moves into the nest: `compute_at` makes it compute for all threads then.
    if (kernel.buffers[b].scope == Scope::kArgument || kernel.buffers[b].scope == Scope::kShared) continue;
    if (nests[b] > 1)
      return invalid(primitive, "uses of a thread's own '{}' in one nest expected, {} nests would have some",
                     kernel.buffers[b].name, nests[b]);
  }
  return {};
}

/// Buffers whose sizes data decide get them from the caller or a Resize, and lie in memory that those know.
Result<void> check_open_buffers(const Kernel& kernel, const std::string& primitive) {
  const std::set<int> used = touched(kernel.body);
  std::set<int> sized = resized(kernel);
  sized.insert(kernel.inputs.begin(), kernel.inputs.end());
  for (const int number : used) {
    const Buffer& buffer = kernel.buffers[static_cast<size_t>(number)];
    if (!has_static_shape(buffer) && (buffer.scope != Scope::kArgument || !sized.contains(number)))
      return invalid(primitive, "a size that is known expected of '{}', data decide it", buffer.name);
  }
  return {};
}

/// Iterations that overlap have all of a reduction inside, its beginning, too; and threads that share them, which would
/// add to the same elements of memory at a time, have results of their own.
Result<void> check_overlaps(const Kernel& kernel, const std::string& primitive) {
  Result<void> result;
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    const auto overlaps = [](const Loop* loop) { return loop->annotations.contains(kOverlaps); };
    if (!block.is_reduction() || std::ranges::none_of(loops, overlaps)) return;
    const bool is_own = std::ranges::all_of(stores(block), [&](int buffer) {
      return kernel.buffers[static_cast<size_t>(buffer)].scope != Scope::kArgument;
    });
    bool reduces = false;
    const Loop* innermost = nullptr;
    std::set<int> overlapping;
    for (const Loop* loop : loops) {
      reduces |= reads_any(block.reduce, loop->variable);
      if (!overlaps(loop)) continue;
      innermost = loop;
      overlapping.insert(loop->variable);
      if (reduces)
        result = invalid(primitive, "all of {} inside of k{}, whose iterations overlap, expected", block.name,
                         loop->variable);
    }
    for (const Loop* loop : loops) {
      if (loop->kind != LoopKind::kParallel || is_own) continue;
      const bool meets = std::ranges::any_of(block.axes, [&](const Iterator& axis) {
        const std::set<int> read = variables(axis.binding);
        return read.contains(loop->variable) &&
               std::ranges::any_of(read, [&](int variable) { return overlapping.contains(variable); });
      });
      if (meets)
        result = invalid(primitive, "results of {} in registers expected, since iterations that threads share overlap",
                         block.name);
    }
    bool begins = block.initialize;
    for_each_block(innermost->body, [&](const Block& other, const auto&) {
      begins |= stores(other) == stores(block) && (!other.is_reduction() || other.initialize);
    });
    if (!begins)
      result = invalid(primitive, "the beginning of {} inside of k{}, whose iterations overlap, expected", block.name,
                       innermost->variable);
  });
  return result;
}

/// Of all buffers; of what data decide, the dims that are known.
double elements_of(const Kernel& kernel) {
  double elements = 0;
  for (const Buffer& buffer : kernel.buffers) {
    double product = 1;
    for (const Dim& dim : buffer.shape) product *= static_cast<double>(dim.constant().value_or(1));
    elements += product;
  }
  return elements;
}

/// Far beyond any schedule that is of use, far below what a stack or memory holds, or anyone waits for.
Result<void> check_size(const Kernel& before, const Kernel& kernel, const std::string& primitive) {
  constexpr size_t kMostBlocks = 16384, kMostLoops = 512;
  constexpr double kTimesComputed = 1024, kFewIterations = 1 << 24, kFewElements = 1LL << 36;
  size_t blocks = 0, deepest = 0;
  double iterations = 0, points = 0;  // of the block that has most
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    ++blocks;
    deepest = std::max(deepest, loops.size());
    double around = 1, own = 1;
    for (const Loop* loop : loops) around *= static_cast<double>(te::as_constant(loop->extent).value_or(1));
    for (const auto* list : {&block.axes, &block.reduce})
      for (const Iterator& each : *list) own *= static_cast<double>(te::as_constant(each.extent).value_or(1));
    iterations = std::max(iterations, around);
    points = std::max(points, own);
  });
  if (blocks > kMostBlocks)
    return invalid(primitive, "at most {} blocks expected, {} would be there", kMostBlocks, blocks);
  if (deepest > kMostLoops)
    return invalid(primitive, "at most {} loops around a block expected, {} would be there", kMostLoops, deepest);
  if (const double most = std::max(kTimesComputed * points, kFewIterations); iterations > most)
    return invalid(primitive, "at most {:.0f} iterations around a block expected, {:.0f} would be there", most,
                   iterations);
  const double elements = elements_of(kernel), most = std::max(kFewElements, elements_of(before));
  if (elements > most)
    return invalid(primitive, "at most {:.0f} elements of buffers expected, {:.0f} would be there", most, elements);
  return {};
}

}  // namespace

Kernel Schedule::finish() const {
  Kernel kernel = kernel_;
  compact(kernel);
  hoist_predicates(kernel);
  return kernel;
}

Result<LoopIds> Schedule::loops(const std::string& block) const {
  const BlockPlace place = place_of_block(kernel_, block);
  if (!place.block) return invalid(block, "a block of the kernel expected, there is none of this name");
  LoopIds result;
  for (const Loop* loop : place.loops()) result.push_back({loop->variable});
  return result;
}

std::vector<std::string> Schedule::blocks() const {
  std::vector<std::string> names;
  for_each_block(kernel_.body, [&](const Block& block, const auto&) { names.push_back(block.name); });
  return names;
}

Result<Arguments> Schedule::apply(const std::string& name, Arguments arguments) {
  const Primitive* const primitive = primitive_of(name);
  if (!primitive) return invalid(name, "the name of a primitive expected");
  Kernel changed = kernel_;
  auto results = primitive->run(changed, arguments);
  if (!results.ok()) return std::move(results).error().within(name);
  TRY_VOID(check_size(kernel_, changed, name));
  TRY_VOID(check_scopes(changed, name));
  if (!std::ranges::all_of(changed.buffers, has_static_shape)) {
    TRY_VOID(check_open_buffers(changed, name));
    TRY_VOID(check_overlaps(changed, name));
  }
  if (auto stays = check_micro_kernels(changed); !stays.ok()) return std::move(stays).error().within(name);
  kernel_ = std::move(changed);
  trace_.instructions.push_back({name, std::move(arguments), *results});
  return results;
}

Result<LoopIds> Schedule::split(LoopId loop, const Integers& factors) {
  return several(apply("split", {loop, factors}));
}
Result<LoopId> Schedule::fuse(const LoopIds& loops) { return single<LoopId>(apply("fuse", {loops})); }
Result<void> Schedule::reorder(const LoopIds& loops) { return nothing(apply("reorder", {loops})); }
Result<void> Schedule::parallel(LoopId loop) { return nothing(apply("parallel", {loop})); }
Result<void> Schedule::vectorize(LoopId loop) { return nothing(apply("vectorize", {loop})); }
Result<void> Schedule::unroll(LoopId loop) { return nothing(apply("unroll", {loop})); }
Result<void> Schedule::bind(LoopId loop, const std::string& axis) { return nothing(apply("bind", {loop, axis})); }
Result<void> Schedule::peel(LoopId loop, const std::string& iteration) {
  return nothing(apply("peel", {loop, iteration}));
}
Result<LoopId> Schedule::partition(LoopId loop, int64_t at) { return single<LoopId>(apply("partition", {loop, at})); }
Result<LoopIds> Schedule::shift_inwards(LoopId loop, const Integers& sizes) {
  return several(apply("shift_inwards", {loop, sizes}));
}
Result<void> Schedule::split_padding(const std::string& block, const std::string& buffer, const Integers& dims) {
  return nothing(apply("split_padding", {block, buffer, dims}));
}
Result<void> Schedule::skip_border(const std::string& block, const std::string& buffer) {
  return nothing(apply("skip_border", {block, buffer}));
}
Result<void> Schedule::skip_padding(const std::string& block) { return nothing(apply("skip_padding", {block})); }
Result<void> Schedule::annotate(LoopId loop, const std::string& key, int64_t value) {
  return nothing(apply("annotate", {loop, key, value}));
}
Result<void> Schedule::compute_inline(const std::string& block) { return nothing(apply("compute_inline", {block})); }
Result<void> Schedule::reverse_compute_inline(const std::string& block) {
  return nothing(apply("reverse_compute_inline", {block}));
}
Result<std::string> Schedule::tabulate(const std::string& block) {
  return single<std::string>(apply("tabulate", {block}));
}
Result<void> Schedule::compute_at(const std::string& block, LoopId loop) {
  return nothing(apply("compute_at", {block, loop}));
}
Result<void> Schedule::reverse_compute_at(const std::string& block, LoopId loop) {
  return nothing(apply("reverse_compute_at", {block, loop}));
}
Result<void> Schedule::join(LoopId first, LoopId second) { return nothing(apply("join", {first, second})); }
Result<std::string> Schedule::cache_read(const std::string& block, const std::string& buffer, int64_t number) {
  return single<std::string>(apply("cache_read", {block, buffer, number}));
}
Result<std::string> Schedule::reindex(const std::string& block, const std::string& buffer, int64_t number) {
  return single<std::string>(apply("reindex", {block, buffer, number}));
}
Result<std::string> Schedule::cache_write(const std::string& block) {
  return single<std::string>(apply("cache_write", {block}));
}
Result<void> Schedule::set_scope(const std::string& buffer, const std::string& scope) {
  return nothing(apply("set_scope", {buffer, scope}));
}
Result<void> Schedule::storage_align(const std::string& buffer, int64_t gap) {
  return nothing(apply("storage_align", {buffer, gap}));
}
Result<void> Schedule::swizzle(const std::string& buffer) { return nothing(apply("swizzle", {buffer})); }
Result<void> Schedule::transform_layout(const std::string& buffer, const std::string& layout) {
  return nothing(apply("transform_layout", {buffer, layout}));
}
Result<void> Schedule::set_layout(const std::string& buffer, const std::string& layout) {
  return nothing(apply("set_layout", {buffer, layout}));
}
Result<void> Schedule::widen(const std::string& buffer, const std::string& type) {
  return nothing(apply("widen", {buffer, type}));
}
Result<void> Schedule::pad(const std::string& block, int64_t axis) { return nothing(apply("pad", {block, axis})); }
Result<void> Schedule::split_dims(const std::string& block, int64_t axis, int64_t factor) {
  return nothing(apply("split_dims", {block, axis, factor}));
}
Result<void> Schedule::split_axis(const std::string& block, int64_t axis, int64_t factor) {
  return nothing(apply("split_axis", {block, axis, factor}));
}
Result<void> Schedule::collapse() { return nothing(apply("collapse", {})); }
Result<void> Schedule::flatten(const std::string& copy, int64_t apart) {
  return nothing(apply("flatten", {copy, apart}));
}
Result<std::string> Schedule::decompose_reduction(const std::string& block, LoopId loop) {
  return single<std::string>(apply("decompose_reduction", {block, loop}));
}
Result<std::string> Schedule::keep_in_registers(const std::string& block, LoopId loop) {
  return single<std::string>(apply("keep_in_registers", {block, loop}));
}
Result<std::string> Schedule::reduce_in_lanes(const std::string& block, LoopId loop, int64_t lanes) {
  return single<std::string>(apply("reduce_in_lanes", {block, loop, lanes}));
}
Result<std::string> Schedule::rfactor(const std::string& block, LoopId loop) {
  return single<std::string>(apply("rfactor", {block, loop}));
}
Result<std::string> Schedule::split_k(const std::string& block, LoopId loop, int64_t parts) {
  return single<std::string>(apply("split_k", {block, loop, parts}));
}
Result<void> Schedule::accumulate_in(const std::string& block, const std::string& type) {
  return nothing(apply("accumulate_in", {block, type}));
}
Result<void> Schedule::multiply_words(const std::string& block, int64_t iterator, int64_t count) {
  return nothing(apply("multiply_words", {block, iterator, count}));
}
Result<void> Schedule::tensorize(LoopId loop, const std::string& tile) {
  return nothing(apply("tensorize", {loop, tile}));
}

bool is_primitive(std::string_view name) { return primitive_of(name) != nullptr; }

Result<void> replay(std::span<const Instruction> instructions, Schedule& schedule) {
  std::map<int, LoopId> loops;
  std::map<std::string, std::string> names;
  const auto renamed = [&](Argument argument) {
    const auto loop_of = [&](LoopId loop) { return loops.contains(loop.variable) ? loops.at(loop.variable) : loop; };
    std::visit(te::Overloaded{[&](LoopId& loop) { loop = loop_of(loop); },
                              [&](LoopIds& list) { std::transform(list.begin(), list.end(), list.begin(), loop_of); },
                              [&](std::string& name) {
                                if (names.contains(name)) name = names.at(name);
                              },
                              [](auto&) {}},
               argument);
    return argument;
  };
  // What an instruction gave, under the names that its text has for it.
  const auto name_results = [&](const Instruction& instruction, const Arguments& made) -> Result<void> {
    const Arguments& given = instruction.results;
    if (given.empty()) return {};
    if (given.size() != made.size())
      return invalid(instruction.primitive, "names for its {} results expected, {} found", made.size(), given.size());
    for (size_t k = 0; k < made.size(); ++k) {
      if (given[k].index() != made[k].index())
        return invalid(instruction.primitive, "a name like '{}' for result {} expected, '{}' found", print(made[k]),
                       k + 1, print(given[k]));
      std::visit(te::Overloaded{[&](LoopId loop) { loops[loop.variable] = std::get<LoopId>(made[k]); },
                                [&](const std::string& name) { names[name] = std::get<std::string>(made[k]); },
                                [](const auto&) {}},
                 given[k]);
    }
    return {};
  };
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    const std::string place = instruction.line.number > 0 ? fmt::format("line {}", instruction.line.number)
                                                          : fmt::format("instruction {}", i + 1);
    Arguments arguments;
    std::transform(instruction.arguments.begin(), instruction.arguments.end(), std::back_inserter(arguments), renamed);
    auto results = schedule.apply(instruction.primitive, std::move(arguments));
    if (!results.ok()) return std::move(results).error().within(place);
    if (auto named = name_results(instruction, *results); !named.ok()) return std::move(named).error().within(place);
  }
  return {};
}

Result<Schedule> replay(const Trace& trace, Kernel kernel) {
  Schedule schedule(std::move(kernel));
  schedule.decide(trace.decisions);
  TRY_VOID(replay(trace.instructions, schedule));
  return schedule;
}

}  // namespace isomer::kernel
