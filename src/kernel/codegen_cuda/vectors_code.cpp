#include "kernel/codegen_cuda/function_printer.h"

#include <algorithm>

#include "kernel/access.h"
#include "kernel/codegen_cuda/types.h"

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
  if (block->bodies[0].dtype() != type || (bytes != 4 && bytes != 8 && bytes != kAlignment)) return std::nullopt;
  const Expr predicate = bound_in(loop, *block).predicate;
  if (predicate && variables(predicate).contains(loop.variable)) return std::nullopt;
  const auto first = [&](int buffer, const std::vector<Expr>& index) -> std::optional<std::string> {
    const auto place = first_of(loop, *block, buffer, index, *extent);
    return place ? std::optional("&" + expressions_.element(*place)) : std::nullopt;
  };
  // What is fetched ahead lies in an array in between: from there on it is a vector, however it came there.
  const auto* load = te::as<te::Load>(block->bodies[0]);
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
    const bool stays = !variables(e).contains(loop.variable);
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
  if (!predicate || !variables(predicate).contains(loop.variable) || te::has_load(predicate)) return {};
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

std::vector<std::pair<Expr, std::string>> FunctionPrinter::load_vectors(const Loop& loop) {
  std::vector<std::pair<Expr, std::string>> loaded;
  const auto extent = te::as_constant(loop.extent);
  const Block* const block = unrolled_block(loop);
  if (fetch_ != Fetch::kWhole || !block) return loaded;
  ranges_.enter(loop);
  const BoundBlock bound = bind(kernel_, *block, ranges_, plans_);
  std::vector<Expr> proved;
  for (const Expr& body : bound.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      if (te::as<te::Load>(e) && plans_.of_load(e).is_proved) proved.push_back(e);
    });
  ranges_.leave(loop);
  if (!is_inside_ && bound.predicate && bound.predicate != te::truth(true)) return loaded;
  for (const Expr& e : proved) {
    const auto* load = te::as<te::Load>(e);
    const Buffer& buffer = buffer_at(load->buffer.index);
    const int64_t elements = elements_of_vector(buffer.dtype, *extent);
    const bool is_known = std::ranges::any_of(loaded, [&](const auto& each) { return each.first == e; });
    if (is_known || buffer.scope != Scope::kArgument || written_.contains(load->buffer.index) || elements == 1)
      continue;
    const auto first = first_of(loop, *block, load->buffer.index, load->index, elements);
    if (!first) continue;
    const std::string position = expressions_.position(*first);
    const std::string array = expressions_.fresh("loaded");
    line(fmt::format("__align__({}) {} {}[{}];", kAlignment, memory_type(buffer.dtype), array, *extent));
    for (int64_t k = 0; k < *extent; k += elements)
      line(fmt::format("op::move<{}>(&{}[{}], &{});", elements * bit_width(buffer.dtype) / 8, array, k,
                       fmt::format("{}[{} + {}]", name_of(load->buffer.index), position, k)));
    loaded.emplace_back(e, fmt::format("{}[k{}]", array, loop.variable));
  }
  return loaded;
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
  line(fmt::format("__align__({}) {} {}[{}];", kAlignment, memory_type(type), array, extent));
  stored_ = fmt::format("{}[k{}]", array, loop.variable);
  print_whole(loop);
  stored_.clear();
  for (int64_t k = 0; k < extent; k += stored.elements)
    line(fmt::format("op::move<{}>(&{}, &{}[{}]);", stored.elements * bit_width(type) / 8,
                     fmt::format("{}[{} + {}]", name_of(block.writes[0].buffer), stored.first, k), array, k));
}

}  // namespace isomer::kernel::cuda
