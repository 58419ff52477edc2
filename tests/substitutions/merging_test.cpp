// Operators that stand side by side in networks become one, step by step, by the rules that come with the program and
// the laws: of every rewrite that is possible the one that leaves the fewest is taken, and what is left computes what
// was there before.
#include <gtest/gtest.h>

#include "properties/same_function.h"
#include "substitutions/library/shipped.h"
#include "substitutions/rewriting.h"

namespace isomer::substitutions::test {
namespace {

struct Network {
  const char* name;
  const char* body;
  std::vector<std::string>
      operators;          ///< what is counted of what is computed from the inputs, the most important first
  std::vector<int> left;  ///< of each
};
void PrintTo(const Network& network, std::ostream* stream) { *stream << network.name; }

const Network kNetworks[] = {
    {"AttentionOfThreeProjections",
     R"(graph main(x: float32[2,3,4]) -> (q: float32[2,3,4], k: float32[2,3,4], v: float32[2,3,6]) {
      wq: float32[4,4] = random 1
      wk: float32[4,4] = random 2
      wv: float32[4,6] = random 3
      bq: float32[4] = random 4
      bk: float32[4] = random 5
      bv: float32[6] = random 6
      pq: float32[2,3,4] = MatMul(x, wq)
      pk: float32[2,3,4] = MatMul(x, wk)
      pv: float32[2,3,6] = MatMul(x, wv)
      q: float32[2,3,4] = Add(pq, bq)
      k: float32[2,3,4] = Add(pk, bk)
      v: float32[2,3,6] = Add(bv, pv)
    })",
     {"MatMul", "Add"},
     {1, 1}},
    {"BatchedProducts",
     R"(graph main(x: float32[2,1,3,4], v: float32[2,5,4,3], w: float32[2,5,4,2]) -> (y: float32[2,5,3,3], z: float32[2,5,3,2]) {
      y: float32[2,5,3,3] = MatMul(x, v)
      z: float32[2,5,3,2] = MatMul(x, w)
    })",
     {"MatMul"},
     {1}},
    {"GatesOfARecurrentCell",
     R"(graph main(x: float32[2,4], h: float32[2,3]) -> (f: float32[2,3], g: float32[2,3], o: float32[2,3]) {
      u1: float32[4,3] = random 1
      u2: float32[4,3] = random 2
      u3: float32[4,3] = random 3
      w1: float32[3,3] = random 4
      w2: float32[3,3] = random 5
      w3: float32[3,3] = random 6
      a1: float32[2,3] = MatMul(x, u1)
      a2: float32[2,3] = MatMul(x, u2)
      a3: float32[2,3] = MatMul(x, u3)
      b1: float32[2,3] = MatMul(h, w1)
      b2: float32[2,3] = MatMul(h, w2)
      b3: float32[2,3] = MatMul(h, w3)
      s1: float32[2,3] = Add(a1, b1)
      s2: float32[2,3] = Add(a2, b2)
      s3: float32[2,3] = Add(a3, b3)
      f: float32[2,3] = Sigmoid(s1)
      g: float32[2,3] = Sigmoid(s2)
      o: float32[2,3] = Tanh(s3)
    })",
     {"MatMul", "Add"},
     {1, 0}},
    {"BranchesOfAnInceptionBlock",
     R"(graph main(x: float32[1,4,5,5]) -> (y: float32[1,2,5,5], z: float32[1,3,5,5], u: float32[1,4,5,5]) {
      v: float32[2,4,1,1] = random 1
      w: float32[3,4,1,1] = random 2
      p: float32[4,4,1,1] = random 3
      b: float32[2] = random 4
      c: float32[3] = random 5
      d: float32[4] = random 6
      cy: float32[1,2,5,5] = Conv(x, v, b)
      cz: float32[1,3,5,5] = Conv(x, w, c)
      cu: float32[1,4,5,5] = Conv(x, p, d)
      y: float32[1,2,5,5] = Relu(cy)
      z: float32[1,3,5,5] = Relu(cz)
      u: float32[1,4,5,5] = Relu(cu)
    })",
     {"MatMul", "Conv", "Add", "Relu"},
     {0, 1, 1, 1}},
    {"ExpansionOfAFireModule",
     R"(graph main(x: float32[1,4,5,5]) -> (y: float32[1,5,5,5]) {
      v: float32[2,4,3,3] = random 1
      w: float32[3,4,3,3] = random 2
      a: float32[1,2,5,5] = Conv(x, v) {pads = [1,1,1,1]}
      b: float32[1,3,5,5] = Conv(x, w) {pads = [1,1,1,1]}
      c: float32[1,2,5,5] = Relu(a)
      d: float32[1,3,5,5] = Relu(b)
      y: float32[1,5,5,5] = Concat(c, d) {axis = 1}
    })",
     {"Conv", "Relu", "Concat", "Split"},
     {1, 1, 0, 0}},
    {"PartsThatAreJoinedAgain",
     R"(graph main(x: float32[2,9]) -> (y: float32[2,9]) {
      n: int64[2] = {5, 4}
      m: int64[2] = {2, 3}
      p: float32[2,5], q: float32[2,4] = Split(x, n) {axis = 1}
      a: float32[2,2], b: float32[2,3] = Split(p, m) {axis = 1}
      c: float32[2,5] = Concat(a, b) {axis = 1}
      d: float32[2,9] = Concat(c, q) {axis = 1}
      y: float32[2,9] = Relu(d)
    })",
     {"Split", "Concat"},
     {0, 0}},
};

