// Proofs and models as files: what is written is verified, what was changed in any of the three is not, or is the same
// function still; proofs that somebody made up end in a sentence.
#include "substitutions/proof/verify_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <regex>

#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "substitutions/derivation/proof_recorder.h"
#include "substitutions/derivations.h"
#include "substitutions/library/print_proof.h"
#include "support/collision.h"
#include "support/files.h"
#include "support/long_run.h"
#include "support/process.h"
#include "verify/check/equivalence.h"

namespace isomer::substitutions::test {
namespace {

using testing::HasSubstr;

class FilesOfWalks : public testing::Test {
 protected:
  void write_models(const Graph& input, const Graph& output) const {
    ASSERT_TRUE(export_model(input, files_.input).ok());
    ASSERT_TRUE(export_model(output, files_.output).ok());
  }
  void write(const Walk& walk) const {
    const auto proved = try_to_write(walk);
    ASSERT_TRUE(proved.ok()) << proved.error().message();
  }
  /// As `isomer optimize` does: where a pass made a change without a proof, the walk is made again without that pass.
  Walk write_what_is_proved(Walker& walker, const Graph& model, uint64_t seed, int steps) const {
    Walk walk = walker.walk(model, seed, steps);
    const auto proved = try_to_write(walk);
    if (proved.ok()) return walk;
    const Error& error = proved.error();
    EXPECT_TRUE(error.kind == ErrorKind::kMismatch && is_pass(error.where)) << error.message();
    walk = walker.walk(model, seed, steps, {error.where});
    write(walk);
    return walk;
  }
  /// Empty, or why they are not.
  std::string refusal(int runs = 0) const {
    const auto verified = verify_files(files_, {.fp = FloatMode::kFast, .check = {.runs = runs}});
    return verified.ok() ? "" : verified.error().message();
  }
  ErrorKind kind_of_refusal() const {
    return verify_files(files_, {.fp = FloatMode::kFast, .check = {.runs = 0}}).error().kind;
  }

  isomer::test::ScratchFolder folder_;
  const ModelFiles files_{folder_.path() / "in.onnx", folder_.path() / "out.onnx", folder_.path() / "out.proof"};

 private:
  /// Errors: those of the proof.
  Result<void> try_to_write(const Walk& walk) const {
    write_models(walk.model, walk.result);
    TRY(const Graph model, import_model(files_.input));
    TRY(const Graph result, import_model(files_.output));
    Theory theory;
    TRY(const auto proof, proof_of(model, walk.derivation, result, theory));
    TRY(const std::string text, print_proof(proof, theory.axioms()));
    isomer::test::write_file(files_.proof, text);
    return {};
  }
};

Walk long_walk(Walker& walker, uint64_t seed) {
  for (;; seed += 1000)
    if (Walk walk = walker.walk(dense_graph(seed), seed, 6); walk.derivation.steps.size() >= 3) return walk;
}

TEST_F(FilesOfWalks, AreVerified) {
  Walker walker;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    write(long_walk(walker, seed));
    EXPECT_EQ(refusal(1), "") << seed;
  }
}

TEST_F(FilesOfWalks, OverRandomGraphsOfAllRowsAreVerified) {
  Walker walker;
  int steps = 0;
  std::vector<std::string> left_out;  // passes
  const uint64_t last = isomer::test::is_long_run() ? 2000 : 60;
  for (uint64_t seed = 0; seed < last; ++seed) {
    isomer::test::Sample sample = isomer::test::random_sample(seed);
    ASSERT_TRUE(export_model(sample.graph, files_.input).ok());
    auto model = import_model(files_.input);
    ASSERT_TRUE(model.ok()) << model.error().message();
    sample.graph = *std::move(model);
    const Walk walk = write_what_is_proved(walker, sample.graph, seed, 6);
    steps += static_cast<int>(walk.derivation.steps.size());
    left_out.insert(left_out.end(), walk.derivation.without.begin(), walk.derivation.without.end());
    EXPECT_EQ(refusal(), "") << "seed " << seed;
    EXPECT_EQ(difference(isomer::test::case_of(sample, seed), walk.result), "") << "seed " << seed;
  }
  std::cout << steps << " steps\n";
  EXPECT_GT(steps, static_cast<int>(last));
  // A constant of which nothing is left but rounding has no proof, and walks may come by one.
  EXPECT_THAT(left_out, testing::Each(testing::StrEq("fold constants")));
  EXPECT_LE(left_out.size(), last / 20);
}

TEST_F(FilesOfWalks, WithAnyNamesOfDimsAreVerified) {
  const Graph model = graph(R"(graph main(x: float32["n ; \"q\\\x09{m}",6]) -> (y: float32["n ; \"q\\\x09{m}",2,3]) {
    s: int64[3] = {0, 2, 3}
    r: float32["n ; \"q\\\x09{m}",6] = Relu(x)
    y: float32["n ; \"q\\\x09{m}",2,3] = Reshape(r, s)
  })");
  const Walk walk = Walker().walk(model, {{"Reshape(Relu(x)){..p} = Relu(Reshape(x){..p})", true}});
  write(walk);
  EXPECT_THAT(isomer::test::read_file(files_.proof), HasSubstr("n ; \\\"q"));
  EXPECT_EQ(refusal(), "");
}

