// Mutants: what the enumeration reaches, where partly right ones are wrong, and that what is kept is true.
#include "substitutions/mutate/mutants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "graph/text.h"
#include "substitutions/library/refute.h"
#include "substitutions/library/rules_file.h"
#include "substitutions/library/shipped.h"
#include "substitutions/mutate/boxes.h"
#include "substitutions/mutate/by_elements.h"
#include "substitutions/mutate/cover.h"
#include "support/long_run.h"

namespace isomer::substitutions::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Boxes, AreThePositions) {
  const Dims dims = {3, 4};
  // . . . .
  // # # . #
  // # # . #
  std::vector<bool> positions(12);
  for (const size_t row : {1, 2})
    for (const size_t column : {0, 1, 3}) positions[4 * row + column] = true;
  const std::vector<Box> boxes = boxes_of(positions, dims);
  EXPECT_THAT(boxes, ElementsAre(Box{{1, 0}, {3, 2}}, Box{{1, 3}, {3, 4}}));
  EXPECT_EQ(text(boxes[0], dims), "[1:3, 0:2]");
  EXPECT_EQ(text(boxes[1], dims), "[1:3, 3]");
  EXPECT_THAT(boxes_of(std::vector<bool>(12), dims), IsEmpty());
  EXPECT_EQ(text(boxes_of(std::vector<bool>(12, true), dims)[0], dims), "[:, :]");
}

TEST(Boxes, OfRandomPositionsCoverThemOnce) {
  Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const Dims dims = {random.between(1, 4), random.between(1, 4), random.between(1, 4)};
    std::vector<bool> positions(static_cast<size_t>(element_count(dims)));
    // Some of blocks, some of dust.
    for (size_t k = 0; k < positions.size(); ++k) positions[k] = random.chance(trial % 2 == 0 ? 0.9 : 0.3);
    std::vector<int> covered(positions.size());
    for (const Box& box : boxes_of(positions, dims))
      for (int64_t i = box.begin[0]; i < box.end[0]; ++i)
        for (int64_t j = box.begin[1]; j < box.end[1]; ++j)
          for (int64_t k = box.begin[2]; k < box.end[2]; ++k)
            ++covered[static_cast<size_t>((i * dims[1] + j) * dims[2] + k)];
    for (size_t k = 0; k < positions.size(); ++k) ASSERT_EQ(covered[k], positions[k] ? 1 : 0);
  }
}

std::vector<Original> originals_of_axes(size_t most) {
  std::vector<Original> all = originals();
  std::erase_if(all, [&](const Original& original) { return original.convolution.strides.size() > most; });
  return all;
}

/// Strides and dilations at once, other zeros on each side, groups, and one that is there twice.
constexpr const char* kConvolutions = R"(opset 17
graph g(x: float32[1,8,30,30], v: float32[4,4,3,3], w: float32[8,2,3,3], u: float32[8,2,3,3]) -> (y, z, t, s) {
  y = Conv(x, w) {group = 4, strides = [2,2], dilations = [2,2], pads = [1,2,0,3]}
  z = Conv(x, u) {group = 4, strides = [2,2], dilations = [2,2], pads = [1,2,0,3]}
  a = Relu(x)
  b: int64[1] = {4}
  t, r = Split(a) {axis = 1, num_outputs = 2}
  s = Conv(t, v) {pads = [1,1,1,1]}
})";

TEST(Originals, OfAModelAreEachOnceAndSmall) {
  const Graph model = *parse_graph(kConvolutions);
  const std::vector<Original> found = originals_of(model);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].image, (Dims{1, 4, 6, 6}));
  EXPECT_EQ(found[0].kernel, (Dims{4, 2, 3, 3}));
  EXPECT_EQ(found[0].numbers, (std::map<std::string, int64_t, std::less<>>{{"a", 2}}));
  EXPECT_EQ(found[1].image, (Dims{1, 2, 6, 6}));
  EXPECT_THAT(found[1].built().term.text(), HasSubstr("pads=[1,1,1,1]"));
}

TEST(Originals, OfAModelHaveMutantsThatNoRuleSays) {
  verify::Signatures signatures;
  const auto axioms = verify::all_axioms();
  std::vector<Rule> shipped;
  for (RulesFile& file : shipped_rules(axioms)) std::ranges::move(file.rules, std::back_inserter(shipped));
  MutantOptions options{.max_operators = 8, .trials = 0, .known = shipped};
  const auto made = mutants(originals_of(*parse_graph(kConvolutions)), options);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_THAT(made->rules, testing::SizeIs(testing::Ge(3)));
  for (const Rule& rule : made->rules) {
    SCOPED_TRACE(rule.text());
    EXPECT_TRUE(holds_at(rule, rule.example, axioms, signatures).ok());
    // Of the first: of the other all is known.
    EXPECT_THAT(rule.text(), HasSubstr("strides=[2,2]"));
    EXPECT_EQ(refute(rule, 20, 5, axioms, signatures).counterexample, std::nullopt);
  }
}

