#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "graph/te/parser.h"
#include "substitutions/derivation.h"
#include "substitutions/rules_file.h"

namespace isomer::substitutions {
namespace {

constexpr std::string_view kTitle = "isomer proof 1";
constexpr std::string_view kBetween = " ; ";

std::string print_step(const Step& step) {
  std::vector<std::string> names;
  for (const auto& [name, value] : step.tensors) names.push_back(fmt::format("{}=%{}", name, value));
  for (std::string& part : binding_parts(step.names)) names.push_back(std::move(part));
  return fmt::format("{}\t{}\t%{}\t{}", step.rule, step.is_forward ? "->" : "<-", fmt::join(step.roots, ",%"),
                     fmt::join(names, kBetween));
}

std::string print(const Derivation& derivation, std::span<const verify::StatedAxiom> axioms) {
  std::string result = fmt::format("{}\nlaws {}\ninput {}\noutput {}\n", kTitle, laws_hash(axioms),
                                   derivation.input.hex(), derivation.output.hex());
  result += fmt::format("level {}\nfp {}\n", derivation.level, name(derivation.fp));
  for (const std::string& pass : derivation.without) result += fmt::format("without {}\n", te::quoted(pass));
  if (derivation.keep_composites) result += "keep composites\n";
  for (const auto& [name, value] : derivation.dims) result += fmt::format("dim {}={}\n", te::quoted(name), value);
  for (const auto& [name, dims] : derivation.shapes)
    result += fmt::format("shape {}=[{}]\n", te::quoted(name), fmt::join(dims, ","));
  result += "rules\n";
  for (const Rule& rule : derivation.rules) {
    result += print_rule(rule) + "\n";
    for (const verify::LawUse& use : rule.proof.uses) result += fmt::format("\t{}\n", print_use(use, axioms));
  }
  result += "steps\n";
  for (const Step& step : derivation.steps) result += print_step(step) + "\n";
  return result + "end\n";
}

/// At separators that stand in no quotes.
std::vector<std::string_view> split(std::string_view text, std::string_view between) {
  std::vector<std::string_view> result;
  bool is_quoted = false;
  size_t first = 0;
  for (size_t k = 0; k < text.size();) {
    if (!is_quoted && text.substr(k).starts_with(between)) {
      result.push_back(text.substr(first, k - first));
      first = k += between.size();
      continue;
    }
    if (text[k] == '"') is_quoted = !is_quoted;
    k += is_quoted && text[k] == '\\' ? 2 : 1;
  }
  result.push_back(text.substr(first));
  return result;
}

Result<int64_t> parse_number(std::string_view text, int64_t most) {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 0 || value > most)
    return invalid("", "a number from 0 to {} expected, '{}' found", most, text);
  return value;
}

/// "%12"
Result<int> parse_value(std::string_view text) {
  if (!text.starts_with('%')) return invalid("", "a value such as %12 expected, '{}' found", text);
  TRY(const int64_t value, parse_number(text.substr(1), std::numeric_limits<int>::max()));
  return static_cast<int>(value);
}

Result<Hash128> parse_hash(std::string_view text) {
  Hash128 result;
  constexpr size_t kHalf = 16;
  const auto half = [&](size_t first, uint64_t& value) {
    const char* begin = text.data() + first;
    const auto parsed = std::from_chars(begin, begin + kHalf, value, 16);
    return parsed.ec == std::errc() && parsed.ptr == begin + kHalf;
  };
  if (text.size() != 2 * kHalf || !half(0, result.high) || !half(kHalf, result.low) || result.hex() != text)
    return invalid("", "32 hexadecimal digits expected, '{}' found", text);
  return result;
}

using RulePlaces = std::map<std::string, size_t, std::less<>>;

Result<Step> parse_step(std::string_view line, const std::vector<Rule>& rules, const RulePlaces& places) {
  const std::vector<std::string_view> fields = split(line, "\t");
  if (fields.size() != 4)
    return invalid("", "rule, direction, roots, names between tabs expected, {} fields found", fields.size());
  Step step;
  step.rule = fields[0];
  const auto place = places.find(step.rule);
  if (place == places.end()) return invalid("", "the name of a rule above expected, '{}' found", step.rule);
  if (fields[1] != "->" && fields[1] != "<-") return invalid("", "-> or <- expected, '{}' found", fields[1]);
  step.is_forward = fields[1] == "->";
  for (const std::string_view root : split(fields[2], ",")) {
    TRY(const int value, parse_value(root));
    step.roots.push_back(value);
  }
  const auto ops = verify::rest_names(sides(rules[place->second].outputs));
  for (const std::string_view part : fields[3].empty() ? std::vector<std::string_view>() : split(fields[3], kBetween)) {
    TRY(const bool is_taken, take_binding(part, ops, step.names));
    if (is_taken) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return invalid("", "name=%… expected, '{}' found", part);
    TRY(const int value, parse_value(part.substr(equals + 1)));
    step.tensors.emplace_back(part.substr(0, equals), value);
  }
  return step;
}

class FileParser {
 public:
  FileParser(std::string_view text, std::span<const verify::StatedAxiom> axioms) : rest_(text), axioms_(axioms) {}

