#include "graph/te/named_monoid.h"
#include "graph/te/parser.h"
#include "graph/te/program_text.h"
#include "graph/te/validate.h"

namespace isomer::te {
namespace {

constexpr int kMaxBlocks = 200;

class ProgramParser {
 public:
  explicit ProgramParser(std::string_view text) : parser_(text) {}

  Result<Program> program() {
    Program program;
    while (!parser_.at("output")) {
      const std::string name = fmt::format("s{}", program.stages.size());
      if (!parser_.accept(name)) return parser_.expected(fmt::format("\"{}\" or \"output\"", name));
      TRY_VOID(parser_.expect("="));
      TRY(Stage next, stage());
      program.stages.push_back(std::move(next));
    }
    TRY_VOID(parser_.expect("output"));
    while (!parser_.at_end()) {
      if (!program.outputs.empty()) TRY_VOID(parser_.expect(","));
      TRY(const StageValue value, output());
      program.outputs.push_back(value);
    }
    TRY_VOID(validate(program));
    return program;
  }

 private:
  Result<Shape> shape() {
    TRY(const std::vector<Expr> extents, parser_.index_list());
    return Shape(extents.begin(), extents.end());
  }

  Result<std::vector<Expr>> expressions(std::string_view open, std::string_view close) {
    std::vector<Expr> list;
    TRY_VOID(parser_.expect(open));
    while (!parser_.at(close)) {
      if (!list.empty()) TRY_VOID(parser_.expect(","));
      TRY(Expr next, parser_.expression());
      list.push_back(std::move(next));
    }
    TRY_VOID(parser_.expect(close));
    return list;
  }

  Result<StageValue> output() {
    if (parser_.accept("none")) return StageValue{};
    StageValue value;
    TRY(value.stage, parser_.numbered("s"));
    if (parser_.accept(".")) {
      TRY(value.component, parser_.expect_number());
    }
    return value;
  }

  Result<Monoid> monoid() {
    const bool commutes = parser_.at("monoid");
    if (parser_.accept("monoid") || parser_.accept("ordered")) {
      Monoid result;
      TRY(result.name, parser_.quoted_text());
      for (const NamedMonoid& named : kNamedMonoids)
        if (result.name == named.name) return parser_.expected("a name that no other monoid has");
      TRY(result.identity, expressions("(", ")"));
      TRY(result.combine, expressions("(", ")"));
      result.commutative = commutes;
      return result;
    }
    for (const NamedMonoid& named : kNamedMonoids) {
      if (!parser_.accept(named.name)) continue;
      TRY_VOID(parser_.expect(":"));
      TRY(const DataType dtype, parser_.data_type());
      return named.make(dtype);
    }
    return parser_.expected("a monoid");
  }

  Result<Stage> stage() {
    if (parser_.accept("scan")) return scan();
    if (parser_.accept("update")) return update();
    if (parser_.accept("imperative")) return imperative();
    TRY(MapReduce body, map_reduce());
    return Stage{std::move(body)};
  }

  Result<MapReduce> map_reduce() {
    MapReduce s;
    const bool is_map = parser_.at("map");
    if (!is_map && !parser_.at("reduce")) return parser_.expected("map, reduce, scan, update or imperative");
    TRY_VOID(parser_.expect(is_map ? "map" : "reduce"));
    TRY(s.axes, shape());
    if (!is_map) {
      TRY_VOID(parser_.expect("over"));
      TRY(s.reduce, shape());
      TRY_VOID(parser_.expect("with"));
      TRY(s.combine, monoid());
    }
    TRY(s.bodies, expressions("{", "}"));
    return s;
  }

  Result<Stage> update() {
    Update s;
    TRY(s.shape, shape());
    TRY_VOID(parser_.expect("from"));
    TRY(s.init, parser_.expression());
    TRY_VOID(parser_.expect("over"));
    TRY(s.updates, shape());
    TRY_VOID(parser_.expect("at"));
    TRY(s.index, parser_.index_list());
    if (parser_.accept("with")) {
      TRY(s.combine, monoid());
    }
    TRY_VOID(parser_.expect("{"));
    TRY(s.value, parser_.expression());
    TRY_VOID(parser_.expect("}"));
    return Stage{std::move(s)};
  }

