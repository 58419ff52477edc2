#include "kernel/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "util/check.h"
#include "util/clock.h"

namespace isomer::kernel {
namespace {

constexpr int kPatienceMs = 20'000;
/// A faster journal is worth waiting for as long as this.
constexpr double kJournalPatience = 2;

/// Whether others hold the file now. SQLITE_PROTOCOL: they did all the time that SQLite tried to join them.
bool is_busy(int code) {
  const int kind = code & 0xff;
  return kind == SQLITE_BUSY || kind == SQLITE_LOCKED || kind == SQLITE_PROTOCOL;
}

Error failure(sqlite3* database, int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB: return invalid("", "a database of records expected, a file of another kind found");
    case SQLITE_CORRUPT:
    case SQLITE_MISMATCH:
    case SQLITE_ERROR:
      return invalid("", "a database of records expected, a broken one found ({})", sqlite3_errmsg(database));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return unsupported("", "a database that others leave in some seconds expected, they hold it");
    case SQLITE_READONLY: return unsupported("", "a database that may be written to expected, it may only be read");
    case SQLITE_FULL: return unsupported("", "room on the disk expected, it is full");
    default:
      return unsupported("", "a database that can be read and written expected, found: {}", sqlite3_errmsg(database));
  }
}

/// Whether SQLite could not make the files that it reads with, and need not: all that was written is in the file
/// itself.
bool is_all_there_is(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) == 0) return false;
  std::error_code error;
  const auto written_ahead = std::filesystem::file_size(file.string() + "-wal", error);
  return error ? error == std::errc::no_such_file_or_directory : written_ahead == 0;
}

/// As SQLite's addresses of files that nobody changes.
std::string immutable(const std::filesystem::path& file) {
  std::string address = "file:";
  for (const char c : file.string()) {
    if (c == '%' || c == '?' || c == '#')
      address += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      address += c;
  }
  return address + "?immutable=1";
}

}  // namespace

void SqlStatement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

SqlStatement& SqlStatement::bind(const std::string& text) {
  sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}
SqlStatement& SqlStatement::bind(int64_t number) {
  sqlite3_bind_int64(statement_.get(), ++bound_, number);
  return *this;
}
SqlStatement& SqlStatement::bind(double number) {
  sqlite3_bind_double(statement_.get(), ++bound_, number);
  return *this;
}
SqlStatement& SqlStatement::bind_null() {
  sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

Result<bool> SqlStatement::step() {
  read_ = 0;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
  return failure(database_, code);
}

std::string SqlStatement::text() {
  const auto* const first = static_cast<const char*>(sqlite3_column_blob(statement_.get(), read_));
  const int size = sqlite3_column_bytes(statement_.get(), read_++);
  return first ? std::string(first, static_cast<size_t>(size)) : std::string();
}
int64_t SqlStatement::integer() { return sqlite3_column_int64(statement_.get(), read_++); }
std::optional<double> SqlStatement::real() {
  const int column = read_++, type = sqlite3_column_type(statement_.get(), column);
  if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

Database Database::in_memory() {
  sqlite3* made = nullptr;
  const int code = sqlite3_open(":memory:", &made);
  Database database(made);
  CHECK(code == SQLITE_OK) << sqlite3_errstr(code);
  return database;
}

Result<Database> Database::in_memory_of(Database& other) {
  Database copy = in_memory();
  sqlite3_backup* const work = sqlite3_backup_init(copy.database_.get(), "main", other.database_.get(), "main");
  if (!work) return failure(copy.database_.get(), sqlite3_errcode(copy.database_.get()));
  const int code = sqlite3_backup_step(work, -1);
  sqlite3_backup_finish(work);
  if (code != SQLITE_DONE) return failure(copy.database_.get(), code);
  return copy;
}

Result<Database> Database::open(const std::filesystem::path& file, bool may_make,
                                std::function<void()> before_statement) {
  sqlite3* made = nullptr;
  // SQLite has meanings of its own for ":memory:", "file:…" and "".
  const std::filesystem::path name = file.is_absolute() ? file : "." / file;
  const int code =
      !may_make && is_all_there_is(file)
          ? sqlite3_open_v2(immutable(file).c_str(), &made, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr)
          : sqlite3_open_v2(name.c_str(), &made, SQLITE_OPEN_READWRITE | (may_make ? SQLITE_OPEN_CREATE : 0), nullptr);
  Database database(made);
  if (code != SQLITE_OK) return failure(made, code);
  sqlite3_busy_timeout(made, kPatienceMs);
  // The file may come from anybody: what it holds is data, and no code that statements run into.
  sqlite3_db_config(made, SQLITE_DBCONFIG_DEFENSIVE, 1, static_cast<int*>(nullptr));
  sqlite3_db_config(made, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, static_cast<int*>(nullptr));
  sqlite3_db_config(made, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, static_cast<int*>(nullptr));
  sqlite3_db_config(made, SQLITE_DBCONFIG_ENABLE_VIEW, 0, static_cast<int*>(nullptr));
  database.before_statement_ = std::move(before_statement);
  return database;
}

Result<SqlStatement> Database::prepare(std::string_view sql) {
  if (before_statement_) before_statement_();
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &made, nullptr);
  if (code != SQLITE_OK) return failure(database_.get(), code);
  return SqlStatement(database_.get(), made);
}

Result<void> Database::execute(const char* sql) {
  if (before_statement_) before_statement_();
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Result<void>() : failure(database_.get(), code);
}

Result<int64_t> Database::number(std::string_view sql) {
  TRY(SqlStatement statement, prepare(sql));
  TRY(const bool found, statement.step());
  return found ? statement.integer() : 0;
}

// While others use the file the journal can't be changed, and SQLite says so at once: it waits for locks only where
// nothing is locked yet.
Result<Journal> Database::use_wal() {
  for (const auto start = Clock::now();; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    TRY(SqlStatement change, prepare("PRAGMA journal_mode = WAL"));
    const int code = sqlite3_step(change.statement_.get());
    if (code == SQLITE_ROW) return change.text() == "wal" ? Journal::kWal : Journal::kRollback;
    if (!is_busy(code)) return failure(database_.get(), code);
    if (seconds_since(start) > kJournalPatience) return Journal::kRollback;
  }
}

int64_t Database::changes() const { return sqlite3_changes64(database_.get()); }

// It takes the lock for writing at once: one that comes later, behind reading, can't be waited for.
Result<Transaction> Transaction::begin(Database& database) {
  TRY_VOID(database.execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Result<Transaction> Transaction::begin_reading(Database& database) {
  TRY_VOID(database.execute("BEGIN"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  // What fails here has been rolled back by SQLite itself.
  if (database_) static_cast<void>(database_->execute("ROLLBACK"));
}

Result<void> Transaction::commit() {
  TRY_VOID(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace isomer::kernel
