#include "kernel/space/template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "util/parse_number.h"
#include "util/split.h"

namespace isomer::kernel {
namespace {

constexpr std::string_view kDefaults = "defaults()";
constexpr char kValueOf = '?';

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), is_of_name);
}

std::string_view without_blanks(std::string_view text) { return code_of_line(text); }

/// The names of knobs in a line, with what stands before each: "split(k0, [-1, ?rows])" is {"split(k0, [-1, ", "rows"},
/// and what follows the last.
struct Pieces {
  std::vector<std::pair<std::string_view, std::string_view>> knobs;
  std::string_view rest;
};

Pieces pieces_of(std::string_view text) {
  Pieces result;
  for (size_t at; (at = text.find(kValueOf)) != std::string_view::npos;) {
    const std::string_view behind = text.substr(at + 1);
    const auto end = static_cast<size_t>(std::find_if_not(behind.begin(), behind.end(), is_of_name) - behind.begin());
    result.knobs.emplace_back(text.substr(0, at), behind.substr(0, end));
    text = behind.substr(end);
  }
  result.rest = text;
  return result;
}

std::string with_values(std::string_view text, const KnobValues& values) {
  const Pieces pieces = pieces_of(text);
  std::string result;
  for (const auto& [before, knob] : pieces.knobs) result += fmt::format("{}{}", before, values.at(std::string(knob)));
  return result.append(pieces.rest);
}

class TemplateParser {
 public:
  Result<Template> parse(std::string_view text) {
    int number = 0;
    for (const std::string_view line : split(text, "\n")) {
      ++number;
      const std::string_view code = code_of_line(line);
      if (code.empty()) continue;
      if (auto read = read_line(code, number); !read.ok())
        return std::move(read).error().within(fmt::format("line {}", number));
    }
    TRY_VOID(check_knobs());
    TRY_VOID(check_lines());
    TRY_VOID(fix_knobs());
    return std::move(made_);
  }

 private:
  Result<void> read_line(std::string_view code, int number) {
    if (made_.has_defaults && code.find(" := ") == std::string_view::npos)
      return invalid("", "{} as the last line expected, '{}' found behind it", kDefaults, code.substr(0, 40));
    if (code == kDefaults) {
      made_.has_defaults = true;
      return {};
    }
    if (const size_t sign = code.find(" := "); sign != std::string_view::npos)
      return read_choice(code.substr(0, sign), without_blanks(code.substr(sign + 4)), number);
    Template::Line line{std::string(code), std::nullopt, {number}};
    const size_t end = std::min(code.rfind(')'), code.size() - 1) + 1;
    if (const std::string_view behind = without_blanks(code.substr(end)); behind.starts_with("if ")) {
      TRY(line.condition, condition_of(without_blanks(behind.substr(3))));
      line.text = std::string(code.substr(0, end));
    }
    made_.lines.push_back(std::move(line));
    return {};
  }

  /// "8", or "8 in [4, 8, 16]" of a knob.
  Result<void> read_choice(std::string_view name, std::string_view value, int number) {
    const size_t in = value.find(" in ");
    const auto preferred = parse_number<int64_t>(without_blanks(value.substr(0, in)));
    if (!preferred) return invalid("", "an integer behind ':=' expected, '{}' found", value.substr(0, 40));
    if (in == std::string_view::npos) {
      made_.decisions.push_back({std::string(name), *preferred});
      lines_of_decisions_.push_back(number);
      return {};
    }
    Choice knob{std::string(name), {}, *preferred};
    if (!is_name(name)) return invalid("", "a knob's name of letters, digits and '_' expected, '{}' found", name);
    if (!lines_of_knobs_.try_emplace(knob.name, number).second)
      return invalid(knob.name, "a name that no other knob has expected");
    const std::string_view list = without_blanks(value.substr(in + 4));
    const auto candidates = parse_instruction(fmt::format("in({})", list));
    const auto* integers = candidates.ok() && candidates->arguments.size() == 1
                               ? std::get_if<Integers>(&candidates->arguments[0])
                               : nullptr;
    if (!integers || integers->empty())
      return invalid(knob.name, "candidates like [4, 8] expected, '{}' found", list.substr(0, 40));
    knob.candidates = *integers;
    if (std::set(integers->begin(), integers->end()).size() != integers->size())
      return invalid(knob.name, "candidates that differ expected, [{}] found", fmt::join(*integers, ", "));
    if (!knob.has(*preferred))
      return invalid(knob.name, "what is preferred among the candidates [{}] expected, {} found",
                     fmt::join(*integers, ", "), *preferred);
    made_.knobs.push_back(std::move(knob));
    return {};
  }

