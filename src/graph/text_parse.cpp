#include <algorithm>

#include "graph/infer.h"
#include "graph/op_def.h"
#include "graph/te/print.h"
#include "graph/text.h"
#include "util/parse_number.h"
#include "util/random.h"

namespace isomer {
namespace {

constexpr int kMaxDepth = 32;
constexpr int64_t kMaxElements = int64_t{1} << 28;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == '%';
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool looks_like_int(std::string_view text) { return text.find_first_not_of("-0123456789") == std::string_view::npos; }

class Parser {
 public:
  Parser(std::string_view text, const ConstantTable& constants, std::shared_ptr<const OpTable> operators)
      : text_(text), constants_(constants), operators_(std::move(operators)) {}

  Result<Graph> parse() {
    ModelInfo info;
    info.operators = operators_;
    while (peek_word() != "graph") TRY_VOID(header_line(info));
    TRY(Graph graph, graph_text(0));
    if (!at_end()) return expected("the end of the text");
    graph.edit_info() = std::move(info);
    TRY_VOID(infer(graph));
    return graph;
  }

 private:
  using Names = std::map<std::string, ValueId, std::less<>>;

  // Characters and words

  void skip() {
    while (position_ < text_.size()) {
      if (text_[position_] == '#')
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      else if (is_space(text_[position_]))
        ++position_;
      else
        return;
    }
  }
  bool at_end() {
    skip();
    return position_ == text_.size();
  }
  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  Result<void> expect(std::string_view token) {
    if (!accept(token)) return expected(fmt::format("'{}'", token));
    return {};
  }
  Error expected(std::string_view what) {
    skip();
    const std::string_view before = text_.substr(0, position_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n');
    const size_t column = position_ - (start == std::string_view::npos ? 0 : start + 1) + 1;
    const std::string found = position_ == text_.size() ? "the end" : fmt::format("'{}'", text_.substr(position_, 20));
    return invalid(fmt::format("line {}, column {}", line, column), "{} expected, {} found", what, found);
  }

  std::string_view peek_word() {
    skip();
    size_t end = position_;
    while (end < text_.size() && is_word_char(text_[end])) ++end;
    return text_.substr(position_, end - position_);
  }
  bool accept_word(std::string_view word) {
    if (peek_word() != word) return false;
    position_ += word.size();
    return true;
  }

  Result<std::string> string() {
    TRY_VOID(expect("\""));
    std::string value;
    while (position_ < text_.size() && text_[position_] != '"') {
      char c = text_[position_++];
      if (c == '\\' && position_ < text_.size()) {
        c = text_[position_++];
        if (c == 'x') {
          const int high = position_ + 1 < text_.size() ? hex_digit(text_[position_]) : -1;
          const int low = high < 0 ? -1 : hex_digit(text_[position_ + 1]);
          if (low < 0) return expected("two hexadecimal digits");
          position_ += 2;
          c = static_cast<char>(high * 16 + low);
        }
      }
      value += c;
    }
    TRY_VOID(expect("\""));
    return value;
  }

  Result<std::string> name() {
    skip();
    if (position_ < text_.size() && text_[position_] == '"') return string();
    const std::string_view word = peek_word();
    if (word.empty()) return expected("a name");
    position_ += word.size();
    return std::string(word);
  }

  /// A number, inf, nan, true or false.
  Result<std::string_view> numeral() {
    skip();
    size_t end = position_;
    while (end < text_.size() && (is_word_char(text_[end]) || text_[end] == '-' || text_[end] == '+')) ++end;
    const std::string_view word = text_.substr(position_, end - position_);
    if (word.empty()) return expected("a number");
    position_ = end;
    return word;
  }

  Result<int64_t> integer() {
    const size_t start = position_;
    TRY(const std::string_view text, numeral());
    const auto value = parse_number<int64_t>(text);
    if (!value) position_ = start;
    if (!value) return expected("an integer");
    return *value;
  }

  Result<std::string> bytes() {
    const size_t start = position_;
    TRY(const std::string text, string());
    std::string value;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
      const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
      if (high < 0 || low < 0) break;
      value += static_cast<char>(high * 16 + low);
    }
    if (value.size() * 2 != text.size()) position_ = start;
    if (value.size() * 2 != text.size()) return expected("pairs of hexadecimal digits");
    return value;
  }

