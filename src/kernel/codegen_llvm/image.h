// An ELF object laid out: code and constants in one flat piece that can be mapped anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace isomer::kernel::codegen {

/// Images are for addresses that are multiples of it.
inline constexpr size_t kImageAlignment = 64;

struct Image {
  std::vector<std::byte> bytes;
  std::map<std::string, int64_t> functions;  ///< byte offset of each
};

/// The object was made by us: imports, absolute addresses and writable data in it are bugs.
Image link(std::string_view object);

}  // namespace isomer::kernel::codegen
