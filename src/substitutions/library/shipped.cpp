#include "substitutions/library/shipped.h"

#include <string_view>

#include "util/check.h"

// ISOMER_SHIPPED_SETS lists the sets as X(name) …, ISOMER_RULES_FOLDER is where their files are: both come from
// CMakeLists.txt.
#define ISOMER_FILE(symbol, file)                                                                        \
  asm(".pushsection .rodata\n" #symbol "_begin:\n.incbin \"" ISOMER_RULES_FOLDER "/" file "\"\n" #symbol \
      "_end:\n.popsection\n");                                                                           \
  extern "C" const char symbol##_begin[], symbol##_end[];
#define X(set) ISOMER_FILE(isomer_rules_##set, #set ".rules") ISOMER_FILE(isomer_proofs_##set, #set ".proofs")
ISOMER_SHIPPED_SETS
#undef X
ISOMER_FILE(isomer_rules_normalize, "normalize.rules")
ISOMER_FILE(isomer_proofs_normalize, "normalize.proofs")

namespace isomer::substitutions {
namespace {

RulesFile parsed(std::string_view rules, std::string_view proofs, std::span<const verify::StatedAxiom> axioms) {
  auto file = parse_rules(rules, proofs, axioms);
  CHECK(file.ok()) << file.error().message();
  return *std::move(file);
}

}  // namespace

std::vector<RulesFile> shipped_rules(std::span<const verify::StatedAxiom> axioms) {
  std::vector<RulesFile> result;
#define X(set)                                                                    \
  result.push_back(parsed({isomer_rules_##set##_begin, isomer_rules_##set##_end}, \
                          {isomer_proofs_##set##_begin, isomer_proofs_##set##_end}, axioms));
  ISOMER_SHIPPED_SETS
#undef X
  return result;
}

RulesFile normalizing_rules(std::span<const verify::StatedAxiom> axioms) {
  return parsed({isomer_rules_normalize_begin, isomer_rules_normalize_end},
                {isomer_proofs_normalize_begin, isomer_proofs_normalize_end}, axioms);
}

}  // namespace isomer::substitutions