  // Header

  Result<void> header_line(ModelInfo& info) {
    const auto set = [&](auto& field, auto value) -> Result<void> {
      if (!value.ok()) return std::move(value).error();
      field = std::move(*value);
      return {};
    };
    if (accept_word("ir_version")) return set(info.ir_version, integer());
    if (accept_word("model_version")) return set(info.model_version, integer());
    if (accept_word("producer_name")) return set(info.producer_name, string());
    if (accept_word("producer_version")) return set(info.producer_version, string());
    if (accept_word("domain")) return set(info.domain, string());
    if (accept_word("doc_string")) return set(info.doc_string, string());
    if (accept_word("early")) return set(info.has_early, Result<bool>(true));
    if (accept_word("opset")) {
      std::string domain;
      skip();
      if (position_ < text_.size() && text_[position_] == '"') TRY_VOID(set(domain, string()));
      return set(info.opsets[domain], integer());
    }
    if (accept_word("metadata")) {
      info.metadata.emplace_back();
      TRY_VOID(set(info.metadata.back().first, string()));
      return set(info.metadata.back().second, string());
    }
    return expected("'graph'");
  }

  // Types

  Result<Dim> dim() {
    skip();
    // Up to the comma or bracket that is not inside parentheses, brackets or quotes.
    size_t end = position_;
    int depth = 0;
    for (bool quoted = false; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '\\' && quoted && end + 1 < text_.size())
        ++end;
      else if (c == '"')
        quoted = !quoted;
      else if (quoted)
        continue;
      else if (c == '(' || c == '[')
        ++depth;
      else if (c == '\n' || (depth == 0 && (c == ',' || c == ']')))
        break;
      else if (c == ')' || c == ']')
        --depth;
    }
    const auto parsed = te::parse_expr(text_.substr(position_, end - position_));
    if (!parsed.ok() || parsed->dtype() != DataType::kInt64) return expected("a dim");
    position_ = end;
    return Dim(*parsed);
  }

  Result<ValueType> type() {
    if (accept_word("unknown")) return ValueType();
    if (accept_word("other")) {
      TRY(std::string opaque, bytes());
      return ValueType{ValueType::Kind::kOther, DataType::kUndefined, std::nullopt, std::move(opaque)};
    }
    const std::string_view word = peek_word();
    const DataType dtype = parse_data_type(word);
    if (dtype == DataType::kUndefined) return expected("a type");
    position_ += word.size();
    TRY_VOID(expect("["));
    ValueType type{ValueType::Kind::kTensor, dtype, Shape(), {}};
    if (accept("?")) {
      type.shape.reset();
    } else if (!accept("]")) {
      do {
        TRY(Dim each, dim());
        type.shape->push_back(std::move(each));
      } while (accept(","));
    } else {
      return type;
    }
    TRY_VOID(expect("]"));
    return type;
  }

  Result<Dims> static_dims(const ValueType& type) {
    const auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt;
    if (!dims) return expected("a constant of fixed shape");
    int64_t count = 1;
    for (const int64_t each : *dims) {
      if (each < 0 || each > kMaxElements) return expected("a constant of at most 2^28 elements");
      count *= std::max<int64_t>(each, 1);
      if (count > kMaxElements) return expected("a constant of at most 2^28 elements");
    }
    return *dims;
  }

  // Constants