TEST_F(FilesOfWalks, AreVerifiedByTheCommandWhichSaysWhatWasDone) {
  Walker walker;
  const Walk walk = long_walk(walker, 2);
  write(walk);
  const isomer::test::Outcome outcome =
      isomer::test::run_program({isomer::test::tool_path("isomer").string(), "verify", files_.input.string(),
                                 files_.output.string(), files_.proof.string(), "--fp", "fast", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"verified\":true"));
  EXPECT_THAT(outcome.out, HasSubstr(fmt::format("\"rule\":{}", walk.derivation.steps.size())));
  for (const Step& step : walk.derivation.steps) EXPECT_THAT(outcome.out, HasSubstr(fmt::format("\"{}\":", step.rule)));
}

TEST_F(FilesOfWalks, WithAnythingChangedInTheModelsAreRefused) {
  Walker walker;
  const Walk walk = long_walk(walker, 3);
  struct Change {
    std::string_view name;
    bool is_input;
    std::function<void(Graph&)> make;
    std::string_view says;
  };
  const auto flip = [](Graph& graph) {
    for (const ValueId id : graph.values())
      if (const auto& constant = graph.value(id).constant; constant && !constant->bytes().empty()) {
        std::vector<std::byte> bytes(constant->bytes().begin(), constant->bytes().end());
        bytes[0] ^= std::byte{1};
        graph.edit(id).constant = Tensor(constant->dtype(), constant->dims(), std::move(bytes));
        return;
      }
    FAIL() << "a constant expected";
  };
  const Change changes[] = {
      {"a bit of a weight", true, flip, "one of another model found"},
      {"a bit of a weight", false, flip, "the model that the proof was written for expected"},
      {"the name of an output", true, [](Graph& graph) { graph.edit(graph.outputs()[0]).name = "renamed"; },
       "expected, output"},
      {"the name of an output", false, [](Graph& graph) { graph.edit(graph.outputs()[0]).name = "renamed"; },
       "expected, output renamed"},
      {"the name of an input", false, [](Graph& graph) { graph.edit(graph.inputs()[0]).name = "renamed"; },
       "expected, input renamed"},
      {"the order of inputs", false,
       [](Graph& graph) {
         auto inputs = graph.inputs();
         std::swap(inputs[0], inputs[1]);
         graph.set_inputs(inputs);
       },
       "expected, input"},
      {"the version of the operators", false, [](Graph& graph) { graph.edit_info().opsets[""] = 21; }, "operator sets"},
      {"a declared shape", false, [](Graph& graph) { graph.edit(graph.outputs()[0]).declared->shape.reset(); },
       "output"},
  };
  write(walk);
  for (const Change& change : changes) {
    Graph input = walk.model, output = walk.result;
    change.make(change.is_input ? input : output);
    write_models(input, output);
    EXPECT_THAT(refusal(), HasSubstr(change.says)) << change.name;
    EXPECT_EQ(kind_of_refusal(), ErrorKind::kMismatch) << change.name;
  }
}

