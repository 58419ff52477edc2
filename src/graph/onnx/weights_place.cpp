#include "graph/onnx/weights_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "graph/onnx/import.h"
#include "util/file.h"
#include "util/output_file.h"
#include "util/parse_number.h"
#include "util/utf8.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

/// The part of a name as others take it in a location: that is UTF-8, and with two dots or a backslash it is refused.
std::string harmless(std::string_view part) {
  std::string result;
  while (!part.empty()) {
    const size_t length = shown_length(part);
    const bool is_refused = length == 0 || part[0] == '\\' || (part[0] == '.' && result.ends_with('.'));
    result += is_refused ? "_" : part.substr(0, length);
    part.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

/// Of the model's name, what stands before an ending.
std::string stem_of(const fs::path& model) {
  std::string stem = harmless(model.stem().string());
  if (stem.ends_with('.')) stem.back() = '_';
  return stem;
}

/// Behind the model's name, and a number: that of the original, unless the model is called so.
std::string ending_of(const fs::path& model, const std::string& original) {
  const fs::path file = fs::path(original).filename();
  const size_t onnx = file.string().find(".onnx");
  std::string ending = ".data";
  if (onnx != std::string::npos)
    ending = file.string().substr(onnx);
  else if (file.has_extension())
    ending = file.extension().string();
  return harmless(ending == model.extension() ? ending + ".data" : ending);
}

/// Weights of the model that is there, if it is one, by their names.
std::vector<std::string> files_of_model(const fs::path& model) {
  ImportReport report;
  ImportOptions options;
  options.report = &report;
  return import_model(model, options).ok() ? report.external_files : std::vector<std::string>();
}

/// Whether the file may be a model that reads weights of this name: it has the name somewhere.
bool may_name(const fs::path& file, const std::string& name) {
  constexpr uintmax_t kMostOfModel = uintmax_t{1} << 31;  // what protobuf allows for
  std::error_code failed;
  if (!fs::is_regular_file(file, failed) || fs::file_size(file, failed) > kMostOfModel) return false;
  const auto mapped = MappedFile::open(file);
  if (!mapped.ok()) return true;
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  return memmem(bytes.data(), bytes.size(), name.data(), name.size()) != nullptr;
}

/// Whether anything in the weights' folder but the model may need them: another model, whatever it is called, or a
/// link.
bool are_shared(const fs::path& weights, const fs::path& model) {
  const fs::path folder = weights.has_parent_path() ? weights.parent_path() : ".";
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (is_same_file(*at, model)) continue;
    const bool is_it = is_same_file(*at, weights), is_link = fs::is_symlink(fs::symlink_status(*at, failed));
    if (is_it ? is_link : may_name(*at, weights.filename().string())) return true;
  }
  return static_cast<bool>(failed);
}

}  // namespace

std::string WeightsPlace::free_name(const std::string& original, const std::vector<fs::path>& others) {
  const std::string stem = stem_of(model_), ending = ending_of(model_, original);
  const auto is_others = [&](const fs::path& place) {
    return std::ranges::any_of(others, [&](const fs::path& other) { return is_same_file(other, place); });
  };
  replaced_.clear();
  for (const std::string& own : files_of_model(model_)) {
    if (own.size() < stem.size() + ending.size() || !own.starts_with(stem) || !own.ends_with(ending)) continue;
    const std::string number = own.substr(stem.size(), own.size() - stem.size() - ending.size());
    const bool is_like_ours = number.empty() || (number[0] == '-' && parse_number<uint32_t>(number.substr(1)));
    if (const fs::path place = model_.parent_path() / own; is_like_ours && !is_others(place))
      replaced_.push_back(place);
  }
  for (int number = 1;; ++number) {
    std::string name = stem + (number == 1 ? "" : fmt::format("-{}", number)) + ending;
    const fs::path place = model_.parent_path() / name;
    if (std::error_code failed; !fs::exists(fs::symlink_status(place, failed)) && !is_others(place)) return name;
  }
}

void WeightsPlace::remove_replaced() const {
  std::error_code failed;
  for (const fs::path& file : replaced_)
    if (!are_shared(file, model_)) fs::remove(file, failed);
}

}  // namespace isomer
