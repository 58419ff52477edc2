#include "substitutions/discover/operator_set.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace isomer::substitutions {
namespace {

/// Families and instances one after the other; texts are terms over a and b.
class Builder {
 public:
  explicit Builder(std::string name) { set_.name = std::move(name); }

  Builder& family(std::string name, Dims dims, int count, bool is_weight = false) {
    set_.families.push_back({std::move(name), std::move(dims), count, is_weight});
    return *this;
  }
  Builder& constant(const std::string& text) { return instance(text, {}); }
  Builder& unary(const std::string& text, Accepts accepts = Accepts::kTensor) { return instance(text, {{accepts}}); }
  Builder& binary(const std::string& text, Accepts first = Accepts::kTensor, Accepts second = Accepts::kTensor) {
    return instance(text, {{first}, {second}});
  }
  Builder& pointwise(const std::string& text) {
    binary(text);
    set_.instances.back().equal_types = true;
    return *this;
  }
  Builder& of_rank(int rank) {
    for (Operand& operand : set_.instances.back().operands) operand.rank = rank;
    return *this;
  }
  /// Of a tensor and one of less rank, which is the same wherever it is broadcast to.
  Builder& broadcasting(const std::string& text, int rank, int less) {
    binary(text, Accepts::kData);
    set_.instances.back().operands[0].rank = rank;
    set_.instances.back().operands[1].rank = less;
    return *this;
  }
  Builder& scaling(const std::string& text) { return binary(text, Accepts::kTensor, Accepts::kNumber); }
  /// Each operand of a family of its own.
  Builder& only_of(const std::vector<std::string>& families, const std::string& text) {
    std::vector<Operand> operands;
    for (const std::string& family : families) operands.push_back({Accepts::kFamily, number_of(family)});
    return instance(text, std::move(operands));
  }
  Builder& concats(int axes) {
    for (int axis = 0; axis < axes; ++axis) binary(fmt::format("Concat(a,b){{axis={}}}", axis));
    return *this;
  }
  /// Into two parts of these sizes; what they don't sum up to is not split.
  Builder& splits(int axis, const std::vector<std::pair<int, int>>& sizes) {
    for (const auto& [first, second] : sizes)
      instance(fmt::format("Split(a){{axis={},split=[{},{}]}}", axis, first, second), {{}}, 2);
    return *this;
  }
  Builder& convolutions(const std::vector<int>& groups, const std::string& parameters, bool with_relu) {
    for (const int group : groups) {
      const std::string conv = fmt::format("Conv(a,b){{group={},{}}}", group, parameters);
      binary(conv, Accepts::kData);
      if (with_relu) binary(fmt::format("Relu({})", conv), Accepts::kData);
    }
    return *this;
  }
  Builder& exponents() {
    set_.exponents = true;
    return *this;
  }
  Builder& join(const OperatorSet& other) {
    const int shift = static_cast<int>(set_.families.size());
    set_.families.insert(set_.families.end(), other.families.begin(), other.families.end());
    set_.exponents |= other.exponents;
    for (Instance instance : other.instances) {
      for (Operand& operand : instance.operands)
        if (operand.accepts == Accepts::kFamily) operand.family += shift;
      const auto same = [&](const Instance& known) {
        return known.outputs == instance.outputs && known.equal_types == instance.equal_types;
      };
      if (std::none_of(set_.instances.begin(), set_.instances.end(), same))
        set_.instances.push_back(std::move(instance));
    }
    return *this;
  }
  OperatorSet done() { return std::move(set_); }

 private:
  int number_of(const std::string& family) const {
    const auto found =
        std::find_if(set_.families.begin(), set_.families.end(), [&](const Family& f) { return f.name == family; });
    return static_cast<int>(found - set_.families.begin());
  }

  Builder& instance(const std::string& text, std::vector<Operand> operands, int outputs = 1) {
    Instance result{{}, std::move(operands), false};
    for (int k = 0; k < outputs; ++k) {
      auto term = verify::parse_term(k == 0 ? text : fmt::format("{}.{}", text, k));
      CHECK(term.ok()) << text;
      result.outputs.push_back(std::move(*term));
    }
    set_.instances.push_back(std::move(result));
    return *this;
  }

