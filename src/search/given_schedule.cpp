#include "search/given_schedule.h"

#include <fmt/ranges.h>

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

/// Whether nothing but decisions is given.
bool is_half_open(const kernel::Trace& given, const kernel::Trace& laid_out) {
  return !given.decisions.empty() && (given.instructions.empty() || given.instructions == laid_out.instructions);
}

/// Whether the schedule came to each of these choices, and could be made so.
Result<void> check_decisions(const std::vector<kernel::Decision>& given,
                             const std::vector<kernel::Builder::Made>& choices) {
  std::vector<std::string> names;
  for (const auto& made : choices) names.push_back(made.choice.name);
  for (const kernel::Decision& decision : given) {
    const auto made = std::find_if(choices.begin(), choices.end(),
                                   [&](const auto& each) { return each.choice.name == decision.name; });
    if (made == choices.end())
      return invalid(decision.name, "a choice that this schedule comes to expected, it comes to {}",
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    if (made->value != decision.value)
      return invalid(decision.name, "one of {} expected, {} found", fmt::join(made->choice.candidates, ", "),
                     decision.value);
  }
  return {};
}

Result<kernel::Scheduled> fill_in(const kernel::Trace& given, const kernel::Schedule& laid_out,
                                  const kernel::Space& space, const kernel::Machine& machine) {
  std::map<std::string, int64_t> values;
  for (const kernel::Decision& decision : given.decisions)
    if (!values.emplace(decision.name, decision.value).second)
      return invalid(decision.name, "one decision expected, two found");
  kernel::Preferring preferring;
  kernel::Given decider(std::move(values), preferring);
  kernel::Scheduled made = scheduled(laid_out, space, machine, decider);
  TRY_VOID(check_decisions(given.decisions, made.choices));
  return made;
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

Result<kernel::Scheduled> make_given(const GivenSchedule& given, kernel::Kernel lowered,
                                     const kernel::Schedule& laid_out, const kernel::Space& space,
                                     const kernel::Machine& machine) {
  const auto make = [&]() -> Result<kernel::Scheduled> {
    if (is_half_open(given.trace, laid_out.trace())) return fill_in(given.trace, laid_out, space, machine);
    TRY_VOID(check_layouts(given.trace, laid_out.trace()));
    TRY(kernel::Schedule schedule, kernel::replay(given.trace, std::move(lowered)));
    return kernel::Scheduled{std::move(schedule), {}};
  };
  auto made = make();
  if (!made.ok()) return std::move(made).error().within(given.source);
  return made;
}

}  // namespace isomer
