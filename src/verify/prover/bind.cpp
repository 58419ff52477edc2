#include "verify/prover/bind.h"

#include <algorithm>

namespace isomer::verify {

bool bind(const Term& pattern, const Term& term, Bindings& bindings) {
  if (const auto* variable = pattern.as_variable())
    return bindings.tensors.emplace(variable->name, term).first->second == term;
  const auto* sought = pattern.as_application();
  const auto* there = term.as_application();
  if (!sought || !there) return pattern == term;
  if (sought->op != there->op || sought->output != there->output || sought->arguments.size() != there->arguments.size())
    return false;
  Parameters rest = there->parameters;
  const auto integer = [&](const Dim& written, const Dim& value) {
    const auto* symbol = te::as<te::Symbol>(written.expr());
    if (symbol) return bindings.integers.emplace(symbol->name, value).first->second == value;
    return !written.is_constant() || written.value() < 0 || written == value;
  };
  for (const auto& [name, written] : sought->parameters) {
    const auto found = rest.find(name);
    if (found == rest.end() || found->second.index() != written.index()) return false;
    if (const auto* one = std::get_if<Dim>(&written)) {
      if (!integer(*one, std::get<Dim>(found->second))) return false;
    } else if (const auto* several = std::get_if<std::vector<Dim>>(&written)) {
      const auto& values = std::get<std::vector<Dim>>(found->second);
      if (values.size() != several->size() || !std::equal(several->begin(), several->end(), values.begin(), integer))
        return false;
    } else if (written != found->second) {
      return false;
    }
    rest.erase(found);
  }
  if (sought->rest.empty() ? !rest.empty() : bindings.rests.emplace(sought->rest, rest).first->second != rest)
    return false;
  for (size_t k = 0; k < sought->arguments.size(); ++k)
    if (!bind(sought->arguments[k], there->arguments[k], bindings)) return false;
  return true;
}

}  // namespace isomer::verify
