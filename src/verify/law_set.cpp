#include "verify/law_set.h"

#include <algorithm>
#include <functional>
#include <set>

#include "graph/te/expr.h"
#include "util/check.h"
#include "verify/law_instances.h"

namespace isomer::verify {
namespace {

/// The slot of a name; of a new one the next.
int slot_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

Dim at(const Dim& integer, const std::string& one, const std::set<std::string>& all) {
  Bindings bindings;
  for (const std::string& name : all) bindings.integers.emplace(name, Dim(name == one ? 1 : 0));
  return substitute(integer, bindings);
}

class Preparation {
 public:
  Preparation(const StatedAxiom& stated, int index, int& next_id) : next_id_(next_id) {
    const Law& law = stated.law;
    result_->index = index;
    result_->family = stated.axiom->shapes;
    result_->left = pattern(law.left);
    result_->right = pattern(law.right);
    if (law.condition) conjunct(law.condition);
    dims();
    const auto ranks = ranks_said(law);
    for (const std::string& name : result_->tensors) result_->says_rank.push_back(ranks.contains(name));
    find_repeated(result_->left);
    find_repeated(result_->right);
    set_depth(result_->left);
    set_depth(result_->right);
    add_directions(result_->left, result_->right);
    add_directions(result_->right, result_->left);
  }

  std::unique_ptr<PreparedLaw> take() { return std::move(result_); }

 private:
  Integer integer(const Dim& written) {
    Integer result;
    const std::set<std::string> all = names(written);
    for (const std::string& name : all) result.slots.push_back(slot_of(result_->integers, name));
    const Dim constant = at(written, "", all);
    if (constant.is_constant()) {
      result.constant = constant.value();
      Dim linear = constant;
      for (const std::string& name : all) {
        const Dim there = at(written, name, all);
        if (!there.is_constant()) break;
        result.terms.emplace_back(slot_of(result_->integers, name), there.value() - constant.value());
        linear = linear + Dim(there.value() - constant.value()) * Dim::symbol(name);
      }
      if (linear == written) return result;
      result.terms.clear();
    }
    result.other = written.expr();
    return result;
  }

  Pattern pattern(const Term& term) {
    Pattern result;
    if (const auto* variable = term.as_variable()) {
      result.variable = slot_of(result_->tensors, variable->name);
      return result;
    }
    const auto* application = term.as_application();
    if (!application) {
      result.kind = Pattern::Kind::kNumber;
      result.number = std::get<Term::Number>(term.form()).value;
      return result;
    }
    result.kind = Pattern::Kind::kApplication;
    result.op = application->op;
    result.output = application->output;
    result.id = next_id_++;
    result.operators = 1;
    for (const auto& [name, written] : application->parameters) {
      Pattern::Named named{name, written, {}};
      if (const auto* one = std::get_if<Dim>(&written)) named.integers = {integer(*one)};
      if (const auto* several = std::get_if<std::vector<Dim>>(&written))
        for (const Dim& each : *several) named.integers.push_back(integer(each));
      result.named.push_back(std::move(named));
    }
    if (!application->rest.empty()) result.rest = slot_of(result_->rests, application->rest);
    for (const Term& argument : application->arguments) {
      result.arguments.push_back(pattern(argument));
      result.operators += result.arguments.back().operators;
    }
    return result;
  }

  void conjunct(const te::Expr& condition) {
    const auto* binary = te::as<te::Binary>(condition);
    if (binary && binary->op == te::BinaryOp::kAnd) {
      conjunct(binary->left);
      conjunct(binary->right);
    } else if (binary && binary->left.dtype() == DataType::kInt64 &&
               (binary->op == te::BinaryOp::kEqual || binary->op == te::BinaryOp::kLess || binary->op == te::BinaryOp::kLessEqual)) {
      result_->comparisons.push_back({binary->op, integer(Dim(binary->left)), integer(Dim(binary->right))});
    } else {
      te::for_each_node(condition, [&](const te::Expr& e) {
        if (const auto* symbol = te::as<te::Symbol>(e)) slot_of(result_->integers, symbol->name);
      });
      result_->condition = result_->condition ? result_->condition && condition : condition;
    }
  }