  Result<Stage> scan() {
    Scan s;
    TRY(const Expr trip, parser_.index_expression());
    s.trip = Dim(trip);
    TRY_VOID(parser_.expect("{"));
    while (parser_.accept("state")) {
      Scan::State state;
      TRY(state.shape, shape());
      TRY_VOID(parser_.expect("="));
      TRY(state.init, parser_.expression());
      s.states.push_back(std::move(state));
    }
    while (parser_.accept("step")) {
      TRY(MapReduce step, map_reduce());
      s.steps.push_back(std::move(step));
    }
    TRY_VOID(parser_.expect("next"));
    do {
      TRY(const int inner, parser_.expect_number());
      s.next.push_back(inner);
    } while (parser_.accept(","));
    TRY_VOID(parser_.expect("}"));
    return Stage{std::move(s)};
  }

  Result<Stage> imperative() {
    Imperative s;
    TRY_VOID(parser_.expect("{"));
    // Declarations first: local0: int64[]; a store to a local ends them.
    std::optional<Statement> first;
    while (!first && parser_.at_numbered("local")) {
      const std::string next = fmt::format("local{}", s.body.locals.size());
      const bool is_next = parser_.at(next);
      TRY(const int local, parser_.numbered("local"));
      if (!parser_.at(":")) {
        TRY(first, store_to(local));
      } else {
        if (!is_next) return parser_.expected(fmt::format("the declaration of {}", next));
        TRY_VOID(parser_.expect(":"));
        TRY(const DataType dtype, parser_.data_type());
        TRY(Shape extents, shape());
        s.body.locals.push_back({dtype, std::move(extents)});
      }
    }
    if (first) s.body.block.push_back(std::move(*first));
    TRY_VOID(statements(s.body.block, "output"));
    TRY_VOID(parser_.expect("output"));
    do {
      TRY(const int local, parser_.numbered("local"));
      s.outputs.push_back(local);
    } while (parser_.accept(","));
    TRY_VOID(parser_.expect("}"));
    return Stage{std::move(s)};
  }

  Result<void> statements(Block& block, std::string_view end) {
    while (!parser_.at(end)) {
      TRY(Statement next, statement());
      block.push_back(std::move(next));
    }
    return {};
  }

  Result<Block> nested() {
    if (++nesting_ > kMaxBlocks) return parser_.expected("fewer nested blocks");
    Block block;
    TRY_VOID(parser_.expect("{"));
    TRY_VOID(statements(block, "}"));
    TRY_VOID(parser_.expect("}"));
    --nesting_;
    return block;
  }

  Result<Statement> store_to(int local) {
    TRY(std::vector<Expr> at, parser_.index_list());
    TRY_VOID(parser_.expect("="));
    TRY(Expr value, parser_.expression());
    return store(local, std::move(at), std::move(value));
  }

  Result<Statement> statement() {
    if (parser_.accept("for")) {
      TRY(const int loop, parser_.numbered("k"));
      TRY_VOID(parser_.expect("<"));
      TRY(Expr extent, parser_.expression());
      TRY(Block body, nested());
      return for_loop(loop, std::move(extent), std::move(body));
    }
    if (parser_.accept("while")) {
      TRY(Expr condition, parser_.expression());
      TRY(Block body, nested());
      return while_loop(std::move(condition), std::move(body));
    }
    if (parser_.accept("if")) {
      TRY(Expr condition, parser_.expression());
      TRY(Block then, nested());
      Block otherwise;
      if (parser_.accept("else")) {
        TRY(otherwise, nested());
      }
      return if_then(std::move(condition), std::move(then), std::move(otherwise));
    }
    const bool resizes = parser_.accept("resize");
    if (!parser_.at_numbered("local")) return parser_.expected("a statement");
    TRY(const int local, parser_.numbered("local"));
    if (!resizes) return store_to(local);
    TRY(std::vector<Expr> extents, parser_.index_list());
    return resize(local, std::move(extents));
  }

  Parser parser_;
  int nesting_ = 0;
};

}  // namespace

Result<Program> parse_program(std::string_view text) { return ProgramParser(text).program(); }

}  // namespace isomer::te
