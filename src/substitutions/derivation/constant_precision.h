// What rounding may take of constants that steps make of others: bits that a small number has no place for are lost,
// and that must be nothing beside what the number is summed with. Test: tests/substitutions/normalize_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "graph/te/array.h"
#include "graph/te/program.h"

namespace isomer::substitutions {

/// How an operator reads one of its inputs that it sums with others: by axis of the input, the axis of the result that
/// it runs along; nothing where its elements are summed along it.
using SummedAxes = std::vector<std::optional<int>>;
/// Nothing where an element may be read otherwise.
std::optional<SummedAxes> summed_axes(const te::Program& program, int input);
/// Each element is added to a sum, as Conv's bias is.
bool is_addend(const te::Program& program, int input);

/// Elements with what is added to the same results, if anything is.
struct Summed {
  const te::Array* elements = nullptr;
  SummedAxes axes;
};

/// Whether the elements are finite once they are rounded to the type.
bool stay_finite(const te::Array& elements);
/// And none loses bits to that because it is small, but for what is nothing beside the others along each axis.
bool keep_precision(const te::Array& elements);
/// The same, but for what is nothing beside the others in its sum.
bool keep_precision(const Summed& summed, const std::optional<Summed>& added);

}  // namespace isomer::substitutions