/// Weights in place of which anyone can put others, with a hash that is the same.
TEST_F(FilesOfWalks, WithATableThatHashesAlikeAreRefused) {
  const Graph model = graph(R"(graph main(i: int64[3], w: float32[64,8]) -> (y: float32[3,8]) {
    table: float32[1000,64] = random 1
    e: float32[3,64] = Gather(table, i)
    m: float32[3,8] = MatMul(e, w)
    y: float32[3,8] = Relu(m)
  })");
  const Walk walk = Walker().walk(model, std::vector<std::pair<std::string, bool>>());
  const auto forged = [](Graph graph) {
    for (const ValueId id : graph.values()) {
      const auto& table = graph.value(id).constant;
      if (!table) continue;
      const std::vector<std::byte> bytes(table->bytes().begin(), table->bytes().end());
      graph.edit(id).constant =
          Tensor(table->dtype(), table->dims(), isomer::test::with_the_same_hash(bytes, 1, uint64_t{1} << 30));
    }
    return graph;
  };
  write(walk);
  EXPECT_EQ(refusal(), "");
  write_models(walk.model, forged(walk.result));
  EXPECT_THAT(refusal(), HasSubstr("output 'y' equal by the proof's steps expected"));
  write_models(forged(walk.model), walk.result);
  EXPECT_THAT(refusal(), HasSubstr("output 'y' equal by the proof's steps expected"));
}

TEST_F(FilesOfWalks, WithOtherNamesWithinAreTheSameModel) {
  Walker walker;
  const Walk walk = long_walk(walker, 4);
  Graph output = walk.result;
  output.edit_info().doc_string = "changed";
  for (const NodeId id : output.nodes()) output.edit(id).name = fmt::format("n{}", id.index);
  write(walk);
  write_models(walk.model, output);
  EXPECT_EQ(refusal(), "");
}

TEST_F(FilesOfWalks, OfOtherPairsOfModelsAreRefused) {
  Walker walker;
  const Walk one = long_walk(walker, 5), other = long_walk(walker, 6);
  write(one);
  write_models(other.model, other.result);
  EXPECT_THAT(refusal(), HasSubstr("one of another model found"));
  write_models(one.model, other.result);
  EXPECT_NE(refusal(), "");
  write_models(one.model, one.model);
  EXPECT_NE(refusal(), "");
}

/// Whether both have the same interface and are the same function.
bool are_same(const std::filesystem::path& one, const std::filesystem::path& other) {
  const auto a = import_model(one), b = import_model(other);
  if (!a.ok() || !b.ok()) return false;
  const auto names = [](const Graph& graph) {
    std::vector<std::string> result;
    for (const auto* list : {&graph.inputs(), &graph.outputs()})
      for (const ValueId id : *list) result.push_back(graph.value(id).name);
    return result;
  };
  if (names(*a) != names(*b)) return false;
  const auto compared = compare_models(*a, *b, {});
  return compared.ok() && compared->passed();
}

/// A byte is another.
std::string with_other_byte(std::string text, Random& random) {
  char& byte = text[random.below(text.size())];
  byte = static_cast<char>(random.chance(0.5) ? byte ^ (1 << random.below(8)) : random.below(256));
  return text;
}

/// A number or a word is another, of the text or one that is large.
std::string with_other_token(const std::string& text, Random& random) {
  const auto token = [&] {
    const auto is_part = [&](size_t k) { return k < text.size() && std::isalnum(static_cast<unsigned char>(text[k])); };
    size_t first = random.below(text.size());
    while (first > 0 && is_part(first - 1)) --first;
    size_t last = first + 1;
    while (is_part(first) && is_part(last)) ++last;
    return std::pair(first, last - first);
  };
  const std::array<std::string, 6> large = {
      "9223372036854775807", "4611686018427387904", "2147483648", "1000000", "0", "-1"};
  const auto [first, size] = token();
  const auto [other, other_size] = token();
  return std::string(text).replace(
      first, size, random.chance(0.4) ? large[random.below(large.size())] : text.substr(other, other_size));
}

TEST_F(FilesOfWalks, WithATokenOfTheProofChangedAreRefusedOrTheSameModels) {
  Walker walker;
  const int walks = isomer::test::is_long_run() ? 100 : 8, each = isomer::test::is_long_run() ? 200 : 25;
  int accepted = 0;
  for (int walk = 0; walk < walks; ++walk) {
    write(long_walk(walker, static_cast<uint64_t>(walk)));
    const std::string right = isomer::test::read_file(files_.proof);
    // The models are right: whatever is done to the proof, what is accepted is. Nor may it crash, or take long.
    ASSERT_TRUE(are_same(files_.input, files_.output));
    Random random(static_cast<uint64_t>(walk));
    for (int k = 0; k < each; ++k) {
      isomer::test::write_file(files_.proof, with_other_token(right, random));
      if (refusal().empty()) ++accepted;
    }
  }
  EXPECT_LT(accepted, walks * each / 2);
}

