#include "kernel/records.h"

#include <charconv>
#include <ctime>
#include <mutex>

#include "kernel/sqlite.h"
#include "util/check.h"
#include "util/parse_number.h"

namespace isomer::kernel {
namespace {

constexpr int64_t kApplication = 0x49736f6d;  // "Isom"
/// Trials of the second version can't be learned from: they don't say of what.
constexpr int64_t kVersion = 3, kFirstVersion = 1;

constexpr const char* kTables = R"(
  CREATE TABLE records (
    task TEXT NOT NULL, target TEXT NOT NULL, generator TEXT NOT NULL, maker TEXT NOT NULL, schedule TEXT NOT NULL,
    trace TEXT NOT NULL, name TEXT NOT NULL, types TEXT NOT NULL, microseconds REAL, failure TEXT NOT NULL,
    runs INTEGER NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (task, target, generator, maker, schedule)) STRICT;
  CREATE TABLE constants (target TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (target, name)) STRICT;
  PRAGMA application_id = 0x49736f6d;
)";

/// A trial's task and the names of its decisions are numbers.
constexpr const char* kTablesOfTrials = R"(
  DROP TABLE IF EXISTS trials;
  DROP TABLE IF EXISTS names;
  DROP TABLE IF EXISTS trial_tasks;
  CREATE TABLE trial_tasks (
    number INTEGER PRIMARY KEY, task TEXT NOT NULL, target TEXT NOT NULL, generator TEXT NOT NULL, maker TEXT NOT NULL,
    name TEXT NOT NULL, text TEXT NOT NULL, UNIQUE (task, target, generator, maker)) STRICT;
  CREATE TABLE names (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE trials (
    of INTEGER NOT NULL REFERENCES trial_tasks (number), decisions TEXT NOT NULL, microseconds REAL) STRICT;
  PRAGMA user_version = 3;
)";

constexpr std::string_view kColumns =
    "task, target, generator, maker, trace, name, types, microseconds, failure, runs, time";
/// Others may have written the file: a time that nobody can have measured is none, and hides none. As is_time has it.
constexpr std::string_view kMakesSense = "(microseconds IS NULL OR microseconds BETWEEN 1e-9 AND 1e12)";
/// Of the records of one key.
constexpr std::string_view kFastestFirst = "microseconds IS NULL, microseconds, time, maker, schedule";

/// The version of the tables, 0 where there are none; an error where the database is one of something else. Asked
/// within a transaction: of two moments it would say that a file which others were making between them is no file of
/// records.
Result<int64_t> version_of(Database& database) {
  TRY(const int64_t application, database.number("PRAGMA application_id"));
  TRY(const int64_t version, database.number("PRAGMA user_version"));
  TRY(const int64_t tables, database.number("SELECT count(*) FROM sqlite_master"));
  if (application == 0 && version == 0 && tables == 0) return 0;
  if (application != kApplication) return invalid("", "a database of records expected, one of something else found");
  if (version < kFirstVersion || version > kVersion)
    return unsupported("", "records of version {} expected, version {} found", kVersion, version);
  return version;
}

/// The version of what there is to read; 0: nothing.
Result<int64_t> set_up_for_reading(Database& database) {
  TRY(Transaction transaction, Transaction::begin_reading(database));
  TRY(const int64_t version, version_of(database));
  TRY_VOID(transaction.commit());
  return version;
}

/// Makes the tables of an empty database, or those that an older one lacks: kVersion. One of something else is not
/// touched.
Result<int64_t> set_up_for_writing(Database& database) {
  TRY(const int64_t version, set_up_for_reading(database));
  if (version < kVersion) {
    TRY(Transaction transaction, Transaction::begin(database));
    // Somebody else may have been faster.
    TRY(const int64_t version_now, version_of(database));
    if (version_now == 0) TRY_VOID(database.execute(kTables));
    if (version_now < kVersion) TRY_VOID(database.execute(kTablesOfTrials));
    TRY_VOID(transaction.commit());
  }
  TRY(const Journal journal, database.use_wal());
  if (journal == Journal::kWal) TRY_VOID(database.execute("PRAGMA synchronous = NORMAL"));
  return kVersion;
}

Database empty_in_memory() {
  Database database = Database::in_memory();
  const auto made = set_up_for_writing(database);
  CHECK(made.ok()) << made.error().message();
  return database;
}

/// Conditions on columns of these names, which `bind` then gives their values.
std::string conditions_of(const RecordFilter& filter) {
  std::string conditions = "1";
  const auto require = [&](const char* column, bool is_set) {
    if (is_set) conditions += fmt::format(" AND {} = ?", column);
  };
  require("task", filter.task.has_value());
  require("target", filter.target.has_value());
  require("generator", filter.generator.has_value());
  require("maker", filter.maker.has_value());
  return conditions;
}

void bind(const RecordFilter& filter, SqlStatement& rows) {
  if (filter.task) rows.bind(filter.task->hex());
  for (const auto* text : {&filter.target, &filter.generator, &filter.maker})
    if (*text) rows.bind(**text);
}

/// Nothing where the row is of no task: others may have written the file.
std::optional<Record> read(SqlStatement& row) {
  Record record;
  const auto task = parse_hash(row.text());
  record.key.target = row.text();
  record.key.generator = row.text();
  record.maker = row.text();
  record.trace = row.text();
  record.name = row.text();
  record.types = row.text();
  record.microseconds = row.real();
  record.failure = row.text();
  record.runs = row.integer();
  record.when = row.integer();
  if (!task) return std::nullopt;
  record.key.task = *task;
  return record;
}

Result<void> write(Database& database, std::span<const Record> records) {
  // Whoever wrote what is yet to come had a wrong clock.
  const auto now = static_cast<int64_t>(std::time(nullptr));
  TRY(Transaction transaction, Transaction::begin(database));
  for (const Record& record : records) {
    TRY(SqlStatement insert, database.prepare(R"(
      INSERT INTO records (task, target, generator, maker, schedule, trace, name, types, microseconds, failure, runs, time)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET name = excluded.name, types = excluded.types, microseconds = excluded.microseconds,
        failure = excluded.failure, runs = excluded.runs, time = excluded.time WHERE excluded.time >= time OR time > ?)"));
    insert.bind(record.key.task.hex()).bind(record.key.target).bind(record.key.generator).bind(record.maker);
    insert.bind(Hasher().add(std::string_view(record.trace)).finish().hex())
        .bind(record.trace)
        .bind(record.name)
        .bind(record.types);
    record.microseconds ? insert.bind(*record.microseconds) : insert.bind_null();
    insert.bind(record.failure).bind(record.runs).bind(record.when).bind(now);
    TRY(const bool row, insert.step());
    CHECK(!row);
  }
  return transaction.commit();
}

Result<std::vector<Record>> select(Database& database, const RecordFilter& filter, std::string_view limit = "") {
  TRY(SqlStatement rows,
      database.prepare(fmt::format("SELECT {} FROM records WHERE {} AND {} ORDER BY task, target, generator, {} {}",
                                   kColumns, conditions_of(filter), kMakesSense, kFastestFirst, limit)));
  bind(filter, rows);
  std::vector<Record> records;
  for (;;) {
    TRY(const bool found, rows.step());
    if (!found) return records;
    if (auto record = read(rows)) records.push_back(*std::move(record));
  }
}

/// The number of a name, which gets one where it has none.
Result<int64_t> number_of(Database& database, const std::string& name) {
  TRY(SqlStatement insert, database.prepare("INSERT INTO names (name) VALUES (?) ON CONFLICT DO NOTHING"));
  TRY_VOID(insert.bind(name).step());
  TRY(SqlStatement select, database.prepare("SELECT number FROM names WHERE name = ?"));
  TRY(const bool found, select.bind(name).step());
  CHECK(found);
  return select.integer();
}

Result<int64_t> number_of(Database& database, const Trials& of) {
  const RecordKey& key = of.key;
  TRY(SqlStatement insert,
      database.prepare("INSERT INTO trial_tasks (task, target, generator, maker, name, text) VALUES (?, ?, ?, ?, ?, ?) "
                       "ON CONFLICT DO UPDATE SET name = excluded.name, text = excluded.text"));
  insert.bind(key.task.hex()).bind(key.target).bind(key.generator).bind(of.maker).bind(of.name).bind(of.text);
  TRY_VOID(insert.step());
  const RecordFilter filter{key.task, key.target, key.generator, of.maker};
  TRY(SqlStatement select,
      database.prepare(fmt::format("SELECT number FROM trial_tasks WHERE {}", conditions_of(filter))));
  bind(filter, select);
  TRY(const bool found, select.step());
  CHECK(found);
  return select.integer();
}

Result<void> write(Database& database, const Trials& trials) {
  TRY(Transaction transaction, Transaction::begin(database));
  TRY(const int64_t task, number_of(database, trials));
  std::map<std::string, int64_t> numbers;  // of names
  for (const Trial& trial : trials.trials) {
    std::string decisions;  // "12=6 7=1"
    for (const auto& [name, value] : trial.decisions) {
      const auto [known, is_new] = numbers.try_emplace(name, 0);
      if (is_new) {
        TRY(known->second, number_of(database, name));
      }
      decisions += fmt::format("{}{}={}", decisions.empty() ? "" : " ", known->second, value);
    }
    TRY(SqlStatement insert, database.prepare("INSERT INTO trials (of, decisions, microseconds) VALUES (?, ?, ?)"));
    insert.bind(task).bind(decisions);
    trial.microseconds ? insert.bind(*trial.microseconds) : insert.bind_null();
    TRY_VOID(insert.step());
  }
  return transaction.commit();
}

Result<std::map<int64_t, std::string>> names_of(Database& database) {
  std::map<int64_t, std::string> names;
  TRY(SqlStatement rows, database.prepare("SELECT number, name FROM names"));
  for (;;) {
    TRY(const bool found, rows.step());
    if (!found) return names;
    const int64_t number = rows.integer();
    names[number] = rows.text();
  }
}

/// Nothing where it makes no sense.
std::optional<std::map<std::string, int64_t>> parse_decisions(std::string_view text,
                                                              const std::map<int64_t, std::string>& names) {
  std::map<std::string, int64_t> result;
  const auto read = [&](int64_t& number, char before) {
    if (before != 0 && (text.empty() || text[0] != before)) return false;
    if (before != 0) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return error == std::errc();
  };
  for (char before = 0; !text.empty(); before = ' ') {
    int64_t number = 0, value = 0;
    if (!read(number, before) || !read(value, '=') || !names.contains(number)) return std::nullopt;
    result[names.at(number)] = value;
  }
  return result;
}

/// Of a file that an older version wrote: none.
Result<std::vector<Trials>> select_trials(Database& database, const RecordFilter& filter, int64_t most) {
  std::vector<Trials> result;
  TRY(const int64_t version, database.number("PRAGMA user_version"));
  if (version < kVersion) return result;
  TRY(const auto names, names_of(database));
  TRY(SqlStatement rows, database.prepare(fmt::format(R"(
    SELECT task, target, generator, maker, name, text, decisions, microseconds FROM (
      SELECT trials.rowid AS place, * FROM trials JOIN trial_tasks ON of = number WHERE {} AND {}
      ORDER BY place DESC LIMIT ?)
    ORDER BY of, place)",
                                                      conditions_of(filter), kMakesSense)));
  bind(filter, rows);
  rows.bind(most);
  for (;;) {
    TRY(const bool found, rows.step());
    if (!found) return result;
    Trials of;
    const auto task = parse_hash(rows.text());
    for (std::string* text : {&of.key.target, &of.key.generator, &of.maker, &of.name, &of.text}) *text = rows.text();
    auto decisions = parse_decisions(rows.text(), names);
    const auto microseconds = rows.real();
    if (!task || !decisions) continue;
    of.key.task = *task;
    if (result.empty() || result.back().key != of.key || result.back().maker != of.maker)
      result.push_back(std::move(of));
    result.back().trials.push_back({*std::move(decisions), microseconds});
  }
}

Result<int64_t> remove_slow(Database& database, int64_t keep, const std::string& generator) {
  TRY(Transaction transaction, Transaction::begin(database));
  TRY(SqlStatement old,
      database.prepare(fmt::format("DELETE FROM records WHERE generator <> ? OR NOT {}", kMakesSense)));
  TRY_VOID(old.bind(generator).step());
  int64_t removed = database.changes();
  TRY(SqlStatement slow, database.prepare(fmt::format(R"(
    DELETE FROM records WHERE rowid IN (SELECT number FROM (
      SELECT rowid AS number, row_number() OVER (PARTITION BY task, target, generator, maker ORDER BY {}) AS place FROM records) WHERE place > ?))",
                                                      kFastestFirst)));
  TRY_VOID(slow.bind(keep).step());
  removed += database.changes();
  TRY(SqlStatement trials,
      database.prepare("DELETE FROM trials WHERE of IN (SELECT number FROM trial_tasks WHERE generator <> ?)"));
  TRY_VOID(trials.bind(generator).step());
  TRY(SqlStatement tasks, database.prepare("DELETE FROM trial_tasks WHERE generator <> ?"));
  TRY_VOID(tasks.bind(generator).step());
  TRY_VOID(transaction.commit());
  return removed;
}

}  // namespace

