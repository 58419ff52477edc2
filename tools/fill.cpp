// isomer-fill NAME.onnx [MORE.onnx ...] [-o OUTDIR]: writes the data files that the external
// tensors of weightless models name, from the rule in each tensor's doc_string (models/README.md).
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "graph/onnx/onnx.pb.h"
#include "tools/fill_rule.h"

namespace isomer {

namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "ONNX stores little-endian floats");

constexpr uint64_t kChunk = uint64_t{1} << 18;

using onnx_proto::TensorProto;

/// A tensor of a data file: `count` elements from byte `offset` on.
struct Piece {
  FillRule rule;
  int type = TensorProto::FLOAT;  ///< or FLOAT16, BFLOAT16
  uint64_t offset = 0;
  uint64_t count = 0;
  uint64_t row_length = 1;
};

using DataFiles = std::map<std::string, std::vector<Piece>>;

size_t bytes_of_element(int type) { return type == TensorProto::FLOAT ? 4 : 2; }

/// Values in the form of the type, each rounded once more where that has 16 bits.
void store(std::span<const float> values, int type, std::byte* to) {
  for (const float value : values) {
    if (type == TensorProto::FLOAT) {
      std::memcpy(to, &value, 4);
    } else if (type == TensorProto::FLOAT16) {
      const auto narrow = static_cast<_Float16>(value);
      std::memcpy(to, &narrow, 2);
    } else {
      const auto bits = std::bit_cast<uint32_t>(value);
      const auto narrow = static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);  // of finite values
      std::memcpy(to, &narrow, 2);
    }
    to += bytes_of_element(type);
  }
}

/// Text from a model, fit for a terminal.
std::string quoted(const std::string& text) { return fmt::format("{:?}", text); }

Error system_error(const fs::path& path) { return unsupported(path.string(), "{}", std::strerror(errno)); }

Result<Piece> piece_of(const onnx_proto::TensorProto& tensor, const std::map<std::string, std::string>& entries) {
  Piece piece;
  piece.type = tensor.data_type();
  if (piece.type != TensorProto::FLOAT && piece.type != TensorProto::FLOAT16 && piece.type != TensorProto::BFLOAT16) {
    return invalid(quoted(tensor.name()), "expected a tensor of floats, found data type {}", tensor.data_type());
  }
  piece.count = 1;
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0 || __builtin_mul_overflow(piece.count, static_cast<uint64_t>(dim), &piece.count)) {
      return invalid(quoted(tensor.name()), "expected dims whose product fits 64 bits, found {}", dim);
    }
  }
  if (tensor.dims_size() > 0) piece.row_length = static_cast<uint64_t>(*tensor.dims().rbegin());
  const auto number = [&](const char* key, uint64_t otherwise) {
    const auto entry = entries.find(key);
    uint64_t value = otherwise;
    if (entry != entries.end()) {
      std::from_chars(entry->second.data(), entry->second.data() + entry->second.size(), value);
    }
    return value;
  };
  piece.offset = number("offset", 0);
  const uint64_t size = bytes_of_element(piece.type);
  if (const uint64_t length = number("length", 0); length % size != 0 || length / size != piece.count) {
    return invalid(quoted(tensor.name()), "expected {} elements of {} bytes, found length {}", piece.count, size,
                   length);
  }
  auto rule = parse_fill_rule(tensor.doc_string());
  if (!rule) return std::move(rule).error().within(quoted(tensor.name()));
  piece.rule = *rule;
  return piece;
}

Result<DataFiles> data_files_of(const onnx_proto::ModelProto& model) {
  DataFiles files;
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.data_location() != onnx_proto::TensorProto::EXTERNAL) continue;
    std::map<std::string, std::string> entries;
    for (const auto& entry : tensor.external_data()) entries[entry.key()] = entry.value();
    const std::string& location = entries["location"];
    if (location.empty() || fs::path(location).filename() != location || location == "..") {
      return invalid(quoted(tensor.name()), "expected a file name beside the model, found {}", quoted(location));
    }
    TRY(files[location].emplace_back(), piece_of(tensor, entries));
  }
  return files;
}

/// Writes chunks of the pieces until none is left; several threads share `next`. Returns 0, or the
/// errno of a failure.
int write_chunks(int file, const std::vector<Piece>& pieces, std::atomic<uint64_t>& next) {
  std::vector<float> values(kChunk);
  std::vector<std::byte> bytes(4 * kChunk);
  uint64_t wanted = next++;
  uint64_t chunk = 0;
  for (const Piece& piece : pieces) {
    for (uint64_t first = 0; first < piece.count; first += kChunk, ++chunk) {
      if (chunk != wanted) continue;
      const uint64_t count = std::min(kChunk, piece.count - first);
      evaluate(piece.rule, first, piece.row_length, std::span(values.data(), count));
      store(std::span(values.data(), count), piece.type, bytes.data());
      const uint64_t size = bytes_of_element(piece.type);
      const ssize_t written = pwrite(file, bytes.data(), size * count, static_cast<off_t>(piece.offset + size * first));
      if (written != static_cast<ssize_t>(size * count)) return written < 0 ? errno : ENOSPC;
      wanted = next++;
    }
  }
  return 0;
}

Result<void> write_data_file(const fs::path& path, const std::vector<Piece>& pieces) {
  const fs::path partial = path.string() + ".partial";
  const int file = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return system_error(partial);
  std::atomic<uint64_t> next = 0;
  std::atomic<int> failure = 0;
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back([&] {
        if (const int error = write_chunks(file, pieces, next); error != 0) failure = error;
      });
    }
  }
  if (close(file) != 0) failure = errno;
  if (failure == 0 && rename(partial.c_str(), path.c_str()) == 0) return {};
  if (failure != 0) errno = failure;
  Error error = system_error(path);
  unlink(partial.c_str());
  return error;
}

Result<onnx_proto::ModelProto> read_model(const fs::path& path) {
  onnx_proto::ModelProto model;
  std::ifstream in(path, std::ios::binary);
  if (!in) return system_error(path);
  if (!model.ParseFromIstream(&in)) return invalid(path.string(), "expected an ONNX model, found something else");
  return model;
}

Result<void> fill(const fs::path& model_path, const fs::path& folder) {
  TRY(const onnx_proto::ModelProto model, read_model(model_path));
  auto files = data_files_of(model);
  if (!files) return std::move(files).error().within(model_path.string());
  const fs::path target = folder.empty() ? model_path.parent_path() : folder;
  if (!folder.empty()) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    const fs::path copy = folder / model_path.filename();
    if (!failed && !(fs::exists(copy) && fs::equivalent(model_path, copy))) {
      fs::copy_file(model_path, copy, fs::copy_options::overwrite_existing, failed);
    }
    if (failed) return unsupported(copy.string(), "{}", failed.message());
  }
  for (const auto& [location, pieces] : *files) {
    const fs::path path = target / location;
    TRY_VOID(write_data_file(path, pieces));
    fmt::print("{} {}\n", path.string(), fs::file_size(path));
  }
  return {};
}

}  // namespace

}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("writes the weights of weightless ONNX models", "isomer-fill");
  std::vector<std::string> models;
  std::string folder;
  app.add_option("model", models, "models whose external tensors carry fill rules")->required();
  app.add_option("-o", folder, "write a copy of each model and its weights here");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const std::string& model : models) {
    if (const auto done = isomer::fill(model, folder); !done) {
      fmt::print(stderr, "isomer-fill: {}\n", done.error().message());
      return 3;
    }
  }
  return 0;
}