class Merging : public testing::TestWithParam<Network> {
 protected:
  Merging() {
    for (RulesFile& file : shipped_rules(theory_.axioms()))
      for (Rule& rule : file.rules) list_.push_back(std::move(rule));
    for (size_t law = 0; law < theory_.axioms().size(); ++law)
      list_.push_back(rule_of(static_cast<int>(law), theory_.axioms()));
    rules_.emplace(list_, theory_);
  }

  static std::vector<int> counts(const Program& program, const std::vector<std::string>& operators) {
    std::vector<int> result(operators.size());
    for (int id = 0; id < program.application_count(); ++id) {
      if (!program.op(id) || program.value(program.application(id).first_value).is_constant) continue;
      for (size_t k = 0; k < operators.size(); ++k) result[k] += program.op(id)->name == operators[k] ? 1 : 0;
    }
    return result;
  }

  Theory theory_;
  std::vector<Rule> list_;
  std::optional<Substitutions> rules_;
};

TEST_P(Merging, LeavesOneOfEach) {
  const Graph before = graph(GetParam().body);
  Program now = with_plain_operands(program(before, theory_)).program;
  constexpr int kMostSteps = 12;
  for (int step = 0; step < kMostSteps && counts(now, GetParam().operators) > GetParam().left; ++step) {
    std::optional<Program> best;
    for (const Match& match : rules_->matches(now)) {
      auto done = apply(now, match, *rules_);
      auto* changed = std::get_if<Rewritten>(&done);
      if (changed && counts(changed->program, GetParam().operators) < counts(best ? *best : now, GetParam().operators))
        best = std::move(changed->program);
    }
    ASSERT_TRUE(best) << "step " << step;
    now = std::move(*best);
  }
  EXPECT_EQ(counts(now, GetParam().operators), GetParam().left);
  const isomer::test::Case tried = isomer::test::case_of(isomer::test::sample_of(before, 1), 1);
  EXPECT_EQ(difference(tried, written(now)), "");
}
INSTANTIATE_TEST_SUITE_P(Networks, Merging, testing::ValuesIn(kNetworks),
                         [](const auto& network) { return std::string(network.param.name); });

}  // namespace
}  // namespace isomer::substitutions::test
