// The file that bytes are mapped from, for who looks at it again and again: util/file.h has the rest.
#pragma once

#include "util/file.h"

namespace isomer {

/// That the bytes lie in; it lives as long as they do. nullptr: none.
const MappedFile* mapped_file_of(std::span<const std::byte> bytes);
/// As of bytes in it.
Result<void> check_unchanged(const MappedFile& file);

}  // namespace isomer
