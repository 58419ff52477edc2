#include "search/given_schedule.h"

#include <algorithm>
#include <charconv>

namespace isomer {
namespace {

using kernel::Instruction;

std::string line_of(const Instruction& instruction) { return fmt::format("line {}", instruction.line.number); }

Result<void> check_layouts(const kernel::Trace& given, const kernel::Trace& laid_out) {
  const auto &written = given.instructions, &wanted = laid_out.instructions;
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (k < written.size() && written[k] == wanted[k]) continue;
    return invalid(k < written.size() ? line_of(written[k]) : "its end",
                   "'{}' expected, a layout that the graph gives to this task", print(wanted[k]));
  }
  for (size_t k = wanted.size(); k < written.size(); ++k)
    if (written[k].primitive == "set_layout")
      return invalid(line_of(written[k]), "layouts as the graph gives them to this task expected, '{}' found",
                     print(written[k]));
  return {};
}

}  // namespace

Result<size_t> find_task(const std::string& text, const std::vector<std::string>& names) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number < names.size()) return number;
  const auto count = std::count(names.begin(), names.end(), text);
  if (count == 1) return static_cast<size_t>(std::find(names.begin(), names.end(), text) - names.begin());
  if (count > 1)
    return Error{ErrorKind::kUsage, "", fmt::format("the number of a task expected, {} are called '{}'", count, text)};
  return Error{ErrorKind::kUsage, "",
               fmt::format("a task's name or a number below {} expected, '{}' found", names.size(), text)};
}

Result<kernel::Schedule> replay_given(const GivenSchedule& given, kernel::Kernel lowered,
                                      const kernel::Trace& laid_out) {
  if (auto checked = check_layouts(given.trace, laid_out); !checked.ok())
    return std::move(checked).error().within(given.source);
  auto schedule = kernel::replay(given.trace, std::move(lowered));
  if (!schedule.ok()) return std::move(schedule).error().within(given.source);
  return std::move(*schedule);
}

}  // namespace isomer
