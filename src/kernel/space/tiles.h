// Tiles of results in registers, inside of whatever loops.
#pragma once

#include <string>

#include "kernel/space/tile.h"

namespace isomer::kernel {

/// Operands that the vectors run across are brought into blocks of the tile's width, in the order in which the tile's
/// loops read them, unless they lie well already: contiguous along the vectors, of whole vectors, and not constant.
bool pack(Builder& builder, const Tiled& reduction, Tile& tile);
/// The initialization of a reduction, which took the kinds that the loops had then (serial ones): its last loop runs
/// along the lanes.
void lay_out_initialization(Builder& builder, const std::string& computing);
/// The same of a block that does something else to the results.
void write_out_beside(Builder& builder, const std::string& computing, const std::string& other);
/// A loop over the reduction around tiles becomes one of some steps at a time, where its length allows that; theirs is
/// to be unrolled: instructions that only count take the place of others, most of all where a core runs two threads.
/// Empty: it stays as it is, as where data decide its extent.
LoopIds split_steps(Builder& builder, const std::string& name, const Tile& tile, LoopId loop);
/// The loops of a tile that holds a reduction's results.
bool tensorize(Builder& builder, const LoopIds& loops);
/// A reduction that runs inside of other loops, by its own: one for each of its axes (none for a point), then its
/// reduction. axes, tiles of vectors, tiles of rows | reduction | rows, vectors, lanes
bool lay_out_inside(Builder& builder, const std::string& name, const Tile& tile, const LoopIds& loops);

/// Reads under a padding's select become reads of a padded copy, where elements are read often.
void store_paddings(Builder& builder, const std::string& name);

/// What is read often as numbers of a wider type than it has becomes a copy of such.
void widen_operands(Builder& builder, const std::string& name);

/// Of a buffer that accesses of this kind read: the dims that the reduction runs along come last; empty: they do
/// already.
std::string reduction_inside(const LoadAccess& access);

/// A reduction that stands alone; it may stay as it was. Its outer loops are shared by threads, or they are told and
/// whoever wants them sees to that.
void schedule_tiles(Builder& builder, const std::string& name, LoopIds* outer = nullptr);

}  // namespace isomer::kernel
