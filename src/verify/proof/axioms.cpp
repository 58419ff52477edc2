#include "verify/proof/axioms.h"

#include "util/check.h"
#include "verify/proof/law_family.h"

namespace isomer::verify {

std::vector<StatedAxiom> all_axioms() {
  std::vector<StatedAxiom> result;
  for (const OpDef* op : all_ops())
    for (const Axiom& axiom : op->axioms) {
      auto law = parse_law(axiom.law);
      CHECK(law.ok()) << op->name << ": " << axiom.law << ": " << law.error().message();
      CHECK(is_shape_family(axiom.shapes)) << axiom.law << ": " << axiom.shapes;
      result.push_back({op, &axiom, *std::move(law)});
    }
  return result;
}

}  // namespace isomer::verify