bool is_time(double microseconds) { return microseconds >= 1e-9 && microseconds <= 1e12; }

class Records::State {
 public:
  enum class Access { kRead, kWrite };

  State(std::filesystem::path file, bool falls_back, std::function<void()> before_statement = {})
      : file_(std::move(file)), falls_back_(falls_back), before_statement_(std::move(before_statement)) {}
  State(Database database, std::string problem)
      : problem_(std::move(problem)), database_(std::move(database)), set_up_for_(Access::kWrite) {}

  /// What `work` makes of the database; of a value `nothing` where there is none to read.
  template <class Work>
  auto use(Access access, const Work& work) -> decltype(work(std::declval<Database&>())) {
    const std::lock_guard lock(mutex_);
    auto done = try_to(access, work);
    if (done.ok()) return done;
    Error error = std::move(done).error().within(file_.string());
    if (!falls_back_) return error;
    problem_ = error.message();
    falls_back_ = false;
    set_up_for_ = Access::kWrite;
    if (auto copy = copy_of_file(error); copy.ok()) {
      database_ = *std::move(copy);
      auto again = work(*database_);
      if (again.ok()) return again;
    }
    database_ = empty_in_memory();
    return work(*database_);
  }
  std::string problem() {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  /// To go on with in memory what is there, where it can be read still: others hold the file, or the disk is full.
  Result<Database> copy_of_file(const Error& error) {
    if (!database_ || error.kind != ErrorKind::kUnsupported) return error;
    TRY(Database copy, Database::in_memory_of(*database_));
    TRY_VOID(set_up_for_writing(copy));
    return copy;
  }

  template <class Work>
  auto try_to(Access access, const Work& work) -> decltype(work(std::declval<Database&>())) {
    if (!set_up_for_ || *set_up_for_ < access) TRY_VOID(set_up(access));
    if (database_) return work(*database_);
    Database empty = empty_in_memory();
    return work(empty);
  }

  /// Reading leaves no connection where there is nothing to read: no file, or one that others are making.
  Result<void> set_up(Access access) {
    std::error_code error;
    if (access == Access::kRead && !std::filesystem::exists(file_, error)) return {};
    if (!database_) TRY_VOID(open(access));
    auto version = access == Access::kWrite ? set_up_for_writing(*database_) : set_up_for_reading(*database_);
    if (version.ok() && *version > 0) set_up_for_ = access;
    if (!set_up_for_) database_.reset();
    return version.ok() ? Result<void>() : std::move(version).error();
  }

  Result<void> open(Access access) {
    std::error_code error;
    if (falls_back_ && access == Access::kWrite) std::filesystem::create_directories(file_.parent_path(), error);
    // SQLite would wait for who writes to a pipe.
    if (std::filesystem::exists(file_, error) && !std::filesystem::is_regular_file(file_, error))
      return invalid("", "a database of records expected, no regular file found");
    TRY(database_, Database::open(file_, access == Access::kWrite, before_statement_));
    return {};
  }

  std::mutex mutex_;
  const std::filesystem::path file_;
  bool falls_back_ = false;
  std::string problem_;
  const std::function<void()> before_statement_;
  std::optional<Database> database_;  ///< nothing: the file has not been needed, or there is nothing to read
  std::optional<Access> set_up_for_;
};

Records::Records(std::unique_ptr<State> state) : state_(std::move(state)) {}
Records::Records(Records&&) noexcept = default;
Records& Records::operator=(Records&&) noexcept = default;
Records::~Records() = default;

Records Records::in_memory(std::string problem) {
  return Records(std::make_unique<State>(empty_in_memory(), std::move(problem)));
}

Result<Records> Records::open(const std::filesystem::path& file, std::function<void()> before_statement) {
  Records records(std::make_unique<State>(file, false, std::move(before_statement)));
  TRY_VOID(records.state_->use(State::Access::kRead,
                               [](Database& database) { return database.number("SELECT count(*) FROM constants"); }));
  return records;
}

Records Records::open_if_possible(const std::filesystem::path& file) {
  return Records(std::make_unique<State>(file, true));
}

Result<void> Records::add(std::span<const Record> records) {
  return state_->use(State::Access::kWrite, [&](Database& database) { return write(database, records); });
}

Result<void> Records::add(const Trials& trials) {
  return state_->use(State::Access::kWrite, [&](Database& database) { return write(database, trials); });
}

Result<std::vector<Trials>> Records::trials(const RecordFilter& filter, int64_t most) const {
  return state_->use(State::Access::kRead, [&](Database& database) { return select_trials(database, filter, most); });
}

Result<std::vector<Record>> Records::list(const RecordFilter& filter) const {
  return state_->use(State::Access::kRead, [&](Database& database) { return select(database, filter); });
}

Result<std::optional<Record>> Records::best(const RecordKey& key, const std::string& maker) const {
  const RecordFilter filter{key.task, key.target, key.generator, maker};
  TRY(auto found,
      state_->use(State::Access::kRead, [&](Database& database) { return select(database, filter, "LIMIT 1"); }));
  return found.empty() ? std::nullopt : std::optional(std::move(found[0]));
}

Result<std::vector<Record>> Records::list_best(const RecordFilter& filter) const {
  TRY(auto all, list(filter));
  std::vector<Record> best;
  for (Record& record : all)
    if (best.empty() || best.back().key != record.key) best.push_back(std::move(record));
  return best;
}

Result<int64_t> Records::prune(int64_t keep, const std::string& generator) {
  return state_->use(State::Access::kWrite, [&](Database& database) { return remove_slow(database, keep, generator); });
}

Result<std::optional<double>> Records::constant(const std::string& target, const std::string& name) const {
  return state_->use(State::Access::kRead, [&](Database& database) -> Result<std::optional<double>> {
    TRY(SqlStatement row, database.prepare("SELECT value FROM constants WHERE target = ? AND name = ?"));
    TRY(const bool found, row.bind(target).bind(name).step());
    return found ? row.real() : std::nullopt;
  });
}

Result<void> Records::set_constant(const std::string& target, const std::string& name, double value) {
  return state_->use(State::Access::kWrite, [&](Database& database) -> Result<void> {
    TRY(SqlStatement insert,
        database.prepare("INSERT OR REPLACE INTO constants (target, name, value) VALUES (?, ?, ?)"));
    TRY_VOID(insert.bind(target).bind(name).bind(value).step());
    return {};
  });
}

std::string Records::problem() const { return state_->problem(); }

std::optional<Hash128> parse_hash(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const auto high = parse_number<uint64_t>(text.substr(0, 16), 16), low = parse_number<uint64_t>(text.substr(16), 16);
  return high && low ? std::optional(Hash128{.low = *low, .high = *high}) : std::nullopt;
}

}  // namespace isomer::kernel
