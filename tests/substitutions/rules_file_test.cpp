// Rules and proofs as text: what is printed parses back to the same, and what is broken gets one sentence with its
// line.
#include "substitutions/library/rules_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "substitutions/generated.h"
#include "support/files.h"
#include "verify/claim_support.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RulesFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    axioms_ = verify::all_axioms();
    verify::Prover prover = *verify::Prover::start();
    file_.made_by = "--ops none --max-ops 2 --seed 0";
    constexpr verify::test::Claim kClaims[] = {
        {"x[2,4] y[2,3]", "Relu(Concat(x,y){axis=1}) = Concat(Relu(x),Relu(y)){axis=1}"},
        {"x[2,4,5,5] v[3,4,1,1]", "Conv(x,v) = Conv(x,Pad(v){pads=[0,0,1,1,0,0,1,1]}){pads=[1,1,1,1]}"},
        {"x[2,4] v[4,3] w[4,5]",
         "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]} ; "
         "Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]}.1"},
        {"x[2,4] y[2,4]", "Mul(Add(x,y),1/2) = Add(Mul(x,1/2),Mul(y,1/2))"}};
    for (const auto& claim : kClaims) {
      Rule rule = proved(claim.equation, verify::test::types_of(claim), prover);
      rule.name = "rule" + std::to_string(file_.rules.size());
      file_.rules.push_back(std::move(rule));
    }
  }

  static std::string rules() { return print_rules(file_); }
  static std::string proofs() { return print_proofs(file_, axioms_); }

  /// The complaint about the text in which `from` was replaced once: one sentence, of this place.
  static void expect_complaint(bool in_proofs, const std::string& from, const std::string& to, const std::string& place,
                               const char* what) {
    SCOPED_TRACE(to);
    std::string text = in_proofs ? proofs() : rules();
    const size_t at = text.find(from);
    CHECK(at != std::string::npos) << from;
    text.replace(at, from.size(), to);
    const auto parsed = in_proofs ? parse_rules(rules(), text, axioms_) : parse_rules(text, proofs(), axioms_);
    const std::string message = parsed.ok() ? "(parsed)" : parsed.error().message();
    EXPECT_THAT(message, StartsWith(place));
    EXPECT_THAT(message, HasSubstr(what));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }

  static std::vector<verify::StatedAxiom> axioms_;
  static RulesFile file_;
};
std::vector<verify::StatedAxiom> RulesFiles::axioms_;
RulesFile RulesFiles::file_;

TEST_F(RulesFiles, ParseBackToTheSame) {
  const auto parsed = parse_rules(rules(), proofs(), axioms_);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(print_rules(*parsed), rules());
  EXPECT_EQ(print_proofs(*parsed, axioms_), proofs());
  EXPECT_EQ(parsed->made_by, file_.made_by);
  ASSERT_EQ(parsed->rules.size(), file_.rules.size());
  verify::Signatures signatures;
  for (size_t k = 0; k < file_.rules.size(); ++k) {
    const Rule &one = file_.rules[k], &other = parsed->rules[k];
    SCOPED_TRACE(one.text());
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.outputs, other.outputs);
    EXPECT_EQ(one.float_class, other.float_class);
    EXPECT_EQ(one.example.types, other.example.types);
    EXPECT_EQ(one.proof.uses.size(), other.proof.uses.size());
    const auto done = replayed(other, axioms_, signatures);
    EXPECT_TRUE(done.ok()) << done.error().message();
  }
}

TEST_F(RulesFiles, AreWrittenAndReadAsTwoFiles) {
  const isomer::test::ScratchFolder folder;
  const auto written = write_rules(folder.path() / "mine", file_, axioms_);
  ASSERT_TRUE(written.ok()) << written.error().message();
  for (const char* name : {"mine", "mine.rules"}) {
    const auto read = read_rules(folder.path() / name, axioms_);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(print_rules(*read), rules());
    EXPECT_EQ(print_proofs(*read, axioms_), proofs());
  }
  const auto missing = read_rules(folder.path() / "other", axioms_);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), HasSubstr("other.rules"));
}

/// As editors and version control leave them elsewhere.
TEST_F(RulesFiles, LinesMayEndInCarriageReturns) {
  const auto with_returns = [](const std::string& text) { return std::regex_replace(text, std::regex("\n"), "\r\n"); };
  const auto parsed = parse_rules(with_returns(rules()), with_returns(proofs()), axioms_);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(print_rules(*parsed), rules());
  EXPECT_EQ(print_proofs(*parsed, axioms_), proofs());
}

TEST_F(RulesFiles, ProofsMayBeThereBeforeTheirRules) {
  RulesFile fewer = file_;
  fewer.rules.erase(fewer.rules.begin() + 1);
  const auto parsed = parse_rules(print_rules(fewer), proofs(), axioms_);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(print_rules(*parsed), print_rules(fewer));
  EXPECT_EQ(print_proofs(*parsed, axioms_), print_proofs(fewer, axioms_));
}