/// Axes along which a kernel has one element fall away in some, which weights are folded along in others.
TEST(Originals, WithNarrowKernelsHaveMutants) {
  MutantOptions options{.max_operators = 8, .trials = 0};
  const auto made = mutants(originals_of(*parse_graph(R"(opset 18
graph narrow(x: float32[1,1,8,12]) -> (y) {
  w: float32[2,1,2,1] = random 1
  y = Conv(x, w) {pads = [2, 3, 0, 1]}
}
)")),
                            options);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_GT(made->statistics.tried, 0);
}

/// Each element in one box; what a box is cut out of is right there, and wrong somewhere else.
TEST(Covers, OfShippedRulesAreTheirOutputs) {
  int joined = 0, cut = 0;
  for (const RulesFile& file : shipped_rules(verify::all_axioms())) {
    if (file.made_by.find("--ops mutants") == std::string::npos) continue;
    for (const Rule& rule : file.rules) {
      SCOPED_TRACE(rule.text());
      const auto cover = cover_of(rule);
      ASSERT_TRUE(cover);
      std::vector<int> times(static_cast<size_t>(element_count(cover->dims)));
      const auto is_inside = [&](const Box& box, size_t position) {
        for (size_t axis = cover->dims.size(); axis-- > 0;) {
          const auto k = static_cast<int64_t>(position) % cover->dims[axis];
          position /= static_cast<size_t>(cover->dims[axis]);
          if (k < box.begin[axis] || k >= box.end[axis]) return false;
        }
        return true;
      };
      for (const CoverPart& part : cover->parts)
        for (size_t k = 0; k < times.size(); ++k) {
          if (!is_inside(part.box, k)) continue;
          ++times[k];
          for (const Box& wrong : part.wrong) ASSERT_FALSE(is_inside(wrong, k));
        }
      EXPECT_EQ(times, std::vector<int>(times.size(), 1));
      joined += cover->parts.size() > 1;
      cut +=
          std::ranges::any_of(cover->parts, [](const CoverPart& part) { return part.is_cut && !part.wrong.empty(); });
    }
  }
  EXPECT_GT(joined, 3);
  EXPECT_GT(cut, 3);
}

TEST(Mutants, SayWhereTheTimeWasOver) {
  const std::vector<Original> all = originals_of(*parse_graph(kConvolutions));
  MutantOptions options{.max_operators = 8, .trials = 0, .until = Clock::now()};
  const auto made = mutants(all, options);
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made->statistics.is_complete);
  options.until.reset();
  const auto whole = mutants(all, options);
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->statistics.is_complete);
  EXPECT_LE(whole->statistics.typed, whole->statistics.tried);
}

class Mutating : public testing::Test {
 protected:
  /// Few draws of structures: proofs for all sizes take most of the time.
  static MutantOptions quick() {
    MutantOptions options;
    options.max_operators = 8;
    options.trials = 5;
    return options;
  }

  static void SetUpTestSuite() {
    MutantOptions options = quick();
    options.threads = 2;
    std::mutex mutex;
    options.log = [&](const std::string& line) {
      const std::lock_guard lock(mutex);
      log_.push_back(line);
    };
    auto made = mutants(originals_of_axes(2), options);
    CHECK(made.ok()) << made.error().message();
    mutants_ = *std::move(made);
  }

  static std::vector<std::string> texts() {
    std::vector<std::string> result;
    for (const Rule& rule : mutants_.rules) result.push_back(rule.text());
    return result;
  }

  static Mutants mutants_;
  static std::vector<std::string> log_;
  std::vector<verify::StatedAxiom> axioms_ = verify::all_axioms();
  verify::Signatures signatures_;
};
Mutants Mutating::mutants_;
std::vector<std::string> Mutating::log_;

TEST_F(Mutating, FindsPhases) {
  // Dilated: the images of residues, one below the other.
  EXPECT_THAT(texts(),
              Contains(testing::AllOf(HasSubstr("dilations=[e,f],group=g,pads=[a,b,c,d],strides=[1,1]} = Unfold("),
                                      HasSubstr("axes=[2,3],by=[e,f],into=0"))));
  // With strides: residues are channels of both.
  EXPECT_THAT(texts(), Contains(testing::AllOf(HasSubstr("strides=[e,f]} = Conv(Fold(x){axes=[2,3],by=[e,f],into=1"),
                                               HasSubstr("Fold(w){axes=[2,3],by=[e,f],into=1"))));
  // Transposed: residues of the kernel are channels of the result.
  EXPECT_THAT(texts(), Contains(testing::AllOf(HasSubstr("ConvTranspose("), HasSubstr("= Unfold(Conv(x,"))));
  // Axes exchanged.
  EXPECT_THAT(texts(), Contains(HasSubstr("= Transpose(Conv(Transpose(x)")));
  // Images side by side, each with groups of its own.
  EXPECT_THAT(texts(), Contains(testing::AllOf(HasSubstr("= Unfold(Conv(Fold(x){axes=[0],by=[2],into=1"),
                                               HasSubstr("Tile(w){repeats=[2,1,1,1]}"), HasSubstr("group=2*"))));
}

