// Numbers and facts over integers as Z3 reads them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/proof/index_facts.h"

namespace isomer::verify {

std::string smt_number(const te::Rational& value);
/// The operation of the words, `none` where there are none.
std::string smt_joined(std::string_view operation, const std::vector<std::string>& words, std::string_view none);
/// Arithmetic over integers in SMT-LIB's words, divisions as tensor expressions have them; nothing where there are no
/// words for it.
std::optional<std::string> smt_text(const te::Expr& expr);
/// The declarations of the names in these, sizes what they are at least or more, and that the facts hold.
std::optional<std::string> smt_facts(std::span<const te::Expr> facts, std::span<const te::Expr> others,
                                     const ElementMaker& make);

}  // namespace isomer::verify
