// isomer records: measured times of tasks, as commands leave them.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/distinct_files.h"
#include "cli/record_lines.h"
#include "cli/search_options.h"
#include "driver/open_records.h"
#include "kernel/fingerprint.h"
#include "util/file.h"
#include "util/output_file.h"

namespace isomer::cli {
namespace {

using kernel::Record;
using kernel::Records;
using nlohmann::json;

struct RecordsOptions : CommonOptions {
  std::string records;
  std::string task, target;        ///< to list
  std::string output;              ///< of export; empty: standard output
  std::vector<std::string> files;  ///< to import
  int64_t keep = 10;               ///< of a task, in prune
};

kernel::RecordFilter filter_of(const RecordsOptions& options) {
  kernel::RecordFilter filter;
  filter.task = kernel::parse_hash(options.task);
  if (!options.target.empty()) filter.target = options.target;
  return filter;
}

void print_records(const std::vector<Record>& records, const RecordsOptions& options) {
  if (options.json) {
    json list = json::array();
    for (const Record& record : records) list.push_back(to_json(record));
    fmt::print("{}\n", json_text({{"records", list}}));
    return;
  }
  for (const Record& record : records) {
    const std::string time = record.microseconds ? fmt::format("{:.1f} us", *record.microseconds) : "failed";
    fmt::print("{}  {:>12}  {}  {}  {} ({}, {}){}\n", record.key.task.hex(), time, printable(record.name),
               printable(record.types), printable(record.maker), printable(record.key.target),
               printable(record.key.generator), record.microseconds ? "" : ": " + printable(record.failure));
  }
}

Result<void> list_all(Records& records, const RecordsOptions& options) {
  TRY(const auto found, records.list(filter_of(options)));
  print_records(found, options);
  return {};
}

/// With their schedules, where one task is asked about.
Result<void> list_best(Records& records, const RecordsOptions& options) {
  const kernel::RecordFilter filter = filter_of(options);
  TRY(const auto found, records.list_best(filter));
  if (options.json || !filter.task) {
    print_records(found, options);
    return {};
  }
  for (const Record& record : found) {
    print_records({record}, options);
    std::istringstream lines(record.trace);
    for (std::string line; std::getline(lines, line);) fmt::print("    {}\n", printable(line));
  }
  return {};
}

Result<void> export_all(Records& records, const RecordsOptions& options) {
  TRY(const auto found, records.list({}));
  if (options.output.empty() && options.json) {
    print_records(found, options);
    return {};
  }
  std::string text;
  for (const Record& record : found) text += json_text(to_json(record)) + "\n";
  if (options.output.empty()) {
    fmt::print("{}", text);
    return {};
  }
  // What could not be read must not replace what was exported before.
  if (const std::string problem = records.problem(); !problem.empty())
    return unsupported("records", "a file that can be read expected, nothing is exported: {}", problem);
  TRY(OutputFile file, OutputFile::create(options.output));
  TRY_VOID(file.write(text));
  TRY_VOID(print_results([&] {
    if (options.json) fmt::print("{}\n", json_text({{"exported", found.size()}}));
  }));
  return file.commit();
}

/// Whoever changes records wants that kept.
Result<void> check_kept(const Records& records) {
  if (const std::string problem = records.problem(); !problem.empty())
    return unsupported("records", "a file that can be written expected, nothing is kept: {}", problem);
  return {};
}

Result<void> import_files(Records& records, const RecordsOptions& options) {
  std::vector<Record> all;
  for (const std::string& name : options.files) {
    const auto in_file = [&](Error error) { return std::move(error).within(name); };
    auto file = MappedFile::open(name);
    if (!file.ok()) return in_file(std::move(file).error());
    const auto bytes = (*file)->bytes();
    auto read = parse_record_lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!read.ok()) return in_file(std::move(read).error());
    std::ranges::move(*read, std::back_inserter(all));
  }
  // All or none, of several files too.
  TRY_VOID(records.add(all));
  const size_t count = all.size();
  TRY_VOID(check_kept(records));
  if (options.json)
    fmt::print("{}\n", json_text({{"imported", count}}));
  else if (!options.quiet)
    fmt::print("{} records read\n", count);
  return {};
}

Result<void> prune(Records& records, const RecordsOptions& options) {
  TRY(const int64_t removed, records.prune(options.keep, kernel::generator_version()));
  TRY_VOID(check_kept(records));
  if (options.json)
    fmt::print("{}\n", json_text({{"removed", removed}}));
  else if (!options.quiet)
    fmt::print("{} records removed\n", removed);
  return {};
}

Result<void> run(const RecordsOptions& options, Result<void> (*work)(Records&, const RecordsOptions&)) {
  TRY_VOID(check_distinct({{"--records", options.records}}, {{"--output", options.output}}));
  TRY(Records records, work == import_files ? open_records(options.records) : open_known_records(options.records));
  TRY_VOID(work(records, options));
  if (const std::string problem = records.problem(); !problem.empty())
    note(options, "{}; nothing is kept", printable(problem, kMostOfLine));
  return {};
}

}  // namespace

void add_records(CLI::App& app, int& exit) {
  CLI::App* group = app.add_subcommand("records", "Measured times of tasks: what commands with --records keep");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, Result<void> (*work)(Records&, const RecordsOptions&)) {
    auto options = std::make_shared<RecordsOptions>();
    CLI::App* command = group->add_subcommand(name, what);
    add_records_option(*command, options->records);
    options->add_general_to(*command);
    command->callback([options, work, &exit] {
      const auto done = run(*options, work);
      exit = done.ok() ? kDone : report(done.error());
    });
    return std::pair(command, options);
  };
  for (const auto& [command, options] : {add("list", "Every record", list_all),
                                         add("best", "The fastest of each task, target and version", list_best)}) {
    command->add_option("--task", options->task, "Only of this task, by its hash")->check([](const std::string& text) {
      return kernel::parse_hash(text) ? std::string() : "32 hexadecimal digits expected, '" + text + "' found";
    });
    command->add_option("--target", options->target, "Only of this target, as records call it");
  }
  const auto [exporting, exported] = add("export", "All as JSON, one a line", export_all);
  exporting->add_option("-o,--output", exported->output, "A file instead of standard output");
  const auto [importing, imported] =
      add("import", "Take up what export wrote; of two equal ones the newer stays", import_files);
  importing->add_option("FILE", imported->files, "Exported records")->required();
  const auto [pruning, pruned] =
      add("prune", "Remove what other versions measured, and all but the fastest schedules of a task", prune);
  pruning->add_option("--keep", pruned->keep, "Schedules of a task that stay, of each way to choose them")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

}  // namespace isomer::cli
