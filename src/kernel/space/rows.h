// Reductions along memory, and rows that several blocks share.
#pragma once

#include <string>

#include "kernel/space/builder.h"

namespace isomer::kernel {

/// A reduction along memory: lanes hold partial results, combined at the end.
void vectorize_reduction(Builder& builder, const std::string& name);
/// The reduction's last loop runs over lanes of several vectors of partial results: vectors are combined, then their
/// halves, and so on.
void combine_lanes(Builder& builder, const std::string& name, int64_t vectors);
/// Rows in parallel, lanes over the reduction.
void schedule_rows(Builder& builder, const std::string& name);
/// Reductions over rows and the map that reads them share one loop over the rows: what they pass on stays in cache.
/// Whether the map reads some.
bool share_rows(Builder& builder, const std::string& map, int64_t work);

}  // namespace isomer::kernel
