// Models as problems for a tuner, and schedules that were tuned in code.
#include "search/code/tuning.h"

#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "kernel/fingerprint.h"
#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "tune/candidates.h"
#include "tune/tuned.h"

namespace isomer::test {
namespace {

constexpr std::string_view kLayers = R"(opset 17
graph layers(x: float32[8,32]) -> (y: float32[8,32]) {
  v: float32[32,32] = random 1
  w: float32[32,32] = random 2
  a = MatMul(x, v)
  b = Relu(a)
  c = MatMul(b, w)
  d = Relu(c)
  y = Softmax(d)
}
)";

search::CompileOptions options_here() {
  search::CompileOptions options;
  options.target = kernel::host_target();
  return options;
}

TEST(TuningProblems, AreTasksEachOnceWithHowOftenModelsRunIt) {
  search::TuningProblems all;
  ASSERT_TRUE(add_problems(all, parsed(kLayers), options_here()).ok());
  ASSERT_EQ(all.problems.size(), 2U);
  EXPECT_EQ(all.models[0].times, (std::vector<double>{2, 1}));
  EXPECT_GT(all.problems[0].flops, 0);
  ASSERT_TRUE(add_problems(all, parsed(R"(opset 17
graph other(x: float32[8,32]) -> (y: float32[8,32]) {
  v: float32[32,32] = random 1
  a = MatMul(x, v)
  b = Relu(a)
  y = Tanh(b)
}
)"),
                           options_here())
                  .ok());
  ASSERT_EQ(all.models.size(), 2U);
  for (const tune::ModelTasks& model : all.models) EXPECT_EQ(model.times.size(), all.problems.size());
}

/// A part has other tasks where another program stands in it.
TEST(TuningProblems, OfOtherProgramsAreChangesOfTheFirst) {
  search::TuningProblems all;
  ASSERT_TRUE(add_problems(all, parsed(kLayers), options_here()).ok());
  std::string text(kLayers);
  text.replace(text.find("Relu(c)"), 7, "Tanh(c)");
  const Graph other = parsed(text);
  ASSERT_TRUE(add_alternative(all, 1, other, options_here()).ok());
  ASSERT_EQ(all.problems.size(), 3U);
  ASSERT_EQ(all.models.size(), 1U);
  EXPECT_EQ(all.models[0].times, (std::vector<double>{2, 1, 0}));
  ASSERT_EQ(all.models[0].parts.size(), 2U);
  EXPECT_TRUE(all.models[0].parts[0].changes.empty());
  EXPECT_EQ(all.models[0].parts[1].changes, (std::vector<std::vector<double>>{{-1, 0, 1}}));
}

/// A schedule that records call tuned is compiled, and computes the same.
TEST(TunedSchedules, AreWhatIsCompiled) {
  const Graph graph = parsed(kLayers);
  const search::CompileOptions options = options_here();
  search::TuningProblems all;
  ASSERT_TRUE(add_problems(all, graph, options).ok());
  const tune::Problem& problem = all.problems[0];
  const tune::Candidates candidates(problem.start, options.space, machine_of(options), problem.flops);
  Random random(1);
  tune::Candidate other = candidates.sampled(random, 0.5);
  while (other.hash == candidates.preferred().hash) other = candidates.sampled(random, 0.5);

  kernel::Records records = kernel::Records::in_memory();
  kernel::Record record;
  record.key = {problem.hash, kernel::fingerprint(kernel::host_target(), options.threads), kernel::generator_version()};
  record.maker = tune::maker_of("tuned", problem.weights);
  record.trace = print(other.made.trace);
  record.microseconds = 1;
  ASSERT_TRUE(records.add(record).ok());

  search::CompileOptions with = options;
  take_tuned(with, records, problem.weights);
  const auto tuned = compile(graph, with), plain = compile(graph, options);
  ASSERT_TRUE(tuned.ok() && plain.ok());
  EXPECT_EQ(plain->tuned, 0);
  EXPECT_EQ(tuned->tuned, 1);
  EXPECT_EQ(kernel::hash(tuned->kernels[0].trace), other.hash);
  EXPECT_NE(kernel::hash(plain->kernels[0].trace), other.hash);
  std::vector<double> x(8 * 32);
  for (double& each : x) each = random.uniform(-1, 1);
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {8, 32}, x)};
  const auto expected = interpret(graph, inputs, {});
  const auto found = search::run_artifact(*opened(tuned->artifact), inputs);
  ASSERT_TRUE(expected.ok() && found.ok());
  for (int64_t k = 0; k < 8 * 32; ++k) EXPECT_NEAR((*found)[0].as_double(k), (*expected)[0].as_double(k), 1e-5) << k;

  // Records of schedules that lack a part are told apart.
  search::CompileOptions unpacked = options;
  unpacked.packing = unpacked.words = false;
  EXPECT_EQ(search::tuning_options(unpacked).without, ", without packing, without words");
  take_tuned(unpacked, records, problem.weights);
  EXPECT_EQ(compile(graph, unpacked)->tuned, 0);

  // What failed since is not taken.
  record.microseconds.reset();
  record.failure = "not faster than the default schedule";
  ASSERT_TRUE(records.add(record).ok());
  EXPECT_EQ(compile(graph, with)->tuned, 0);
}

}  // namespace
}  // namespace isomer::test
