#include "search/code/given_schedule.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "util/parse_number.h"

namespace isomer::search {
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

Result<kernel::Scheduled> fill_in(const std::vector<kernel::Decision>& given, const kernel::Schedule& laid_out,
                                  const kernel::Space& space, const kernel::Machine& machine) {
  std::map<std::string, int64_t> values;
  for (const kernel::Decision& decision : given)
    if (!values.emplace(decision.name, decision.value).second)
      return invalid(decision.name, "one decision expected, two found");
  kernel::Preferring preferring;
  kernel::Given decider(std::move(values), preferring);
  kernel::Scheduled made = scheduled(laid_out, space, machine, decider);
  TRY_VOID(check_decisions(given, made.choices));
  return made;
}

}  // namespace

Result<size_t> find_task(const std::string& text, const std::vector<std::string>& names) {
  if (const auto number = parse_number<size_t>(text); number && *number < names.size()) return *number;
  const auto count = std::count(names.begin(), names.end(), text);
  if (count == 1) return static_cast<size_t>(std::find(names.begin(), names.end(), text) - names.begin());
  if (count > 1)
    return Error{ErrorKind::kUsage, "", fmt::format("the number of a task expected, {} are called '{}'", count, text)};
  return Error{ErrorKind::kUsage, "",
               fmt::format("a task's name or a number below {} expected, '{}' found", names.size(), text)};
}

bool is_half_open(const kernel::Template& schedule, const kernel::Schedule& laid_out) {
  if (!schedule.knobs.empty() || (schedule.decisions.empty() && !schedule.has_defaults)) return false;
  const auto trace = instance(schedule, {});
  return trace.ok() && (trace->instructions.empty() || trace->instructions == laid_out.trace().instructions);
}

tune::OwnSpace space_of(const kernel::Template& schedule, const kernel::Space& space, std::string_view name) {
  const bool is_plain = name.empty() || !schedule.has_defaults;
  return {fmt::format("template {}{}{}", hash(schedule).hex(), is_plain ? "" : " of ", is_plain ? "" : name),
          kernel::space_of(schedule, space)};
}

Result<kernel::Scheduled> make_given(const GivenSchedule& given, const kernel::Schedule& laid_out,
                                     const kernel::Space& space, const kernel::Machine& machine) {
  const auto make = [&]() -> Result<kernel::Scheduled> {
    const kernel::Template& wanted = given.schedule;
    if (is_half_open(wanted, laid_out)) return fill_in(wanted.decisions, laid_out, space, machine);
    TRY(const kernel::Trace trace, instance(wanted, preferred_values(wanted)));
    TRY_VOID(check_layouts(trace, laid_out.trace()));
    kernel::Schedule schedule = laid_out;
    TRY_VOID(kernel::replay(std::span(trace.instructions).subspan(laid_out.trace().instructions.size()), schedule));
    schedule.decide(trace.decisions);
    if (!wanted.is_open()) return kernel::Scheduled{std::move(schedule), {}};
    return fill_in(wanted.decisions, laid_out, kernel::space_of(wanted, space), machine);
  };
  auto made = make();
  if (!made.ok()) return std::move(made).error().within(given.source);
  return made;
}

}  // namespace isomer::search
