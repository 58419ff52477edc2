#include "substitutions/proof/laws.h"

#include "verify/proof/replay.h"

namespace isomer::substitutions {
namespace {

/// Op(a,b) = Op(b,a)
bool says_that_operands_commute(const verify::Law& law) {
  const auto* left = law.left.as_application();
  if (!left || left->arguments.size() != 2 || !left->parameters.empty()) return false;
  const auto *a = left->arguments[0].as_variable(), *b = left->arguments[1].as_variable();
  verify::Term::Application turned = *left;
  std::swap(turned.arguments[0], turned.arguments[1]);
  return a && b && *a != *b && law.right == verify::Term(std::move(turned));
}

}  // namespace

Laws::Laws(std::vector<verify::StatedAxiom> axioms) : axioms_(std::move(axioms)) {
  for (size_t k = 0; k < axioms_.size(); ++k)
    if (says_that_operands_commute(axioms_[k].law))
      commutative_[axioms_[k].law.left.as_application()->op].push_back(static_cast<int>(k));
}

void Laws::commute_within(FloatMode mode) {
  mode_ = mode;
  commutes_.clear();
}

bool Laws::commutes(const OpDef* op, int left_type, int right_type) {
  const auto laws = commutative_.find(op);
  if (laws == commutative_.end()) return false;
  const auto [known, is_new] = commutes_.try_emplace({op, left_type, right_type}, false);
  if (!is_new) return known->second;
  for (const int law : laws->second) {
    const verify::StatedAxiom& axiom = axioms_[static_cast<size_t>(law)];
    if (!allows(mode_, axiom.axiom->float_class)) continue;
    verify::Bindings bindings;
    verify::VariableTypes types;
    const auto& operands = axiom.law.left.as_application()->arguments;
    for (const auto& [operand, type] : {std::pair(operands[0], left_type), std::pair(operands[1], right_type)}) {
      bindings.tensors.emplace(operand.as_variable()->name, operand);
      types.emplace(operand.as_variable()->name, signatures_.type(type));
    }
    if (verify::instance_of(axiom, bindings, types, signatures_).ok()) known->second = true;
  }
  return known->second;
}

}  // namespace isomer::substitutions
