#include "kernel/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "graph/te/expr.h"
#include "util/parse_number.h"

namespace isomer::kernel {
namespace {

using te::Overloaded;

constexpr std::string_view kBlanks = " \t\r";

std::string text(const Arguments& arguments) {
  std::string list;
  for (const Argument& argument : arguments) list += (list.empty() ? "" : ", ") + print(argument);
  return list;
}

/// Reads one line.
class LineParser {
 public:
  explicit LineParser(std::string_view line) : rest_(line) {}

  Result<Instruction> instruction() {
    Instruction result;
    // Results end at " = "; a line without it has none.
    if (const size_t equals = rest_.find(" = "); equals != std::string_view::npos && equals < rest_.find('(')) {
      TRY(result.results, arguments('='));
      skip();
    }
    const size_t open = rest_.find('(');
    if (open == std::string_view::npos) return expected("a primitive with its arguments in parentheses");
    result.primitive = std::string(rest_.substr(0, open));
    rest_.remove_prefix(open + 1);
    TRY(result.arguments, arguments(')'));
    skip();
    return at_end(std::move(result));
  }

  /// Nothing where the line is no decision.
  std::optional<Result<Decision>> decision() {
    const size_t sign = rest_.find(" := ");
    if (sign == std::string_view::npos) return std::nullopt;
    Decision result{std::string(rest_.substr(0, sign)), 0};
    const std::string_view value = rest_.substr(sign + 4);
    const auto number = parse_number<int64_t>(value);
    if (!number)
      return Result<Decision>(invalid("", "an integer behind ':=' expected, '{}' found", value.substr(0, 40)));
    result.value = *number;
    return Result<Decision>(std::move(result));
  }

 private:
  Error expected(std::string_view what) const {
    return invalid("", "{} expected, '{}' found", what, rest_.substr(0, 40));
  }

  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }

  bool accept(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Result<Instruction> at_end(Instruction instruction) {
    skip();
    if (!rest_.empty()) return expected("the end of the line");
    return instruction;
  }

  Result<Arguments> arguments(char end) {
    Arguments list;
    const std::string_view close(&end, 1);
    if (accept(close)) return list;
    do {
      TRY(Argument one, argument());
      list.push_back(std::move(one));
    } while (accept(","));
    if (!accept(close)) return expected(fmt::format("',' or '{}'", end));
    return list;
  }

  Result<Argument> argument() {
    if (accept("[")) {
      Integers values;
      if (accept("]")) return Argument(values);
      do {
        TRY(const Argument one, word());
        if (!std::holds_alternative<int64_t>(one)) return expected("an integer");
        values.push_back(std::get<int64_t>(one));
      } while (accept(","));
      if (!accept("]")) return expected("',' or ']'");
      return Argument(values);
    }
    if (accept("{")) {
      LoopIds loops;
      if (accept("}")) return Argument(loops);
      do {
        TRY(const Argument one, word());
        if (!std::holds_alternative<LoopId>(one)) return expected("a loop");
        loops.push_back(std::get<LoopId>(one));
      } while (accept(","));
      if (!accept("}")) return expected("',' or '}'");
      return Argument(loops);
    }
    return word();
  }

  Result<Argument> word() {
    skip();
    size_t length = 0;
    while (length < rest_.size() && std::string_view(",)]}= \t").find(rest_[length]) == std::string_view::npos)
      ++length;
    if (length == 0) return expected("an argument");
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (const auto value = parse_number<int64_t>(word)) return Argument(*value);
    auto number = parse_number<int64_t>(word.substr(1));
    if (number && (*number < 0 || *number > std::numeric_limits<int>::max())) number.reset();
    if (number && word[0] == 'k') return Argument(LoopId{static_cast<int>(*number)});
    return Argument(std::string(word));
  }

  std::string_view rest_;
};

}  // namespace

std::string print(const Argument& argument) {
  return std::visit(
      Overloaded{[](int64_t value) { return fmt::format("{}", value); }, [](const std::string& name) { return name; },
                 [](LoopId loop) { return fmt::format("k{}", loop.variable); },
                 [](const Integers& values) { return fmt::format("[{}]", fmt::join(values, ", ")); },
                 [](const LoopIds& loops) {
                   std::string list;
                   for (const LoopId loop : loops)
                     list += fmt::format("{}k{}", list.empty() ? "" : ", ", loop.variable);
                   return "{" + list + "}";
                 }},
      argument);
}

namespace {

std::string print(const std::vector<Instruction>& instructions) {
  std::string result;
  for (const Instruction& instruction : instructions) result += print(instruction) + '\n';
  return result;
}

}  // namespace

std::string print(const Instruction& i) {
  const std::string results = i.results.empty() ? "" : text(i.results) + " = ";
  return fmt::format("{}{}({})", results, i.primitive, text(i.arguments));
}

std::string print(const Trace& trace) {
  std::string result = print(trace.instructions);
  for (const Decision& decision : trace.decisions) result += fmt::format("{} := {}\n", decision.name, decision.value);
  return result;
}

Result<Instruction> parse_instruction(std::string_view line) { return LineParser(line).instruction(); }

std::string_view code_of_line(std::string_view line) {
  const std::string_view code = line.substr(0, line.find('#'));
  const size_t first = std::min(code.find_first_not_of(kBlanks), code.size());
  return code.substr(first, code.find_last_not_of(kBlanks) + 1 - first);
}

Result<Trace> parse_trace(std::string_view text) {
  Trace trace;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view code = code_of_line(line);
    if (code.empty()) continue;
    if (auto decision = LineParser(code).decision()) {
      if (!decision->ok()) return std::move(*decision).error().within(fmt::format("line {}", number));
      trace.decisions.push_back(**std::move(decision));
      continue;
    }
    auto instruction = parse_instruction(code);
    if (!instruction.ok()) return std::move(instruction).error().within(fmt::format("line {}", number));
    instruction->line.number = number;
    trace.instructions.push_back(std::move(*instruction));
  }
  return trace;
}

Hash128 hash(const Trace& trace) { return Hasher().add(std::string_view(print(trace.instructions))).finish(); }

}  // namespace isomer::kernel
