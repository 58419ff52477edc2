// `--report FILE` of commands: facts as JSON, or as a page to look at.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "util/output_file.h"

namespace isomer::cli {

/// Nothing for no path. Errors: a file can't be made there, which is known before hours of work.
Result<std::optional<OutputFile>> file_for(const std::string& path);
/// The file has its name once it is committed.
Result<void> write(std::string_view text, std::optional<OutputFile>& file);
/// Whether a report is asked for as a page.
bool is_page(const std::string& path);
/// Of what was measured of models: a page, or JSON. The file has its name once it is committed.
Result<void> write_measured(const std::string& path, const std::vector<std::string>& models,
                            const nlohmann::json& facts, std::optional<OutputFile>& file);

inline constexpr const char* kReportHelp = "Write what was found: as JSON, or, to FILE.html, as a page to look at";

}  // namespace isomer::cli
