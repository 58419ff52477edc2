// The hostile files that stand in the source tree.
#pragma once

#include <filesystem>

namespace isomer::test {

/// Writes FOLDER/files/NAME.onnx for every stored case, and FOLDER/expectations.txt with a line for each; what stood in
/// FOLDER/files before is removed. Gives the number of files.
int write_hostile_files(const std::filesystem::path& folder);

}  // namespace isomer::test
