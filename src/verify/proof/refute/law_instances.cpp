#include "verify/proof/refute/law_instances.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "graph/te/symbols.h"

namespace isomer::verify {
namespace {

/// Of kDrawnTypes, some more often than others; of integers those of 32 bits half as often as not.
constexpr std::array<DataType, 6> kCommonTypes = {DataType::kFloat32, DataType::kFloat32, DataType::kFloat32,
                                                  DataType::kFloat64, DataType::kInt64,   DataType::kBool};
constexpr std::array<float, 3> kFractions = {0.001f, 0.25f, 0.5f};
constexpr int64_t kMostElements = 300;  ///< of all variables: exact arithmetic is slow
constexpr int kLocalDraws = 40;         ///< of what an application leaves open, until it is well typed

template <class List>
const auto& pick(const List& list, Random& random) {
  return list[random.below(list.size())];
}

/// Names, no dims, that the condition says to be arithmetic over other such names.
std::map<std::string, Dim> integers_said(const Law& law) {
  std::map<std::string, Dim> result;
  const auto is_open = [](const std::string& name) { return !dim_name(name); };
  if (law.condition)
    te::for_each_node(law.condition, [&](const te::Expr& e) {
      const auto* equal = te::as<te::Binary>(e);
      const auto* symbol = equal && equal->op == te::BinaryOp::kEqual ? te::as<te::Symbol>(equal->left) : nullptr;
      if (!symbol || !is_open(symbol->name)) return;
      const std::set<std::string> others = names(Dim(equal->right));
      const bool is_free = std::all_of(others.begin(), others.end(), [&](const std::string& name) {
        return is_open(name) && name != symbol->name && !result.contains(name);
      });
      if (is_free) result.emplace(symbol->name, Dim(equal->right));
    });
  return result;
}

class Drawer {
 public:
  Drawer(const Law& law, std::string_view family, Random& random, const Bindings& fixed)
      : law_(law),
        fixed_(fixed),
        family_(shapes_of(family)),
        of_floats_(is_of_floats(family)),
        random_(random),
        integers_(integer_names(law)),
        ranks_(ranks_said(law)),
        said_(integers_said(law)) {}

  std::optional<LawInstance> run(int draws) {
    for (int draw = 0; draw < draws; ++draw)
      if (auto instance = attempt()) return instance;
    return std::nullopt;
  }

 private:
  std::optional<LawInstance> attempt() {
    start();
    const auto left = assigned(law_.left), right = left ? assigned(law_.right) : std::nullopt;
    if (!left || !right || *left != *right) return std::nullopt;
    for (const std::string& name : integers_)
      if (!bindings_.integers.contains(name)) bindings_.integers.emplace(name, integer_named(name));
    if (law_.condition && substitute(law_.condition, bindings_) != te::truth(true)) return std::nullopt;
    std::vector<ValueType> bound;
    for (const auto& [name, type] : types_)
      if (!ranks_.contains(name)) bound.push_back(type);
    CHECK(is_of_family(family_, bound)) << law_.text();
    int64_t elements = 0;
    for (const auto& [name, type] : types_) elements += element_count(*type.shape).value();
    if (elements > kMostElements) return std::nullopt;
    return std::optional<LawInstance>(
        std::in_place, LawInstance{Law{substitute(law_.left, bindings_), substitute(law_.right, bindings_), te::Expr()},
                                   types_, bindings_});
  }

  /// Few sizes in one draw, so that some are equal: of 1, 2, 3, 5 and, for channels of groups, 4 and 6.
  void start() {
    sizes_ = {pick(kDrawnSizes, random_), pick(kDrawnSizes, random_), pick(kDrawnSizes, random_)};
    do dtype_ = pick(kCommonTypes, random_);
    while (of_floats_ && !is_float(dtype_));
    if (dtype_ == DataType::kInt64 && random_.chance(0.5)) dtype_ = DataType::kInt32;
    rank_ = static_cast<int>(random_.between(0, 4));
    if (family_ == "ranked") rank_ = static_cast<int>(random_.between(1, 4));
    if (family_ == "matrices") rank_ = random_.chance(0.7) ? 2 : static_cast<int>(random_.between(3, 4));
    if (family_ == "images") rank_ = random_.chance(0.7) ? 4 : random_.chance(0.5) ? 3 : 5;
    common_ = shape_of(rank_);
    types_.clear();
    bindings_ = fixed_;
  }

  int rank_of(const std::string& name) const {
    const auto said = ranks_.find(name);
    if (said == ranks_.end()) return rank_;
    return std::max(0, (said->second.of.empty() ? 0 : rank_of(said->second.of)) + static_cast<int>(said->second.more));
  }

  ValueType draw_type(const std::string& name) {
    if (const int rank = rank_of(name); rank != rank_) return ValueType::tensor(dtype_, shape_of(rank));
    Shape shape = common_;
    if (family_ == "matrices") shape = shape_of(random_.chance(0.8) ? rank_ : static_cast<int>(random_.between(2, 4)));
    if (family_ == "ranked" || family_ == "images")
      for (Dim& dim : shape)
        if (random_.chance(0.5)) dim = pick(sizes_, random_);
    if (family_ == "broadcast") {
      for (Dim& dim : shape)
        if (random_.chance(0.3)) dim = 1;
      shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(
                                                     random_.chance(0.6) ? 0 : random_.below(shape.size() + 1)));
    }
    return ValueType::tensor(dtype_, std::move(shape));
  }

