#include "kernel/codegen_cuda/function_printer.h"

#include <algorithm>

#include "kernel/access.h"
#include "kernel/codegen_cuda/types.h"
#include "kernel/tree.h"

namespace isomer::kernel::cuda {

const Block* FunctionPrinter::unrolled_block(const Loop& loop) {
  const bool is_alone = loop.kind == LoopKind::kUnrolled && te::as_constant(loop.extent) && loop.body.size() == 1;
  return is_alone ? std::get_if<Block>(&loop.body.front().node) : nullptr;
}

BoundBlock FunctionPrinter::bound_in(const Loop& loop, const Block& block) {
  ranges_.enter(loop);
  BoundBlock bound = bind(kernel_, block, ranges_, plans_);
  ranges_.leave(loop);
  return bound;
}

std::optional<std::string> FunctionPrinter::moved_vector(const Loop& loop) {
  const auto extent = te::as_constant(loop.extent);
  const Block* const block = unrolled_block(loop);
  if (!block || block->is_reduction() || block->writes.size() != 1 || !of_one_thread(*block).empty())
    return std::nullopt;
  const int to = block->writes[0].buffer;
  const DataType type = buffer_at(to).dtype;
  const int64_t bytes = *extent * bit_width(type) / 8;
  const auto* load = te::as<te::Load>(block->bodies[0]);
  if (is_kept_wide(buffer_at(to)) || (load && is_kept_wide(buffer_at(load->buffer.index)))) return std::nullopt;
  if (block->bodies[0].dtype() != type || (bytes != 4 && bytes != 8 && bytes != kAlignment)) return std::nullopt;
  const Expr predicate = bound_in(loop, *block).predicate;
  if (predicate && depends_on(predicate, loop.variable)) return std::nullopt;
  const auto first = [&](int buffer, const std::vector<Expr>& index) -> std::optional<std::string> {
    const auto place = first_of(loop, *block, buffer, index, *extent);
    return place ? std::optional("&" + expressions_.element(*place)) : std::nullopt;
  };
  // What is fetched ahead lies in an array in between: from there on it is a vector, however it came there.
  const bool is_between = fetch_ == Fetch::kLoad || fetch_ == Fetch::kStore;
  const std::string between = is_between ? "&" + place_ahead(loop.variable) : "";
  const auto from = fetch_ == Fetch::kStore ? between : load ? first(load->buffer.index, load->index) : std::nullopt;
  const auto target = fetch_ == Fetch::kLoad ? std::optional(between) : first(to, block->writes[0].index);
  if (!from || !target) return std::nullopt;
  if (fetch_ == Fetch::kAsync && (bytes != kAlignment || buffer_at(load->buffer.index).scope != Scope::kArgument))
    return std::nullopt;
  const bool is_always = !predicate || predicate == te::truth(true);
  return fmt::format("{}op::{}<{}>({}, {});", is_always ? "" : fmt::format("if ({}) ", condition(predicate)),
                     fetch_ == Fetch::kAsync ? "copy" : "move", bytes, *target, *from);
}

std::optional<AccessPlan> FunctionPrinter::first_of(const Loop& loop, const Block& block, int buffer,
                                                    const std::vector<Expr>& index, int64_t elements) {
  std::vector<Expr> at;
  for (const Expr& e : index) at.push_back(bind_iterators(block, e));
  if (at.empty()) return std::nullopt;
  for (Expr& e : at) {
    const Expr begin = te::simplify_index(substitute(e, {{loop.variable, te::index(0)}}), ranges_.ranges());
    const auto step = te::as_constant(te::simplify_index(e - begin - loop_variable(loop.variable)));
    const bool stays = !depends_on(e, loop.variable);
    if (!loads(e).empty() || (&e == &at.back() ? step != 0 : !stays)) return std::nullopt;
    e = begin;
  }
  AccessPlan plan = plans_.plan(buffer, at);
  const Expr rest = te::floor_mod(te::to_expr(plan.offset), te::index(elements));
  if (!plan.axes.empty() || te::as_constant(te::simplify_index(rest, ranges_.ranges())) != 0) return std::nullopt;
  expressions_.begin(at);
  return plan;
}

Expr FunctionPrinter::holds_throughout(const Loop& loop) {
  const auto extent = te::as_constant(loop.extent);
  const Block* const block = unrolled_block(loop);
  if (is_inside_ || fetch_ != Fetch::kWhole || !block || block->is_reduction() || *extent < 2) return {};
  const Expr predicate = bound_in(loop, *block).predicate;
  if (!predicate || !depends_on(predicate, loop.variable) || te::has_load(predicate)) return {};
  const Expr k = loop_variable(loop.variable);
  Expr whole;
  for (const Expr& part : conjuncts(predicate)) {
    const auto* e = te::as<te::Binary>(part);
    if (!e || (e->op != te::BinaryOp::kLess && e->op != te::BinaryOp::kLessEqual)) return {};
    const Expr difference = e->right - e->left;
    const Expr next = substitute(difference, {{loop.variable, k + 1}});
    if (!te::as_constant(te::simplify_index(next - difference))) return {};
    for (const int64_t end : {int64_t{0}, *extent - 1}) {
      const Expr there = te::simplify_index(substitute(part, {{loop.variable, te::index(end)}}), ranges_.ranges());
      whole = whole ? whole && there : there;
    }
  }
  return whole;
}

void FunctionPrinter::print_whole_or_cut(const Loop& loop, const Expr& whole) {
  is_inside_ = true;
  open(fmt::format("if ({})", condition(whole)));
  print(loop);
  --depth_;
  is_inside_ = false;
  line("} else {");
  ++depth_;
  print_whole(loop);
  close();
}

int64_t FunctionPrinter::elements_of_vector(DataType dtype, int64_t count) {
  const int64_t bits = bit_width(dtype);
  for (int64_t bytes = kAlignment; bytes >= 4 && 8 * bytes > bits; bytes /= 2)
    if (count * bits % (8 * bytes) == 0) return 8 * bytes / bits;
  return 1;
}

std::vector<Expressions::Loaded> FunctionPrinter::load_vectors(const Loop& loop) {
  std::vector<Expressions::Loaded> loaded;
  const auto extent = te::as_constant(loop.extent);
  const Block* const block = unrolled_block(loop);
  if (fetch_ != Fetch::kWhole || !block) return loaded;
  ranges_.enter(loop);
  const BoundBlock bound = bind(kernel_, *block, ranges_, plans_);
  const std::vector<Expr> inside = loads_inside(*block);
  std::vector<Expr> proved;
  for (const Expr& body : bound.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      if (te::as<te::Load>(e) && (plans_.of_load(e).is_proved || std::ranges::find(inside, e) != inside.end()))
        proved.push_back(e);
    });
  ranges_.leave(loop);
  if (!is_inside_ && bound.predicate && bound.predicate != te::truth(true)) return loaded;
  for (const Expr& e : proved) {
    const auto* load = te::as<te::Load>(e);
    const Buffer& buffer = buffer_at(load->buffer.index);
    const int64_t elements = elements_of_vector(buffer.dtype, *extent);
    const bool is_known = std::ranges::any_of(loaded, [&](const auto& each) { return each.load == e; });
    if (is_known || buffer.scope != Scope::kArgument || written_.contains(load->buffer.index) || elements == 1)
      continue;
    const auto first = first_of(loop, *block, load->buffer.index, load->index, elements);
    if (!first) continue;
    const std::string position = expressions_.position(*first);
    const std::string array = expressions_.fresh("loaded");
    // The halves of a word: compilers take them apart better than vectors of halves.
    const bool is_by_word = buffer.dtype == DataType::kBFloat16;
    const int64_t each = is_by_word ? 2 : 1;
    line(fmt::format("__align__({}) {} {}[{}];", kAlignment, is_by_word ? "u32" : memory_type(buffer.dtype), array,
                     *extent / each));
    for (int64_t k = 0; k < *extent; k += elements)
      line(fmt::format("op::move<{}>(&{}[{}], &{});", elements * bit_width(buffer.dtype) / 8, array, k / each,
                       fmt::format("{}[{} + {}]", name_of(load->buffer.index), position, k)));
    const std::string k = fmt::format("k{}", loop.variable);
    const std::string stored =
        is_by_word ? fmt::format("op::half_of({}, {})", array, k) : fmt::format("{}[{}]", array, k);
    loaded.push_back(
        {e, stored, is_by_word ? fmt::format("op::bf16_of({}, {})", array, k) : from_memory(buffer.dtype, stored)});
  }
  return loaded;
}