  /// "?unrolled = 1"
  static Result<std::optional<Decision>> condition_of(std::string_view text) {
    const size_t equals = std::min(text.find('='), text.size());
    const std::string_view knob = without_blanks(text.substr(0, equals));
    const auto value =
        equals < text.size() ? parse_number<int64_t>(without_blanks(text.substr(equals + 1))) : std::nullopt;
    if (!value || !knob.starts_with(kValueOf) || !is_name(knob.substr(1)))
      return invalid("", "a condition like '?knob = 1' behind 'if' expected, '{}' found", text.substr(0, 40));
    return std::optional(Decision{std::string(knob.substr(1)), *value});
  }

  /// Whether every knob that is used is there, and each that is there is used.
  Result<void> check_knobs() const {
    std::set<std::string_view> used;
    const auto use = [&](std::string_view name) -> Result<void> {
      used.insert(name);
      if (lines_of_knobs_.contains(std::string(name))) return {};
      std::vector<std::string> names;
      for (const Choice& knob : made_.knobs) names.push_back(knob.name);
      return invalid("", "a knob expected behind '{}', of {}, '{}' found", kValueOf,
                     names.empty() ? "which there is none" : fmt::format("{}", fmt::join(names, ", ")), name);
    };
    const auto use_all = [&](const Template::Line& line) -> Result<void> {
      for (const auto& [before, name] : pieces_of(line.text).knobs) TRY_VOID(use(name));
      if (!line.condition) return {};
      TRY_VOID(use(line.condition->name));
      return check_value(*knob_of(line.condition->name), line.condition->value);
    };
    for (const Template::Line& line : made_.lines)
      if (auto known = use_all(line); !known.ok())
        return std::move(known).error().within(fmt::format("line {}", line.number.number));
    for (const auto& [name, line] : lines_of_knobs_)
      if (!used.contains(name)) return invalid(fmt::format("line {}", line), "a line that uses '?{}' expected", name);
    return {};
  }

  /// Those of no use yet, too.
  Result<void> check_lines() const {
    const KnobValues values = preferred_values(made_);
    for (const Template::Line& line : made_.lines) {
      const std::string place = fmt::format("line {}", line.number.number);
      const auto instruction = parse_instruction(with_values(line.text, values));
      if (!instruction.ok()) return Error(instruction.error()).within(place);
      if (!is_primitive(instruction->primitive))
        return invalid(place, "{}: the name of a primitive expected", instruction->primitive);
    }
    return {};
  }

  /// Knobs that are decided have nothing left to choose.
  Result<void> fix_knobs() {
    std::vector<Decision> others;
    for (size_t k = 0; k < made_.decisions.size(); ++k) {
      const Decision& decision = made_.decisions[k];
      Choice* const knob = knob_of(decision.name);
      if (!knob) {
        others.push_back(decision);
        continue;
      }
      if (auto known = check_value(*knob, decision.value); !known.ok())
        return std::move(known).error().within(fmt::format("line {}", lines_of_decisions_[k]));
      knob->candidates = {decision.value};
      knob->preferred = decision.value;
    }
    made_.decisions = std::move(others);
    return {};
  }

  static Result<void> check_value(const Choice& knob, int64_t value) {
    if (knob.has(value)) return {};
    return invalid(knob.name, "one of its candidates [{}] expected, {} found", fmt::join(knob.candidates, ", "), value);
  }

