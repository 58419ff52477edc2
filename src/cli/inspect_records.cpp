#include "cli/inspect_records.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/record_lines.h"
#include "kernel/records.h"
#include "util/file.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

void show(const std::vector<kernel::Record>& records, const CommonOptions& options) {
  std::set<std::string> tasks;
  std::map<std::string, int64_t> targets, generators;
  int64_t failed = 0;
  for (const kernel::Record& record : records) {
    tasks.insert(record.key.task.hex());
    ++targets[record.key.target];
    ++generators[record.key.generator];
    failed += record.microseconds ? 0 : 1;
  }
  if (options.json) {
    fmt::print("{}\n", json_text({{"records", records.size()},
                                  {"tasks", tasks.size()},
                                  {"failed", failed},
                                  {"targets", targets},
                                  {"generators", generators}}));
    return;
  }
  fmt::print("{} of {}, {} of them of schedules that failed\n", counted(static_cast<int64_t>(records.size()), "record"),
             counted(static_cast<int64_t>(tasks.size()), "task"), failed);
  for (const auto& [target, count] : targets) fmt::print("{:>10} target {}\n", count, printable(target));
  for (const auto& [generator, count] : generators) fmt::print("{:>10} generator {}\n", count, printable(generator));
}

}  // namespace

Result<void> inspect_records(const std::string& file, const CommonOptions& options) {
  auto records = kernel::Records::open(file);
  if (!records.ok()) return std::move(records).error().within(file);
  const auto found = records->list({});
  if (!found.ok()) return Error(found.error()).within(file);
  show(*found, options);
  return {};
}

Result<void> inspect_record_lines(const std::string& file, const CommonOptions& options) {
  auto mapped = MappedFile::open(file);
  if (!mapped.ok()) return std::move(mapped).error().within(file);
  const auto bytes = (*mapped)->bytes();
  const auto found = parse_record_lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!found.ok()) return Error(found.error()).within(file);
  show(*found, options);
  return {};
}

}  // namespace isomer::cli
