// What follows from a library's rules: instances, compositions, from as few rules as there are; nothing that is wrong.
#include "substitutions/library/consequence.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "substitutions/library/equation_standing.h"
#include "substitutions/library/library.h"
#include "substitutions/library/shipped.h"
#include "support/files.h"
#include "support/long_run.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions {
namespace {

using How = Consequence::How;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kRelus = "relus | x[2,3] | Relu(Relu(x)) = Relu(x)";
constexpr const char* kReluTransposed = "transposed | x[2,3] | Relu(Transpose(x)) = Transpose(Relu(x))";
constexpr const char* kSums = "sums | x[2,3] y[2,3] | Add(x,y) = Add(y,x)";
constexpr const char* kFactor = "factor | x[2,4] v[4,3] w[4,3] | Add(MatMul(x,v),MatMul(x,w)) = MatMul(x,Add(v,w))";
constexpr const char* kBranches =
    "branches | x[2,4] v[4,3] w[4,5] | MatMul(x,v) ; MatMul(x,w) = "
    "Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[v_1,w_1]} ; "
    "Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[v_1,w_1]}.1";
constexpr const char* kFlat = "flat | x[1,4] | Transpose(x) = Reshape(x){shape=[4,1]}";

std::vector<StatedEquation> equations_of(const std::string& text) {
  auto equations = parse_equations(text);
  CHECK(equations.ok()) << equations.error().message();
  return *std::move(equations);
}

std::vector<StatedEquation> equations_on_file(const std::string& name) {
  return equations_of(isomer::test::read_file(isomer::test::source_path("tests/substitutions/data/" + name)));
}

std::vector<std::string> names(const std::vector<const Rule*>& rules) {
  std::vector<std::string> result;
  for (const Rule* rule : rules) result.push_back(rule->name);
  return result;
}

std::vector<const Rule*> pointers(const std::vector<Rule>& rules) {
  std::vector<const Rule*> result;
  for (const Rule& rule : rules) result.push_back(&rule);
  return result;
}

/// A library of some rules, with the laws beside them or without.
struct Small {
  Small(std::initializer_list<const char*> lines, bool with_laws)
      : laws(with_laws ? rules_of_laws(theory.axioms()) : std::vector<Rule>()) {
    verify::Prover prover = *verify::Prover::start();
    for (const char* line : lines) {
      const StatedEquation stated = equations_of(line).at(0);
      auto rule = prove_rule(equations_at(stated, *stated.types), *stated.types, prover);
      CHECK(rule.ok()) << line << ": " << rule.error().message();
      rule->name = stated.label;
      rules.push_back(*std::move(rule));
    }
    library.emplace(pointers(rules), pointers(laws), theory);
  }

  Consequence of(const std::string& line) {
    const StatedEquation stated = equations_of(line).at(0);
    auto result = library->of(equations_at(stated, *stated.types), *stated.types);
    CHECK(result.ok()) << line << ": " << result.error().message();
    return *std::move(result);
  }

