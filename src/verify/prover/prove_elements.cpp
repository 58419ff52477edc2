#include "verify/prover/prove_elements.h"

#include <algorithm>

#include "graph/node_program.h"
#include "graph/te/program.h"
#include "verify/proof/equal_sides.h"
#include "verify/prover/bit_question.h"
#include "verify/prover/solver_oracle.h"

namespace isomer::verify {
namespace {

/// Whether it is made of integers that are read and written, their sums, differences and products.
bool is_in_ring(const te::Expr& expr) {
  if (te::as<te::Literal>(expr)) return is_int(expr.dtype());
  if (const auto* load = te::as<te::Load>(expr))
    return is_int(expr.dtype()) && std::ranges::none_of(load->index, [](const te::Expr& e) { return te::has_load(e); });
  if (const auto* unary = te::as<te::Unary>(expr)) return unary->op == te::UnaryOp::kNeg && is_in_ring(unary->operand);
  if (const auto* select = te::as<te::Select>(expr))
    return !te::has_load(select->condition) && is_in_ring(select->then) && is_in_ring(select->otherwise);
  const auto* binary = te::as<te::Binary>(expr);
  if (!binary) return false;
  const bool is_of_ring =
      binary->op == te::BinaryOp::kAdd || binary->op == te::BinaryOp::kSub || binary->op == te::BinaryOp::kMul;
  return is_of_ring && is_in_ring(binary->left) && is_in_ring(binary->right);
}

bool is_in_ring(const te::Stage& stage) {
  const auto* one = std::get_if<te::MapReduce>(&stage.body);
  if (!one || one->bodies.size() != 1 || !is_in_ring(one->bodies[0])) return false;
  return one->combine.arity() == 0 || one->combine.name == te::sum(one->bodies[0].dtype()).name;
}

/// Whether both sides add, subtract and multiply integers and move them, and do nothing else: what they are where
/// integers have no limits they are modulo 2^n.
bool are_in_ring(const Law& sides, const VariableTypes& types) {
  const auto graph = graph_of({sides.left, sides.right}, types);
  if (!graph.ok()) return false;
  return std::ranges::all_of(graph->nodes(), [&](NodeId id) {
    const auto program = program_of(*graph, id);
    return program && std::ranges::all_of(program->stages, [](const te::Stage& stage) { return is_in_ring(stage); });
  });
}

}  // namespace

LawUse use_by_elements(const Term& left, const Term& right) {
  LawUse result{kByElements, {}};
  result.bindings.tensors = {{"left", left}, {"right", right}};
  return result;
}

Result<ByElements> compare_elements(const Law& claim, const VariableTypes& types, Signatures& signatures,
                                    ArithmeticSolver& solver) {
  TRY(const Law sides, spelled_claim(claim, types, signatures));
  LawSizes sizes{sides, types};
  sizes.computes_integers = false;
  if (!why_not_proved(sizes, nullptr)) {
    const bool all_floats = std::ranges::all_of(types, [](const auto& named) { return is_float(named.second.dtype); });
    sizes.may_call = false;
    return all_floats && !why_not_proved(sizes, nullptr) ? ByElements::kBySums : ByElements::kByFunctions;
  }
  if (are_in_ring(sides, types)) {
    LawSizes unlimited{sides, types};
    unlimited.may_call = false;
    if (!why_not_proved(unlimited, nullptr)) return ByElements::kByFunctions;
  }
  TRY(const bool are_equal, have_equal_bits(sides, types, solver));
  if (are_equal) return ByElements::kBySolver;
  TRY_VOID(solver.start_over());
  SolverOracle oracle(solver);
  const auto reason = why_not_proved(sizes, &oracle);
  if (oracle.error()) return *oracle.error();
  return reason ? ByElements::kNot : ByElements::kBySolver;
}

}  // namespace isomer::verify
