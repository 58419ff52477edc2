#include "onnx/weights.h"

#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "onnx/messages.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

struct Place {
  std::string location;
  int64_t offset = 0, length = 0;
};

std::vector<Place> places(const fs::path& model) {
  std::vector<Place> all;
  const onnx_proto::ModelProto message = read_message(model);
  for (const auto& tensor : message.graph().initializer()) {
    if (tensor.external_data_size() == 0) continue;
    std::map<std::string, std::string> entries;
    for (const auto& entry : tensor.external_data()) entries[entry.key()] = entry.value();
    all.push_back({entries["location"], std::stoll(entries["offset"]), std::stoll(entries["length"])});
  }
  return all;
}

}  // namespace

int64_t weight_bytes(const fs::path& model) {
  int64_t end = 0;
  for (const Place& place : places(model)) end = std::max(end, place.offset + place.length);
  return end;
}

fs::path place_with_numbered_weights(const fs::path& model, const fs::path& folder) {
  const fs::path copy = folder / model.filename();
  fs::copy_file(model, copy);
  fs::permissions(copy, fs::perms::owner_write, fs::perm_options::add);
  int64_t number = 0;
  std::map<std::string, std::fstream> files;
  for (const Place& place : places(model)) {
    std::fstream& file = files[place.location];
    if (!file.is_open())
      file.open(folder / place.location, std::ios::binary | std::ios::in | std::ios::out | std::ios::trunc);
    ++number;
    file.seekp(place.offset);
    file.write(reinterpret_cast<const char*>(&number), std::min<int64_t>(place.length, sizeof number));
    file.flush();
    const auto end = static_cast<uintmax_t>(place.offset + place.length);
    if (fs::file_size(folder / place.location) < end) fs::resize_file(folder / place.location, end);
  }
  return copy;
}

}  // namespace isomer::test