  Result<Derivation> run() {
    auto parsed = parse();
    if (!parsed.ok()) return std::move(parsed).error().within(fmt::format("line {}", number_));
    return std::move(result_);
  }

 private:
  void advance() {
    ++number_;
    const size_t end = rest_.find('\n');
    // What is cut off has no end.
    line_ = end == std::string_view::npos ? std::nullopt : std::optional(rest_.substr(0, end));
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  }

  Error expected(std::string_view what) const {
    return invalid("", "{} expected, {} found", what, line_ ? fmt::format("'{}'", *line_) : "the end");
  }

  Result<void> parse() {
    advance();
    if (line_ != kTitle) return expected(fmt::format("a proof, which begins with '{}',", kTitle));
    TRY(const std::string_view laws, field("laws"));
    if (laws != laws_hash(axioms_))
      return invalid("",
                     "a proof from the laws of this version expected, one from others found; optimize the model again");
    TRY(const std::string_view input, field("input"));
    TRY(result_.input, parse_hash(input));
    TRY(const std::string_view output, field("output"));
    TRY(result_.output, parse_hash(output));
    TRY(const std::string_view level, field("level"));
    TRY(const int64_t number, parse_number(level, 3));
    result_.level = static_cast<int>(number);
    TRY(const std::string_view fp, field("fp"));
    const auto mode = float_mode(fp);
    if (!mode) return invalid("", "strict, reassociate or fast expected, '{}' found", fp);
    result_.fp = *mode;
    for (advance(); line_ && line_->starts_with("without "); advance()) {
      te::Parser parser(line_->substr(8));
      TRY(std::string pass, parser.quoted_text());
      if (!parser.at_end()) return expected("the name of one pass");
      result_.without.push_back(std::move(pass));
    }
    result_.keep_composites = line_ == "keep composites";
    if (result_.keep_composites) advance();
    for (; line_ && (line_->starts_with("dim ") || line_->starts_with("shape ")); advance()) TRY_VOID(binding());
    TRY_VOID(rules());
    TRY_VOID(steps());
    if (!rest_.empty()) return invalid("", "nothing behind 'end' expected, more found");
    return {};
  }

  /// The next line, "name text", without the name.
  Result<std::string_view> field(std::string_view name) {
    advance();
    if (!line_ || !line_->starts_with(name) || line_->substr(name.size(), 1) != " ")
      return expected(fmt::format("'{} …'", name));
    return line_->substr(name.size() + 1);
  }

  Result<void> binding() {
    const bool is_dim = line_->starts_with("dim ");
    te::Parser parser(line_->substr(is_dim ? 4 : 6));
    TRY(const std::string name, parser.quoted_text());
    TRY_VOID(parser.expect("="));
    Dims dims;
    if (!is_dim) TRY_VOID(parser.expect("["));
    while (!parser.at_end() && !parser.at("]")) {
      if (!dims.empty()) TRY_VOID(parser.expect(","));
      TRY(const int size, parser.expect_number());
      dims.push_back(size);
    }
    if (!is_dim) TRY_VOID(parser.expect("]"));
    if (!parser.at_end() || (is_dim && dims.size() != 1)) return expected("one size, or a list of them in brackets,");
    const bool is_new =
        is_dim ? result_.dims.emplace(name, dims[0]).second : result_.shapes.emplace(name, std::move(dims)).second;
    if (!is_new) return invalid("", "each name once expected, '{}' found again", name);
    return {};
  }

  Result<void> rules() {
    if (line_ != "rules") return expected("'rules'");
    const LawNumbers laws = law_numbers(axioms_);
    for (advance(); line_ && line_ != "steps"; advance()) {
      if (line_->starts_with('\t')) {
        if (result_.rules.empty()) return expected("a rule before its proof");
        TRY(verify::LawUse use, parse_use(line_->substr(1), laws, axioms_));
        result_.rules.back().proof.uses.push_back(std::move(use));
        continue;
      }
      TRY(Rule rule, parse_rule(*line_));
      if (!places_.emplace(rule.name, result_.rules.size()).second)
        return invalid("", "each rule once expected, '{}' found again", rule.name);
      result_.rules.push_back(std::move(rule));
    }
    return {};
  }

  Result<void> steps() {
    if (line_ != "steps") return expected("'steps'");
    for (advance(); line_ && line_ != "end"; advance()) {
      TRY(Step step, parse_step(*line_, result_.rules, places_));
      result_.steps.push_back(std::move(step));
    }
    if (line_ != "end") return expected("'end'");
    return {};
  }

  std::string_view rest_;
  std::optional<std::string_view> line_;
  int number_ = 0;
  std::span<const verify::StatedAxiom> axioms_;
  Derivation result_;
  RulePlaces places_;  ///< in the list, by name
};

}  // namespace

Result<std::string> print_derivation(const Derivation& derivation, std::span<const verify::StatedAxiom> axioms) {
  std::string text = print(derivation, axioms);
  TRY(const Derivation read, parse_derivation(text, axioms));
  if (print(read, axioms) != text) return unsupported("", "steps that a text can say expected, others found");
  return text;
}

Result<Derivation> parse_derivation(std::string_view text, std::span<const verify::StatedAxiom> axioms) {
  return FileParser(text, axioms).run();
}

}  // namespace isomer::substitutions