TEST_F(RulesFiles, WhatIsWrongIsSaidOfTheFileThatItStandsIn) {
  const isomer::test::ScratchFolder folder;
  const auto complaint = [&](const char* broken) {
    CHECK(write_rules(folder.path() / "mine", file_, axioms_).ok());
    isomer::test::write_file(folder.path() / broken, "nothing\n");
    const auto read = read_rules(folder.path() / "mine.rules", axioms_);
    return read.ok() ? std::string("(read)") : read.error().message();
  };
  EXPECT_THAT(complaint("mine.proofs"), StartsWith((folder.path() / "mine.proofs: line 1: ").string()));
  EXPECT_THAT(complaint("mine.rules"), StartsWith((folder.path() / "mine.rules: line 1: ").string()));
}

TEST_F(RulesFiles, BrokenLinesOfRulesGetASentence) {
  const auto says = [](const char* from, const char* to, const char* place, const char* what) {
    expect_complaint(false, from, to, place, what);
  };
  says("# isomer", "# laws 01", "line 1", "laws by their names expected, a file of an older version found");
  says("# isomer", "# other", "", "a line '# isomer library generate …' expected, none found");
  says("rule0\tsign-of-zero\t", "rule0\t", "line 2",
       "name, class, outputs, example between tabs expected, 3 fields found");
  says("rule0\tsign-of-zero", "rule0\tround", "line 2",
       "a class of floating point such as exact expected, 'round' found");
  says("rule1\t", "rule0\t", "line 3", "a name of its own expected, a second rule 'rule0' found");
  // They are printed as they are.
  for (const char* name : {"ru\x1b[31mle0\t", "ru\xc2\x9ble0\t", "\"rule0\t"})
    says("rule0\t", name, "line 2", "a name without quotes and control characters expected");
  says(" = Concat(", " == Concat(", "line 2", "left ; … = right ; … expected");
  says("MatMul(x,v) ; ", "", "line 4", "as many outputs on both sides expected, 1 and 2 found");
  says("Relu(Concat", "Rela(Concat", "line 2", "Rela");
  says("Relu(Concat(x,y)", "Relu(Concat(x,y", "line 2", "expected");
  says("x:float32[2,4]", "x float32[2,4]", "line 2", "name:type expected");
  says("x:float32[2,4]", "x:float32", "line 2", "a type such as float32[2,3] expected, 'float32' found");
  says("x:float32[2,4]", "x:floaty[2,4]", "line 2", "a type such as float32[2,3] expected");
  says("x:float32[2,4]", "x:float32[2,-4]", "line 2", "a size expected, '-4' found");
  says("x:float32[2,4]", "x:float32[2,99999999999999999999]", "line 2", "a size expected");
  says("..p1={axis=1}", "..p9={axis=1}", "line 2", "a rest of the terms expected, 'p9' found");
  says("..p1={axis=1}", "..p1", "line 2", "..name={…} expected, '..p1' found");
  says("..p1={axis=1}", "..p1={axis=", "line 2", "expected");
  says("{a=0,", "{a=[0,1],", "line 3", "an integer expected, [0,1] found");
}

TEST_F(RulesFiles, BrokenLinesOfProofsGetASentence) {
  const auto says = [](const char* from, const char* to, const char* place, const char* what) {
    expect_complaint(true, from, to, place, what);
  };
  says("# isomer", "# laws 01", "line 1", "laws by their names expected, a file of an older version found");
  says("rule0\n", "rule7\n", "line 2", "the name of a rule expected, 'rule7' found");
  says("rule0\n", "", "line 2", "the name of a rule expected, a use of a law found");
  says("\tConcat.", "\tConcat.9999", "line 3", "a law of this version, or 'elements', expected");
  says("\tConcat.", "\t", "line 3", "a law of this version, or 'elements', expected");
  says(" ; x=x", " ; x", "line 3", "name=… expected, 'x' found");
  says(" ; x=x", " ; x=Relu(", "line 3", "expected");
  says("..p={..p1}", "..q={..p1}", "line 3", "a rest of the terms expected, 'q' found");
  says("{a=a,", "{a=[1,2],", "line 5", "an integer expected, [1,2] found");
}

TEST_F(RulesFiles, WhatUsersWriteParses) {
  const auto outputs = parse_outputs("MatMul(x,v) ; x = MatMul(v,x) ; Relu(x)");
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs->size(), 2U);
  EXPECT_EQ((*outputs)[1].right.text(), "Relu(x)");
  for (const char* broken : {"", "x", "x = y = z", "x ; y = z", "Relu(x = x", " = "})
    EXPECT_FALSE(parse_outputs(broken).ok()) << broken;
}

}  // namespace
}  // namespace isomer::substitutions::test
