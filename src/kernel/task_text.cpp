#include "kernel/task_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "graph/te/program_text.h"
#include "util/hash.h"

namespace isomer::kernel {
namespace {

constexpr std::string_view kMachine = "machine", kOf = "of", kComputes = "computes";
constexpr std::string_view kConstant = "const", kNone = "none";

std::string digest(std::string_view text) { return Hasher().add(text).finish().hex(); }

/// The first line, which the text is then behind.
std::string_view taken_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

Result<Machine> parse_machine(const std::string& line) {
  std::istringstream words(line);
  std::string word, vectors;
  Machine machine;
  words >> word >> vectors >> machine.caches.first >> machine.caches.second >> machine.caches.cycles_of_vector >>
      machine.wide_multiply_adds >> machine.word_parts >> machine.threads >> machine.packing >> machine.micro_tiles;
  const auto* const unit =
      std::ranges::find_if(kVectorUnits, [&](const VectorUnit& each) { return each.name == vectors; });
  if (!words || word != kMachine || unit == kVectorUnits.end())
    return invalid("", "a machine expected, '{}' found", line);
  machine.vectors = *unit;
  return machine;
}

struct ReadInput {
  TaskType type = {DataType::kUndefined, {}};
  bool is_constant = false;
};

Result<ReadInput> parse_input(const std::string& line) {
  ReadInput input;
  if (line == kNone) return input;
  std::istringstream words(line);
  std::string word;
  words >> word;
  input.is_constant = word == kConstant;
  if (input.is_constant) words >> word;
  input.type.dtype = parse_data_type(word);
  for (int64_t size = 0; words >> size;) input.type.shape.emplace_back(size);
  if (input.type.dtype == DataType::kUndefined || !words.eof())
    return invalid("", "an input's type expected, '{}' found", line);
  return input;
}

/// The lines before this one, which the text is then behind.
Result<std::string_view> taken_until(std::string_view& text, std::string_view line) {
  const std::string_view whole = text;
  while (!text.empty())
    if (const size_t before = whole.size() - text.size(); taken_line(text) == line) return whole.substr(0, before);
  return invalid("", "a task with a line '{}' expected, none found", line);
}

}  // namespace

std::string meaning_text(const te::Program& program, const std::vector<TaskType>& inputs,
                         const std::set<int>& constants) {
  std::string text = fmt::format("{}\n", kOf);
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].dtype == DataType::kUndefined) {
      text += fmt::format("{}\n", kNone);
      continue;
    }
    std::vector<std::string> words;
    if (constants.contains(static_cast<int>(k))) words.emplace_back(kConstant);
    words.emplace_back(name(inputs[k].dtype));
    for (const Dim& dim : inputs[k].shape) words.push_back(dim.text());
    text += fmt::format("{}\n", fmt::join(words, " "));
  }
  return fmt::format("{}{}\n{}", text, kComputes, te::print(program));
}

std::string task_text(const Machine& machine, const Schedule& start, std::string_view meaning) {
  const std::string text = fmt::format("{} {} {} {} {} {} {} {} {:d} {:d}\n{}{}", kMachine, machine.vectors.name,
                                       machine.caches.first, machine.caches.second, machine.caches.cycles_of_vector,
                                       machine.wide_multiply_adds, machine.word_parts, machine.threads, machine.packing,
                                       machine.micro_tiles, print(start.trace()), meaning);
  return fmt::format("{}\n{}", digest(text), text);
}

std::string_view meaning_of(std::string_view task_text) {
  std::string_view rest = task_text;
  const auto before = taken_until(rest, kOf);
  return before.ok() ? task_text.substr(before->size()) : std::string_view();
}

Result<ReadTask> parse_task(std::string_view text) {
  const std::string_view digest_text = taken_line(text);
  if (digest_text != digest(text)) return invalid("", "a task with its digest expected, '{}' found", digest_text);
  TRY(const Machine machine, parse_machine(std::string(taken_line(text))));
  TRY(const std::string_view layouts_text, taken_until(text, kOf));
  TRY(const Trace layouts, parse_trace(layouts_text));
  TRY(const std::string_view inputs_text, taken_until(text, kComputes));
  std::vector<TaskType> types;
  std::vector<size_t> constants;
  std::istringstream lines{std::string(inputs_text)};
  for (std::string line; std::getline(lines, line);) {
    TRY(ReadInput input, parse_input(line));
    if (input.is_constant) constants.push_back(types.size());
    types.push_back(std::move(input.type));
  }
  TRY(const te::Program program, te::parse_program(text));
  TRY(Kernel kernel, lower(program, types));
  for (const size_t input : constants)
    if (const int buffer = kernel.inputs[input]; buffer >= 0)
      kernel.buffers[static_cast<size_t>(buffer)].is_constant = true;
  TRY(Schedule start, replay(layouts, std::move(kernel)));
  return ReadTask{machine, std::move(start)};
}

}  // namespace isomer::kernel