  OperatorSet set_;
};

std::string ones(const Dims& dims) { return fmt::format("Expand(1){{shape=[{}]}}", fmt::join(dims, ",")); }
std::string identity_matrix(int size) { return fmt::format("EyeLike({})", ones({size, size})); }
/// The kernel of a convolution that changes nothing.
std::string identity_kernel(int channels, int size) {
  const int half = size / 2;
  return fmt::format("Pad(Reshape({}){{shape=[{},{},1,1]}}){{pads=[0,0,{},{},0,0,{},{}]}}", identity_matrix(channels),
                     channels, channels, half, half, half, half);
}
/// The kernel of a depthwise convolution that takes the mean.
std::string mean_kernel(int channels, int size) {
  return fmt::format("Expand(Reciprocal(ReduceSum({}){{keepdims=0}})){{shape=[{},1,{},{}]}}", ones({size, size}),
                     channels, size, size);
}

/// The convolution in half as many groups of twice as many channels, with weights that are 0 between groups that were
/// apart.
std::string in_half_the_groups(int groups, int filters, int channels, const std::string& parameters) {
  const int pairs = groups / 2, outputs = groups * filters;
  const std::string same = fmt::format("Expand(Reshape({}){{shape=[1,2,1,2,1]}}){{shape=[{},2,{},2,{}]}}",
                                       identity_matrix(2), pairs, filters, channels);
  return fmt::format("Conv(a,Mul(Concat(b,b){{axis=1}},Reshape({}){{shape=[{},{},1,1]}})){{group={},{}}}", same,
                     outputs, 2 * channels, pairs, parameters);
}

OperatorSet taso() {
  return Builder("taso")
      .family("x", {2, 4}, 3)
      .family("w", {4, 4}, 3, true)
      .family("i", {2, 4, 5, 5}, 3)
      .family("k", {4, 4, 3, 3}, 3, true)
      .family("h", {4, 4, 1, 3}, 3, true)
      .family("v", {4, 4, 3, 1}, 3, true)
      .family("d", {4, 1, 3, 3}, 1, true)
      .family("s", {}, 1)
      .binary("MatMul(a,b)")
      .of_rank(2)
      .pointwise("Add(a,b)")
      .pointwise("Mul(a,b)")
      .scaling("Mul(a,b)")
      .unary("Relu(a)")
      .convolutions({1, 2, 4}, "kernel_shape=[3,3],pads=[1,1,1,1]", true)
      .convolutions({1, 2}, "kernel_shape=[1,1]", true)
      .convolutions({1, 2}, "kernel_shape=[1,3],pads=[0,1,0,1]", true)
      .unary("AveragePool(a){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]}", Accepts::kData)
      .unary("MaxPool(a){kernel_shape=[3,3],pads=[1,1,1,1]}", Accepts::kData)
      .constant(mean_kernel(4, 3))
      .constant(identity_kernel(4, 3))
      .constant(identity_matrix(4))
      .constant(ones({2, 4, 5, 5}))
      .only_of({"h"}, "Pad(a){pads=[0,0,1,0,0,0,1,0]}")
      .only_of({"v"}, "Pad(a){pads=[0,0,0,1,0,0,0,1]}")
      .concats(2)
      .splits(0, {{2, 2}, {4, 4}, {2, 4}, {4, 2}, {4, 8}, {8, 4}})
      .splits(1, {{4, 4}, {4, 8}, {8, 4}, {1, 1}, {1, 4}, {4, 1}})
      .unary("Transpose(a){perm=[1,0]}")
      .done();
}

OperatorSet elementwise() {
  return Builder("elementwise")
      .family("e", {2, 3}, 3)
      .family("r", {1, 3}, 1)
      .family("s", {}, 2)
      .pointwise("Add(a,b)")
      .pointwise("Sub(a,b)")
      .pointwise("Mul(a,b)")
      .pointwise("Div(a,b)")
      .pointwise("Max(a,b)")
      .pointwise("Min(a,b)")
      .scaling("Add(a,b)")
      .scaling("Mul(a,b)")
      .scaling("Div(a,b)")
      .unary("Neg(a)")
      .unary("Relu(a)")
      .unary("Sigmoid(a)")
      .unary("Tanh(a)")
      .unary("Exp(a)")
      .unary("Sqrt(a)")
      .unary("Abs(a)")
      .unary("Reciprocal(a)")
      .unary("Expand(a){shape=[2,3]}")
      .constant("Expand(1){shape=[2,3]}")
      .constant("Expand(0){shape=[2,3]}")
      .exponents()
      .done();
}

OperatorSet matrix() {
  return Builder("matrix")
      .family("x", {2, 3}, 2)
      .family("w", {3, 3}, 2, true)
      .family("u", {3, 1}, 1, true)
      .family("q", {2, 2, 3}, 2)
      .family("z", {2, 3, 2}, 1)
      .family("s", {}, 1)
      .binary("MatMul(a,b)")
      .pointwise("Add(a,b)")
      .pointwise("Sub(a,b)")
      .pointwise("Mul(a,b)")
      .scaling("Mul(a,b)")
      .scaling("Div(a,b)")
      .unary("Neg(a)")
      .unary("Transpose(a){perm=[1,0]}")
      .unary("Transpose(a){perm=[0,2,1]}")
      .unary("Transpose(a){perm=[1,0,2]}")
      .concats(3)
      .splits(0, {{2, 2}, {3, 3}})
      .splits(1, {{3, 3}, {3, 1}, {1, 3}, {2, 2}})
      .splits(2, {{3, 3}, {2, 2}})
      .unary("Reshape(a){shape=[4,3]}")
      .unary("Reshape(a){shape=[2,2,3]}")
      .unary("Reshape(a){shape=[1,2,3]}")
      .unary("ReduceSum(a){axes=[0],keepdims=1}")
      .unary("ReduceSum(a){axes=[1],keepdims=1}")
      .unary("ReduceMean(a){axes=[1],keepdims=1}")
      .unary("ReduceSum(a){axes=[2],keepdims=1}")
      .unary("Expand(a){shape=[2,2,3]}")
      .unary("Expand(a){shape=[2,3]}")
      .constant(identity_matrix(3))
      .constant(ones({3, 1}))
      .constant(ones({2, 3}))
      .done();
}

OperatorSet image() {
  return Builder("image")
      .family("i", {2, 4, 5, 4}, 2)
      .family("k", {4, 4, 3, 3}, 2, true)
      .family("g", {4, 2, 3, 3}, 2, true)
      .family("d", {4, 1, 3, 3}, 1, true)
      .family("p", {4, 4, 1, 1}, 2, true)
      .family("m", {4, 4, 2, 2}, 1, true)
      .family("s", {}, 1)
      .convolutions({1, 2, 4}, "kernel_shape=[3,3],pads=[1,1,1,1]", false)
      .convolutions({1, 2, 4}, "kernel_shape=[3,3]", false)
      .convolutions({1, 2}, "kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]", false)
      .convolutions({1, 2}, "dilations=[2,2],kernel_shape=[3,3],pads=[2,2,2,2]", false)
      .convolutions({1, 2}, "kernel_shape=[1,1]", false)
      .convolutions({1}, "kernel_shape=[1,1],strides=[2,2]", false)
      .convolutions({1}, "kernel_shape=[2,2]", false)
      .convolutions({1}, "kernel_shape=[2,2],pads=[0,0,1,1]", false)
      .unary("AveragePool(a){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]}", Accepts::kData)
      .unary("AveragePool(a){kernel_shape=[3,3],pads=[1,1,1,1]}", Accepts::kData)
      .unary("AveragePool(a){kernel_shape=[2,2],strides=[2,2]}", Accepts::kData)
      .unary("MaxPool(a){kernel_shape=[3,3],pads=[1,1,1,1]}", Accepts::kData)
      .unary("MaxPool(a){kernel_shape=[2,2],strides=[2,2]}", Accepts::kData)
      .unary("MaxPool(a){kernel_shape=[1,3],pads=[0,1,0,1]}", Accepts::kData)
      .unary("MaxPool(a){kernel_shape=[3,1],pads=[1,0,1,0]}", Accepts::kData)
      .unary("GlobalAveragePool(a)", Accepts::kData)
      .unary("ReduceMean(a){axes=[2,3],keepdims=1}", Accepts::kData)
      .unary("ReduceSum(a){axes=[1],keepdims=1}", Accepts::kData)
      .pointwise("Add(a,b)")
      .pointwise("Mul(a,b)")
      .pointwise("Max(a,b)")
      .scaling("Mul(a,b)")
      .unary("Relu(a)")
      .only_of({"p"}, "Pad(a){pads=[0,0,1,1,0,0,1,1]}")
      .only_of({"m"}, "Pad(a){pads=[0,0,0,0,0,0,1,1]}")
      .unary("Pad(a){pads=[0,0,1,1,0,0,1,1]}", Accepts::kData)
      .unary("Slice(a){axes=[2,3],ends=[5,4],starts=[0,0],steps=[2,2]}", Accepts::kData)
      .unary("Transpose(a){perm=[0,1,3,2]}")
      .concats(2)
      .splits(0, {{2, 2}, {4, 4}})
      .splits(1, {{4, 4}, {2, 2}})
      .constant(mean_kernel(4, 3))
      .constant(identity_kernel(4, 3))
      .constant(identity_kernel(4, 1))
      .constant(ones({1, 4, 1, 1}))
      .done();
}

OperatorSet movement() {
  return Builder("movement")
      .family("t", {2, 3, 4}, 2)
      .family("f", {6, 4}, 2)
      .family("o", {1, 3, 1}, 1)
      .pointwise("Add(a,b)")
      .pointwise("Mul(a,b)")
      .unary("Relu(a)")
      .unary("Neg(a)")
      .unary("Transpose(a){perm=[1,0]}")
      .unary("Transpose(a){perm=[1,0,2]}")
      .unary("Transpose(a){perm=[0,2,1]}")
      .unary("Transpose(a){perm=[2,1,0]}")
      .unary("Transpose(a){perm=[1,2,0]}")
      .unary("Transpose(a){perm=[2,0,1]}")
      .unary("Reshape(a){shape=[6,4]}")
      .unary("Reshape(a){shape=[2,3,4]}")
      .unary("Reshape(a){shape=[3,2,4]}")
      .unary("Reshape(a){shape=[2,12]}")
      .unary("Reshape(a){shape=[24]}")
      .unary("Expand(a){shape=[2,3,4]}")
      .unary("Expand(a){shape=[2,3,1]}")
      .unary("Slice(a){axes=[0],ends=[1],starts=[0]}")
      .unary("Slice(a){axes=[0],ends=[2],starts=[1]}")
      .unary("Slice(a){axes=[1],ends=[2],starts=[0]}")
      .unary("Slice(a){axes=[1],ends=[3],starts=[1]}")
      .unary("Slice(a){axes=[1],ends=[4],starts=[0],steps=[2]}")
      .unary("Pad(a){pads=[0,1,0,0,0,0]}")
      .unary("Pad(a){pads=[0,0,0,0,1,0]}")
      .unary("Pad(a){pads=[0,1,0,0,1,0]}")
      .unary("Pad(a){pads=[0,1,0,0]}")
      .concats(3)
      .splits(0, {{2, 2}, {6, 6}, {1, 1}, {3, 3}})
      .splits(1, {{3, 3}, {4, 4}, {1, 2}, {2, 1}})
      .splits(2, {{4, 4}, {2, 2}})
      .unary("ReduceSum(a){axes=[0],keepdims=1}")
      .unary("ReduceSum(a){axes=[1],keepdims=1}")
      .unary("ReduceSum(a){axes=[2],keepdims=1}")
      .unary("ReduceSum(a){axes=[1,2],keepdims=1}")
      .unary("ReduceMax(a){axes=[1],keepdims=1}")
      .unary("ReduceMean(a){axes=[1],keepdims=1}")
      .done();
}

OperatorSet vision() {
  return Builder("vision")
      .family("i", {2, 4, 4, 3}, 2)
      .family("k", {4, 4, 3, 3}, 2, true)
      .family("p", {4, 4, 1, 1}, 2, true)
      .family("d", {4, 1, 3, 3}, 2, true)
      .family("b", {4, 1, 1}, 2, true)
      .family("j", {2, 8, 4, 3}, 1)
      .family("l", {2, 12, 4, 3}, 1)
      .family("g", {8, 2, 3, 3}, 1, true)
      .convolutions({1, 4, 8}, "kernel_shape=[3,3],pads=[1,1,1,1]", false)
      .convolutions({1}, "kernel_shape=[1,1]", false)
      .binary(in_half_the_groups(4, 2, 2, "kernel_shape=[3,3],pads=[1,1,1,1]"), Accepts::kData)
      .pointwise("Add(a,b)")
      .broadcasting("Add(a,b)", 4, 3)
      .broadcasting("Mul(a,b)", 4, 3)
      .unary("Relu(a)", Accepts::kData)
      .unary("Sigmoid(a)", Accepts::kData)
      .unary("MaxPool(a){kernel_shape=[3,3],pads=[1,1,1,1]}", Accepts::kData)
      .unary("AveragePool(a){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]}", Accepts::kData)
      .only_of({"p"}, "Pad(a){pads=[0,0,1,1,0,0,1,1]}")
      .concats(2)
      .splits(1, {{4, 4}, {4, 8}, {8, 4}})
      .done();
}

OperatorSet sequence() {
  return Builder("sequence")
      .family("x", {2, 3, 4}, 2)
      .family("w", {4, 4}, 3, true)
      .family("b", {4}, 2, true)
      .family("s", {}, 1)
      .family("y", {2, 3, 8}, 1)
      .family("z", {2, 3, 12}, 1)
      .binary("MatMul(a,b)", Accepts::kData)
      .pointwise("Add(a,b)")
      .broadcasting("Add(a,b)", 3, 1)
      .broadcasting("Mul(a,b)", 3, 1)
      .scaling("Mul(a,b)")
      .scaling("Div(a,b)")
      .unary("Relu(a)", Accepts::kData)
      .unary("Tanh(a)", Accepts::kData)
      .unary("Transpose(a){perm=[1,0]}")
      .unary("Transpose(a){perm=[0,2,1]}")
      .concats(3)
      .splits(1, {{4, 4}, {4, 8}, {8, 4}})
      .splits(2, {{4, 4}, {4, 8}, {8, 4}})
      .done();
}

OperatorSet winograd() {
  struct Images {
    std::string data, kernel;
    Dims x, w;  ///< results have the images' sizes: taps are 1 or 3
  };
  const std::vector<Images> all = {
      {"i", "k", {2, 2, 5, 3}, {3, 2, 3, 3}},       {"r", "s", {2, 2, 5, 3}, {3, 2, 1, 3}},
      {"c", "d", {2, 2, 5, 3}, {3, 2, 3, 1}},       {"l", "m", {2, 2, 5}, {3, 2, 3}},
      {"v", "w", {1, 2, 3, 2, 3}, {3, 2, 3, 3, 3}}, {"f", "g", {1, 2, 2, 5, 3}, {3, 2, 1, 3, 3}},
      {"t", "u", {1, 2, 5, 2, 3}, {3, 2, 3, 1, 1}}};
  Builder builder("winograd");
  builder.binary("MatMul(a,b)").of_rank(3);
  for (const Images& images : all) {
    builder.family(images.data, images.x, 1).family(images.kernel, images.w, 1, true);
    const std::vector<int64_t> taps(images.w.begin() + 2, images.w.end()), sizes(images.x.begin() + 2, images.x.end());
    std::vector<int64_t> pads;
    for (size_t k = 0; k < 2 * taps.size(); ++k) pads.push_back(taps[k % taps.size()] / 2);
    const std::string geometry = fmt::format("pads=[{}],taps=[{}]", fmt::join(pads, ","), fmt::join(taps, ","));
    builder.only_of({images.data, images.kernel}, fmt::format("Conv(a,b){{kernel_shape=[{}],pads=[{}]}}",
                                                              fmt::join(taps, ","), fmt::join(pads, ",")));
    for (const int64_t results : {2, 4}) {
      std::vector<int64_t> tile;
      for (const int64_t r : taps) tile.push_back(r == 1 ? 1 : results);
      const std::string tiles = fmt::format("tile=[{}]", fmt::join(tile, ","));
      builder.only_of({images.data}, fmt::format("WinogradInput(a){{{},{}}}", geometry, tiles))
          .only_of({images.kernel}, fmt::format("WinogradKernel(a){{{}}}", tiles))
          .unary(fmt::format("WinogradOutput(a){{sizes=[{}],taps=[{}],{}}}", fmt::join(sizes, ","),
                             fmt::join(taps, ","), tiles),
                 Accepts::kData)
          .of_rank(3);
    }
  }
  return builder.done();
}

struct Named {
  const char* name;
  OperatorSet (*make)();
};
OperatorSet all();
constexpr Named kSets[] = {{"taso", taso},         {"elementwise", elementwise}, {"matrix", matrix},
                           {"image", image},       {"movement", movement},       {"vision", vision},
                           {"sequence", sequence}, {"winograd", winograd},       {"all", all}};

/// Families are renamed where two sets have one of the same name.
OperatorSet all() {
  Builder builder("all");
  std::vector<std::string> names;
  for (const auto& make : {elementwise, matrix, image, movement}) {
    OperatorSet set = make();
    for (Family& family : set.families) {
      family.count = std::min(family.count, 2);
      while (std::find(names.begin(), names.end(), family.name) != names.end()) family.name += family.name[0];
      names.push_back(family.name);
    }
    builder.join(set);
  }
  return builder.done();
}

}  // namespace

verify::VariableTypes OperatorSet::variable_types() const {
  verify::VariableTypes types;
  for (const Family& family : families)
    for (int k = 1; k <= family.count; ++k)
      types.emplace(fmt::format("{}{}", family.name, k),
                    ValueType::tensor(DataType::kFloat32, {family.dims.begin(), family.dims.end()}));
  return types;
}

Result<OperatorSet> operator_set(std::string_view name) {
  for (const Named& set : kSets)
    if (set.name == name) return set.make();
  return Error{ErrorKind::kUsage, "",
               fmt::format("an operator set of {} expected, '{}' found", fmt::join(operator_set_names(), ", "), name)};
}

std::vector<std::string> operator_set_names() {
  std::vector<std::string> names;
  for (const Named& set : kSets) names.emplace_back(set.name);
  return names;
}

}  // namespace isomer::substitutions
