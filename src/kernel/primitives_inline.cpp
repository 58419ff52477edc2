#include "kernel/copies.h"
#include "kernel/primitives.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

/// The buffer of which a block writes the whole, which nothing else writes, element axis(0), axis(1)… at that point.
Result<int> whole_written(const Kernel& kernel, const Block& block) {
  if (block.writes.size() != 1)
    return invalid(block.name, "one buffer written expected, {} found", block.writes.size());
  const int buffer = block.writes[0].buffer;
  const Shape& shape = kernel.buffers[buffer].shape;
  bool whole =
      block.writes[0].index == te::axes(static_cast<int>(block.axes.size())) && block.axes.size() == shape.size();
  for (size_t k = 0; whole && k < shape.size(); ++k) whole = block.axes[k].extent == shape[k].expr();
  if (!whole || writers(kernel, buffer).size() != 1)
    return invalid(block.name, "a map over the whole of '{}' expected", kernel.buffers[buffer].name);
  return buffer;
}

Result<int> whole_map(const Kernel& kernel, const Block& block) {
  if (block.is_reduction()) return invalid(block.name, "a map expected, it is a reduction");
  return whole_written(kernel, block);
}

}  // namespace

Result<void> compute_inline(Kernel& kernel, const std::string& name) {
  TRY(const Place place, find_block(kernel, name));
  const Block block = place.block();
  TRY(const int buffer, whole_map(kernel, block));
  if (is_output(kernel, buffer))
    return invalid(name, "a buffer that is no output expected, '{}' is one", kernel.buffers[buffer].name);
  for (const Buffer& other : kernel.buffers)
    for (const Dim& dim : other.shape)
      if (loads(dim.expr()).contains(buffer))
        return invalid(name, "a buffer that decides no sizes expected, that of '{}' depends on it", other.name);

  const std::set<int> steps = variables(block.bodies[0]);
  const Statement* inside = steps.empty() ? nullptr : place.root();
  for (const Statement& root : kernel.body)
    if (inside && &root != inside && touches(root, buffer))
      return invalid(name, "readers in the loop of its steps expected, others found");
  remove(kernel, place);
  rewrite_expressions(kernel.body, [&](const Expr& expr) {
    return te::transform(expr, [&](const Expr& e) -> Expr {
      const auto* load = te::as<te::Load>(e);
      return load && load->buffer.index == buffer ? at(block.bodies[0], load->index) : Expr();
    });
  });
  return {};
}

Result<void> reverse_compute_inline(Kernel& kernel, const std::string& name) {
  TRY(const Place place, find_block(kernel, name));
  const Block consumer = place.block();
  TRY(const int written, whole_map(kernel, consumer));
  (void)written;
  for (const int source : loads(consumer)) {
    const std::vector<std::string> producers = writers(kernel, source);
    if (producers.size() != 1 || readers(kernel, source).size() != 1 || is_output(kernel, source)) continue;
    const std::string& producer_name = producers[0];
    bool available = true;
    for (const int other : loads(consumer))
      available &= other == source || written_before(kernel, other, producer_name);
    if (!available) continue;
    TRY(const Place producer_place, find_block(kernel, producer_name));
    const Block producer = producer_place.block();
    if (!whole_written(kernel, producer).ok() || producer.predicate) continue;
    const auto* moved = te::as<te::Load>(consumer.bodies[0]);
    if (producer.is_reduction() && (!moved || moved->buffer.index != source)) continue;
    // Where the consumer reads element axis(p(0)), axis(p(1))… of a permutation p, its axis p(j) is the producer's axis
    // j.
    std::vector<Expr> axes(consumer.axes.size());
    bool permuted = producer.axes.size() == consumer.axes.size();
    te::for_each_node(consumer.bodies[0], [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      if (!load || load->buffer.index != source) return;
      for (size_t j = 0; permuted && j < load->index.size(); ++j) {
        // The only element of a dim may stand there by its number.
        const bool is_only = te::as_constant(load->index[j]) == 0 && te::as_constant(producer.axes[j].extent) == 1;
        const Expr index = is_only ? te::axis(static_cast<int>(j)) : load->index[j];
        const auto* variable = te::as<te::Var>(index);
        // As long, too: elements of the result that read nothing of the source are computed as well.
        permuted = variable && variable->kind == te::VarKind::kSpatial &&
                   consumer.axes[variable->index].extent == producer.axes[j].extent;
        if (!permuted) break;
        Expr& axis = axes[variable->index];
        permuted = !axis || axis == te::axis(static_cast<int>(j));
        axis = te::axis(static_cast<int>(j));
      }
    });
    for (const Expr& axis : axes) permuted &= static_cast<bool>(axis);
    if (!permuted) continue;
    Block merged = producer;
    merged.writes = {{consumer.writes[0].buffer, axes}};
    merged.bodies = {te::transform(at(consumer.bodies[0], axes), [&](const Expr& e) -> Expr {
      const auto* load = te::as<te::Load>(e);
      return load && load->buffer.index == source ? producer.bodies[0] : Expr();
    })};
    producer_place.block() = std::move(merged);
    TRY(const Place old, find_block(kernel, name));
    remove(kernel, old);
    return {};
  }
  return invalid(name,
                 "a buffer that a map writes, or a reduction whose elements are only moved, and that only this block "
                 "reads, each element once, expected, it reads none");
}

}  // namespace isomer::kernel::primitives
