// Names of rules: the operators of both sides, and a hash of the whole. Test: tests/substitutions/library_test.cpp
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

/// "matmul_add-concat_matmul-0a1b2c". Rules may say the same by other proofs, which hold elsewhere: they get other
/// hashes.
void name_rules(std::vector<Rule>& rules);

/// Whether a rule may be called so: names stand between tabs, where a text in quotes may follow, and are shown as they
/// are.
bool is_rule_name(std::string_view name);

/// Rules of several files, to be looked up by their names beside others: one that says something else than an earlier
/// one of its name, or than one of those beside them, or says it by another proof, gets a name with a hash of both.
void tell_apart(std::vector<Rule>& rules, std::span<const Rule> beside, std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
