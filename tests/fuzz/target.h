// What the importer's fuzz target does with an input; the regression test does the same with inputs that once broke it.
#pragma once

#include <cstddef>
#include <span>

namespace isomer::test {

/// Imports the bytes; what is accepted is printed in every form. Throws on a bug, never for what the bytes say.
void import_and_print(std::span<const std::byte> bytes);

}  // namespace isomer::test
