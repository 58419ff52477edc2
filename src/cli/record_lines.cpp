#include "cli/record_lines.h"

#include <nlohmann/json.hpp>

namespace isomer::cli {
namespace {

using nlohmann::json;

Result<std::string> text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return invalid("", "a text '{}' expected, none found", key);
  return found->get<std::string>();
}

Result<int64_t> integer_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer())
    return invalid("", "an integer '{}' expected, none found", key);
  return found->get<int64_t>();
}

Result<kernel::Record> parse_record(std::string_view line) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return invalid("", "a JSON object expected, something else found");
  kernel::Record record;
  TRY(const std::string task, text_in(object, "task"));
  const auto hash = kernel::parse_hash(task);
  if (!hash) return invalid("", "a 'task' of 32 hexadecimal digits expected, '{}' found", task);
  record.key.task = *hash;
  TRY(record.key.target, text_in(object, "target"));
  TRY(record.key.generator, text_in(object, "generator"));
  TRY(record.maker, text_in(object, "maker"));
  TRY(record.trace, text_in(object, "trace"));
  TRY(record.name, text_in(object, "name"));
  TRY(record.types, text_in(object, "types"));
  TRY(record.failure, text_in(object, "failure"));
  TRY(record.runs, integer_in(object, "runs"));
  TRY(record.when, integer_in(object, "time"));
  const auto time = object.find("microseconds");
  if (time == object.end() || !(time->is_null() || time->is_number()))
    return invalid("", "a number or null 'microseconds' expected, none found");
  if (time->is_number()) {
    record.microseconds = time->get<double>();
    if (!kernel::is_time(*record.microseconds))
      return invalid("", "'microseconds' above 0 that a kernel may take expected, {} found", *record.microseconds);
  }
  return record;
}

}  // namespace

json to_json(const kernel::Record& record) {
  return {{"task", record.key.task.hex()},
          {"target", record.key.target},
          {"generator", record.key.generator},
          {"maker", record.maker},
          {"name", record.name},
          {"types", record.types},
          {"microseconds", record.microseconds ? json(*record.microseconds) : json(nullptr)},
          {"failure", record.failure},
          {"runs", record.runs},
          {"time", record.when},
          {"trace", record.trace}};
}

Result<std::vector<kernel::Record>> parse_record_lines(std::string_view text) {
  std::vector<kernel::Record> records;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    auto record = parse_record(line);
    if (!record.ok()) return std::move(record).error().within(fmt::format("line {}", number));
    records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace isomer::cli
