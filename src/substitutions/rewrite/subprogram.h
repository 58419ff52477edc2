// Subprogram of a program as a program by itself, so that what a model has many times is searched and costed once, and
// what is small is rewritten fast. Test: tests/search/regions_test.cpp
#pragma once

#include <span>
#include <vector>

#include "substitutions/rewrite/program.h"

namespace isomer::substitutions {

struct Subprogram {
  Program program;
  std::vector<int> values;  ///< of the whole, by value of the part
};

/// These applications of the whole, none of them opaque. What they read of others is an input of the part, or a
/// constant of which only the type is kept (a number stays a number); what others read of them, and outputs of the
/// whole, are its outputs.
Subprogram subprogram_of(const Program& whole, std::span<const int> applications, const Program::Uses& uses);

/// The whole as a part of itself.
Subprogram as_subprogram(const Program& whole);

/// A constant that only its type is known of. Small ones hold ones, so that nothing is simplified by them; larger ones
/// hold zeros and take no memory until they are read.
Tensor placeholder(const ValueType& type);

/// Equal for parts that compute the same of inputs and constants of the same types. Programs of one theory only.
Hash128 subprogram_key(const Program& part);

}  // namespace isomer::substitutions
