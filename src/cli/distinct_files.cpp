#include "cli/distinct_files.h"

#include <filesystem>

#include "substitutions/library/rules_file.h"
#include "util/output_file.h"

namespace isomer::cli {

Result<void> check_distinct(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  std::vector<NamedFile> others = read;
  for (const NamedFile& file : written) {
    if (file.path.empty()) continue;
    for (const NamedFile& other : others)
      if (!other.path.empty() && is_same_file(file.path, other.path))
        return Error{ErrorKind::kUsage, std::string(file.option),
                     fmt::format("another file than that of {} expected, '{}' found", other.option, file.path)};
    others.push_back(file);
  }
  return {};
}

std::vector<NamedFile> files_of_inputs(const InputOptions& inputs) {
  namespace fs = std::filesystem;
  constexpr std::string_view kOption = "--load-inputs";
  std::vector<NamedFile> files;
  for (const std::string& argument : inputs.files) {
    std::error_code failed;
    files.push_back({kOption, argument});
    for (fs::directory_iterator file(argument, failed), end; !failed && file != end; file.increment(failed))
      if (file->path().filename().string().starts_with("input_")) files.push_back({kOption, file->path().string()});
    if (fs::exists(argument, failed)) continue;
    // Of name:FILE, in which names may have colons, too.
    for (size_t colon = argument.find(':'); colon != std::string::npos; colon = argument.find(':', colon + 1))
      files.push_back({kOption, argument.substr(colon + 1)});
  }
  return files;
}

std::vector<NamedFile> files_of_rules(const std::vector<std::string>& rules) {
  std::vector<NamedFile> files;
  for (const std::string& stem : rules)
    for (const char* ending : {".rules", ".proofs"})
      files.push_back({"--rules", (substitutions::rules_stem(stem) += ending).string()});
  return files;
}

std::vector<NamedFile> files_of_schedules(const std::vector<std::string>& schedules) {
  std::vector<NamedFile> files;
  for (const std::string& text : schedules) files.push_back({"--schedule", text.substr(text.find('=') + 1)});
  return files;
}

}  // namespace isomer::cli
