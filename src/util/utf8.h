// Text of others, which may be any bytes. Tests: tests/report/drawing_test.cpp, tests/cli/cli_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace isomer {

/// Bytes of the code point of UTF-8 that the text starts with, if whoever reads it only sees it; 0 for broken ones,
/// control characters (also those above ASCII), line separators and marks that change the direction of writing.
size_t shown_length(std::string_view text);

/// Model-supplied text for a terminal: control characters, marks that change the direction of writing and broken UTF-8
/// escaped, cut at so many bytes.
std::string printable(std::string_view text, size_t most = 200);

}  // namespace isomer
