// The e-graph: congruence, reasons that suffice, saturation that ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "util/random.h"
#include "verify/claim_support.h"
#include "verify/prover/prove.h"
#include "verify/prover/saturate.h"

namespace isomer::verify::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const VariableTypes kTypes = types_of({"a[2,2] b[2,2] c[2,2] d[2,2]", ""});

struct Terms {
  Signatures signatures;
  EGraph graph{kTypes, signatures};
  int operator()(const char* text) { return *graph.add(term(text)); }
};

TEST(EGraphs, EqualArgumentsMakeEqualTerms) {
  Terms t;
  const int left = t("Add(Neg(Relu(a)),d)"), right = t("Add(c,d)"), other = t("Add(d,c)");
  t.graph.merge(t("Relu(a)"), t("b"), {0, {}});
  EXPECT_FALSE(t.graph.equal(left, right));
  t.graph.merge(t("Neg(b)"), t("c"), {1, {}});
  EXPECT_TRUE(t.graph.equal(left, right));
  EXPECT_FALSE(t.graph.equal(left, other));
  EXPECT_THAT(t.graph.explain(left, right), ElementsAre(0, 1));
}

TEST(EGraphs, ExplainByWhatIsNeededOnly) {
  Terms t;
  t.graph.merge(t("a"), t("b"), {0, {}});
  t.graph.merge(t("c"), t("d"), {1, {}});
  t.graph.merge(t("Neg(b)"), t("Relu(c)"), {2, {}});
  t.graph.merge(t("b"), t("d"), {3, {}});
  EXPECT_THAT(t.graph.explain(t("Neg(a)"), t("Relu(c)")), ElementsAre(0, 2));
  EXPECT_THAT(t.graph.explain(t("Neg(a)"), t("Relu(d)")), ElementsAre(0, 1, 2));
  EXPECT_THAT(t.graph.explain(t("a"), t("c")), ElementsAre(0, 1, 3));
  EXPECT_THAT(t.graph.explain(t("a"), t("a")), IsEmpty());
}

TEST(EGraphs, PremisesOfReasonsAreExplained) {
  Terms t;
  t.graph.merge(t("a"), t("b"), {0, {}});
  t.graph.merge(t("Neg(a)"), t("c"), {1, {{t("a"), t("b")}}});
  EXPECT_THAT(t.graph.explain(t("Neg(a)"), t("c")), ElementsAre(0, 1));
}

TEST(EGraphs, OnlyTermsOfOneTypeAreEqual) {
  Terms t;
  EXPECT_THROW(t.graph.merge(t("a"), t("ReduceSum(a){axes=[0]}"), {0, {}}), Bug);
}

TEST(EGraphs, TermsOfOneMeaningAreOneNode) {
  Terms t;
  EXPECT_EQ(t("Transpose(a)"), t("Transpose(a){perm=[1,0]}"));
  EXPECT_EQ(t("Concat(a,b){axis=-1}"), t("Concat(a,b){axis=1}"));
  EXPECT_NE(t("Concat(a,b){axis=0}"), t("Concat(a,b){axis=1}"));
  EXPECT_NE(t("Split(a){axis=0,split=[1,1]}"), t("Split(a){axis=0,split=[1,1]}.1"));
  EXPECT_EQ(t.graph.term(t("Add(a,Neg(b))")), term("Add(a,Neg(b))"));
}

/// Random equations between random terms: what the graph calls equal is what the proof checker calls so, and the
/// reasons that it gives are enough for it.
TEST(EGraphs, AgreeWithTheProofChecker) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    Terms t;
    std::vector<Term> terms;
    for (const char* name : {"a", "b", "c", "d"}) terms.push_back(Term::variable(name));
    const auto pick = [&]() -> const Term& { return terms[random.below(terms.size())]; };
    while (terms.size() < 16) {
      const OpDef* op = find_op("", random.chance(0.4) ? "Neg" : random.chance(0.5) ? "Relu" : "Add");
      Term::Application application{op, 0, {}, "", {pick()}};
      if (op->name == "Add") application.arguments.push_back(pick());
      terms.emplace_back(std::move(application));
    }
    std::vector<int> nodes;
    for (const Term& term : terms) nodes.push_back(*t.graph.add(term));
    std::vector<std::pair<Term, Term>> equations;
    for (int k = 0; k < 7; ++k) {
      const size_t from = random.below(terms.size()), to = random.below(terms.size());
      equations.emplace_back(terms[from], terms[to]);
      t.graph.merge(nodes[from], nodes[to], {k, {}});
    }
    for (size_t i = 0; i < terms.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        SCOPED_TRACE(terms[i].text() + " = " + terms[j].text());
        ASSERT_EQ(t.graph.equal(nodes[i], nodes[j]), follows(equations, terms[i], terms[j]));
        if (!t.graph.equal(nodes[i], nodes[j])) continue;
        std::vector<std::pair<Term, Term>> reasons;
        for (const int reason : t.graph.explain(nodes[i], nodes[j]))
          reasons.push_back(equations[static_cast<size_t>(reason)]);
        EXPECT_TRUE(follows(reasons, terms[i], terms[j]));
      }
  }
}

struct Saturating {
  LawSet laws{all_axioms()};
  Saturated run(const char* left, const char* right, const SaturationLimits& limits) {
    EGraph graph(kTypes, laws.signatures());
    const int from = *graph.add(term(left)), to = *graph.add(term(right));
    return Saturation(graph, laws).run(from, to, limits);
  }
};

TEST(Saturation, SaysWhyItStopped) {
  Saturating saturating;
  EXPECT_EQ(saturating.run("a", "a", {}), Saturated::kProved);
  EXPECT_EQ(saturating.run("Add(a,b)", "Add(b,a)", {}), Saturated::kProved);
  EXPECT_EQ(saturating.run("Add(Add(a,b),Add(c,d))", "a", {}), Saturated::kClosed);
  EXPECT_EQ(saturating.run("Add(Add(a,b),Add(c,d))", "a", {.rounds = 2}), Saturated::kRounds);
  EXPECT_EQ(saturating.run("Add(Add(a,b),Add(c,d))", "a", {.nodes = 20}), Saturated::kNodes);
}

TEST(Saturation, EveryLawIsUsed) {
  const LawSet laws(all_axioms());
  for (const auto& law : laws.prepared())
    EXPECT_FALSE(law->directions.empty()) << laws.axioms()[static_cast<size_t>(law->index)].law.text();
}

TEST(Saturation, TheSumsOfFourTermsAreAllFound) {
  // 14 sums of two or three of four terms in any bracketing meet in 11 classes besides the terms.
  LawSet laws(all_axioms());
  EGraph graph(kTypes, laws.signatures());
  const int sum = *graph.add(term("Add(Add(a,b),Add(c,d))")), a = *graph.add(term("a"));
  Saturation(graph, laws).run(sum, a, {});
  std::set<int> classes;
  for (int id = 0; id < graph.size(); ++id) classes.insert(graph.leader(id));
  EXPECT_EQ(classes.size(), 15U);
}

}  // namespace
}  // namespace isomer::verify::test
