#include "driver/open_records.h"

#include <filesystem>

#include "util/subprocess.h"

namespace isomer {

Result<kernel::Records> open_records(const std::string& file) {
  if (!file.empty()) return kernel::Records::open(file);
  const std::filesystem::path folder = cache_folder();
  if (folder.empty())
    return kernel::Records::in_memory("a folder for a cache expected, neither XDG_CACHE_HOME nor HOME names one");
  return kernel::Records::open_if_possible(folder / "records.sqlite");
}

}  // namespace isomer
