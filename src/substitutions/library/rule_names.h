// Names of rules: the operators of both sides, and a hash of the whole. Test: tests/substitutions/library_test.cpp
#pragma once

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

}  // namespace isomer::substitutions
