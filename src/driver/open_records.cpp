#include "driver/open_records.h"

#include <filesystem>

#include "kernel/fingerprint.h"
#include "tune/tuned.h"
#include "util/hash.h"
#include "util/subprocess.h"

namespace isomer {
namespace {

constexpr const char* kFile = "records.sqlite";
constexpr const char* kNoFolder = "a folder for a cache expected, neither XDG_CACHE_HOME nor HOME names one";

Result<kernel::Records> open_to_write(const std::filesystem::path& file) {
  TRY(kernel::Records records, kernel::Records::open(file));
  TRY_VOID(records.add(std::span<const kernel::Record>()));
  return records;
}

}  // namespace

Result<kernel::Records> open_records(const std::string& file) {
  if (!file.empty()) return kernel::Records::open(file);
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return kernel::Records::in_memory(kNoFolder);
  return kernel::Records::open_if_possible(folder / kFile);
}

Result<kernel::Records> open_known_records(const std::string& file) {
  std::error_code error;
  if (!file.empty() && !std::filesystem::exists(file, error))
    return invalid(file, "a file of records expected, found: {}", error ? error.message() : "none");
  return open_records(file);
}

std::string tuned_here() {
  const auto records = open_records("");
  if (!records.ok()) return "";
  Hasher hasher;
  for (const auto weights : {Weights::kInMemory, Weights::kInCache}) {
    const auto best =
        records->list_best({.generator = kernel::generator_version(), .maker = tune::maker_of("tuned", weights)});
    if (!best.ok()) return "";
    for (const kernel::Record& record : *best)
      hasher.add(record.key.task.hex()).add(record.key.target).add(record.trace);
  }
  return hasher.finish().hex();
}

Result<kernel::Records> open_records_to_keep(const std::string& file) {
  if (!file.empty()) return open_to_write(file);
  const auto is_lost = [](const std::string& why) {
    return unsupported("records", "a file that can be written expected, or what is found is lost: {}", why);
  };
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return is_lost(kNoFolder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  auto records = open_to_write(folder / kFile);
  if (!records.ok()) return is_lost(records.error().message());
  return records;
}

}  // namespace isomer
