#include "cli/numpy_file.h"

#include <zip.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <optional>

#include "graph/infer.h"
#include "graph/minifloat.h"
#include "util/file.h"
#include "util/output_file.h"
#include "util/parse_number.h"

namespace isomer {
namespace {

struct Format {
  DataType dtype;
  std::string_view descr;
};
constexpr Format kFormats[] = {
    {DataType::kFloat32, "<f4"}, {DataType::kFloat64, "<f8"}, {DataType::kFloat16, "<f2"}, {DataType::kBool, "|b1"},
    {DataType::kInt8, "|i1"},    {DataType::kUInt8, "|u1"},   {DataType::kInt16, "<i2"},   {DataType::kUInt16, "<u2"},
    {DataType::kInt32, "<i4"},   {DataType::kUInt32, "<u4"},  {DataType::kInt64, "<i8"},   {DataType::kUInt64, "<u8"},
};

struct Header {
  DataType dtype = DataType::kUndefined;
  bool fortran_order = false;
  Dims dims;
};

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

/// What stands behind a key, to the end of the text.
std::optional<std::string_view> behind_key(std::string_view text, std::string_view key) {
  const std::string quoted = fmt::format("'{}'", key);
  const size_t at = text.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  text = without_blanks(text.substr(at + quoted.size()));
  if (!text.starts_with(':')) return std::nullopt;
  return without_blanks(text.substr(1));
}

/// The value of a key, without the characters around it.
std::optional<std::string_view> value_between(char open, std::string_view text, std::string_view key, char close) {
  const auto value = behind_key(text, key);
  if (!value || !value->starts_with(open)) return std::nullopt;
  const size_t end = value->find(close, 1);
  return end == std::string_view::npos ? std::nullopt : std::optional(value->substr(1, end - 1));
}

/// "2, 3", of an array of no dims "", of one "3,".
Result<Dims> parse_shape(std::string_view list, const std::string& place) {
  constexpr size_t kMostDims = 64;
  Dims dims;
  for (list = without_blanks(list); !list.empty();) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view digits = without_blanks(list.substr(0, comma));
    if (digits.ends_with('L')) digits.remove_suffix(1);  // as Python 2 has it
    const auto dim = parse_number<int64_t>(digits);
    if (!dim || *dim < 0 || *dim > kMaxDim) return invalid(place, "dims in [0, 2^40] expected, '{}' found", digits);
    dims.push_back(*dim);
    if (dims.size() > kMostDims) return invalid(place, "an array of at most {} dims expected", kMostDims);
    list = without_blanks(list.substr(std::min(comma + 1, list.size())));
  }
  return dims;
}

Result<Header> parse_header(std::string_view text, const std::string& place) {
  Header header;
  const auto descr = value_between('\'', text, "descr", '\'');
  if (!descr) return invalid(place, "a numpy header with 'descr' expected");
  for (const Format& format : kFormats)
    if (*descr == format.descr) header.dtype = format.dtype;
  if (header.dtype == DataType::kUndefined)
    return unsupported(place, "a little-endian number or bool array expected, '{}' found", *descr);
  const auto order = behind_key(text, "fortran_order");
  if (!order || !(order->starts_with("True") || order->starts_with("False")))
    return invalid(place, "a numpy header with 'fortran_order' expected");
  header.fortran_order = order->starts_with("True");
  const auto shape = value_between('(', text, "shape", ')');
  if (!shape) return invalid(place, "a numpy header with 'shape' expected");
  TRY(header.dims, parse_shape(*shape, place));
  __int128 bytes = bit_width(header.dtype) / 8;
  for (const int64_t dim : header.dims) {
    bytes *= dim;
    if (bytes > kMaxBytes) return invalid(place, "an array of at most 2^46 bytes expected");
  }
  return header;
}

/// Column-major bytes as row-major ones.
std::vector<std::byte> to_row_major(std::span<const std::byte> in, const Dims& dims, int64_t width) {
  std::vector<std::byte> out(in.size());
  const int rank = static_cast<int>(dims.size());
  Dims position(rank);
  for (int64_t row_major = 0; row_major < element_count(dims); ++row_major) {
    int64_t column_major = 0;
    for (int k = rank; k-- > 0;) column_major = column_major * dims[k] + position[k];
    std::memcpy(&out[row_major * width], &in[column_major * width], width);
    for (int k = rank; k-- > 0;) {
      if (++position[k] < dims[k]) break;
      position[k] = 0;
    }
  }
  return out;
}

Result<Tensor> parse_npy(std::span<const std::byte> file, const std::string& place) {
  const auto byte = [&](size_t i) { return static_cast<size_t>(std::to_integer<uint8_t>(file[i])); };
  if (file.size() < 12 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0)
    return invalid(place, "a numpy array expected, another format found");
  const bool long_header = byte(6) >= 2;
  const size_t start = long_header ? 12 : 10;
  const size_t length = long_header ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  // numpy reads none that is longer, either.
  constexpr size_t kMostOfHeader = 10'000;
  if (length > kMostOfHeader)
    return invalid(place, "a header of at most {} bytes expected, one of {} found", kMostOfHeader, length);
  if (start + length > file.size())
    return invalid(place, "a header of {} bytes expected, the file ends before", length);
  TRY(Header header, parse_header({reinterpret_cast<const char*>(file.data()) + start, length}, place));
  const auto data = file.subspan(start + length);
  const int64_t bytes = byte_size(header.dtype, element_count(header.dims));
  if (static_cast<int64_t>(data.size()) != bytes)
    return invalid(place, "{} bytes of data expected, {} found", bytes, data.size());
  std::vector<std::byte> contents = header.fortran_order ? to_row_major(data, header.dims, bit_width(header.dtype) / 8)
                                                         : std::vector<std::byte>(data.begin(), data.end());
  return Tensor(header.dtype, std::move(header.dims), std::move(contents));
}

std::string npy_header(const Tensor& tensor) {
  std::string_view descr;
  for (const Format& format : kFormats)
    if (format.dtype == tensor.dtype()) descr = format.descr;
  std::string shape;
  for (const int64_t dim : tensor.dims()) shape += fmt::format("{},", dim);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  text.resize((10 + text.size() + 64) / 64 * 64 - 11, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

/// The tensor in a type that numpy has.
Tensor numpy_type(const Tensor& tensor) {
  const DataType dtype = tensor.dtype();
  if (kSmallInts.contains(dtype))
    return Tensor::from_ints(is_signed_int(dtype) ? DataType::kInt8 : DataType::kUInt8, tensor.dims(),
                             tensor.integers());
  if (dtype != DataType::kBFloat16 && !is_minifloat(dtype)) return tensor;
  std::vector<double> values(tensor.count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.real(static_cast<int64_t>(i));
  return Tensor::from_doubles(DataType::kFloat32, tensor.dims(), values);
}

std::string npy_bytes(const Tensor& tensor) {
  const Tensor stored = numpy_type(tensor);
  std::string file = npy_header(stored);
  file.append(reinterpret_cast<const char*>(stored.bytes().data()), stored.bytes().size());
  return file;
}

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;

Result<std::vector<std::byte>> read_entry(zip_t* archive, zip_uint64_t index, const std::string& place,
                                          MemoryLimit memory) {
  zip_stat_t facts;
  if (zip_stat_index(archive, index, 0, &facts) != 0 || !(facts.valid & ZIP_STAT_SIZE))
    return invalid(place, "an entry with a size expected");
  if (facts.size > static_cast<zip_uint64_t>(kMaxBytes))
    return invalid(place, "an entry of at most 2^46 bytes expected");
  // The tensor is a copy of it.
  if (auto fits = memory.check(2 * static_cast<int64_t>(facts.size), "an entry"); !fits.ok())
    return std::move(fits).error().within(place);
  const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> entry(zip_fopen_index(archive, index, 0), zip_fclose);
  if (!entry) return invalid(place, "an entry that can be read expected");
  std::vector<std::byte> bytes;
  bytes.reserve(std::min<size_t>(facts.size, size_t{1} << 26));
  std::byte buffer[1 << 16];
  for (;;) {
    const zip_int64_t got = zip_fread(entry.get(), buffer, sizeof buffer);
    if (got < 0) return invalid(place, "an entry that can be read expected");
    if (got == 0) break;
    if (static_cast<zip_uint64_t>(got) > facts.size - bytes.size())
      return invalid(place, "an entry of {} bytes expected, more found", facts.size);
    bytes.insert(bytes.end(), buffer, buffer + got);
  }
  return bytes;
}

}  // namespace

bool has_ending(const std::string& path, std::string_view ending) {
  return path.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(), path.end() - static_cast<std::ptrdiff_t>(ending.size()),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

std::optional<Tensor> as_it_was(const Tensor& tensor, DataType dtype) {
  std::optional<Tensor> result;
  if (kSmallInts.contains(dtype) && is_int(tensor.dtype())) {
    result = Tensor::from_ints(dtype, tensor.dims(), tensor.integers());
  } else if (tensor.dtype() == DataType::kFloat32 && (dtype == DataType::kBFloat16 || is_minifloat(dtype))) {
    std::vector<double> values(static_cast<size_t>(tensor.count()));
    std::vector<int64_t> codes;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = tensor.real(static_cast<int64_t>(i));
      if (is_minifloat(dtype)) codes.push_back(nearest_minifloat(dtype, values[i]));
    }
    result = is_minifloat(dtype) ? Tensor::from_ints(dtype, tensor.dims(), codes)
                                 : Tensor::from_doubles(dtype, tensor.dims(), values);
  }
  return result && numpy_type(*result).same_contents(tensor) ? result : std::nullopt;
}

Result<Tensor> read_npy(const std::string& path) {
  const auto file = MappedFile::open(path);
  if (!file.ok()) return Error(file.error()).within(path);
  return parse_npy((*file)->bytes(), path);
}

Result<std::vector<NamedTensor>> read_npz(const std::string& path, MemoryLimit memory) {
  const Archive archive(zip_open(path.c_str(), ZIP_RDONLY, nullptr), zip_discard);
  if (!archive) return invalid(path, "an .npz archive expected, it can't be opened as one");
  std::vector<NamedTensor> arrays;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    const char* raw_name = zip_get_name(archive.get(), i, 0);
    std::string name = raw_name ? raw_name : "";
    const std::string place = path + ": " + name;
    TRY(const std::vector<std::byte> bytes, read_entry(archive.get(), i, place, memory));
    TRY(Tensor tensor, parse_npy(bytes, place));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace_back(std::move(name), std::move(tensor));
  }
  return arrays;
}

Result<void> write_npz(const std::string& path, const std::vector<NamedTensor>& arrays) {
  TRY(const std::filesystem::path place, output_place(path));
  auto folder = TemporaryFolder::in(place.parent_path());
  if (!folder.ok()) return std::move(folder).error().within(path);
  const std::string temporary = folder->path() / "arrays.npz";
  std::vector<std::string> files;
  for (const auto& [name, tensor] : arrays) files.push_back(npy_bytes(tensor));
  Archive archive(zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr), zip_discard);
  if (!archive) return invalid(path, "a writable place expected");
  for (size_t i = 0; i < arrays.size(); ++i) {
    zip_source_t* source = zip_source_buffer(archive.get(), files[i].data(), files[i].size(), 0);
    const zip_int64_t index = zip_file_add(archive.get(), (arrays[i].first + ".npy").c_str(), source, ZIP_FL_OVERWRITE);
    if (index < 0) {
      zip_source_free(source);
      return invalid(path, "a name that an archive can hold expected, '{}' found", arrays[i].first);
    }
    zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0);
  }
  if (zip_close(archive.get()) != 0) return invalid(path, "a writable place expected");
  archive.release();
  return move_to(temporary, place);
}

}  // namespace isomer
