#include "verify/proof/spell_out.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include "util/hash.h"
#include "util/list_hash.h"

namespace isomer::verify {
namespace {

using Integers = std::vector<Dim>;

bool is_index(const OpDef& op, const isomer::Parameter& formal) {
  if (formal.type == name(DataType::kInt64)) return true;
  return std::any_of(op.types.begin(), op.types.end(),
                     [&](const TypeVariable& v) { return v.name == formal.type && v.types == kIndices; });
}

/// The same ranks, nothing known of sizes: what is equal there is so whatever the sizes are.
std::vector<ValueType> of_any_size(std::span<const ValueType> types) {
  std::vector<ValueType> result(types.begin(), types.end());
  for (size_t k = 0; k < result.size(); ++k)
    if (result[k].has_shape())
      for (size_t axis = 0; axis < result[k].shape->size(); ++axis)
        (*result[k].shape)[axis] = Dim::symbol("d" + std::to_string(k) + "_" + std::to_string(axis));
  return result;
}

/// What lists mean where they are left out, by operation, list and types of any size.
using Defaults = std::unordered_map<std::vector<int>, std::optional<Integers>, ListHash>;

/// Rewrites an application's parameters step by step, each only where its row reads the same.
class Speller {
 public:
  Speller(Term::Application application, std::span<const ValueType> types, Signatures& signatures, Defaults& defaults)
      : application_(std::move(application)),
        types_(types.begin(), types.end()),
        generic_(of_any_size(types)),
        signatures_(signatures),
        defaults_(defaults) {
    // Terms stand in for arguments: only their number is read.
    application_.arguments.assign(types.size(), Term::variable("x"));
    for (const ValueType& type : generic_) generic_ids_.push_back(signatures.type_id(type));
  }

  const std::vector<int>& generic_ids() const { return generic_ids_; }
  /// Whether what run() gave is so for arguments of these ranks, whatever their sizes.
  bool is_generic() const { return !read_sizes_; }

  Parameters run() {
    give_fallbacks();
    drop_repeated_dims();
    count_from_front();
    fill_in();
    sort();
    return std::move(application_.parameters);
  }

 private:
  using Reading = std::optional<std::string>;

  Reading reading(const Parameters& parameters, const std::vector<ValueType>& types) const {
    Term::Application changed = application_;
    changed.parameters = parameters;
    auto text = program_text(changed, types);
    return text.ok() ? Reading(*std::move(text)) : std::nullopt;
  }

  bool means_the_same(const Parameters& proposal, const std::vector<ValueType>& types) const {
    const Reading before = reading(application_.parameters, types);
    return before && before == reading(proposal, types);
  }

  void give_fallbacks() {
    for (const AttributeDef& def : application_.op->attributes)
      if (def.fallback)
        if (auto value = parameter_of(*def.fallback))
          application_.parameters.try_emplace(std::string(def.name), *std::move(value));
  }

  /// Lists that may be left out though they have no value to fall back on.
  std::vector<std::string> optional_lists() const {
    std::vector<std::string> result;
    for (const AttributeDef& def : application_.op->attributes)
      if (def.kind == AttributeKind::kInts && !def.required && !def.fallback) result.emplace_back(def.name);
    for (const isomer::Parameter& formal : application_.op->inputs)
      if (formal.arity == isomer::Parameter::Arity::kOptional && is_index(*application_.op, formal))
        result.emplace_back(formal.name);
    return result;
  }

  bool ends_an_argument(const Integers& list) const {
    return std::any_of(types_.begin(), types_.end(), [&](const ValueType& type) {
      return type.has_shape() && list.size() <= type.shape->size() &&
             std::equal(list.rbegin(), list.rend(), type.shape->rbegin());
    });
  }

  /// Of attributes: a list that an input has counts axes, whose numbers are no sizes.
  void drop_repeated_dims() {
    for (const AttributeDef& def : application_.op->attributes) {
      if (def.kind != AttributeKind::kInts || def.required || def.fallback) continue;
      const std::string name(def.name);
      const auto found = application_.parameters.find(name);
      const auto* list = found == application_.parameters.end() ? nullptr : std::get_if<Integers>(&found->second);
      if (!list || !ends_an_argument(*list)) continue;
      Parameters without = application_.parameters;
      without.erase(name);
      read_sizes_ = true;
      if (means_the_same(without, types_) && !default_of(name, without)) application_.parameters = std::move(without);
    }
  }

  void fill_in() {
    for (const std::string& name : optional_lists())
      if (!application_.parameters.contains(name))
        if (const auto& value = default_of(name, application_.parameters))
          application_.parameters.emplace(name, *value);
  }

  /// What the list means where it is left out, whatever the sizes: numbers of one kind, the axes in order or in
  /// reverse.
  const std::optional<Integers>& default_of(const std::string& name, const Parameters& others) {
    std::vector<int> key = {signatures_.operation_id(*application_.op, others),
                            signatures_.operation_id(*application_.op, {{name, Integers()}})};
    key.insert(key.end(), generic_ids_.begin(), generic_ids_.end());
    const auto [known, is_new] = defaults_.try_emplace(std::move(key));
    if (is_new) known->second = find_default(name, others);
    return known->second;
  }

