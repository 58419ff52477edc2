// Laws with their names replaced: by tensors, integers, parameters.
#pragma once

#include <map>
#include <set>
#include <string>

#include "verify/proof/term.h"

namespace isomer::verify {

/// What the names of a law stand for; names that are missing stay.
struct Bindings {
  std::map<std::string, Term, std::less<>> tensors;
  std::map<std::string, Dim, std::less<>> integers;
  std::map<std::string, Parameters, std::less<>> rests;
  std::map<std::string, std::string, std::less<>> open_rests =
      {};  ///< what a rest stands for may end in a rest of another name
};

Term substitute(const Term& term, const Bindings& bindings);
Parameter substitute(const Parameter& parameter, const Bindings& bindings);
Dim substitute(const Dim& integer, const Bindings& bindings);
/// Simplified.
te::Expr substitute(const te::Expr& condition, const Bindings& bindings);

/// First `inner`, then `outer` in what it gives: substitute(substitute(t, inner), outer) for terms all of whose names
/// `inner` has.
Bindings composed(const Bindings& inner, const Bindings& outer);

/// The names of integers in a term; of both sides and the condition.
std::set<std::string> integer_names(const Term& term);
std::set<std::string> integer_names(const Law& law);
/// The names behind `..`.
std::map<std::string, const OpDef*> rest_names(const std::vector<Term>& terms);

}  // namespace isomer::verify
