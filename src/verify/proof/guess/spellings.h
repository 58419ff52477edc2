// Guesses at other parameters of an application that say the same. Whoever takes one checks that the row reads the
// same: a wrong guess changes nothing. Test: tests/verify/spell_out_test.cpp
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "verify/proof/term_graph.h"

namespace isomer::verify {

using Integers = std::vector<Dim>;

/// Lists that may be left out though they have no value to fall back on.
std::vector<std::string> optional_lists(const OpDef& op);
/// Those that only repeat dims of an argument, perhaps. Of attributes: a list that an input has counts axes, whose
/// numbers are no sizes.
std::vector<std::string> repeated_dims(const Term::Application& application, std::span<const ValueType> types);
/// What a list may mean where it is left out, for each length that it may have: numbers of one kind, 0 and 1, the axes
/// in order and in reverse.
std::vector<std::array<Integers, 4>> default_lists(const Parameters& others, std::span<const ValueType> types);
/// Ranks of what axes may be counted in.
std::set<int64_t> ranks_counted_in(const Term::Application& application, std::span<const ValueType> types);
/// The same axes from the front; nothing where they count so.
std::optional<Parameter> counted_from_front(const Parameter& axes, int64_t rank);
/// Nothing where it is no list of numbers, or sorted.
std::optional<Parameter> sorted(const Parameter& list);

}  // namespace isomer::verify
