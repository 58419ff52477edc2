// Programs: what comes in goes out again, whatever terms can't write; the hash is of what is computed.
#include "substitutions/rewrite/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "graph/hash.h"
#include "graph/onnx/import.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/remove_dead.h"
#include "properties/random_graph.h"
#include "properties/same_function.h"
#include "substitutions/rewriting.h"
#include "support/files.h"

namespace isomer::substitutions::test {
namespace {

using testing::ElementsAre;

TEST(Programs, ReadInputsThatDecideAsParameters) {
  Theory theory;
  const Program there = program(graph(R"(graph main(x: float32[2,6]) -> (y: float32[3,2,1], z: float32[4,8]) {
    shape: int64[3] = {3, -1, 1}
    pads: int64[4] = {1, 1, 1, 1}
    y: float32[3,4,1] = Reshape(x, shape)
    z: float32[4,8] = Pad(x, pads)
  })"),
                                theory);
  EXPECT_THAT(operators(there), ElementsAre("Pad", "Reshape"));
  for (int id = 0; id < there.application_count(); ++id) EXPECT_EQ(there.arguments(id).size(), 1U);
  EXPECT_EQ(verify::text(theory.signatures().operation(there.application(0).operation).parameters.at("shape")),
            "[3,4,1]");
}

TEST(Programs, LeaveIntegersThatAreDataAlone) {
  Theory theory;
  const Program there = program(graph(R"(graph main(x: int64[2]) -> (y: int64[2]) {
    one: int64[2] = {1, 2}
    y: int64[2] = Add(x, one)
  })"),
                                theory);
  EXPECT_EQ(there.arguments(0).size(), 2U);
}

TEST(Programs, KeepNodesThatTermsCantWrite) {
  Theory theory;
  const Graph before = graph(R"(graph main(x: float32[4]) -> (y: float32[4], i: int64[2]) {
    k: int64[1] = {2}
    h: float32[4] = com.example::Scale(x) {alpha = 0.5}
    g: float32[4] = Relu(h)
    v: float32[2], i: int64[2] = TopK(g, k)
    y: float32[4] = Relu(g)
  })");
  const Program there = program(before, theory);
  EXPECT_THAT(operators(there), ElementsAre("Relu", "Relu", "TopK", "opaque"));
  EXPECT_EQ(structural_hash(written(there)), structural_hash(before));
}

TEST(Programs, HaveNumbersThatAreNotMinusZero) {
  Theory theory;
  const Program there = program(graph(R"(graph main(x: float32[4]) -> (y: float32[4]) {
    zero: float32[] = {0}
    minus: float32[] = {-0}
    a: float32[4] = Max(x, zero)
    y: float32[4] = Max(a, minus)
  })"),
                                theory);
  EXPECT_TRUE(there.number(there.arguments(0)[1]));
  EXPECT_FALSE(there.number(there.arguments(1)[1]));
}

TEST(Programs, ReadOperandsInTheOtherOrderWhereTheModeAllows) {
  Theory theory;
  const int type = theory.signatures().type_id(ValueType::tensor(DataType::kFloat32, {4}));
  for (const FloatMode mode : {FloatMode::kReassociate, FloatMode::kStrict}) {
    theory.commute_within(mode);
    EXPECT_TRUE(theory.commutes(find_op("Add"), type, type));
    EXPECT_EQ(theory.commutes(find_op("Max"), type, type), mode != FloatMode::kStrict);
  }
}

TEST(Programs, KnowWhatDependsOnConstantsAlone) {
  Theory theory;
  const Program there = program(graph(R"(graph main(x: float32[2,2]) -> (y: float32[2,2]) {
    w: float32[2,2] = {1, 2, 3, 4}
    t: float32[2,2] = Transpose(w) {perm = [1,0]}
    y: float32[2,2] = Add(x, t)
  })"),
                                theory);
  EXPECT_TRUE(there.value(there.application(0).first_value).is_constant);
  EXPECT_FALSE(there.value(there.application(1).first_value).is_constant);
}

TEST(Programs, HashWhatIsComputed) {
  Theory theory;
  const auto hash = [&](std::string_view nodes) {
    return program(
               graph("graph main(x: float32[2], y: float32[2]) -> (o: float32[2]) {\n" + std::string(nodes) + "\n}"),
               theory)
        .hash();
  };
  const Hash128 one = hash("a: float32[2] = Relu(x)\n b: float32[2] = Sigmoid(y)\n o: float32[2] = Add(a, b)");
  EXPECT_EQ(one, hash("b: float32[2] = Sigmoid(y)\n a: float32[2] = Relu(x)\n o: float32[2] = Add(a, b)"))
      << "another order";
  EXPECT_EQ(one, hash("b: float32[2] = Sigmoid(y)\n a: float32[2] = Relu(x)\n o: float32[2] = Add(b, a)"))
      << "operands that commute";
  EXPECT_NE(one, hash("b: float32[2] = Sigmoid(x)\n a: float32[2] = Relu(y)\n o: float32[2] = Add(a, b)"))
      << "other inputs";
  EXPECT_NE(one, hash("b: float32[2] = Sigmoid(y)\n a: float32[2] = Relu(x)\n o: float32[2] = Sub(a, b)"));
  EXPECT_NE(hash("a: float32[2] = Relu(x)\n b: float32[2] = Relu(y)\n o: float32[2] = Sub(a, b)"),
            hash("a: float32[2] = Relu(x)\n b: float32[2] = Relu(y)\n o: float32[2] = Sub(b, a)"));
}

TEST(Programs, KeepNamesOfOutputsThatAreInputsOrOneValue) {
  Theory theory;
  const Graph before = graph(R"(graph main(x: float32[2]) -> (a: float32[2], b: float32[2]) {
    a: float32[2] = Identity(x)
    b: float32[2] = Relu(a)
  })");
  const Graph after = written(program(before, theory));
  EXPECT_EQ(structural_hash(after), structural_hash(before));
  EXPECT_EQ(after.value(after.outputs()[1]).name, "b");
}

TEST(Programs, OfModelsComeBackAsTheyWere) {
  for (const auto& file : std::filesystem::directory_iterator(isomer::test::source_path("models"))) {
    if (file.path().extension() != ".onnx") continue;
    auto model = import_model(file.path());
    if (!model.ok())
      continue;  // its weights are not in the repository: those that were filled here, and the random graphs below,
                 // must do
    SCOPED_TRACE(file.path().filename().string());
    Theory theory;
    ASSERT_TRUE(canonicalize(*model, {}).ok());
    const Program there = program(*model, theory);
    EXPECT_EQ(structural_hash(written(there)), structural_hash(*model));
  }
}

TEST(Programs, OfRandomGraphsComeBackAsTheyWere) {
  Theory theory;
  int applications = 0, opaque = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Graph before = isomer::test::random_sample(seed).graph;
    if (before.outputs().empty()) continue;
    const PassOptions options;
    std::vector<OptimizeStep> steps;
    PassContext context(options, steps);
    ASSERT_TRUE(remove_dead(before, context).ok());
    const Program there = program(before, theory);
    for (int id = 0; id < there.application_count(); ++id) ++(there.op(id) ? applications : opaque);
    EXPECT_EQ(structural_hash(written(there)), structural_hash(before))
        << "seed " << seed << "\n"
        << print_graph(before) << print_graph(written(there));
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(applications, opaque);
}

}  // namespace
}  // namespace isomer::substitutions::test