TEST_F(FilesOfWalks, WithAByteChangedAreRefusedOrTheSameModels) {
  Walker walker;
  const int walks = isomer::test::is_long_run() ? 100 : 8, each = isomer::test::is_long_run() ? 100 : 25;
  int accepted = 0;
  for (int walk = 0; walk < walks; ++walk) {
    write(long_walk(walker, static_cast<uint64_t>(walk)));
    Random random(static_cast<uint64_t>(walk));
    for (int k = 0; k < each; ++k) {
      const std::filesystem::path file = std::array{files_.input, files_.output, files_.proof}[random.below(3)];
      const std::string right = isomer::test::read_file(file);
      const std::string changed = with_other_byte(right, random);
      isomer::test::write_file(file, changed);
      if (refusal().empty() && changed != right) {
        ++accepted;
        EXPECT_TRUE(are_same(files_.input, files_.output)) << "walk " << walk << ", change " << k << " of " << file;
        // The output is what was written: nobody else's model.
        isomer::test::write_file(file, right);
        const std::filesystem::path copy = folder_.path() / "changed.onnx";
        isomer::test::write_file(copy, changed);
        EXPECT_TRUE(file == files_.proof || are_same(file, copy))
            << "walk " << walk << ", change " << k << " of " << file;
      }
      isomer::test::write_file(file, right);
    }
  }
  std::cout << accepted << " of " << walks * each << " changes accepted\n";
  EXPECT_LT(accepted, walks * each / 2);
}

/// Proofs as people or programs may write them, of a model that is there.
class WrittenProofs : public FilesOfWalks {
 protected:
  WrittenProofs() {
    Walker walker;
    write(long_walk(walker, 7));
    proof_ = isomer::test::read_file(files_.proof);
  }
  std::string refusal_of(const std::string& proof) const {
    isomer::test::write_file(files_.proof, proof);
    return refusal();
  }
  /// The first line that begins so is another.
  std::string with_line(std::string_view beginning, std::string_view line) const {
    const size_t first = ("\n" + proof_).find("\n" + std::string(beginning));
    EXPECT_NE(first, std::string::npos) << beginning;
    return std::string(proof_).replace(first, proof_.find('\n', first) - first, line);
  }

  std::string proof_;
};

TEST_F(WrittenProofs, MayHaveCarriageReturns) {
  EXPECT_EQ(refusal_of(std::regex_replace(proof_, std::regex("\n"), "\r\n")), "");
}

TEST_F(WrittenProofs, ThatAreCutOffSayWhere) {
  for (size_t size = 0; size < proof_.size(); size += size < 200 ? 1 : 37) {
    const std::string why = refusal_of(proof_.substr(0, size));
    EXPECT_THAT(why, HasSubstr("line ")) << size;
    EXPECT_EQ(kind_of_refusal(), ErrorKind::kInvalid);
  }
}

TEST_F(WrittenProofs, SayWhichLineIsWrongAndWhatWasExpected) {
  struct Case {
    std::string_view line, instead, says;
  };
  const Case cases[] = {
      {"isomer proof", "isomer proof 1",
       "line 1: 'isomer proof 3' expected, 'isomer proof 1' of another version found"},
      {"isomer proof", "a proof", "line 1: a proof, which begins with 'isomer proof 3', expected, 'a proof' found"},
      {"input", "input 12", "line 2: 32 hexadecimal digits expected, '12' found"},
      {"input", "output 12", "line 2: 'input …' expected"},
      {"fp", "fp exact", "line 4: strict, reassociate or fast expected, 'exact' found"},
      {"rules", "dim batch=3", "line 5: column 5: expected a text in quotes"},
      {"rules", "dim \"batch\"=99999999999999999999", "line 5: column 13: expected a number"},
      {"rules", "shape \"x\"=[1,2", "line 5: column 15: expected \"]\", found the end"},
      {"rules", "rule", "line 5: 'rules' expected, 'rule' found"},
      {"steps", "\tConv.999", "a law of this version, or 'elements', expected, 'Conv.999' found"},
      {"end", "stop", "a step: make, rule, fold, infer, same, expand, output, each with its fields, expected"},
      {"end", "fold", "a step: make, rule, fold, infer, same, expand, output, each with its fields, expected"},
      {"end", "fold\t%x", "a number from 0 to 2147483647 expected, 'x' found"},
      {"end", "same\t%1\t%2\t3", "a value such as %12 expected, '3' found"},
      {"end", "rule\tnothing\tx=%1", "the name of a rule above expected, 'nothing' found"},
      {"end", "end\nend", "nothing behind 'end' expected, more found"},
  };
  for (const Case& each : cases) {
    EXPECT_THAT(refusal_of(with_line(each.line, each.instead)), HasSubstr(each.says)) << each.instead;
    EXPECT_EQ(kind_of_refusal(), ErrorKind::kInvalid) << each.instead;
  }
}

