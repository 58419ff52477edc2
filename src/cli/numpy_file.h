// numpy's .npy and .npz files. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/tensor.h"
#include "util/memory_limit.h"
#include "util/result.h"

namespace isomer {

using NamedTensor = std::pair<std::string, Tensor>;

/// Whether a file's name ends so (".npz"), in whatever case.
bool has_ending(const std::string& path, std::string_view ending);

/// What numpy has in another type, as write_npz leaves it, in the type that it had; nothing where some element is no
/// value of that.
std::optional<Tensor> as_it_was(const Tensor& tensor, DataType dtype);

Result<Tensor> read_npy(const std::string& path);
/// The arrays of an archive, in its order, named without the ".npy". What an entry says it unpacks to is refused where
/// it is too much for memory.
Result<std::vector<NamedTensor>> read_npz(const std::string& path, MemoryLimit memory = {});
/// Uncompressed; bfloat16 and minifloats are written as float32, integers of less than a byte as bytes. Replaces the
/// file only when all is written.
Result<void> write_npz(const std::string& path, const std::vector<NamedTensor>& arrays);

}  // namespace isomer
