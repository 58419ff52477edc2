// What substitutions are generated from: families of variables and instances of operators, as data.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor.h"
#include "verify/proof/term_graph.h"

namespace isomer::substitutions {

/// Interchangeable variables of one shape: name1, name2, … of float32.
struct Family {
  std::string name;
  Dims dims;
  int count = 1;
  bool is_weight = false;
};

/// What may stand for an operand.
enum class Accepts : uint8_t {
  kTensor,  ///< of rank 1 or more
  kNumber,  ///< of rank 0
  kData,    ///< a tensor, but no variable that is a weight
  kFamily,  ///< a variable of one family
};

struct Operand {
  Accepts accepts = Accepts::kTensor;
  int family = -1;  ///< of kFamily
  int rank = -1;    ///< -1: any
  bool operator==(const Operand&) const = default;
};

/// An operator as it is applied: a term over its operands a and b with all parameters given. It counts as one operator,
/// however many it is written with (a constant of some shape, a convolution with its activation); several outputs count
/// once.
struct Instance {
  std::vector<verify::Term> outputs;
  std::vector<Operand> operands;  ///< at most two
  bool equal_types = false;
};

struct OperatorSet {
  std::string name;
  std::vector<Family> families;
  std::vector<Instance> instances;
  bool exponents = false;       ///< exp is a homomorphism, at twice the cost; else it is any function
  int64_t max_elements = 1024;  ///< of a tensor

  verify::VariableTypes variable_types() const;
};

/// `taso`: the operator instances and inputs of TASO's generator (Jia et al., SOSP 2019; src/generator/generator.cc),
/// with the real relu and mean, -inf around a maximum, and splits by sizes. Its two transposes are one here, as they
/// are one function. `elementwise`, `matrix`, `image`, `movement`: more operators on several families of shapes; `all`:
/// these four in one. `vision`, `sequence`: few operators, as networks of convolutions and of products have them side
/// by side. `winograd`: a convolution and what it becomes with fewer products.
Result<OperatorSet> operator_set(std::string_view name);
std::vector<std::string> operator_set_names();

}  // namespace isomer::substitutions
