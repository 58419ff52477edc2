// Laws with their names replaced: by tensors, integers, parameters.
#pragma once

#include <map>
#include <string>

#include "verify/term.h"

namespace isomer::verify {

/// What the names of a law stand for; names that are missing stay.
struct Bindings {
  std::map<std::string, Term, std::less<>> tensors;
  std::map<std::string, Dim, std::less<>> integers;
  std::map<std::string, Parameters, std::less<>> rests;
};

Term substitute(const Term& term, const Bindings& bindings);
Dim substitute(const Dim& integer, const Bindings& bindings);
/// Simplified.
te::Expr substitute(const te::Expr& condition, const Bindings& bindings);

/// The names of integers in a term; those behind `..`.
std::set<std::string> integer_names(const Term& term);
std::map<std::string, const OpDef*> rest_names(const Term& term);

}  // namespace isomer::verify
