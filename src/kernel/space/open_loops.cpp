#include "kernel/space/open_loops.h"

#include <algorithm>

#include "graph/te/simplify.h"
#include "kernel/open_sizes.h"
#include "kernel/space/loops.h"
#include "kernel/space/tiles.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// What tiles are chosen for in place of a size: many, of which most tiles have a whole number.
constexpr int64_t kTypicalSize = 3360;

/// The kernel as it were if data had decided on typical sizes.
Kernel typical(Kernel kernel) {
  const OpenSizes sizes(kernel);
  const auto decided = [&](const Expr& expr) {
    const Expr result = te::transform(expr, [&](const Expr& e) {
      return te::as<te::Load>(e) && sizes.decide(e) ? te::index(kTypicalSize) : Expr();
    });
    return result.dtype() == DataType::kInt64 ? te::simplify_index(result) : result;
  };
  for (Buffer& buffer : kernel.buffers)
    for (Dim& dim : buffer.shape) dim = Dim(decided(dim.expr()));
  rewrite_expressions(kernel.body, decided);
  return kernel;
}

/// A block alone in its loops, one for each of its iterators.
struct Nest {
  std::string block;
  LoopIds loops;            ///< by iterator: those of axes, then those of the reduction
  bool has_rows = true;     ///< there are as many along the tile's rows
  bool has_columns = true;  ///< and across
};

class OpenBlock {
 public:
  OpenBlock(Builder& builder, std::string name) : builder_(builder), view_(builder.view), name_(std::move(name)) {}

  bool lay_out() {
    const Block& block = view_.block(name_);
    const LoopIds loops = view_.loops(name_);
    if (loops.size() != block.axes.size() + block.reduce.size() || block.writes.size() != 1 || loops.empty())
      return false;
    const Nest nest{name_, loops};
    return (block.is_reduction() && lay_out_tiles(nest)) || lay_out_lanes(nest);
  }

 private:
  bool is_open(LoopId loop) const { return !te::as_constant(loop_of(view_.kernel(), loop.variable)->extent); }

  /// Results in registers.
  bool lay_out_tiles(const Nest& whole) {
    Preferring preferring;
    Builder typical(Schedule(kernel::typical(view_.kernel())), builder_.machine(), preferring);
    const Block& block = typical.view.block(name_);
    Tiled reduction{name_, {}, write_strides(typical.kernel(), block), true};
    for (size_t k = 0; k < block.axes.size(); ++k) reduction.extents.push_back(typical.view.extent(whole.loops[k]));
    const Tile tile = choose_tile(typical, reduction);
    if (tile.vector_axis < 0 || tile.row_period > 1) return false;
    std::vector<Nest> nests = {whole};
    if (tile.row_axis >= 0) shift(nests, tile.row_axis, tile.rows, &Nest::has_rows);
    shift(nests, tile.vector_axis, tile.width(), &Nest::has_columns);
    for (const Nest& nest : nests) {
      (void)tried(builder_.schedule.reorder(tiles_first(nest)));
      Tile its = tile;
      if (!nest.has_rows) its.row_axis = -1, its.rows = 1;
      if (!nest.has_columns || !lay_out_inside(builder_, nest.block, its, nest.loops))
        (void)lay_out_along(nest, static_cast<size_t>(tile.vector_axis), tile.lanes);
    }
    return true;
  }

  /// The loops over tiles around those inside of them.
  LoopIds tiles_first(const Nest& nest) const {
    LoopIds order = view_.loops(nest.block);
    std::stable_partition(order.begin(), order.end(), [&](LoopId loop) {
      return std::find(nest.loops.begin(), nest.loops.end(), loop) == nest.loops.end();
    });
    return order;
  }

  /// Where data decide how long the axis is: nests for whole tiles along it, and for fewer iterations.
  void shift(std::vector<Nest>& nests, int axis, int64_t size, bool Nest::*fits) {
    std::vector<Nest> made;
    for (Nest& nest : nests) {
      const LoopId loop = nest.loops[static_cast<size_t>(axis)];
      if (!is_open(loop)) {
        made.push_back(std::move(nest));
        continue;
      }
      LoopIds order = view_.loops(nest.block);
      std::erase(order, loop);
      order.insert(order.begin(), loop);
      const std::vector<std::string> before = builder_.schedule.blocks();
      const auto parts = builder_.schedule.reorder(order).ok() ? builder_.schedule.shift_inwards(loop, size)
                                                               : Result<LoopIds>(LoopIds());
      if (!parts.ok() || parts->empty()) {
        nest.*fits = false;
        made.push_back(std::move(nest));
        continue;
      }
      Nest rest = nest;
      rest.block = made_since(builder_, before).front();
      rest.*fits = false;
      const LoopIds copies = view_.loops(rest.block);
      for (LoopId& each : rest.loops) {
        const auto place = std::find(order.begin(), order.end(), each) - order.begin();
        each = copies[static_cast<size_t>(place)];
      }
      nest.loops[static_cast<size_t>(axis)] = (*parts)[1];
      made.push_back(std::move(nest));
      made.push_back(std::move(rest));
    }
    nests = std::move(made);
  }

  /// Lanes along the axis in which results lie side by side.
  bool lay_out_lanes(const Nest& nest) {
    const Block& block = view_.block(nest.block);
    if (block.writes[0].index.empty()) return false;
    const Expr& last = block.writes[0].index.back();
    for (size_t axis = 0; axis < block.axes.size(); ++axis)
      if (te::as_constant(te::simplify_index(last - te::axis(static_cast<int>(axis)))) &&
          view_.extent(nest.loops[axis]) != 1)
        return lay_out_along(nest, axis, view_.lanes(block));
    return false;
  }

  /// Lanes along the axis, innermost.
  bool lay_out_along(const Nest& nest, size_t axis, int64_t lanes) {
    Schedule& schedule = builder_.schedule;
    const Schedule before = schedule;
    const LoopId along = nest.loops[axis];
    const int64_t extent = view_.extent(along);
    const auto parts = schedule.split(along, Integers{-1, lanes});
    if (!parts.ok()) return false;
    LoopIds order = nest.loops;
    std::erase(order, along);
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(view_.block(nest.block).axes.size()) - 1, (*parts)[0]);
    order.push_back((*parts)[1]);
    if (!schedule.reorder(order).ok() || !schedule.vectorize((*parts)[1]).ok()) {
      schedule = before;
      return false;
    }
    // The last vector's lanes beyond the end are left out.
    if (extent > lanes && extent % lanes != 0) (void)tried(schedule.peel((*parts)[0], "last"));
    return true;
  }

  Builder& builder_;
  const View& view_;
  const std::string name_;
};

}  // namespace

Schedule with_open_loops(Schedule start, const Machine& machine) {
  Preferring preferring;
  Builder builder(std::move(start), machine, preferring);
  for (const std::string& name : builder.schedule.blocks())
    if (builder.view.has_block(name) && !builder.view.inner_loops(name).empty()) (void)OpenBlock(builder, name).lay_out();
  return std::move(builder.schedule);
}

}  // namespace isomer::kernel
