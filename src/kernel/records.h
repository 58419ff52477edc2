// Measured schedules of tasks, kept from run to run: the only door to SQLite. A file takes several processes at once
// and survives their being killed; what it holds may change how fast results come, never what they are. Tests:
// tests/kernel/records_test.cpp
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "util/hash.h"
#include "util/result.h"

namespace isomer::kernel {

/// The inverse of Hash128::hex.
std::optional<Hash128> parse_hash(std::string_view text);

/// Whether a kernel may take so long: days at most, and not so little that a quotient of two times is no number.
bool is_time(double microseconds);

/// What times of one task can be compared by.
struct RecordKey {
  Hash128 task;  ///< what equal tasks share: the loop nest in its layouts and element types, which inputs are constants
  std::string target;     ///< the machine, how many threads, what code may use
  std::string generator;  ///< version of what schedules and makes code
  auto operator<=>(const RecordKey&) const = default;
};

/// A schedule of a task, and what came of it.
struct Record {
  RecordKey key;
  std::string maker;                   ///< who chose the schedule: "default"
  std::string trace;                   ///< its text; one record each of a key's makers and traces
  std::string name;                    ///< of the task, for people: "Conv+Relu"
  std::string types;                   ///< of its inputs and outputs as they lie in memory, for people
  std::optional<double> microseconds;  ///< a time (is_time); nothing: it failed
  std::string failure;                 ///< why
  int64_t runs = 0;                    ///< that the time was chosen from
  int64_t when = 0;                    ///< seconds since 1970
  bool operator==(const Record&) const = default;
};

/// Which records; what is not set is any.
struct RecordFilter {
  std::optional<Hash128> task = {};
  std::optional<std::string> target = {}, generator = {}, maker = {};
};

/// A candidate that a tuner measured: what cost models learn from. As short as may be: there are millions.
struct Trial {
  std::map<std::string, int64_t> decisions;  ///< those that are not preferred, by name
  std::optional<double> microseconds;        ///< nothing: it failed
  bool operator==(const Trial&) const = default;
};

/// Those of one task and maker, from old to new.
struct Trials {
  RecordKey key;
  std::string maker;
  std::string name;  ///< of the task, for people
  std::string text;  ///< of the task and the machine, by which candidates are made again (task_text.h)
  std::vector<Trial> trials;
  bool operator==(const Trials&) const = default;
};

/// May be used by several threads.
class Records {
 public:
  /// `problem`: why there is no file, if there should be one.
  static Records in_memory(std::string problem = {});
  /// A file, made when something is first written. Errors: it is something else, or broken. `before_statement` is
  /// called before each step in the file: tests let others go first there.
  static Result<Records> open(const std::filesystem::path& file, std::function<void()> before_statement = {});
  /// The same for a file that nobody asked for: where it can't be read or written, records are kept in memory from then
  /// on, those that can be read still with them.
  static Records open_if_possible(const std::filesystem::path& file);

  Records(Records&&) noexcept;
  Records& operator=(Records&&) noexcept;
  ~Records();

  /// All or none. When it returns they are safe from this process's end, though not from that of the machine's power. A
  /// record takes the place of an older one of its key, maker and trace, and of one that is newer than now.
  Result<void> add(std::span<const Record> records);
  Result<void> add(const Record& record) { return add({&record, 1}); }

  /// All or none, behind those that are there.
  Result<void> add(const Trials& trials);
  /// The newest `most`, by task.
  Result<std::vector<Trials>> trials(const RecordFilter& filter, int64_t most) const;

  /// The fastest; one that failed where all did.
  Result<std::optional<Record>> best(const RecordKey& key, const std::string& maker) const;
  /// By task, target, generator, then time; failures last.
  Result<std::vector<Record>> list(const RecordFilter& filter) const;
  /// The first of `list` for each key.
  Result<std::vector<Record>> list_best(const RecordFilter& filter) const;

  /// Removes all but the fastest `keep` of each key, what no measurement can have left, and all of other generators
  /// than this one, their trials too; how many records.
  Result<int64_t> prune(int64_t keep, const std::string& generator);

  /// A property of a target that was measured once: "fma_gflops".
  Result<std::optional<double>> constant(const std::string& target, const std::string& name) const;
  Result<void> set_constant(const std::string& target, const std::string& name, double value);

  /// Why records are kept in memory; empty where they aren't, or are meant to be.
  std::string problem() const;

 private:
  class State;
  explicit Records(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace isomer::kernel
