// Facts over integers as Z3 reads them.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "verify/proof/index_facts.h"

namespace isomer::verify {

/// Arithmetic over integers in SMT-LIB's words, divisions as tensor expressions have them; nothing where there are no
/// words for it.
std::optional<std::string> smt_text(const te::Expr& expr);
/// The declarations of the names in these, the sizes among them at least 1, and that the facts hold.
std::optional<std::string> smt_facts(std::span<const te::Expr> facts, std::span<const te::Expr> others,
                                     const ElementMaker& make);

}  // namespace isomer::verify
