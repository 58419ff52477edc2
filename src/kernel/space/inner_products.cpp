#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/space/rows.h"
#include "kernel/space/tiles.h"

namespace isomer::kernel {
namespace {

/// A result's lanes are combined in so many cycles; a step of the reduction takes half of one.
constexpr double kCyclesOfLanes = 4.5;
/// So much better must it be than a tile whose lanes are results.
constexpr double kWorthInner = 1.15;
constexpr int64_t kLeastRows = 4;

/// A reduction whose lanes run along the reduction itself: one operand is contiguous along it, the other one is, too,
/// or can be packed so.
struct InnerProduct {
  int reduce = -1;       ///< the iterator that lanes run along
  int column_axis = -1;  ///< moves the other operand alone; -1: none
  int row_axis = -1;     ///< moves the first operand alone; neighbours share the other one
  int64_t row_period = 1;
  int64_t lanes = 1, rows = 1, columns = 1;  ///< of a tile
  LoadAccess moving, shared;
};

int64_t extent_of(const Iterator& iterator) { return te::as_constant(iterator.extent).value_or(0); }

/// Accumulators that registers hold beside what they are made of.
int64_t most_rows(const VectorUnit& unit, int64_t columns) {
  int64_t rows = 0;
  while (rows < kMostRows && registers_of(unit, rows + 1, columns, std::min(rows + 1, columns)) <= unit.registers)
    ++rows;
  return rows;
}

/// Equal tiles of rows with as few of them beyond the end as can be.
int64_t rows_of(int64_t there, int64_t most) {
  const int64_t tiles = (there + most - 1) / most;
  return (there + tiles - 1) / tiles;
}

std::optional<int64_t> period_of(const View& view, const Block& block, const InnerProduct& product, int axis) {
  const int64_t period = std::lcm(regular_stride(view.kernel(), block, product.moving, axis).first,
                                  regular_stride(view.kernel(), block, product.shared, axis).first);
  const auto moves = stride_at_period(view.kernel(), block, product.moving, axis, period);
  const auto stays = stride_at_period(view.kernel(), block, product.shared, axis, period);
  if (!moves || *moves == 0 || stays != 0) return std::nullopt;
  return period;
}

/// Whether the dim of the operand that the iterator alone indexes can be brought innermost.
bool can_run_along(const View& view, const LoadAccess& access, int reduce) {
  if (access.reduce[static_cast<size_t>(reduce)] == 1) return true;
  const auto& index = te::as<te::Load>(access.load)->index;
  return view.is_constant(access.buffer) && view.machine().packing &&
         std::find(index.begin(), index.end(), te::reduce_axis(reduce)) != index.end();
}

std::optional<InnerProduct> inner_product(const View& view, const std::string& name) {
  const Block block = view.block(name);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), block);
  if (!block.combine.commutative || block.writes.size() != 1 || accesses.size() != 2) return std::nullopt;
  const int64_t lanes = view.lanes(block);
  double steps = 1;
  for (const Iterator& iterator : block.reduce) steps *= static_cast<double>(extent_of(iterator));
  for (const bool turned : {false, true}) {
    InnerProduct product;
    product.moving = accesses[turned ? 1 : 0];
    product.shared = accesses[turned ? 0 : 1];
    product.lanes = lanes;
    // Constants are packed, so that lanes run along their rows.
    if (view.is_constant(product.moving.buffer)) continue;
    for (size_t k = 0; k < block.reduce.size(); ++k)
      if (product.moving.reduce[k] == 1 && extent_of(block.reduce[k]) % lanes == 0 &&
          can_run_along(view, product.shared, static_cast<int>(k)))
        product.reduce = static_cast<int>(k);
    if (product.reduce < 0) continue;
    int64_t rows = 0, columns = 1;
    for (size_t k = 0; k < block.axes.size(); ++k) {
      const auto axis = static_cast<int>(k);
      const int64_t extent = extent_of(block.axes[k]);
      if (extent < 2) continue;
      if (product.moving.axes[k] == 0) {
        if (product.column_axis >= 0) return std::nullopt;  // several
        product.column_axis = axis;
        columns = extent;
      } else if (const auto period = period_of(view, block, product, axis);
                 period && extent / *period >= std::max(kLeastRows, rows)) {
        rows = extent / *period;
        product.row_axis = axis;
        product.row_period = *period;
      } else if (!product.moving.axes[k] && !period) {
        return std::nullopt;  // groups of columns
      }
    }
    const double inner = steps / static_cast<double>(2 * lanes) + kCyclesOfLanes;
    const double outer = steps / 2 * static_cast<double>((columns + lanes - 1) / lanes) / static_cast<double>(columns);
    if (product.row_axis < 0 || columns >= lanes * 2 || kWorthInner * inner >= outer) continue;
    // As many columns as leave registers for several rows.
    product.columns = columns;
    while (columns % product.columns != 0 || most_rows(view.machine().vectors, product.columns) < 2) --product.columns;
    product.rows = rows_of(rows, most_rows(view.machine().vectors, product.columns));
    return product;
  }
  return std::nullopt;
}