TEST_F(Mutating, FindsPieces) {
  // Halves and quarters of the result, each of what it reads.
  EXPECT_THAT(texts(), Contains(testing::AllOf(HasSubstr("= Unwindow(Conv(Windows(x){"),
                                               HasSubstr("axes=[2],counts=[2],into=0"))));
  EXPECT_THAT(texts(),
              Contains(testing::AllOf(HasSubstr("= Unwindow(Conv(Windows(x){"), HasSubstr("counts=[4,4],into=0"))));
  // Taps as channels: of an axis, of both, which leaves a product; and the axis among the images.
  EXPECT_THAT(texts(), Contains(HasSubstr("= Conv(Windows(x){apart=[1],axes=[2],counts=[w_2],into=1")));
  EXPECT_THAT(texts(), Contains(HasSubstr("= Conv(Windows(x){apart=[1,1],axes=[2,3],counts=[w_2,w_3],into=1")));
  EXPECT_THAT(texts(), Contains(HasSubstr("= Unfold(Unsqueeze(Conv(Squeeze(Fold(Windows(x)")));
  // Right by chance in the example: tiles of one result, with strides that the tiles' convolution has not.
  EXPECT_THAT(log_, Contains(testing::StartsWith("refuted: Unwindow(")));
}

TEST_F(Mutating, CorrectsImagesBelowEachOther) {
  // The last rows of one image meet the first ones of the next.
  EXPECT_THAT(log_,
              Contains(testing::AllOf(HasSubstr("partly: Unfold(Conv(Fold(x){axes=[0],by=[2],into=2"),
                                      HasSubstr("wrong at [0, :, 5:7, :] [1, :, 0, :] [2, :, 5:7, :] [3, :, 0, :]"))));
  EXPECT_THAT(texts(), Contains(HasSubstr("= Slice(Unfold(Conv(Fold(Pad(x)")));
  EXPECT_THAT(texts(), Contains(testing::AllOf(HasSubstr("= Concat(Concat(Conv(Slice(x){axes=[2]"),
                                               HasSubstr("Fold(x){axes=[0],by=[2],into=2"))));
  EXPECT_GT(mutants_.statistics.corrected, 3);
}

TEST_F(Mutating, KeepsWhatIsTrue) {
  EXPECT_GT(mutants_.rules.size(), 12U);
  int places = 0;
  for (const Rule& rule : mutants_.rules) {
    SCOPED_TRACE(rule.text());
    const auto done = replayed(rule, axioms_, signatures_);
    EXPECT_TRUE(done.ok()) << done.error().message();
    const Refutation tried = refute(rule, 60, 5, axioms_, signatures_);
    EXPECT_FALSE(tried.counterexample) << tried.counterexample->text();
    EXPECT_GE(tried.trials, 60);
    places += tried.places;
  }
  EXPECT_GT(places, 12);
}

/// Each number of a mutant's side one more or less: no rule, or a true one.
TEST_F(Mutating, RefusesChangedMutants) {
  Random random(11);
  int tried = 0, held = 0;
  for (const Rule& rule : mutants_.rules) {
    const std::string text = rule.outputs[0].right.text();
    for (size_t at = 1; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9' || text[at - 1] == '_') continue;
      if (!isomer::test::is_long_run() && random.chance(0.6)) continue;
      for (const int by : {-1, 1}) {
        std::string other = text;
        other.replace(at, 1, fmt::format("({})", text[at] - '0' + by));
        auto right = verify::parse_term(other);
        if (!right.ok()) continue;
        Rule changed = rule;
        changed.outputs[0].right = *std::move(right);
        changed.proof = proof_by_elements(changed.outputs);
        ++tried;
        if (!holds_at(changed, changed.example, axioms_, signatures_).ok()) continue;
        ++held;
        const Refutation check = refute(changed, 6, 7, axioms_, signatures_);
        EXPECT_FALSE(check.counterexample) << other << "\n" << check.counterexample->text();
      }
    }
  }
  EXPECT_GT(tried, 300);
  EXPECT_LT(held, tried / 5);
}

TEST_F(Mutating, FindsTheSameOnAnyNumberOfThreads) {
  MutantOptions options = quick();
  const auto first = mutants(originals_of_axes(1), options);
  options.threads = 3;
  const auto again = mutants(originals_of_axes(1), options);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_FALSE(first->rules.empty());
  const RulesFile one{"", first->rules}, other{"", again->rules};
  EXPECT_EQ(print_rules(one), print_rules(other));
}

}  // namespace
}  // namespace isomer::substitutions::test
