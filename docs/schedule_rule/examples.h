// The examples of docs/adding-a-schedule-rule.md.
#pragma once

#include <isomer/compile.h>

/// Reductions of pairs (argmax) along memory.
isomer::ScheduleModule lanes_of_pairs();
/// Code for a tile of a product, of b in panels.
isomer::MicroKernel product_tile(int64_t rows, int64_t columns, std::vector<std::string> needs);
/// Products in tiles of 14 x 32 where vectors have 512 bits, else of 6 x 16.
isomer::ScheduleModule products_in_tiles();
