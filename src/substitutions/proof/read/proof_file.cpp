#include "substitutions/proof/read/proof_file.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "graph/te/parser.h"
#include "substitutions/proof/read/rule_text.h"
#include "util/file.h"

namespace isomer::substitutions {
namespace {

/// Begins the first line of those of other versions, too.
constexpr std::string_view kTitleOfAny = "isomer proof ";

/// At separators that stand in no quotes.
std::vector<std::string_view> split_unquoted(std::string_view text, std::string_view between) {
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

/// "%3,%4"; nothing of "".
Result<std::vector<int>> parse_values(std::string_view text) {
  std::vector<int> result;
  for (const std::string_view part : text.empty() ? std::vector<std::string_view>() : split_unquoted(text, ",")) {
    TRY(const int value, parse_value(part));
    result.push_back(value);
  }
  return result;
}

/// Of the rule, and its names.
Result<RuleStep> parse_rule_step(std::string_view line, std::string_view rule_name, std::string_view names,
                                 const std::vector<Rule>& rules, const RulePlaces& places) {
  RuleStep step;
  step.rule = rule_name;
  const auto place = places.find(step.rule);
  if (place == places.end()) return invalid("", "the name of a rule above expected, '{}' found", step.rule);
  const auto ops = verify::rest_names(sides(rules[place->second].outputs));
  for (const std::string_view part :
       names.empty() ? std::vector<std::string_view>() : split_unquoted(names, kBetween)) {
    TRY(const bool is_taken, take_binding(line, part, ops, step.names));
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

  Result<ModelProof> run() {
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
    if (line_ && line_->ends_with('\r')) line_->remove_suffix(1);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  }

  Error expected(std::string_view what) const {
    return invalid("", "{} expected, {} found", what, line_ ? fmt::format("'{}'", *line_) : "the end");
  }

  Result<void> parse() {
    advance();
    if (line_ != kProofTitle && line_ && line_->starts_with(kTitleOfAny))
      return invalid("", "'{}' expected, '{}' of another version found; optimize the model again", kProofTitle, *line_);
    if (line_ != kProofTitle) return expected(fmt::format("a proof, which begins with '{}',", kProofTitle));
    TRY(const std::string_view input, field("input"));
    TRY(result_.input, parse_hash(input));
    TRY(const std::string_view output, field("output"));
    TRY(result_.output, parse_hash(output));
    TRY(const std::string_view fp, field("fp"));
    const auto mode = float_mode(fp);
    if (!mode) return invalid("", "strict, reassociate or fast expected, '{}' found", fp);
    result_.fp = *mode;
    for (advance(); line_ && (line_->starts_with("dim ") || line_->starts_with("shape ")); advance())
      TRY_VOID(binding());
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
    const std::string text = at_its_column(*line_, line_->substr(is_dim ? 4 : 6));
    te::Parser parser(text);
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
        TRY(verify::LawUse use, parse_use(*line_, laws, axioms_));
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
    for (advance(); line_ && line_ != "end";) {
      TRY(ProofStep step, this->step());
      result_.steps.push_back(std::move(step));
    }
    if (line_ != "end") return expected("'end'");
    return {};
  }

  /// The one at the line, up to the line of the next.
  Result<ProofStep> step() {
    const std::vector<std::string_view> fields = split_unquoted(*line_, "\t");
    const std::string_view kind = fields[0];
    if (kind == "make" && fields.size() == 1) {
      MakeStep made;
      for (advance(); line_ && line_->starts_with('\t'); advance()) made.graph += fmt::format("{}\n", line_->substr(1));
      return ProofStep(std::move(made));
    }
    std::optional<ProofStep> result;
    if (kind == "output" && fields.size() == 1) result = OutputStep();
    if (kind == "output" && fields.size() == 3) {
      OutputStep output;
      TRY(output.constants, parse_values(fields[1]));
      TRY(output.values, parse_values(fields[2]));
      if (output.constants.size() == output.values.size()) result = std::move(output);
    }
    if (kind == "rule" && fields.size() == 3) {
      TRY(result, parse_rule_step(*line_, fields[1], fields[2], result_.rules, places_));
    }
    if (fields.size() == 2 && (kind == "fold" || kind == "infer" || kind == "expand")) {
      TRY(const int value, parse_value(fields[1]));
      if (kind == "fold") result = FoldStep{value};
      if (kind == "infer") result = InferStep{value};
      if (kind == "expand") result = ExpandStep{value};
    }
    if (kind == "same" && (fields.size() == 4 || fields.size() == 5)) {
      SameStep same;
      TRY(same.first, parse_value(fields[1]));
      TRY(same.second, parse_value(fields[2]));
      TRY(same.over, parse_values(fields[3]));
      if (fields.size() == 5) {
        TRY(same.through, parse_values(fields[4]));
      }
      result = std::move(same);
    }
    if (!result) return expected("a step: make, rule, fold, infer, same, expand, output, each with its fields,");
    advance();
    return *std::move(result);
  }

  std::string_view rest_;
  std::optional<std::string_view> line_;
  int number_ = 0;
  std::span<const verify::StatedAxiom> axioms_;
  ModelProof result_;
  RulePlaces places_;  ///< in the list, by name
};

}  // namespace

std::string_view kind(const ProofStep& step) {
  constexpr std::string_view kKinds[] = {"make", "rule", "fold", "infer", "same", "expand", "output"};
  static_assert(std::size(kKinds) == std::variant_size_v<ProofStep>);
  return kKinds[step.index()];
}

Result<ModelProof> parse_proof(std::string_view text, std::span<const verify::StatedAxiom> axioms) {
  return FileParser(text, axioms).run();
}

Result<ModelProof> read_proof(const std::filesystem::path& file, std::span<const verify::StatedAxiom> axioms) {
  constexpr size_t kMostBytes = size_t{1} << 28;
  auto mapped = MappedFile::open(file);
  if (!mapped.ok()) return std::move(mapped).error().within(file.string());
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  if (bytes.size() > kMostBytes)
    return invalid(file.string(), "a proof of at most {} bytes expected, {} found", kMostBytes, bytes.size());
  auto parsed = parse_proof({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, axioms);
  if (!parsed.ok()) return std::move(parsed).error().within(file.string());
  return parsed;
}

}  // namespace isomer::substitutions
