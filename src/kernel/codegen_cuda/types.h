// How the code of kernels calls element types (prelude.cpp).
#pragma once

#include <string>

#include "graph/te/dtype.h"
#include "graph/te/number.h"

namespace isomer::kernel::cuda {

/// Of a value in a register: "float" for float16 too.
std::string_view register_type(DataType dtype);
/// As stored: "u16" for float16, "u8" for bool. Throws Unsupported where elements are no whole bytes.
std::string_view memory_type(DataType dtype);
std::string from_memory(DataType dtype, std::string stored);
std::string to_memory(DataType dtype, std::string value);
/// Of a value that is one of the type's, so that nothing is rounded.
std::string chosen_to_memory(DataType dtype, std::string value);
std::string literal_text(const te::Number& number, DataType dtype);
/// A te::Cast. `is_rounded`: the value is one of its type, not only computed for it.
std::string converted(DataType from, DataType to, std::string value, bool is_rounded);

}  // namespace isomer::kernel::cuda
