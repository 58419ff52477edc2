// SQLite as records.cpp uses it. Errors are one sentence without the file's name: kInvalid where the file is no
// database or a broken one, kUnsupported where it can't be read or written.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "util/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace isomer::kernel {

/// A statement on its way through its rows. Parameters are bound in the order of the question marks.
class SqlStatement {
 public:
  SqlStatement& bind(const std::string& text);
  SqlStatement& bind(int64_t number);
  SqlStatement& bind(double number);
  SqlStatement& bind_null();

  /// Whether there is another row; then its columns are read in order.
  Result<bool> step();
  /// Of a text or of bytes.
  std::string text();
  int64_t integer();
  /// Nothing where the column holds no number.
  std::optional<double> real();

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqlStatement(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0, read_ = 0;
};

/// How a file keeps what is being changed.
enum class Journal {
  kWal,       ///< readers and a writer at the same time
  kRollback,  ///< one or the other
};

/// A connection.
class Database {
 public:
  static Database in_memory();
  /// What another one holds.
  static Result<Database> in_memory_of(Database& other);
  /// Made where `may_make`. Others' locks are waited for, some seconds. To be read alone, from a folder where nothing
  /// can be made, it is taken as a file that nobody changes. `before_statement` is called before each statement: tests
  /// let others go first there.
  static Result<Database> open(const std::filesystem::path& file, bool may_make,
                               std::function<void()> before_statement = {});

  Result<SqlStatement> prepare(std::string_view sql);
  /// Statements without parameters and rows.
  Result<void> execute(const char* sql);
  /// The first column of the only row.
  Result<int64_t> number(std::string_view sql);
  /// The journal from now on: kWal, unless the file's place can't have that or others don't let go of the file.
  Result<Journal> use_wal();
  /// Rows that the last statement changed.
  int64_t changes() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, Close> database_;
  std::function<void()> before_statement_;
};

/// Work of one moment, as others see it, that is undone unless it is committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  static Result<Transaction> begin_reading(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;
};

}  // namespace isomer::kernel
