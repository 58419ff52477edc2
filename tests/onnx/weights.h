// Data files for the models of models/, whose weights are not stored.
#pragma once

#include <cstdint>
#include <filesystem>

namespace isomer::test {

/// Bytes of the model's data file.
int64_t weight_bytes(const std::filesystem::path& model);

/// Copies the model to `folder` and makes its data file there: zeros without blocks on the disk, but for the first
/// eight bytes of each tensor, which number it, so that no two tensors are equal.
std::filesystem::path place_with_numbered_weights(const std::filesystem::path& model,
                                                  const std::filesystem::path& folder);

}  // namespace isomer::test
