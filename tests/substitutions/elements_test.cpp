// Rules whose proofs speak of elements: they hold where both sides have the same, and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "substitutions/library/rules_file.h"
#include "substitutions/mutate/by_elements.h"
#include "verify/claim_support.h"
#include "verify/proof/refute/check_instance.h"

namespace isomer::substitutions::test {
namespace {

using testing::HasSubstr;

Rule rule_of(std::string_view outputs, std::string_view types, verify::Bindings names = {}) {
  Rule rule;
  rule.name = "mine";
  rule.outputs = *parse_outputs(outputs);
  rule.float_class = FloatClass::kReassociated;
  rule.proof = proof_by_elements(rule.outputs);
  rule.example = {verify::test::types_of({std::string(types).c_str(), ""}), std::move(names)};
  return rule;
}

verify::Bindings numbers(std::map<std::string, int64_t> values) {
  verify::Bindings result;
  for (const auto& [name, value] : values) result.integers.emplace(name, Dim(value));
  return result;
}

constexpr std::string_view kHalves =
    "Conv(x,w){pads=[1,1,1,1]} = Concat(Conv(Slice(x){axes=[2],ends=[a+1],starts=[0]},w){pads=[1,1,0,1]},"
    "Conv(Slice(x){axes=[2],ends=[x_2],starts=[a-1]},w){pads=[0,1,1,1]}){axis=2}";

class Elements : public testing::Test {
 protected:
  Result<void> holds(const Rule& rule) { return holds_at(rule, rule.example, axioms_, signatures_); }
  bool agrees(const Rule& rule) {
    for (const Output& output : equations_at(rule, rule.example))
      for (int trial = 0; trial < 3; ++trial) {
        const auto check = verify::check_instance({{output.left, output.right, {}}, rule.example.types}, random_,
                                                  FloatClass::kReassociated);
        if (!check || check->counterexample) return false;
      }
    return true;
  }

  std::vector<verify::StatedAxiom> axioms_ = verify::all_axioms();
  verify::Signatures signatures_;
  Random random_{7};
};

TEST_F(Elements, AreARulesProof) {
  const Rule rule = rule_of(kHalves, "x[1,2,6,5] w[3,2,3,3]", numbers({{"a", 3}}));
  const auto done = replayed(rule, axioms_, signatures_);
  EXPECT_TRUE(done.ok()) << done.error().message();
  const RulesFile file{"--ops none", {rule}};
  const auto read = parse_rules(print_rules(file), print_proofs(file, axioms_), axioms_);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(print_proofs(*read, axioms_), print_proofs(file, axioms_));
  EXPECT_TRUE(replayed(read->rules[0], axioms_, signatures_).ok());
  Rule exact = rule;
  exact.float_class = FloatClass::kExact;
  EXPECT_THAT(replayed(exact, axioms_, signatures_).error().message(), HasSubstr("the class reassociated"));
}

TEST_F(Elements, AreLookedAtAtThePlace) {
  int held = 0, refused = 0;
  for (const int64_t size : {3, 6, 9})
    for (const int64_t cut : {-1, 0, 1, 2, 3, 5, 8, 9})
      for (const int64_t kernel : {1, 2, 3, 5}) {
        const Rule rule = rule_of(kHalves, fmt::format("x[2,2,{},5] w[3,2,{},3]", size, kernel), numbers({{"a", cut}}));
        const bool is_held = holds(rule).ok();
        (is_held ? held : refused) += 1;
        EXPECT_TRUE(!is_held || agrees(rule)) << size << " " << cut << " " << kernel;
        // With more taps than the halo has rows, or none of a half, it is no equation.
        EXPECT_TRUE(is_held || kernel != 3 || cut < 1 || cut >= size) << size << " " << cut;
        EXPECT_FALSE(is_held && kernel == 5) << size << " " << cut;
      }
  EXPECT_GT(held, 5);
  EXPECT_GT(refused, 20);
}

/// Every number of the right side, one more and one less.
TEST_F(Elements, RefuseChangedBorders) {
  const std::string text(kHalves);
  const size_t right = text.find(" = ");
  int tried = 0, held = 0;
  for (size_t at = right; at < text.size(); ++at) {
    if (text[at] < '0' || text[at] > '9' || text[at - 1] == '_') continue;
    for (const int by : {-1, 1}) {
      std::string other = text;
      other.replace(at, 1, std::to_string(text[at] - '0' + by));
      if (!parse_outputs(other).ok()) continue;
      const Rule rule = rule_of(other, "x[2,2,6,5] w[3,2,3,3]", numbers({{"a", 3}}));
      ++tried;
      if (!holds(rule).ok()) continue;
      ++held;
      EXPECT_TRUE(agrees(rule)) << other;
    }
  }
  EXPECT_GT(tried, 20);
  EXPECT_LT(held, 4);
}

TEST_F(Elements, AreOfFloatsOfOneType) {
  Rule rule = rule_of("Mul(x,Add(y,y)) = Add(Mul(x,y),Mul(y,x))", "x[2,3] y[2,3]");
  EXPECT_TRUE(holds(rule).ok());
  for (auto& [name, type] : rule.example.types) type.dtype = DataType::kInt64;
  EXPECT_THAT(holds(rule).error().message(), HasSubstr("floats"));
  rule.example.types.begin()->second.dtype = DataType::kFloat16;
  EXPECT_FALSE(holds(rule).ok());
}

TEST_F(Elements, OfNoneAreNotCompared) {
  const Rule empty = rule_of("Add(x,y) = Add(y,x)", "x[0,3] y[0,3]");
  EXPECT_FALSE(holds(empty).ok());
  // The maximum of no row is no number.
  const Rule within = rule_of(
      "ReduceMax(Slice(x){axes=[0],ends=[a],starts=[0]}){axes=[0],keepdims=1} = "
      "ReduceMax(Slice(x){axes=[0],ends=[b],starts=[0]}){axes=[0],keepdims=1}",
      "x[4,3]", numbers({{"a", 0}, {"b", 0}}));
  EXPECT_FALSE(holds(within).ok());
}

TEST_F(Elements, StandBesideLaws) {
  // The halves by elements, then a law of Relu and Concat.
  const std::string text(kHalves);
  const std::string left = text.substr(0, text.find(" = ")), right = text.substr(text.find(" = ") + 3);
  Rule rule = rule_of(fmt::format("Relu({}) = Relu({})", left, right), "x[1,2,6,5] w[3,2,3,3]", numbers({{"a", 3}}));
  rule.proof = proof_by_elements(*parse_outputs(kHalves));
  EXPECT_TRUE(holds(rule).ok());
  rule.proof.uses[0].bindings.tensors.erase("left");
  EXPECT_THAT(holds(rule).error().message(), HasSubstr("a left and a right side"));
  rule.proof.uses[0].law = -2;
  EXPECT_THAT(holds(rule).error().message(), HasSubstr("number -2 found"));
  rule.proof.uses.clear();
  EXPECT_FALSE(holds(rule).ok());
}

}  // namespace
}  // namespace isomer::substitutions::test
