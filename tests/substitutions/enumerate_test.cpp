#include "substitutions/discover/enumerate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "graph/interpret.h"
#include "graph/te/array.h"
#include "substitutions/discover/classes.h"
#include "support/files.h"
#include "support/long_run.h"
#include "util/random.h"
#include "verify/proof/refute/evaluate_exact.h"
#include "verify/proof/substitute.h"
#include "verify/prover/operator_count.h"

namespace isomer::substitutions {
namespace {

OperatorSet named(const std::string& name) {
  auto set = operator_set(name);
  CHECK(set.ok()) << name;
  return std::move(*set);
}

Enumeration run(const OperatorSet& set, int operators, bool keep_derived = false) {
  EnumerationOptions options;
  options.max_operators = operators;
  options.keep_derived = keep_derived;
  auto result = enumerate(set, options);
  CHECK(result.ok()) << result.error().message();
  return std::move(*result);
}

std::vector<std::string> texts(const Enumeration& enumeration) {
  std::vector<std::string> result;
  for (const Equation& equation : enumeration.equations)
    result.push_back(equation.left.text() + " = " + equation.right.text());
  return result;
}

// What is found

const char* const kKnown[] = {
    "Add(x1,x2) = Add(x2,x1)",
    "Mul(k1,k2) = Mul(k2,k1)",
    "Add(Add(x1,x2),x3) = Add(Add(x1,x3),x2)",
    "MatMul(MatMul(x1,w1),w2) = MatMul(x1,MatMul(w1,w2))",
    "x1 = MatMul(x1,EyeLike(Expand(1){shape=[4,4]}))",
    "Relu(i1) = Relu(Relu(i1))",
    "x1 = Transpose(Transpose(x1){perm=[1,0]}){perm=[1,0]}",
    "w2 = Split(Concat(w1,w2){axis=1}){axis=1,split=[4,4]}.1",
    "Concat(Concat(x3,x1){axis=0},x2){axis=0} = Concat(x3,Concat(x1,x2){axis=0}){axis=0}",
    "Transpose(MatMul(x1,w1)){perm=[1,0]} = MatMul(Transpose(w1){perm=[1,0]},Transpose(x1){perm=[1,0]})",
    "AveragePool(i1){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]} = "
    "Conv(i1,Expand(Reciprocal(ReduceSum(Expand(1){shape=[3,3]}){keepdims=0})){shape=[4,1,3,3]}){group=4,kernel_shape=["
    "3,3],pads=[1,1,1,1]}",
    "Conv(i1,h1){group=1,kernel_shape=[1,3],pads=[0,1,0,1]} = "
    "Conv(i1,Pad(h1){pads=[0,0,1,0,0,0,1,0]}){group=1,kernel_shape=[3,3],pads=[1,1,1,1]}",
    "MaxPool(Relu(i1)){kernel_shape=[3,3],pads=[1,1,1,1]} = Relu(MaxPool(i1){kernel_shape=[3,3],pads=[1,1,1,1]})",
    "Conv(i1,Concat(k1,k2){axis=0}){group=1,kernel_shape=[3,3],pads=[1,1,1,1]} = "
    "Concat(Conv(i1,k1){group=1,kernel_shape=[3,3],pads=[1,1,1,1]},Conv(i1,k2){group=1,kernel_shape=[3,3],pads=[1,1,1,"
    "1]}){axis=1}",
    "Conv(Concat(i1,i2){axis=1},Concat(k1,k2){axis=1}){group=1,kernel_shape=[3,3],pads=[1,1,1,1]} = "
    "Add(Conv(i1,k1){group=1,kernel_shape=[3,3],pads=[1,1,1,1]},Conv(i2,k2){group=1,kernel_shape=[3,3],pads=[1,1,1,1]}"
    ")",
    "MatMul(x1,w1) = Split(MatMul(x1,Concat(w1,w2){axis=1})){axis=1,split=[4,4]}",
    "MatMul(Concat(x1,x2){axis=1},Concat(w1,w2){axis=0}) = Add(MatMul(x1,w1),MatMul(x2,w2))",
};

verify::Term renamed(const verify::Term& term, const std::map<std::string, std::string>& names) {
  verify::Bindings bindings;
  for (const auto& [from, to] : names) bindings.tensors.emplace(from, verify::Term::variable(to));
  return verify::substitute(term, bindings);
}

/// The sides in either order, variables renamed in the order of their first use.
std::string canonical(const verify::Term& left, const verify::Term& right) {
  std::string best;
  for (const auto& [first, second] : {std::pair(left, right), std::pair(right, left)}) {
    std::map<std::string, std::string> names;
    std::map<char, int> next;
    std::vector<std::string> variables = verify::variables({first});
    for (const std::string& name : verify::variables({second})) variables.push_back(name);
    for (const std::string& name : variables)
      if (!names.contains(name)) names.emplace(name, name[0] + std::to_string(++next[name[0]]));
    const std::string text = renamed(first, names).text() + " = " + renamed(second, names).text();
    if (best.empty() || text < best) best = text;
  }
  return best;
}

TEST(Enumerate, FindsWhatIsKnown) {
  const Enumeration enumeration = run(named("taso"), 3, true);
  std::set<std::string> found;
  for (const Equation& equation : enumeration.equations) found.insert(canonical(equation.left, equation.right));
  for (const char* text : kKnown) {
    const auto law = verify::parse_law(text);
    ASSERT_TRUE(law.ok()) << text;
    EXPECT_TRUE(found.contains(canonical(law->left, law->right))) << text;
  }
}

// What is true

template <te::RealAlgebra A>
std::optional<bool> holds(const Graph& graph, A algebra, Random& random) {
  const te::Concrete<A> scalars{std::move(algebra)};
  std::vector<te::ValuesOver<A>> inputs;
  for (const ValueId input : graph.inputs()) {
    te::ValuesOver<A> values{DataType::kFloat32, *constants(*graph.value(input).type.shape), {}};
    for (int64_t k = element_count(values.dims); k > 0; --k) {
      const int64_t sign = random.chance(0.5) ? 1 : -1;
      values.elements.push_back(
          scalars.literal(te::Number::fraction(sign * random.between(1, 50), 7), DataType::kFloat32));
    }
    inputs.push_back(std::move(values));
  }
  const auto sides = verify::evaluate(graph, scalars, inputs);
  if (!sides.ok()) return std::nullopt;
  return (*sides)[0].dims == (*sides)[1].dims && (*sides)[0].elements == (*sides)[1].elements;
}

bool holds_in_doubles(const Graph& graph, Random& random) {
  std::vector<te::Array> inputs;
  for (const ValueId input : graph.inputs()) {
    const Dims dims = *constants(*graph.value(input).type.shape);
    std::vector<double> values;
    for (int64_t k = element_count(dims); k > 0; --k)
      values.push_back(random.uniform(0.5, 2) * (random.chance(0.5) ? 1 : -1));
    inputs.push_back(te::Array::reals(DataType::kFloat32, dims, values));
  }
  const auto sides = interpret(graph, inputs, {});
  if (!sides.ok() || (*sides)[0].dims() != (*sides)[1].dims()) return false;
  for (int64_t k = 0; k < (*sides)[0].count(); ++k) {
    const double left = (*sides)[0].real(k), right = (*sides)[1].real(k);
    // Where a function is not defined, nothing is claimed.
    if (!std::isnan(left) && !std::isnan(right) && std::abs(left - right) > 1e-6 * std::max(1.0, std::abs(left)))
      return false;
  }
  return true;
}

class Truth : public testing::TestWithParam<std::string> {};

TEST_P(Truth, IsNeverRefuted) {
  const OperatorSet set = named(GetParam());
  const Enumeration enumeration = run(set, 2, isomer::test::is_long_run());
  const verify::VariableTypes all = set.variable_types();
  Random random(1);
  for (const Equation& equation : enumeration.equations) {
    const std::string text = equation.left.text() + " = " + equation.right.text();
    verify::VariableTypes types;
    for (const auto& term : {equation.left, equation.right})
      for (const std::string& name : verify::variables({term})) types.emplace(name, all.at(name));
    const auto graph = verify::graph_of({equation.left, equation.right}, types);
    ASSERT_TRUE(graph.ok()) << text << ": " << graph.error().message();
    const auto exactly = holds(*graph, te::RationalAlgebra(), random);
    EXPECT_TRUE(exactly ? *exactly : holds_in_doubles(*graph, random)) << text;
  }
}
INSTANTIATE_TEST_SUITE_P(Enumerate, Truth,
                         testing::Values("taso", "elementwise", "matrix", "movement", "image", "vision", "sequence"));

/// Each side is over the set's variables, operators are counted, and nothing is said twice.
TEST(Enumerate, SaysNothingTwice) {
  const OperatorSet set = named("matrix");
  const Enumeration enumeration = run(set, 2);
  std::set<std::string> seen;
  for (const Equation& equation : enumeration.equations) {
    EXPECT_TRUE(seen.insert(canonical(equation.left, equation.right)).second)
        << equation.left.text() << " = " << equation.right.text();
    EXPECT_FALSE(equation.left == equation.right);
    EXPECT_LE(verify::operator_count({equation.left}), 6);
  }
  for (const std::string& text : texts(enumeration))
    EXPECT_EQ(text.find("Transpose(Transpose(Transpose"), std::string::npos);
}

// Where the work is done

/// The largest terms are found equal in another way than smaller ones are; both ways agree.
TEST(Enumerate, LevelsAgree) {
  const OperatorSet set = named("movement");
  Classes classes(set, 2, 0);
  LevelCounts counts;
  std::set<std::string> rights;
  for (int size = 1; size <= 2; ++size) {
    const auto added = classes.add_level(
        size, [&](const ClassEquation& equation) { rights.insert(classes.terms(equation).second.text()); },
        [](double, int64_t) {});
    ASSERT_TRUE(added.ok());
    counts = *added;
  }
  const Enumeration enumeration = run(set, 2, true);
  EXPECT_EQ(enumeration.levels[1].terms, counts.terms);
  EXPECT_EQ(enumeration.levels[1].classes, counts.classes);
  std::set<std::string> found;
  for (const Equation& equation : enumeration.equations) found.insert(equation.right.text());
  EXPECT_EQ(found, rights);
}

TEST(Enumerate, ThreadsAndMemoryDontMatter) {
  const OperatorSet set = named("elementwise");
  EnumerationOptions options;
  const auto expected = enumerate(set, options);
  options.threads = 3;
  options.memory = 1000;  // everything goes to files
  const auto found = enumerate(set, options);
  ASSERT_TRUE(expected.ok() && found.ok());
  EXPECT_GT(expected->equations.size(), 500u);
  EXPECT_EQ(texts(*expected), texts(*found));
  EXPECT_EQ(expected->levels[2].terms, found->levels[2].terms);
}

TEST(Enumerate, SeedsFindTheSame) {
  const OperatorSet set = named("taso");
  EnumerationOptions options;
  options.max_operators = 2;
  options.seed = 12345;
  const auto other = enumerate(set, options);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(texts(run(set, 2)), texts(*other));
}

TEST(Enumerate, PartsMakeTheWhole) {
  const OperatorSet set = named("elementwise");
  const isomer::test::ScratchFolder folder;
  EnumerationOptions options;
  options.folder = folder.path();
  for (int part = 0; part < 2; ++part) ASSERT_TRUE(enumerate_part(set, options, part, 3).ok());
  const auto early = merge_parts(set, options, 3);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().kind, ErrorKind::kUsage);
  ASSERT_TRUE(enumerate_part(set, options, 2, 3).ok());
  const auto merged = merge_parts(set, options, 3);
  ASSERT_TRUE(merged.ok()) << merged.error().message();
  EXPECT_EQ(texts(*merged), texts(run(set, 3)));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Enumerate, GoesOnWhereItWasInterrupted) {
  const OperatorSet set = named("elementwise");
  const isomer::test::ScratchFolder folder;
  EnumerationOptions options;
  options.folder = folder.path();
  struct Interrupted {};
  options.progress = [&](const EnumerationProgress& progress) {
    if (progress.operators == 3 && progress.share > 0.4) throw Interrupted();
  };
  EXPECT_THROW(static_cast<void>(enumerate(set, options)), Interrupted);
  EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  double first = -1;
  options.progress = [&](const EnumerationProgress& progress) {
    if (progress.operators == 3 && first < 0) first = progress.share;
  };
  const auto resumed = enumerate(set, options);
  ASSERT_TRUE(resumed.ok());
  EXPECT_GT(first, 0.9);
  EXPECT_EQ(texts(*resumed), texts(run(set, 3)));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// Zeros are no records.
TEST(Enumerate, RefusesRecordsThatWereCut) {
  const OperatorSet set = named("elementwise");
  const isomer::test::ScratchFolder folder;
  EnumerationOptions options;
  options.folder = folder.path();
  ASSERT_TRUE(enumerate_part(set, options, 0, 1).ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (!entry.path().string().ends_with("-state")) std::filesystem::resize_file(entry.path(), 1);
  const auto merged = merge_parts(set, options, 1);
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().kind, ErrorKind::kMismatch);
}

TEST(Enumerate, RefusesWhatMakesNoSense) {
  const OperatorSet set = named("elementwise");
  EnumerationOptions options;
  options.max_operators = 9;
  EXPECT_EQ(enumerate(set, options).error().kind, ErrorKind::kUsage);
  options.max_operators = 2;
  EXPECT_EQ(enumerate_part(set, options, 0, 2).error().kind, ErrorKind::kUsage);
  EXPECT_EQ(operator_set("nothing").error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace isomer::substitutions