  Result<Tensor> payload(const ValueType& type) {
    TRY(Dims dims, static_dims(type));
    if (accept("@")) {
      TRY(const std::string hash, name());
      const auto found = constants_.find(hash);
      if (found == constants_.end()) return expected("the hash of a known constant");
      if (found->second.dtype() != type.dtype || found->second.dims() != dims)
        return expected("the type of the constant that has this hash");
      return found->second;
    }
    if (accept_word("hex")) {
      TRY(const std::string raw, bytes());
      if (type.dtype == DataType::kString ||
          static_cast<int64_t>(raw.size()) != byte_size(type.dtype, element_count(dims)))
        return expected("as many bytes as the type has");
      const auto view = std::as_bytes(std::span(raw));
      return Tensor(type.dtype, std::move(dims), std::vector<std::byte>(view.begin(), view.end()));
    }
    if (type.dtype == DataType::kString) return strings(std::move(dims));
    if (!is_computable(type.dtype) || is_minifloat(type.dtype))
      return expected("hex bytes for a type without arithmetic");
    std::vector<std::byte> raw(byte_size(type.dtype, element_count(dims)));
    const int width = bit_width(type.dtype) / 8;
    if (accept_word("random")) {
      TRY(const int64_t seed, integer());
      Random random(static_cast<uint64_t>(seed));
      for (size_t at = 0; at < raw.size(); at += width)
        is_float(type.dtype) ? encode_real(type.dtype, random.uniform(-1, 1), &raw[at])
                             : encode_integer(type.dtype, random.between(-8, 7), &raw[at]);
    } else if (accept_word("all")) {
      for (size_t at = 0; at < raw.size(); at += width) {
        if (at)
          std::copy_n(raw.begin(), width, raw.begin() + at);
        else
          TRY_VOID(element(type.dtype, &raw[at]));
      }
    } else {
      TRY_VOID(expect("{"));
      for (size_t at = 0; at < raw.size(); at += width) {
        if (at) TRY_VOID(expect(","));
        TRY_VOID(element(type.dtype, &raw[at]));
      }
      TRY_VOID(expect("}"));
    }
    return Tensor(type.dtype, std::move(dims), std::move(raw));
  }

