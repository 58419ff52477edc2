#include "cli/open_records.h"

#include <cstdlib>

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

/// Empty where this user has no place for caches. A relative XDG_CACHE_HOME says nothing, as its specification has it.
fs::path users_records() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache && fs::path(cache).is_absolute()) return fs::path(cache) / "isomer" / "records.sqlite";
  const char* const home = std::getenv("HOME");
  return home && fs::path(home).is_absolute() ? fs::path(home) / ".cache" / "isomer" / "records.sqlite" : fs::path();
}

}  // namespace

void add_records_option(CLI::App& app, std::string& file) {
  app.add_option("--records", file,
                 "Where measured times are kept; isomer/records.sqlite in the user's cache unless given");
}

Result<kernel::Records> open_records(const std::string& file) {
  if (!file.empty()) return kernel::Records::open(file);
  const fs::path path = users_records();
  return path.empty() ? kernel::Records::in_memory() : kernel::Records::open_if_possible(path);
}

}  // namespace isomer::cli
