// What this build is.
#pragma once

#include <string>

namespace isomer {

std::string version_text();  ///< "isomer 0.1.0 (git 1a2b3c4)"
std::string git_revision();  ///< "unknown" outside a checkout

}  // namespace isomer
