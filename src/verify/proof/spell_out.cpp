#include "verify/proof/spell_out.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "graph/all_sizes.h"
#include "graph/te/symbols.h"
#include "util/hash.h"
#include "util/list_hash.h"
#include "verify/proof/guess/spellings.h"

namespace isomer::verify {
namespace {

/// The same ranks, nothing known of sizes: what is equal there is so whatever the sizes are.
std::vector<ValueType> of_any_size(std::span<const ValueType> types) {
  std::vector<ValueType> result(types.begin(), types.end());
  int count = 0;
  for (ValueType& type : result) for_each_dim(type, [&](Dim& dim) { dim = Dim::symbol(fmt::format("d{}", count++)); });
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
    change_each(generic_, sorted);
    return std::move(application_.parameters);
  }

 private:
  using Reading = std::optional<std::string>;

  Reading reading(const Parameters& parameters, const std::vector<ValueType>& types) const {
    Term::Application changed = application_;
    changed.parameters = parameters;
    // Generic sizes are none that parameters say, whatever these are called.
    const auto rename = [](const std::string& name) { return te::symbol("said " + name); };
    if (&types == &generic_) for_each_dim(changed.parameters, [&](Dim& said) { said = with_symbols(said, rename); });
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

  void drop_repeated_dims() {
    for (const std::string& name : repeated_dims(application_, types_)) {
      Parameters without = application_.parameters;
      without.erase(name);
      read_sizes_ = true;
      if (means_the_same(without, types_) && !default_of(name, without)) application_.parameters = std::move(without);
    }
  }

  void fill_in() {
    for (const std::string& name : optional_lists(*application_.op))
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
    const auto is_default = [&](const Integers& proposal) {
      Parameters with = others;
      with.emplace(name, proposal);
      return absent == reading(with, generic_);
    };
    for (const auto& proposals : default_lists(others, types_)) {
      const auto found = std::ranges::find_if(proposals, is_default);
      if (found == proposals.end()) continue;
      // A list that a program does not ask for (a kernel_shape, which the weights have) has no default.
      if (found == proposals.begin() && is_default(proposals[1])) return std::nullopt;
      return *found;
    }
    return std::nullopt;
  }

  void count_from_front() {
    for (const int64_t rank : ranks_counted_in(application_, types_))
      change_each(types_, [&](const Parameter& value) {
        auto changed = counted_from_front(value, rank);
        read_sizes_ = read_sizes_ || changed;
        return changed;
      });
  }

  /// Each parameter becomes what is proposed for it.
  template <class Propose>
  void change_each(const std::vector<ValueType>& types, const Propose& propose) {
    for (const auto& [name, value] : Parameters(application_.parameters)) {
      const std::optional<Parameter> changed = propose(value);
      if (!changed) continue;
      Term::Application proposal = application_;
      proposal.parameters.insert_or_assign(name, *changed);
      if (!means_the_same(proposal.parameters, types)) continue;
      // A list may say what operands say, too (the first of AffineGrid's size): as a whole it fits as it did.
      if (infer_application(proposal, types_).ok())
        application_ = std::move(proposal);
      else
        read_sizes_ = true;
    }
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
      for_each_dim(value, [&](const Dim& integer) { add(hasher, integer); });
      if (const auto* number = std::get_if<float>(&value)) hasher.add(std::hash<float>()(*number));
      if (const auto* string = std::get_if<std::string>(&value)) hasher.add(*string);
    }
    return hasher.finish().low;
  }
  size_t operator()(const ValueType& type) const {
    Hasher hasher;
    hasher.add(static_cast<uint64_t>(type.kind)).add(static_cast<uint64_t>(type.dtype)).add(type.opaque);
    for_each_dim(type, [&](const Dim& dim) { add(hasher, dim); });
    return hasher.finish().low;
  }
};

/// Whether operands of these types fit whatever the names in their sizes stand for.
bool fits_all_sizes(Term::Application application, std::span<const int> types, const Signatures& signatures) {
  std::vector<ValueType> operands;
  std::vector<Dim*> told;
  const auto tell = [&](Dim& dim) { told.push_back(&dim); };
  for (const int type : types) operands.push_back(signatures.type(type));
  for (ValueType& type : operands) for_each_dim(type, tell);
  for_each_dim(application.parameters, tell);
  return fit_all_sizes(*application.op, operands, told, [&] { return infer_application(application, operands); });
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
  std::deque<T> list_;  // references stay
  std::unordered_map<T, int, Hashed> ids_;
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
  const int operation = signatures.operation_id(*application.op, application.parameters);
  const auto& applied = signatures.apply(operation, types);
  if (!applied.ok()) return applied.error();
  if (!signatures.remembered(fmt::format("{} of {}", operation, fmt::join(types, ",")),
                             [&] { return fits_all_sizes(application, types, signatures); }))
    return invalid(term.text(), "operands that fit whatever their sizes are expected");
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
