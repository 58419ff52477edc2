#include "util/version.h"

#include <fmt/format.h>

#include "isomer_version.h"

namespace isomer {

std::string git_revision() { return ISOMER_GIT_REVISION; }
std::string version_text() { return fmt::format("isomer {} (git {})", ISOMER_VERSION, git_revision()); }

}  // namespace isomer
