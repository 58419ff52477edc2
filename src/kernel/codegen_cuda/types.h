// How the code of kernels calls element types (prelude.cpp).
#pragma once

#include <string>

#include "graph/te/dtype.h"
#include "graph/te/number.h"
#include "kernel/loop_nest.h"

namespace isomer::kernel::cuda {

/// Of a value in a register: "float" for float16 too.
std::string_view register_type(DataType dtype);
/// As stored: "u16" for float16, "u8" for bool. Throws Unsupported where elements are no whole bytes.
std::string_view memory_type(DataType dtype);
std::string from_memory(DataType dtype, std::string stored);
/// `is_chosen`: the value is one of the type's, so that nothing is rounded.
std::string to_memory(DataType dtype, std::string value, bool is_chosen = false);

/// Whether a thread keeps halves of its own, a few, as the floats that they are in registers.
bool is_kept_wide(const Buffer& buffer);
std::string_view element_type(const Buffer& buffer);
std::string from_element(const Buffer& buffer, std::string stored);
std::string to_element(const Buffer& buffer, std::string value, bool is_chosen);

/// A value that was computed for a narrow real type, rounded to it.
std::string rounded(DataType narrow, std::string_view value);
std::string literal_text(const te::Number& number, DataType dtype);
/// A te::Cast. `is_rounded`: the value is one of its type, not only computed for it.
std::string converted(DataType from, DataType to, std::string value, bool is_rounded);

}  // namespace isomer::kernel::cuda