void FunctionPrinter::hoist(const Loop& loop) {
  const Block* const block = unrolled_block(loop);
  if (fetch_ != Fetch::kWhole || !block) return;
  const BoundBlock bound = bound_in(loop, *block);
  if (!is_inside_ && bound.predicate && bound.predicate != te::truth(true)) return;
  const std::set<int> changed = stores(*block);
  ranges_.enter(loop);
  expressions_.hoist(bound.bodies, [&](const Expr& expr) {
    return !depends_on(expr, loop.variable) && !te::any_node(expr, [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      return load && (changed.contains(load->buffer.index) || !plans_.of_load(e).is_proved);
    });
  });
  ranges_.leave(loop);
}

std::optional<FunctionPrinter::Stored> FunctionPrinter::stored_vectors(const Loop& loop) {
  const auto extent = te::as_constant(loop.extent);
  const Block* const block = unrolled_block(loop);
  if (fetch_ != Fetch::kWhole || !block || block->is_reduction() || block->writes.size() != 1 ||
      !of_one_thread(*block).empty())
    return std::nullopt;
  const Buffer& target = buffer_at(block->writes[0].buffer);
  const int64_t elements = elements_of_vector(target.dtype, *extent);
  if (target.scope != Scope::kArgument || elements == 1) return std::nullopt;
  const Expr predicate = bound_in(loop, *block).predicate;
  if (!is_inside_ && predicate && predicate != te::truth(true)) return std::nullopt;
  const auto first = first_of(loop, *block, block->writes[0].buffer, block->writes[0].index, elements);
  return first ? std::optional(Stored{expressions_.position(*first), elements}) : std::nullopt;
}

void FunctionPrinter::print_stored(const Loop& loop, const Stored& stored) {
  const auto& block = std::get<Block>(loop.body.front().node);
  const DataType type = buffer_at(block.writes[0].buffer).dtype;
  const int64_t extent = *te::as_constant(loop.extent);
  const std::string array = expressions_.fresh("values");
  const auto* select = te::as<te::Select>(block.bodies[0]);
  is_stored_wide_ = type == DataType::kBFloat16 && !te::as<te::Load>(select ? select->then : block.bodies[0]);
  line(fmt::format("__align__({}) {} {}[{}];", kAlignment, is_stored_wide_ ? "float" : memory_type(type), array,
                   extent));
  stored_ = fmt::format("{}[k{}]", array, loop.variable);
  print_whole(loop);
  stored_.clear();
  const std::string_view move = std::exchange(is_stored_wide_, false) ? "move_to_bf16" : "move";
  for (int64_t k = 0; k < extent; k += stored.elements)
    line(fmt::format("op::{}<{}>(&{}, &{}[{}]);", move, stored.elements * bit_width(type) / 8,
                     fmt::format("{}[{} + {}]", name_of(block.writes[0].buffer), stored.first, k), array, k));
}

}  // namespace isomer::kernel::cuda