  Theory theory;
  std::vector<Rule> rules, laws;
  std::optional<Consequences> library;
};

constexpr const char* kComposed = "x[2,3] | Relu(Transpose(Relu(x))) = Transpose(Relu(x))";

TEST(Consequences, FollowFromSeveralRules) {
  Small both({kRelus, kReluTransposed, kSums}, false);
  const Consequence found = both.of(kComposed);
  EXPECT_EQ(found.how, How::kFollows);
  EXPECT_THAT(names(found.rules), ElementsAre("relus", "transposed"));
  EXPECT_THAT(found.laws, IsEmpty());
}

TEST(Consequences, NeedEachOfTheirRules) {
  for (const char* line : {kRelus, kReluTransposed}) {
    Small one({line}, false);
    EXPECT_EQ(one.of(kComposed).how, How::kNot) << line;
  }
}

TEST(Consequences, TakeLawsWhereRulesDoNotSuffice) {
  Small one({kRelus}, true);
  const Consequence found = one.of(kComposed);
  EXPECT_EQ(found.how, How::kFollows);
  EXPECT_THAT(names(found.rules), ElementsAre("relus"));
  EXPECT_EQ(found.laws.size(), 1U);
  const Consequence law = one.of("x[2,3] y[2,3] | Mul(y,x) = Mul(x,y)");
  EXPECT_EQ(law.how, How::kInstance);
  EXPECT_EQ(law.laws.size(), 1U);
}

TEST(Consequences, InstancesAreFoundUnderOtherNamesAndInOtherOrders) {
  Small rules({kSums, kFactor, kBranches}, false);
  const std::pair<const char*, const char*> kInstances[] = {
      {"a[5,2] b[2,3] c[2,3] | MatMul(a,Add(c,b)) = Add(MatMul(a,c),MatMul(a,b))", "factor"},
      {"a[5,2] b[2,3] c[2,3] | MatMul(a,Add(c,b)) = Add(MatMul(a,b),MatMul(a,c))", "factor"},
      {"a[5,2] b[2,3] c[2,3] | Add(MatMul(Relu(a),b),MatMul(Relu(a),Neg(c))) = MatMul(Relu(a),Add(Neg(c),b))",
       "factor"},
      {"a[7] b[7] | Add(Relu(b),a) = Add(a,Relu(b))", "sums"},
      {"x[2,4] v[4,3] w[4,5] | MatMul(x,w) ; MatMul(x,v) = Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]}.1 "
       "; Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]}",
       "branches"},
  };
  for (const auto& [line, rule] : kInstances) {
    const Consequence found = rules.of(line);
    EXPECT_EQ(found.how, How::kInstance) << line;
    EXPECT_THAT(names(found.rules), ElementsAre(rule)) << line;
  }
}

TEST(Consequences, RulesWithinTermsAreNoInstances) {
  Small rules({kSums}, false);
  EXPECT_EQ(rules.of("a[2,3] b[2,3] | Relu(Add(a,b)) = Relu(Add(b,a))").how, How::kFollows);
}

TEST(Consequences, ThatNoRuleSaysAreNotFound) {
  Small rules({kRelus, kReluTransposed, kSums, kFactor}, false);
  const Consequence found = rules.of("x[2,4] v[4,3] w[3,5] | MatMul(MatMul(x,v),w) = MatMul(x,MatMul(v,w))");
  EXPECT_EQ(found.how, How::kNot);
  EXPECT_THAT(found.rules, IsEmpty());
  EXPECT_EQ(rules.of("x[2,3] | Relu(x) = x").how, How::kNot);
}

/// The terms fit for any sizes, the proof for rows alone.
TEST(Consequences, RulesAreUsedWhereTheirProofsHold) {
  Small rules({kFlat, kRelus}, false);
  EXPECT_EQ(rules.of("x[1,7] | Transpose(x) = Reshape(x){shape=[7,1]}").how, How::kInstance);
  EXPECT_EQ(rules.of("x[2,7] | Transpose(x) = Reshape(x){shape=[7,2]}").how, How::kNot);
  EXPECT_EQ(rules.of("x[1,7] | Relu(Transpose(Relu(x))) = Relu(Reshape(Relu(x)){shape=[7,1]})").how, How::kFollows);
  EXPECT_EQ(rules.of("x[2,7] | Relu(Transpose(Relu(x))) = Relu(Reshape(Relu(x)){shape=[7,2]})").how, How::kNot);
}

TEST(Consequences, DoNotDependOnWhatWasAskedBefore) {
  Small rules({kRelus, kReluTransposed, kSums}, true);
  const Consequence first = rules.of(kComposed);
  rules.of("x[2,3] | Relu(Neg(x)) = Neg(x)");
  const Consequence second = rules.of(kComposed);
  EXPECT_EQ(first.rules, second.rules);
  EXPECT_EQ(first.laws, second.laws);
}

TEST(Consequences, SidesOfTwoTypesGetASentence) {
  Small rules({kRelus}, false);
  const StatedEquation stated = equations_of("x[2,3] | Transpose(x) = x")[0];
  const auto found = rules.library->of(stated.outputs, *stated.types);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message(),
              testing::HasSubstr("sides of one type expected, float32[3,2] and float32[2,3] found"));
}

class ShippedLibrary : public testing::Test {
 protected:
  ShippedLibrary() {
    for (RulesFile& file : shipped_rules(theory_.axioms()))
      rules_.insert(rules_.end(), std::make_move_iterator(file.rules.begin()),
                    std::make_move_iterator(file.rules.end()));
    library_.emplace(pointers(rules_), pointers(laws_), theory_);
  }

  Standing standing(const StatedEquation& equation) {
    auto result = standing_of(equation, *library_, prover_, 0);
    CHECK(result.ok()) << equation.text() << ": " << result.error().message();
    return *std::move(result);
  }

  verify::Prover prover_ = *verify::Prover::start();
  Theory theory_;
  std::vector<Rule> rules_, laws_ = rules_of_laws(theory_.axioms());
  std::optional<Consequences> library_;
};

/// That they hold is seen beside (Equations.OfTasoThatHoldAreProved).
TEST_F(ShippedLibrary, RulesAloneSayWhatTasoShips) {
  for (const StatedEquation& equation : equations_on_file("taso_valid.equations")) {
    const auto found = library_->of(equations_at(equation, *equation.types), *equation.types);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_NE(found->how, How::kNot) << "line " << equation.line << ": " << equation.text();
    EXPECT_THAT(found->laws, IsEmpty()) << "line " << equation.line << ": " << equation.text();
  }
}

TEST_F(ShippedLibrary, RulesAndLawsSayTheClassics) {
  const std::vector<StatedEquation> equations = equations_on_file("classics.equations");
  for (size_t k = 0; k < equations.size(); k += isomer::test::is_long_run() ? 1 : 75) {
    const Standing found = standing(equations[k]);
    EXPECT_TRUE(found.is_of_library()) << "line " << equations[k].line << ": " << name(found.verdict) << ": "
                                       << found.why();
  }
}

TEST_F(ShippedLibrary, NothingWrongFollows) {
  const std::vector<StatedEquation> equations = equations_on_file("taso_wrong.equations");
  for (size_t k = 0; k < equations.size(); k += isomer::test::is_long_run() ? 1 : 2'000) {
    const auto found = library_->of(equations_at(equations[k], *equations[k].types), *equations[k].types);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(found->how, How::kNot) << "line " << equations[k].line << ": " << equations[k].text();
  }
}

}  // namespace
}  // namespace isomer::substitutions
