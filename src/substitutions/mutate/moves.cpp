#include "substitutions/mutate/moves.h"

#include <algorithm>
#include <numeric>

namespace isomer::substitutions {
namespace {

/// All spatial axes, and each of them.
std::vector<std::vector<int64_t>> axis_sets(size_t spatial) {
  std::vector<std::vector<int64_t>> result(1);
  for (size_t k = 0; k < spatial; ++k) result[0].push_back(static_cast<int64_t>(2 + k));
  for (size_t k = 0; k < spatial && spatial > 1; ++k) result.push_back({static_cast<int64_t>(2 + k)});
  return result;
}

/// Two parts an axis, or as many as a stride or a dilation.
std::vector<std::vector<Dim>> factors(const Convolution& original, const std::vector<int64_t>& axes) {
  std::vector<std::vector<Dim>> result = {std::vector<Dim>(axes.size(), Dim(2))};
  for (const std::vector<Dim>* steps : {&original.strides, &original.dilations}) {
    std::vector<Dim> by;
    for (const int64_t axis : axes) by.push_back((*steps)[static_cast<size_t>(axis - 2)]);
    const bool is_other = by != result[0] && std::ranges::none_of(by, [](const Dim& count) { return count.is(1); });
    if (is_other) result.push_back(std::move(by));
  }
  return result;
}

/// Two spatial axes exchanged.
std::vector<Move> turns(size_t spatial) {
  std::vector<Move> result;
  for (size_t a = 2; a < 2 + spatial; ++a)
    for (size_t b = a + 1; b < 2 + spatial; ++b) {
      Move turn{Move::Kind::kTranspose, std::vector<int64_t>(2 + spatial)};
      std::iota(turn.axes.begin(), turn.axes.end(), 0);
      std::swap(turn.axes[a], turn.axes[b]);
      result.push_back(std::move(turn));
    }
  return result;
}

/// Pieces of the image: what a tile of the result reads, beside other images; what a tap reads, as channels, and then
/// the axis among the images, of which none is left.
std::vector<Moves> window_moves(const Convolution& original, const Shape& result_shape) {
  const size_t spatial = original.strides.size();
  const ShapedTerm w = variable("w", static_cast<int>(2 + spatial));
  std::vector<Moves> result;
  for (const std::vector<int64_t>& axes : axis_sets(spatial)) {
    if (axes.size() > 2) continue;
    // Of one axis halves are enough: whoever wants quarters halves again. Tiles of volumes are left to others.
    for (const int64_t count : {2, 4}) {
      if (spatial > 2 || (count > 2 && axes.size() < spatial)) continue;
      Move tiles{Move::Kind::kWindows, axes, std::vector<Dim>(axes.size(), Dim(count)), 0};
      for (const int64_t axis : axes) {
        const auto at = static_cast<size_t>(axis), k = at - 2;
        const Dim tile = tile_of(result_shape[at], Dim(count));
        tiles.before.push_back(original.before[k]);
        tiles.apart.push_back(tile * original.strides[k]);
        tiles.steps.emplace_back(1);
        tiles.sizes.push_back((tile - Dim(1)) * original.strides[k] + original.dilations[k] * (w.shape[at] - Dim(1)) +
                              Dim(1));
      }
      result.push_back({std::move(tiles)});
    }
    Move taps{Move::Kind::kWindows, axes, {}, 1};
    for (const int64_t axis : axes) {
      const auto at = static_cast<size_t>(axis), k = at - 2;
      taps.by.push_back(w.shape[at]);
      taps.before.push_back(original.before[k]);
      taps.apart.push_back(original.dilations[k]);
      taps.steps.push_back(original.strides[k]);
      taps.sizes.push_back(result_shape[at]);
    }
    result.push_back({taps});
    if (axes.size() == spatial) continue;
    const Move among{Move::Kind::kFold, axes,    {result_shape[static_cast<size_t>(axes[0])]}, 0, {Dim(0)},
                     {Dim(0)},          {Dim(1)}};
    result.push_back({std::move(taps), among, Move{Move::Kind::kSqueeze, axes}});
  }
  return result;
}

}  // namespace

std::vector<Moves> data_moves(const Convolution& original, const Shape& result_shape) {
  const size_t spatial = original.strides.size();
  std::vector<Moves> result = {{}};
  for (const std::vector<int64_t>& axes : axis_sets(spatial))
    for (const std::vector<Dim>& by : factors(original, axes))
      for (const int64_t into : {0, 1})
        for (const bool has_pads : {false, true}) {
          Move fold{Move::Kind::kFold, axes, by, into};
          for (const int64_t axis : axes) {
            const auto k = static_cast<size_t>(axis - 2);
            fold.before.push_back(has_pads ? original.before[k] : Dim(0));
            fold.behind.push_back(has_pads ? original.behind[k] : Dim(0));
          }
          result.push_back({std::move(fold)});
        }
  const auto batch_into = [](size_t axis) {
    return Move{Move::Kind::kFold, {0}, {Dim(2)}, static_cast<int64_t>(axis), {Dim(0)}, {Dim(0)}};
  };
  result.push_back({batch_into(1)});
  for (size_t a = 0; a < spatial; ++a) {
    result.push_back({batch_into(2 + a)});
    for (size_t b = a + 1; b < spatial; ++b) result.push_back({batch_into(2 + a), batch_into(2 + b)});
  }
  for (const Move& turn : turns(spatial)) result.push_back({turn});
  if (original.is_transposed) return result;
  for (Moves& windows : window_moves(original, result_shape)) result.push_back(std::move(windows));
  return result;
}

std::vector<Moves> weight_moves(const Convolution& original) {
  const size_t spatial = original.strides.size();
  std::vector<Moves> folded = {{}};
  for (const std::vector<int64_t>& axes : axis_sets(spatial))
    for (const std::vector<Dim>& by : factors(original, axes))
      for (const int64_t into : {0, 1}) {
        const std::vector<Dim> none(axes.size(), Dim(0));
        folded.push_back({Move{Move::Kind::kFold, axes, by, into, none, none}});
      }
  Move channels{Move::Kind::kTranspose, std::vector<int64_t>(2 + spatial)};
  std::iota(channels.axes.begin(), channels.axes.end(), 0);
  std::swap(channels.axes[0], channels.axes[1]);
  const Move reverse{Move::Kind::kReverse, axis_sets(spatial)[0]};
  std::vector<Moves> result;
  for (const Moves& moves : folded)
    for (const bool is_turned : {false, true})
      for (const bool is_reversed : {false, true}) {
        result.push_back(moves);
        if (is_turned) result.back().push_back(channels);
        if (is_reversed) result.back().push_back(reverse);
      }
  for (const Move& turn : turns(spatial)) result.push_back({turn});
  // For images side by side, each with groups of its own.
  result.push_back({Move{Move::Kind::kTile, {0}, {Dim(2)}}});
  // All taps of an axis, or of two, as channels.
  const ShapedTerm w = variable("w", static_cast<int>(2 + spatial));
  for (const std::vector<int64_t>& axes : axis_sets(spatial)) {
    if (axes.size() > 2) continue;
    const std::vector<Dim> none(axes.size(), Dim(0)), one(axes.size(), Dim(1));
    Move taps{Move::Kind::kFold, axes, {}, 1, none, none, one};
    for (const int64_t axis : axes) taps.by.push_back(w.shape[static_cast<size_t>(axis)]);
    result.push_back({taps});
    if (axes.size() < spatial) result.push_back({std::move(taps), Move{Move::Kind::kSqueeze, axes}});
  }
  return result;
}

}  // namespace isomer::substitutions