  Result<Tensor> strings(Dims dims) {
    std::vector<std::string> elements(element_count(dims));
    TRY_VOID(expect("{"));
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i) TRY_VOID(expect(","));
      TRY(elements[i], string());
    }
    TRY_VOID(expect("}"));
    return Tensor(std::move(dims), std::move(elements));
  }

  Result<void> element(DataType dtype, std::byte* out) {
    const size_t start = position_;
    TRY(const std::string_view text, numeral());
    if (dtype == DataType::kBool && (text == "true" || text == "false")) {
      encode_integer(dtype, text == "true", out);
    } else if (dtype == DataType::kFloat32) {
      const auto value = parse_number<float>(text);
      if (value)
        encode_real(dtype, *value, out);
      else
        return position_ = start, expected("a number");
    } else if (is_float(dtype)) {
      const auto value = parse_number<double>(text);
      if (value)
        encode_real(dtype, *value, out);
      else
        return position_ = start, expected("a number");
    } else {
      auto value = parse_number<int64_t>(text);
      if (!value && dtype == DataType::kUInt64)
        if (const auto large = parse_number<uint64_t>(text)) value = static_cast<int64_t>(*large);
      if (value)
        encode_integer(dtype, *value, out);
      else
        return position_ = start, expected("an integer");
    }
    return {};
  }

  // Attributes

  Result<Attribute> attribute(int depth) {
    skip();
    if (accept("[")) return list(depth);
    for (const auto& [word, empty] : {std::pair<std::string_view, Attribute>{"ints", std::vector<int64_t>()},
                                      {"floats", std::vector<float>()},
                                      {"strings", std::vector<std::string>()},
                                      {"tensors", std::vector<Tensor>()},
                                      {"graphs", std::vector<GraphPtr>()}}) {
      if (!accept_word(word)) continue;
      TRY_VOID(expect("["));
      TRY_VOID(expect("]"));
      return empty;
    }
    return single(depth);
  }

  Result<Attribute> single(int depth) {
    skip();
    if (position_ < text_.size() && text_[position_] == '"') {
      TRY(std::string value, string());
      return Attribute(std::move(value));
    }
    if (peek_word() == "graph") {
      TRY(Graph body, graph_text(depth + 1));
      return Attribute(std::make_shared<const Graph>(std::move(body)));
    }
    if (accept_word("raw")) {
      TRY(std::string value, bytes());
      return Attribute(RawAttribute{std::move(value)});
    }
    if (parse_data_type(peek_word()) != DataType::kUndefined) {
      TRY(const ValueType of, type());
      TRY(Tensor tensor, payload(of));
      return Attribute(std::move(tensor));
    }
    const size_t start = position_;
    TRY(const std::string_view text, numeral());
    if (looks_like_int(text)) {
      if (const auto value = parse_number<int64_t>(text)) return Attribute(*value);
    } else if (const auto value = parse_number<float>(text)) {
      return Attribute(*value);
    }
    position_ = start;
    return expected("an attribute's value");
  }

  Result<Attribute> list(int depth) {
    std::vector<Attribute> items;
    do {
      TRY(Attribute item, single(depth));
      if (!items.empty() && items[0].index() != item.index()) return expected("items of one type");
      items.push_back(std::move(item));
    } while (accept(","));
    TRY_VOID(expect("]"));
    const auto gather = [&]<class T>(const T&) -> Attribute {
      if constexpr (std::is_constructible_v<Attribute, std::vector<T>> && !std::is_same_v<T, RawAttribute>) {
        std::vector<T> values;
        for (Attribute& item : items) values.push_back(std::move(std::get<T>(item)));
        return values;
      } else {
        return RawAttribute{};
      }
    };
    Attribute all = std::visit(gather, Attribute(items[0]));
    if (std::holds_alternative<RawAttribute>(all)) return expected("a list of numbers, strings, tensors or graphs");
    return all;
  }

  // Graphs

  Result<Graph> graph_text(int depth) {
    if (depth > kMaxDepth) return expected("graphs nested at most 32 deep");
    TRY_VOID(expect("graph"));
    Graph graph;
    skip();
    if (!accept("(")) {
      TRY(graph.name, name());
      TRY_VOID(expect("("));
    }
    Names names;
    TRY(std::vector<ValueId> inputs, parameters(graph, names, true));
    for (const ValueId id : inputs) graph.edit(id).declared = graph.value(id).type;
    graph.set_inputs(std::move(inputs));
    if (accept_word("captures")) {
      TRY_VOID(expect("("));
      TRY(std::vector<ValueId> captures, parameters(graph, names, false));
      graph.set_captures(std::move(captures));
    }
    TRY_VOID(expect("->"));
    TRY_VOID(expect("("));
    TRY(const auto outputs, declarations());
    TRY_VOID(expect("{"));
    while (!accept("}")) TRY_VOID(statement(graph, names, depth));
    std::vector<ValueId> ids;
    for (const auto& [output, declared] : outputs) {
      ids.push_back(reference(graph, names, output));
      if (declared) graph.edit(ids.back()).declared = declared;
    }
    graph.set_outputs(std::move(ids));
    if (depth > 0) TRY_VOID(infer(graph));
    return graph;
  }

  using Declarations = std::vector<std::pair<std::string, std::optional<ValueType>>>;

  /// name [: type], … )
  Result<Declarations> declarations() {
    Declarations items;
    if (accept(")")) return items;
    do {
      TRY(std::string each, name());
      items.emplace_back(std::move(each), std::nullopt);
      if (accept(":")) {
        TRY(items.back().second, type());
      }
    } while (accept(","));
    TRY_VOID(expect(")"));
    return items;
  }

  Result<std::vector<ValueId>> parameters(Graph& graph, Names& names, bool defaults) {
    std::vector<ValueId> ids;
    if (accept(")")) return ids;
    do {
      TRY(const std::string each, name());
      if (names.contains(each)) return expected("a name that is not taken");
      ids.push_back(reference(graph, names, each));
      Value& value = graph.edit(ids.back());
      if (accept(":")) {
        TRY(value.type, type());
      }
      if (defaults && accept("=")) {
        TRY(value.constant, payload(value.type));
      }
    } while (accept(","));
    TRY_VOID(expect(")"));
    return ids;
  }

  static ValueId reference(Graph& graph, Names& names, const std::string& name) {
    const auto [found, inserted] = names.try_emplace(name);
    if (inserted) {
      Value value;
      value.name = name;
      found->second = graph.add_value(std::move(value));
    }
    return found->second;
  }

  /// name, _, … )
  Result<std::vector<ValueId>> references(Graph& graph, Names& names) {
    std::vector<ValueId> ids;
    if (accept(")")) return ids;
    do {
      if (accept_word("_")) {
        ids.emplace_back();
        continue;
      }
      TRY(const std::string each, name());
      ids.push_back(reference(graph, names, each));
    } while (accept(","));
    TRY_VOID(expect(")"));
    return ids;
  }

  Result<void> statement(Graph& graph, Names& names, int depth) {
    std::vector<ValueId> outputs;
    if (accept("(")) {
      TRY_VOID(expect(")"));
    } else {
      do {
        if (accept_word("_")) {
          outputs.emplace_back();
          continue;
        }
        TRY(const std::string each, name());
        outputs.push_back(reference(graph, names, each));
        const Value& value = graph.value(outputs.back());
        const bool formal = std::count(graph.inputs().begin(), graph.inputs().end(), outputs.back()) ||
                            std::count(graph.captures().begin(), graph.captures().end(), outputs.back());
        if (formal || value.producer.valid() || value.constant ||
            std::count(outputs.begin(), outputs.end(), outputs.back()) > 1)
          return expected("a value that is not defined yet");
        if (accept(":")) {
          TRY(graph.edit(outputs.back()).type, type());
        }
      } while (accept(","));
    }
    TRY_VOID(expect("="));
    if (outputs.size() == 1 && outputs[0].valid() && starts_payload()) {
      Value& value = graph.edit(outputs[0]);
      TRY(value.constant, payload(value.type));
      value.content = content_of(*value.constant);
      return {};
    }
    return node(graph, names, std::move(outputs), depth);
  }

  /// A constant's elements, not the name of an operator.
  bool starts_payload() {
    const std::string_view word = peek_word();
    if (word.empty()) return position_ < text_.size() && (text_[position_] == '{' || text_[position_] == '@');
    if (word != "all" && word != "random" && word != "hex") return false;
    const size_t next = text_.find_first_not_of(" \t\r\n", position_ + word.size());
    return next != std::string_view::npos && text_[next] != '(' && text_[next] != ':';
  }

  Result<void> node(Graph& graph, Names& names, std::vector<ValueId> outputs, int depth) {
    Node node;
    TRY(node.op_type, name());
    if (accept("::")) {
      node.domain = std::move(node.op_type);
      TRY(node.op_type, name());
    }
    TRY_VOID(expect("("));
    TRY(node.inputs, references(graph, names));
    if (accept_word("captures")) {
      TRY_VOID(expect("("));
      TRY(node.captures, references(graph, names));
      if (std::count(node.captures.begin(), node.captures.end(), ValueId())) return expected("captures without gaps");
    }
    if (accept("{")) {
      do {
        TRY(const std::string key, name());
        TRY_VOID(expect("="));
        TRY(Attribute value, attribute(depth));
        if (!captures_match(value, node.captures.size())) return expected("a body with as many captures as its node");
        if (!node.attributes.emplace(key, std::move(value)).second) return expected("distinct attributes");
      } while (accept(","));
      TRY_VOID(expect("}"));
    }
    if (accept_word("as")) {
      TRY(node.name, string());
    }
    node.op = find_op(node.domain, node.op_type, operators_.get());
    if (!node.op) node.opaque_reason = "no such operator is known";
    if (accept_word("opaque")) {
      TRY(node.opaque_reason, string());
      node.op = nullptr;
    }
    node.outputs = std::move(outputs);
    graph.add_node(std::move(node));
    return {};
  }

  static bool captures_match(const Attribute& attribute, size_t captures) {
    if (const auto* body = std::get_if<GraphPtr>(&attribute)) return (*body)->captures().size() == captures;
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
      return std::all_of(bodies->begin(), bodies->end(),
                         [&](const auto& body) { return body->captures().size() == captures; });
    return true;
  }

  std::string_view text_;
  const ConstantTable& constants_;
  std::shared_ptr<const OpTable> operators_;
  size_t position_ = 0;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const ConstantTable& constants,
                          std::shared_ptr<const OpTable> operators) {
  return Parser(text, constants, std::move(operators)).parse();
}

}  // namespace isomer
