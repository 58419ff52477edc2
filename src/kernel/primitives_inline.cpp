#include <algorithm>

#include "graph/te/simplify.h"
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

/// The axis of a map over whose whole extent an index of this dim runs, forwards or backwards.
struct WholeAxis {
  size_t axis = 0;
  bool is_backwards = false;
};

std::optional<WholeAxis> whole_axis(const Block& map, const Expr& index, const Expr& extent) {
  for (size_t k = 0; k < map.axes.size(); ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    if (!(map.axes[k].extent == extent)) continue;
    if (index == axis) return WholeAxis{k, false};
    if (te::as_constant(te::simplify_index(index + axis + 1 - extent)) == 0) return WholeAxis{k, true};
  }
  return std::nullopt;
}

/// For each axis of a map that only moves the elements of `source`, each once: the dim that it moves along.
std::optional<std::vector<WholeAxis>> dims_moved(const Kernel& kernel, const Block& map, int source) {
  const auto* load = te::as<te::Load>(map.bodies[0]);
  if (!load || load->buffer.index != source || load->index.size() != map.axes.size()) return std::nullopt;
  constexpr size_t kNone = SIZE_MAX;
  std::vector<WholeAxis> dims(map.axes.size(), {kNone, false});
  for (size_t k = 0; k < load->index.size(); ++k) {
    const auto found = whole_axis(map, load->index[k], kernel.buffers[source].shape[k].expr());
    if (!found || dims[found->axis].axis != kNone) return std::nullopt;
    dims[found->axis] = {k, found->is_backwards};
  }
  return dims;
}

/// Whether the block writes all elements of the buffer, each once: over its axes and loops around it.
bool writes_all(const Kernel& kernel, const Block& block, const std::vector<const Loop*>& around, int buffer) {
  std::vector<Expr> runs;
  for (size_t k = 0; k < block.writes[0].index.size(); ++k) {
    const Expr& index = block.writes[0].index[k];
    const Expr extent = kernel.buffers[buffer].shape[k].expr();
    bool is_whole = false;
    for (size_t axis = 0; axis < block.axes.size(); ++axis)
      is_whole |= index == te::axis(static_cast<int>(axis)) && block.axes[axis].extent == extent;
    for (const Loop* loop : around) is_whole |= index == loop_variable(loop->variable) && loop->extent == extent;
    if (!is_whole || std::ranges::find(runs, index) != runs.end()) return false;
    runs.push_back(index);
  }
  return !block.predicate;
}

/// Where a map only moves what a block writes over all of its loops, and what but for the map it alone reads (the steps
/// of a scan), the block writes and reads that in its place. Whether it does now.
bool write_where_moved(Kernel& kernel, const Place& place, int source) {
  const Block map = place.block();
  const int written = map.writes[0].buffer;
  const std::vector<std::string> makers = writers(kernel, source);
  std::vector<std::string> users = readers(kernel, source);
  std::erase(users, map.name);
  const auto dims = dims_moved(kernel, map, source);
  if (!dims || map.predicate || makers.size() != 1 || users != makers || is_output(kernel, source) ||
      resized(kernel.body).contains(source) || resized(kernel.body).contains(written))
    return false;
  const BlockPlace maker = place_of_block(kernel, makers[0]);
  if (maker.block->writes.size() != 1 || !writes_all(kernel, *maker.block, maker.loops(), source)) return false;
  bool is_made = false;
  for (const Statement& root : kernel.body) {
    if (&root == place.root()) break;
    is_made |= touches(root, source);
    if (touches(root, written)) return false;
  }
  if (!is_made) return false;
  const Shape shape = kernel.buffers[source].shape;
  map_accesses(kernel, kernel.body, source, [&](const std::vector<Expr>& index) {
    Write there{written, {}};
    for (const WholeAxis& dim : *dims)
      there.index.push_back(dim.is_backwards ? te::simplify_index(shape[dim.axis].expr() - 1 - index[dim.axis])
                                             : index[dim.axis]);
    return there;
  });
  remove(kernel, *find_block(kernel, map.name));
  return true;
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
  for (const int source : loads(consumer))
    if (write_where_moved(kernel, place, source)) return {};
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
  return invalid(
      name,
      "a buffer that a map writes, or a reduction or steps whose elements are only moved, and that only this "
      "block reads, each element once, expected, it reads none");
}

}  // namespace isomer::kernel::primitives