/// Dims over the reduction in the order of its loops, those of columns, lanes.
std::string layout_along(const InnerProduct& product, const std::vector<int>& window) {
  const auto& index = te::as<te::Load>(product.shared.load)->index;
  std::vector<std::pair<size_t, std::string>> dims;
  std::string lanes;
  for (size_t k = 0; k < index.size(); ++k) {
    if (index[k] == te::reduce_axis(product.reduce)) {
      dims.emplace_back(window.size() - 1, fmt::format("{}/{}", k, product.lanes));
      lanes = fmt::format("{}%{}", k, product.lanes);
      continue;
    }
    size_t place = window.size();
    for (size_t loop = 0; loop < window.size(); ++loop)
      if (te::any_node(index[k], [&](const Expr& e) { return e == te::reduce_axis(window[loop]); })) place = loop;
    dims.emplace_back(place, fmt::format("{}", k));
  }
  std::sort(dims.begin(), dims.end());
  std::string layout;
  for (const auto& [place, dim] : dims) layout += dim + ":";
  return layout + lanes;
}

/// The block that stores a tile: lanes along its rows, the rest unrolled.
void store_along(Builder& builder, const std::string& store, int row_axis) {
  const LoopIds loops = builder.view.loops(store);
  LoopIds own(loops.end() - static_cast<std::ptrdiff_t>(builder.view.block(store).axes.size()), loops.end());
  const LoopId rows = own[static_cast<size_t>(row_axis)];
  own.erase(own.begin() + row_axis);
  own.push_back(rows);
  if (tried(builder.schedule.reorder(own))) (void)write_out(builder, own);
}

/// Iterators of the reduction, those that move the operand farthest first; the one that lanes run along last.
std::vector<int> farthest_first(const Block& block, const InnerProduct& product) {
  std::vector<int> window(block.reduce.size());
  std::iota(window.begin(), window.end(), 0);
  const auto distance = [&](int k) {
    return k == product.reduce ? -1
                               : std::abs(product.moving.reduce[static_cast<size_t>(k)].value_or(int64_t{1} << 40));
  };
  std::sort(window.begin(), window.end(),
            [&](int a, int b) { return std::pair(-distance(a), a) < std::pair(-distance(b), b); });
  return window;
}

/// other axes, pieces of rows, phases, of columns | reduction | columns and rows unrolled, lanes; then lanes are
/// combined
class InnerProductLayout {
 public:
  InnerProductLayout(Builder& builder, const std::string& name, const InnerProduct& product)
      : builder_(builder),
        view_(builder.view),
        schedule_(builder.schedule),
        name_(name),
        product_(product),
        block_(view_.block(name)),
        rank_(block_.axes.size()),
        window_(farthest_first(block_, product)) {}

  /// False: it can't be, and the schedule is left half done.
  bool lay_out() {
    const auto work = points(block_);
    if (!work || *work == 0) return false;
    if (!pack_shared_operand() || !divide_loops() || !store_by_pieces()) return false;
    const auto partial = schedule_.rfactor(computing_, tile_.back());
    if (!partial.ok() || !keep_lanes(*partial) || !tensorize(builder_, tile_)) return false;
    const bool skips = tried(schedule_.skip_padding(*partial));
    combine_lanes(builder_, computing_, 1);
    for (const LoopId loop : view_.inner_loops(computing_, outer_.back())) (void)tried(schedule_.unroll(loop));
    if (!store_.empty()) store_along(builder_, store_, product_.row_axis);
    peel_pieces(skips);
    parallelize(builder_, name_, shared_, *work);
    return true;
  }

 private:
  /// Where lanes don't run along it as it is.
  bool pack_shared_operand() {
    const LoadAccess& shared = product_.shared;
    if (shared.reduce[static_cast<size_t>(product_.reduce)] == 1) return true;
    const auto copier = schedule_.cache_read(name_, view_.buffer(shared.buffer).name, view_.ordinal(name_, shared));
    return copier.ok() && schedule_.transform_layout(*copier, layout_along(product_, window_)).ok();
  }