  std::optional<Integers> find_default(const std::string& name, const Parameters& others) const {
    const Reading absent = reading(others, generic_);
    if (!absent) return std::nullopt;
    std::set<size_t> lengths;
    if (!types_.empty() && types_[0].has_shape())
      for (const int64_t rank :
           {static_cast<int64_t>(types_[0].shape->size()), static_cast<int64_t>(types_[0].shape->size()) - 2})
        if (rank > 0) lengths.insert({static_cast<size_t>(rank), static_cast<size_t>(2 * rank)});
    for (const auto& [other, value] : others)
      if (const auto* list = std::get_if<Integers>(&value); list && !list->empty()) lengths.insert(list->size());
    for (const size_t length : lengths) {
      std::array<Integers, 4> proposals = {Integers(length, Dim(0)), Integers(length, Dim(1)), {}, {}};
      for (size_t k = 0; k < length; ++k) proposals[2].emplace_back(static_cast<int64_t>(k));
      proposals[3].assign(proposals[2].rbegin(), proposals[2].rend());
      const auto is_default = [&](const Integers& proposal) {
        Parameters with = others;
        with.emplace(name, proposal);
        return absent == reading(with, generic_);
      };
      const auto found = std::find_if(proposals.begin(), proposals.end(), is_default);
      if (found == proposals.end()) continue;
      // A list that a program does not ask for (a kernel_shape, which the weights have) has no default.
      if (found == proposals.begin() && is_default(proposals[1])) return std::nullopt;
      return *found;
    }
    return std::nullopt;
  }

  template <class Change>
  void change_lists(const std::vector<ValueType>& types, const Change& change) {
    for (const auto& [name, value] : Parameters(application_.parameters)) {
      Parameters proposal = application_.parameters;
      Parameter& changed = proposal.find(name)->second;
      if (!change(changed) || !means_the_same(proposal, types)) continue;
      // A list may say what operands say, too (the first of AffineGrid's size): as a whole it fits as it did.
      Term::Application proposed = application_;
      proposed.parameters = proposal;
      if (infer_application(proposed, types_).ok())
        application_.parameters = std::move(proposal);
      else
        read_sizes_ = true;
    }
  }

  void count_from_front() {
    std::set<int64_t> ranks;
    if (!types_.empty() && types_[0].has_shape()) ranks.insert(static_cast<int64_t>(types_[0].shape->size()));
    if (const auto types = infer_application(application_, types_); types.ok() && types->front().has_shape())
      ranks.insert(static_cast<int64_t>(types->front().shape->size()));
    for (const int64_t rank : ranks)
      change_lists(types_, [&](Parameter& parameter) {
        bool changed = false;
        const auto count = [&](Dim& integer) {
          if (!integer.is_constant() || integer.value() >= 0) return;
          integer = integer + rank;
          changed = read_sizes_ = true;
        };
        if (auto* integer = std::get_if<Dim>(&parameter)) count(*integer);
        if (auto* list = std::get_if<Integers>(&parameter)) std::for_each(list->begin(), list->end(), count);
        return changed;
      });
  }

  void sort() {
    change_lists(generic_, [](Parameter& parameter) {
      auto* list = std::get_if<Integers>(&parameter);
      if (!list || !constants(*list)) return false;
      const auto less = [](const Dim& a, const Dim& b) { return a.value() < b.value(); };
      if (std::is_sorted(list->begin(), list->end(), less)) return false;
      std::sort(list->begin(), list->end(), less);
      return true;
    });
  }

  Term::Application application_;
  std::vector<ValueType> types_, generic_;
  Signatures& signatures_;
  Defaults& defaults_;
  std::vector<int> generic_ids_;
  bool read_sizes_ = false;
};

void add(Hasher& hasher, const Dim& integer) {
  if (integer.is_constant())
    hasher.add(static_cast<uint64_t>(integer.value()));
  else
    hasher.add(integer.expr()->hash);
}

struct Hashed {
  size_t operator()(const Signatures::Operation& operation) const {
    Hasher hasher;
    hasher.add(reinterpret_cast<uintptr_t>(operation.op));
    for (const auto& [name, value] : operation.parameters) {
      hasher.add(name).add(value.index());
      if (const auto* integer = std::get_if<Dim>(&value)) add(hasher, *integer);
      if (const auto* integers = std::get_if<Integers>(&value))
        for (const Dim& each : *integers) add(hasher, each);
      if (const auto* number = std::get_if<float>(&value)) hasher.add(std::hash<float>()(*number));
      if (const auto* string = std::get_if<std::string>(&value)) hasher.add(*string);
    }
    return hasher.finish().low;
  }
  size_t operator()(const ValueType& type) const {
    Hasher hasher;
    hasher.add(static_cast<uint64_t>(type.kind)).add(static_cast<uint64_t>(type.dtype)).add(type.opaque);
    if (type.shape)
      for (const Dim& dim : *type.shape) add(hasher, dim);
    return hasher.finish().low;
  }
};

bool operator==(const Signatures::Operation& a, const Signatures::Operation& b) {
  return a.op == b.op && a.parameters == b.parameters;
}

/// Each value once, by number.
template <class T>
class Numbered {
 public:
  int id(T value) {
    const auto known = ids_.find(value);
    if (known != ids_.end()) return known->second;
    const int id = static_cast<int>(list_.size());
    list_.push_back(value);
    ids_.emplace(std::move(value), id);
    return id;
  }
  const T& operator[](int id) const { return list_[static_cast<size_t>(id)]; }

