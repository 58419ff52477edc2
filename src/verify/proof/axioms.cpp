#include "verify/proof/axioms.h"

#include <fmt/format.h>

#include <set>

#include "util/check.h"
#include "util/hash.h"
#include "verify/proof/law_family.h"

namespace isomer::verify {
namespace {

std::vector<StatedAxiom> parsed_axioms() {
  constexpr size_t kNameDigits = 6;
  std::set<std::string> names;
  std::vector<StatedAxiom> result;
  for (const OpDef* op : all_ops())
    for (const Axiom& axiom : op->axioms) {
      auto law = parse_law(axiom.law);
      CHECK(law.ok()) << op->name << ": " << axiom.law << ": " << law.error().message();
      CHECK(is_shape_family(axiom.shapes)) << axiom.law << ": " << axiom.shapes;
      const Hash128 hash =
          Hasher().add(axiom.law).add(axiom.shapes).add(static_cast<uint64_t>(axiom.float_class)).finish();
      std::string name = fmt::format("{}.{}", op->name, hash.hex().substr(0, kNameDigits));
      CHECK(names.insert(name).second) << name << " names two laws: " << axiom.law;
      result.push_back({std::move(name), op, &axiom, *std::move(law)});
    }
  return result;
}

}  // namespace

std::vector<StatedAxiom> all_axioms() {
  static const std::vector<StatedAxiom> all = parsed_axioms();
  return all;
}

}  // namespace isomer::verify