  bool divide_loops() {
    const LoopIds loops = view_.loops(name_);
    const auto across =
        schedule_.split(loops[rank_ + static_cast<size_t>(product_.reduce)], Integers{-1, product_.lanes});
    Integers factors = {-1, product_.rows};
    if (product_.row_period > 1) factors.push_back(product_.row_period);
    const auto down = schedule_.split(loops[static_cast<size_t>(product_.row_axis)], factors);
    if (!across.ok() || !down.ok()) return false;
    for (size_t k = 0; k < rank_; ++k)
      if (static_cast<int>(k) != product_.column_axis && static_cast<int>(k) != product_.row_axis)
        outer_.push_back(loops[k]);
    // Threads share other axes than that of the rows, or else its pieces, which then are outermost.
    piece_ = (*down)[0];
    const bool shares_rows = view_.iterations(outer_) < builder_.machine().threads;
    shared_ = shares_rows ? LoopIds{piece_} : outer_;
    outer_.insert(shares_rows ? outer_.begin() : outer_.end(), piece_);
    if (product_.row_period > 1) outer_.push_back((*down)[2]);
    for (const int k : window_)
      reducing_.push_back(k == product_.reduce ? (*across)[0] : loops[rank_ + static_cast<size_t>(k)]);
    if (product_.column_axis >= 0) {
      const auto columns =
          schedule_.split(loops[static_cast<size_t>(product_.column_axis)], Integers{-1, product_.columns});
      if (!columns.ok()) return false;
      outer_.push_back((*columns)[0]);
      tile_.push_back((*columns)[1]);
    }
    tile_.push_back((*down)[1]);
    tile_.push_back((*across)[1]);
    LoopIds order = outer_;
    for (const auto* list : {&reducing_, &tile_}) order.insert(order.end(), list->begin(), list->end());
    return schedule_.reorder(order).ok();
  }

  /// By what the results go through on their way, if anything.
  bool store_by_pieces() {
    computing_ = name_;
    store_ = view_.epilogue(block_);
    if (store_.empty() && block_.writes[0].index != te::axes(static_cast<int>(rank_))) {
      const auto made = schedule_.cache_write(name_);
      if (!made.ok()) return false;
      computing_ = *made;
      store_ = name_;
    }
    // All phases of a piece of rows are stored together: those of one alone lie apart.
    return store_.empty() ||
           (schedule_.reverse_compute_at(store_, piece_).ok() &&
            schedule_.set_scope(view_.buffer(view_.block(computing_).writes[0].buffer).name, "cache").ok());
  }

  /// Partial results lie lane by lane, in registers, and begin before the reduction.
  bool keep_lanes(const std::string& partial) {
    const std::string sums = view_.buffer(view_.block(partial).writes[0].buffer).name;
    std::vector<int> lanes_last(rank_ + 1);
    std::iota(lanes_last.begin(), lanes_last.end(), 1);
    lanes_last.back() = 0;
    if (!schedule_.transform_layout(sums, fmt::format("{}", fmt::join(lanes_last, ":"))).ok()) return false;
    (void)tried(schedule_.set_scope(sums, "registers"));
    if (tried(schedule_.decompose_reduction(partial, reducing_.front()))) lay_out_initialization(builder_, partial);
    return true;
  }

  /// The first and the last piece of rows become loops of their own where others have less to ask.
  void peel_pieces(bool skips_padding) {
    const int64_t rows = extent_of(block_.axes[static_cast<size_t>(product_.row_axis)]);
    const bool has_part = rows % (product_.rows * product_.row_period) != 0;
    if ((skips_padding || has_part) && view_.extent(piece_) > 1 && builder_.decide(name_, "peel_last_rows", true))
      (void)tried(schedule_.peel(piece_, "last"));
    if (skips_padding && view_.extent(piece_) > 1 && builder_.decide(name_, "peel_first_rows", true))
      (void)tried(schedule_.peel(piece_, "first"));
  }

  Builder& builder_;
  const View& view_;
  Schedule& schedule_;
  const std::string& name_;
  const InnerProduct& product_;
  const Block block_;  ///< as it was
  const size_t rank_;
  const std::vector<int> window_;  ///< the reduction, outermost first
  LoopIds outer_, reducing_, tile_;
  LoopIds shared_;                 ///< by threads
  LoopId piece_;                   ///< loop over pieces of rows
  std::string computing_, store_;  ///< the block that sums up; the one behind it, empty: none
};

}  // namespace

Module inner_products() {
  return {"inner_products",
          [](const View& view, const std::string& name) {
            return view.is_free_reduction(name) && view.machine().micro_tiles && inner_product(view, name);
          },
          [](Builder& builder, const std::string& name) {
            if (!builder.decide(name, "inner_product", true)) return;
            const Schedule before = builder.schedule;
            store_paddings(builder, name);
            const auto product = inner_product(builder.view, name);
            if (!product || !InnerProductLayout(builder, name, *product).lay_out()) builder.schedule = before;
          }};
}

}  // namespace isomer::kernel