  const Choice* knob_of(std::string_view name) const {
    const auto found =
        std::find_if(made_.knobs.begin(), made_.knobs.end(), [&](const Choice& each) { return each.name == name; });
    return found != made_.knobs.end() ? &*found : nullptr;
  }
  Choice* knob_of(std::string_view name) { return const_cast<Choice*>(std::as_const(*this).knob_of(name)); }

  Template made_;
  std::map<std::string, int> lines_of_knobs_;
  std::vector<int> lines_of_decisions_;
};

/// On top of the layouts that the graph gave, with which the template begins.
Result<Schedule> with(const Template& schedule, const KnobValues& values, const Schedule& laid_out) {
  TRY(const Trace trace, instance(schedule, values));
  const auto& layouts = laid_out.trace().instructions;
  const bool begins_with_them = trace.instructions.size() >= layouts.size() &&
                                std::equal(layouts.begin(), layouts.end(), trace.instructions.begin());
  const auto rest = std::span(trace.instructions).subspan(begins_with_them ? layouts.size() : 0);
  if (!begins_with_them ||
      std::any_of(rest.begin(), rest.end(), [](const Instruction& each) { return each.primitive == "set_layout"; }))
    return invalid("set_layout", "the layouts that the graph gives to this task expected, others found");
  Schedule result = laid_out;
  TRY_VOID(replay(rest, result));
  return result;
}

void make(const Template& schedule, Builder& builder) {
  const Schedule laid_out = builder.schedule;
  KnobValues values;
  for (const Choice& knob : schedule.knobs) values[knob.name] = builder.decide(knob);
  auto made = with(schedule, values, laid_out);
  if (!made.ok()) {
    for (const Choice& knob : schedule.knobs) builder.prefer(knob.name);
    made = with(schedule, preferred_values(schedule), laid_out);
  }
  if (made.ok()) builder.schedule = *std::move(made);
}

}  // namespace

KnobValues preferred_values(const Template& schedule) {
  KnobValues values;
  for (const Choice& knob : schedule.knobs) values[knob.name] = knob.preferred;
  return values;
}

std::string print(const Template& schedule) {
  std::string result;
  for (const Choice& knob : schedule.knobs)
    result += fmt::format("{} := {} in [{}]\n", knob.name, knob.preferred, fmt::join(knob.candidates, ", "));
  for (const Template::Line& line : schedule.lines) {
    result += line.text;
    if (line.condition) result += fmt::format(" if {}{} = {}", kValueOf, line.condition->name, line.condition->value);
    result += '\n';
  }
  for (const Decision& each : schedule.decisions) result += fmt::format("{} := {}\n", each.name, each.value);
  if (schedule.has_defaults) result += fmt::format("{}\n", kDefaults);
  return result;
}

Result<Template> parse_template(std::string_view text) { return TemplateParser().parse(text); }

Hash128 hash(const Template& schedule) { return Hasher().add(std::string_view(print(schedule))).finish(); }

Result<Trace> instance(const Template& schedule, const KnobValues& values) {
  Trace trace;
  trace.decisions = schedule.decisions;
  for (const Template::Line& line : schedule.lines) {
    if (line.condition && values.at(line.condition->name) != line.condition->value) continue;
    auto instruction = parse_instruction(with_values(line.text, values));
    if (!instruction.ok()) return std::move(instruction).error().within(fmt::format("line {}", line.number.number));
    instruction->line = line.number;
    trace.instructions.push_back(std::move(*instruction));
  }
  return trace;
}

Space space_of(const Template& schedule, const Space& defaults) {
  const auto shared = std::make_shared<const Template>(schedule);
  Space space = {{false, {}, [shared](Builder& builder) { make(*shared, builder); }}};
  if (schedule.has_defaults) space.insert(space.end(), defaults.begin(), defaults.end());
  return space;
}

}  // namespace isomer::kernel