  /// The type of a term, after what it leaves open was drawn so that it has one.
  std::optional<ValueType> assigned(const Term& term) {
    if (const auto* variable = term.as_variable())
      return types_.emplace(variable->name, draw_type(variable->name)).first->second;
    const auto* application = term.as_application();
    if (!application) return ValueType::tensor(dtype_, {});
    std::vector<ValueType> arguments(application->arguments.size(), ValueType::tensor(dtype_, {}));
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (!application->arguments[k].as_application()) continue;
      auto type = assigned(application->arguments[k]);
      if (!type) return std::nullopt;
      arguments[k] = *std::move(type);
    }
    const VariableTypes types_before = types_;
    const Bindings bindings_before = bindings_;
    for (int draw = 0; draw < kLocalDraws; ++draw) {
      for (size_t k = 0; k < arguments.size(); ++k)
        if (const auto* variable = application->arguments[k].as_variable())
          arguments[k] = types_.emplace(variable->name, draw_type(variable->name)).first->second;
      const Term shallow(Term::Application{application->op, 0, application->parameters, application->rest, {}});
      for (const std::string& name : integer_names(shallow))
        if (!bindings_.integers.contains(name)) bindings_.integers.emplace(name, integer_named(name));
      for (const auto& [name, op] : rest_names({shallow}))
        if (!bindings_.rests.contains(name)) bindings_.rests.emplace(name, parameters_of(*op));
      const Term bound = substitute(term, bindings_);
      auto types = infer_application(*bound.as_application(), arguments);
      if (types.ok() && static_cast<size_t>(application->output) < types->size())
        return std::move((*types)[static_cast<size_t>(application->output)]);
      types_ = types_before;
      bindings_ = bindings_before;
    }
    return std::nullopt;
  }

  Shape shape_of(int rank) {
    Shape shape;
    for (int k = 0; k < rank; ++k) shape.push_back(pick(sizes_, random_));
    return shape;
  }

  Dim integer_named(const std::string& name) {
    if (auto dim = dim_named(name, types_)) return *std::move(dim);
    if (const auto said = said_.find(name); said != said_.end()) {
      for (const std::string& other : names(said->second))
        if (!bindings_.integers.contains(other)) bindings_.integers.emplace(other, integer_named(other));
      return substitute(said->second, bindings_);
    }
    return random_.chance(0.5) ? Dim(pick(sizes_, random_)) : Dim(random_.between(0, kLargestSmall));
  }

  std::vector<Dim> several(int count, int64_t low, int64_t high) {
    std::vector<Dim> result;
    for (int k = 0; k < count; ++k) result.emplace_back(random_.between(low, high));
    return result;
  }

  /// As many elements: dims in another order, some of them one.
  Shape reshaped(Shape shape) {
    for (size_t k = shape.size(); k > 1; --k) std::swap(shape[k - 1], shape[random_.below(k)]);
    for (size_t k = 1; k < shape.size();) {
      if (random_.chance(0.6)) {
        ++k;
        continue;
      }
      shape[k - 1] = shape[k - 1] * shape[k];
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return shape;
  }

  /// Of a row's attributes, by the names that ONNX gives them; others keep their defaults.
  Parameters parameters_of(const OpDef& op) {
    Parameters result;
    const int spatial = std::max(rank_ - 2, 1);
    for (const AttributeDef& def : op.attributes) {
      const std::string name(def.name);
      if ((!def.required && random_.chance(0.4)) || !is_set_by_draws(def)) continue;
      if (const DrawnValues* drawn = drawn_values(name))
        result[name] = def.kind == AttributeKind::kInts
                           ? Parameter(several(name == "pads" ? 2 * spatial : spatial, drawn->low, drawn->high))
                           : Parameter(Dim(random_.between(drawn->low, drawn->high)));
      if (name == "axis") result[name] = Dim(random_.between(-rank_, std::max(rank_ - 1, 0)));
      if (name == "epsilon" || name == "momentum") result[name] = pick(kFractions, random_);
      if (name == "perm") {
        std::vector<Dim> perm;
        for (int k = 0; k < rank_; ++k) perm.emplace_back(k);
        for (size_t k = perm.size(); k > 1; --k) std::swap(perm[k - 1], perm[random_.below(k)]);
        result[name] = perm;
      }
    }
    const auto takes = [&](std::string_view name) {
      return std::any_of(op.inputs.begin(), op.inputs.end(),
                         [&](const isomer::Parameter& p) { return p.name == name; });
    };
    if (takes("shape")) result["shape"] = reshaped(common_);
    if (takes("axes") && rank_ > 0) {
      std::vector<Dim> axes;
      for (int k = 0; k < rank_; ++k)
        if (random_.chance(0.5)) axes.emplace_back(k);
      if (!axes.empty()) result["axes"] = axes;
    }
    return result;
  }

  const Law& law_;
  const Bindings& fixed_;
  std::string_view family_;  ///< of shapes
  bool of_floats_;
  Random& random_;
  std::set<std::string> integers_;
  std::map<std::string, SaidRank> ranks_;  ///< that the condition asks for
  std::map<std::string, Dim> said_;        ///< integers, by it, over others
  std::array<int64_t, 3> sizes_{};
  DataType dtype_ = DataType::kFloat32;
  int rank_ = 0;
  Shape common_;
  VariableTypes types_;
  Bindings bindings_;
};

}  // namespace

std::optional<LawInstance> draw_instance(const Law& law, std::string_view family, Random& random, int draws,
                                         const Bindings& fixed) {
  return Drawer(law, family, random, fixed).run(draws);
}

}  // namespace isomer::verify
