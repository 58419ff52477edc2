#include "cli/open_records.h"

#include "util/subprocess.h"

namespace isomer::cli {

void add_records_option(CLI::App& app, std::string& file) {
  app.add_option("--records", file,
                 "Where measured times are kept; isomer/records.sqlite in the user's cache unless given");
}

Result<kernel::Records> open_records(const std::string& file) {
  if (!file.empty()) return kernel::Records::open(file);
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? kernel::Records::in_memory() : kernel::Records::open_if_possible(folder / "records.sqlite");
}

}  // namespace isomer::cli