  void dims() {
    result_->is_dim.resize(result_->integers.size());
    for (size_t slot = 0; slot < result_->integers.size(); ++slot)
      if (const auto dim = dim_name(result_->integers[slot], result_->tensors)) {
        result_->is_dim[slot] = true;
        result_->dims.push_back({static_cast<int>(slot), slot_of(result_->tensors, dim->variable), dim->axis});
      }
  }

  void find_repeated(const Pattern& pattern) {
    if (pattern.kind == Pattern::Kind::kVariable) ++uses_[pattern.variable];
    for (const Pattern& argument : pattern.arguments) find_repeated(argument);
  }

  void set_depth(Pattern& pattern) {
    for (Pattern& argument : pattern.arguments) {
      set_depth(argument);
      if (argument.kind == Pattern::Kind::kApplication) pattern.depth = std::max(pattern.depth, argument.depth + 1);
      if (argument.kind == Pattern::Kind::kVariable && uses_[argument.variable] > 1) pattern.depth = std::max(pattern.depth, 1);
    }
  }

  /// Which slots are bound once these patterns are found.
  bool binds_all(const PreparedLaw::Direction& sought) const {
    std::vector<bool> tensors(result_->tensors.size()), integers(result_->integers.size()), rests(result_->rests.size());
    std::vector<const Integer*> equations;
    const std::function<void(const Pattern&)> read = [&](const Pattern& pattern) {
      if (pattern.kind == Pattern::Kind::kVariable) tensors[static_cast<size_t>(pattern.variable)] = true;
      if (pattern.rest >= 0) rests[static_cast<size_t>(pattern.rest)] = true;
      for (const Pattern::Named& named : pattern.named)
        for (const Integer& each : named.integers) equations.push_back(&each);
      for (const Pattern& argument : pattern.arguments) read(argument);
    };
    for (const Pattern* pattern : sought) read(*pattern);
    for (const PreparedLaw::DimSlot& dim : result_->dims)
      if (tensors[static_cast<size_t>(dim.variable)]) integers[static_cast<size_t>(dim.slot)] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Integer* equation : equations) {
        int unknown = -1, count = 0;
        for (const int slot : equation->slots)
          if (!integers[static_cast<size_t>(slot)]) {
            unknown = slot;
            ++count;
          }
        if (count != 1 || equation->other) continue;
        integers[static_cast<size_t>(unknown)] = changed = true;
      }
    }
    const auto all = [](const std::vector<bool>& bound) { return std::find(bound.begin(), bound.end(), false) == bound.end(); };
    return all(tensors) && all(integers) && all(rests);
  }

  static void parts_of(const Pattern& pattern, std::vector<const Pattern*>& parts) {
    for (const Pattern& argument : pattern.arguments) {
      if (argument.kind == Pattern::Kind::kApplication) parts.push_back(&argument);
      parts_of(argument, parts);
    }
  }

  /// Where the source does not bind what the target names, a part of the target must be there too: the largest that does, so that
  /// few terms are made that nobody asked for.
  void add_directions(const Pattern& source, const Pattern& target) {
    PreparedLaw::Direction sought;
    if (source.kind == Pattern::Kind::kApplication) {
      sought.push_back(&source);
      if (binds_all(sought)) {
        result_->directions.push_back(std::move(sought));
        return;
      }
    }
    std::vector<const Pattern*> parts;
    parts_of(target, parts);
    std::erase_if(parts, [&](const Pattern* part) {
      PreparedLaw::Direction with = sought;
      with.push_back(part);
      return !binds_all(with);
    });
    int largest = 0;
    for (const Pattern* part : parts) largest = std::max(largest, part->operators);
    for (const Pattern* part : parts) {
      if (part->operators < largest) continue;
      result_->directions.push_back(sought);
      result_->directions.back().push_back(part);
    }
  }

  int& next_id_;
  std::unique_ptr<PreparedLaw> result_ = std::make_unique<PreparedLaw>();
  std::map<int, int> uses_;  ///< how often a variable stands in the law
};

}  // namespace