TEST_F(WrittenProofs, WithHostileRulesAndStepsEndInASentence) {
  const std::string deep(100000, '('), word(100000, 'a'), sum = [] {
    std::string text = "a";
    for (int k = 0; k < 20000; ++k) text += "+a";
    return text;
  }();
  const auto lines = [&](const std::string& rule, const std::string& uses, const std::string& step) {
    const std::string rules = rule + "\n" + uses;
    std::string text = proof_;
    text.insert(text.find("steps\n"), rules);
    return text.insert(text.find("\nsteps\n") + 7, step + "\n");
  };
  const std::string law = "\tRelu.1 ; a=x\n", step = "rule\tr\tx=%0";
  for (const std::string& text : {
           std::string("\0\xff\xfe", 3),
           std::string(1 << 20, '\n'),
           std::string(1 << 20, '\t'),
           proof_ + std::string(1 << 20, 'x'),
           lines("r\texact\tRelu" + deep + " = x\tx:float32[2]", law, step),
           lines("r\texact\tx = " + word + "\tx:float32[2]", law, step),
           lines("r\texact\tRelu(x) = x\tx:float32[2]", law, step),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "rule\tr\tx=%2147483647"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "rule\tr\tx=%2147483648"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "rule\tr\tx=%0 ; x=%0"),
           lines(
               "r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law,
               "same\t%0\t%0\t%0" +
                   [] {
                     std::string t;
                     for (int k = 0; k < 100000; ++k) t += ",%0";
                     return t;
                   }() +
                   "\nfold\t%0"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "fold\t%0"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "infer\t%0"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "expand\t%0"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "same\t%0\t%1\t"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "output\noutput"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "make"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "make\n\tgraph (%999: float32[2]) -> () {\n\t}"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law,
                 "make\n\tgraph () -> (y) {\n\t  c: int64[1] = {4611686018427387904}\n\t  y = ConstantOfShape(c)\n\t}"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law,
                 "make\n\tgraph () -> () {\n\t  c: float32[1000000000000] = all 1\n\t}"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "rule\tr\t{a=1/0} ; x=%0"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law,
                 "rule\tr\t{a=9223372036854775807*9223372036854775807} ; x=%0"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", law, "rule\tr\t{a=" + sum + "} ; x=%0"),
           lines("r\texact\tRelu(x) = Max(x,0)\tx:float32[2]", "\tRelu.1 ; {x_0=1/0} ; a=x\n", step),
           lines("r\texact\tExpand(1){shape=[a,a]} = Expand(1){shape=[1000000000*a,1]}\t{a=1}", law,
                 "rule\tr\t{a=1000000000}"),
           lines("r\texact\tReshape(x){shape=[x_0/(x_0-x_0)]} = x\tx:float32[2]", law, step),
           lines("r\texact\tConcat(x,x){axis=x_0/0} = x\tx:float32[2]", law, step),
           lines("r\texact\tSplit(x){axis=0,split=[x_0 % (x_0 - 2)]} = x\tx:float32[2]", law, step),
           lines("r\texact\tSplit(x){axis=0,num_outputs=1000000000} = x\tx:float32[2]", law, step),
           lines("r\texact\tTranspose(x){perm=[-9223372036854775807]} = x\tx:float32[2]", law, step),
           lines("r\texact\tMaxPool(x){kernel_shape=[1000000000,1000000000]} = x\tx:float32[2,2,3,3]", law, step),
           lines("r\texact\tIf(x) = x\tx:float32[2]", law, step),
           lines("r\texact\tRelu(x).1000000 = x\tx:float32[2]", law, step),
       }) {
    const std::string why = refusal_of(text);
    EXPECT_NE(why, "") << text.substr(0, 300);
    EXPECT_LT(why.size(), text.size() + 1000);
  }
}

}  // namespace
}  // namespace isomer::substitutions::test
