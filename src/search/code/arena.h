// Where a variant's values lie in its arena. Tests: tests/search/control_flow_test.cpp
#pragma once

#include "runtime/artifact.h"

namespace isomer::search {

/// Gives every value in the arena its offset there, by when steps write it first and read it last (through views as
/// well). What a loop's body reads of before the loop, or leaves for after it, stays for all of its iterations.
void place_in_arena(runtime::Variant& variant);

}  // namespace isomer::search
