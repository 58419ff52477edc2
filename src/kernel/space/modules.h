// The modules of the default space, each in a source of its own.
#pragma once

#include "kernel/space/module.h"

namespace isomer::kernel {

/// Sums of halves in float32: each step would round them otherwise, and cost more.
Module wide_sums();
/// Sums of products of bytes over words of them, as instructions add them up.
Module narrow_products();
/// Maps that nothing is gained from storing.
Module inline_maps();
/// Neighbouring dims of buffers become one (primitives.h), once, before the first block is looked at.
Module collapse();
/// What maps make of nothing but a byte is read from a table.
Module tables();
/// Channels of groups whose number is no multiple of what vectors hold become a dim of their own.
Module groups();
/// Maps of which each element of a tile is another sum of elements of other tiles (Winograd's transforms): tiles are
/// written out, vectors run across them; selects are gone, and what a tile is made of stays in registers.
Module transforms();
/// A long reduction with so few results that threads have nothing to share becomes one of parts.
Module shared_reductions();
/// A reduction with constant operands along rows that another reduction makes: tiles of both in common outer loops, so
/// that the rows stay in cache.
Module joined_nests();
/// Attention, and what has its form: blocks of rows pass through all reductions and stay in cache between them.
Module rows_inside();
/// Reductions of fewer results in a row than a vector has lanes: lanes run along the reduction, and are combined in the
/// end.
Module inner_products();
/// Reductions of which lanes compute several results at a time, tiles of them in registers.
Module tiles();
/// Steps of scans: they run on one thread, and what they compute lies where the next ones find it; or all threads take
/// a step together where it is long.
Module steps();
/// Other reductions: rows in parallel, lanes over the reduction.
Module rows();
/// What is left: vectors along memory, loops in its order; rows shared with the reductions that a map reads.
Module maps();

}  // namespace isomer::kernel