 private:
  struct Equal {
    bool operator()(const T& a, const T& b) const { return a == b; }
  };
  std::deque<T> list_;  // references stay
  std::unordered_map<T, int, Hashed, Equal> ids_;
};

}  // namespace

struct Signatures::Tables {
  Numbered<ValueType> types;
  Numbered<Operation> operations;
  std::unordered_map<std::vector<int>, Result<Applied>, ListHash> applied;
  std::unordered_map<std::vector<int>, int, ListHash> spelled;  ///< of an operation on arguments of any size
  Defaults defaults;
  std::unordered_map<std::string, bool> answers;
};

Signatures::Signatures() : tables_(std::make_unique<Tables>()) {}
Signatures::Signatures(Signatures&&) noexcept = default;
Signatures& Signatures::operator=(Signatures&&) noexcept = default;
Signatures::~Signatures() = default;

int Signatures::type_id(const ValueType& type) { return tables_->types.id(type); }
const ValueType& Signatures::type(int id) const { return tables_->types[id]; }
int Signatures::operation_id(const OpDef& op, Parameters parameters) {
  return tables_->operations.id({&op, std::move(parameters)});
}
const Signatures::Operation& Signatures::operation(int id) const { return tables_->operations[id]; }

const Result<Signatures::Applied>& Signatures::apply(int operation, std::span<const int> types) {
  std::vector<int> key = {operation};
  key.insert(key.end(), types.begin(), types.end());
  if (const auto known = tables_->applied.find(key); known != tables_->applied.end()) return known->second;
  const auto say = [&]() -> Result<Applied> {
    const Operation& asked = tables_->operations[operation];
    std::vector<ValueType> arguments;
    for (const int id : types) arguments.push_back(tables_->types[id]);
    Term::Application application{asked.op, 0, asked.parameters, "",
                                  std::vector<Term>(arguments.size(), Term::variable("x"))};
    TRY(const std::vector<ValueType> outputs, infer_application(application, arguments));
    Speller speller(application, arguments, *this, tables_->defaults);
    std::vector<int> generic = {operation};
    generic.insert(generic.end(), speller.generic_ids().begin(), speller.generic_ids().end());
    const auto spelled = tables_->spelled.find(generic);
    const bool is_known = spelled != tables_->spelled.end();
    Applied result{is_known ? spelled->second : operation_id(*asked.op, speller.run()), {}};
    if (!is_known && speller.is_generic()) tables_->spelled.emplace(std::move(generic), result.operation);
    for (const ValueType& type : outputs) result.types.push_back(type_id(type));
    return result;
  };
  return tables_->applied.emplace(std::move(key), say()).first->second;
}

bool Signatures::remembered(const std::string& text, const std::function<bool()>& find) {
  if (const auto known = tables_->answers.find(text); known != tables_->answers.end()) return known->second;
  return tables_->answers.emplace(text, find()).first->second;
}

Result<TypedOperation> typed_operation(const Term& term, std::span<const int> types, Signatures& signatures) {
  const auto& application = *term.as_application();
  if (!application.rest.empty())
    return unsupported(term.text(), "all parameters expected, ..{} stands for some", application.rest);
  const auto& applied = signatures.apply(signatures.operation_id(*application.op, application.parameters), types);
  if (!applied.ok()) return applied.error();
  const auto output = static_cast<size_t>(application.output);
  if (output >= applied->types.size())
    return invalid(term.text(), "an output below {} expected, {} found", applied->types.size(), output);
  return TypedOperation{applied->operation, applied->types[output]};
}

Result<TypedTerm> spelled_out(const Term& term, const VariableTypes& variables, Signatures& signatures) {
  if (const auto* variable = term.as_variable()) {
    const auto found = variables.find(variable->name);
    if (found == variables.end()) return invalid(variable->name, "a type of each variable expected, this one has none");
    return TypedTerm{term, found->second};
  }
  const auto* application = term.as_application();
  if (!application) return TypedTerm{term, ValueType::tensor(DataType::kUndefined, {})};
  std::vector<Term> arguments;
  std::vector<int> types;
  for (const Term& argument : application->arguments) {
    TRY(TypedTerm spelled, spelled_out(argument, variables, signatures));
    types.push_back(signatures.type_id(spelled.type));
    arguments.push_back(std::move(spelled.term));
  }
  TRY(const TypedOperation typed, typed_operation(term, types, signatures));
  return TypedTerm{Term(Term::Application{application->op, application->output,
                                          signatures.operation(typed.operation).parameters, "", std::move(arguments)}),
                   signatures.type(typed.type)};
}

}  // namespace isomer::verify