std::optional<Dim> Integer::value(const SlotValues& values, const std::vector<std::string>& names) const {
  if (other) {
    Bindings bindings;
    for (const int slot : slots) {
      const auto& known = values.integers[static_cast<size_t>(slot)];
      if (!known) return std::nullopt;
      bindings.integers.emplace(names[static_cast<size_t>(slot)], *known);
    }
    return substitute(Dim(other), bindings);
  }
  Dim result = constant;
  for (const auto& [slot, factor] : terms) {
    const auto& known = values.integers[static_cast<size_t>(slot)];
    if (!known) return std::nullopt;
    result = result + (factor == 1 ? *known : *known * Dim(factor));
  }
  return result;
}

SlotValues PreparedLaw::unbound() const {
  return {std::vector<int>(tensors.size(), -1), std::vector<std::optional<Dim>>(integers.size()), std::vector<int>(rests.size(), -1)};
}

LawSet::LawSet(std::vector<StatedAxiom> axioms) : axioms_(std::move(axioms)) {
  int next_id = 0;
  for (size_t k = 0; k < axioms_.size(); ++k) prepared_.push_back(Preparation(axioms_[k], static_cast<int>(k), next_id).take());
}

const Extraction& LawSet::extract(const Pattern& pattern, int operation) {
  const uint64_t key = static_cast<uint64_t>(pattern.id) << 32 | static_cast<uint32_t>(operation);
  if (const auto known = extractions_.find(key); known != extractions_.end()) return known->second;
  const auto read = [&]() -> Extraction {
    Extraction result;
    Parameters rest = signatures_.operation(operation).parameters;
    for (const Pattern::Named& named : pattern.named) {
      const auto found = rest.find(named.name);
      if (found == rest.end()) return {};
      const Parameter value = std::move(found->second);
      rest.erase(found);
      const auto* one = std::get_if<Dim>(&value);
      const auto* several = std::get_if<std::vector<Dim>>(&value);
      if (value.index() != named.written.index() || (several && several->size() != named.integers.size())) return {};
      if (!one && !several && value != named.written) return {};
      for (size_t k = 0; k < named.integers.size(); ++k) {
        const Integer& integer = named.integers[k];
        const Dim& there = one ? *one : (*several)[k];
        // A negative number counts axes from the back: compared when the instance is spelled out.
        if (integer.slots.empty() && integer.constant < 0) continue;
        if (!integer.slots.empty())
          result.integers.emplace_back(&integer, there);
        else if (!there.is(integer.constant))
          return {};
      }
    }
    if (pattern.rest >= 0) {
      if (!is_drawn(*pattern.op, rest)) return {};
      result.rest = signatures_.operation_id(*pattern.op, std::move(rest));
    }
    result.fits = true;
    return result;
  };
  return extractions_.emplace(key, read()).first->second;
}

int LawSet::operation(const PreparedLaw& law, const Pattern& pattern, const SlotValues& values) {
  Parameters parameters;
  for (const Pattern::Named& named : pattern.named) {
    std::vector<Dim> integers;
    for (const Integer& each : named.integers) integers.push_back(*each.value(values, law.integers));
    if (std::holds_alternative<Dim>(named.written))
      parameters.emplace(named.name, integers[0]);
    else if (std::holds_alternative<std::vector<Dim>>(named.written))
      parameters.emplace(named.name, std::move(integers));
    else
      parameters.emplace(named.name, named.written);
  }
  if (pattern.rest >= 0) {
    const Parameters& rest = signatures_.operation(values.rests[static_cast<size_t>(pattern.rest)]).parameters;
    parameters.insert(rest.begin(), rest.end());
  }
  return signatures_.operation_id(*pattern.op, std::move(parameters));
}

Bindings LawSet::bindings(const PreparedLaw& law, const SlotValues& values, std::span<const Term> tensors) const {
  Bindings result;
  for (size_t k = 0; k < law.tensors.size(); ++k) result.tensors.emplace(law.tensors[k], tensors[k]);
  for (size_t k = 0; k < law.integers.size(); ++k) result.integers.emplace(law.integers[k], *values.integers[k]);
  for (size_t k = 0; k < law.rests.size(); ++k) result.rests.emplace(law.rests[k], signatures_.operation(values.rests[k]).parameters);
  return result;
}

}  // namespace isomer::verify
