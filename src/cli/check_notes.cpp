#include "cli/check_notes.h"

namespace isomer::cli {

void warn_of_what_was_set_aside(const CommonOptions& options, const Equivalence& result) {
  for (const std::string& warning : result.warnings()) note(options, "isomer: {}", printable(warning, kMostOfLine));
}

}  // namespace isomer::cli
