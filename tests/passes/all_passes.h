// Every pass by the name of its file.
#pragma once

#include <map>
#include <string>

#include "graph/passes/compose_movement.h"
#include "graph/passes/contract.h"
#include "graph/passes/drop_defaults.h"
#include "graph/passes/fold_constants.h"
#include "graph/passes/merge_casts.h"
#include "graph/passes/merge_equal.h"
#include "graph/passes/remove_dead.h"
#include "graph/passes/remove_identities.h"
#include "graph/passes/shrink_constants.h"
#include "graph/passes/simplify_shapes.h"
#include "graph/passes/spell_out.h"
#include "graph/passes/take_branches.h"

namespace isomer::test {

inline const std::map<std::string, PassFunction>& all_passes() {
  static const std::map<std::string, PassFunction> passes = {
      {"compose_movement", compose_movement}, {"contract", contract},
      {"drop_defaults", drop_defaults},       {"fold_constants", fold_constants},
      {"merge_casts", merge_casts},           {"merge_equal", merge_equal},
      {"remove_dead", remove_dead},           {"remove_identities", remove_identities},
      {"take_branches", take_branches},       {"shrink_constants", shrink_constants},
      {"simplify_shapes", simplify_shapes},   {"spell_out", spell_out}};
  return passes;
}

}  // namespace isomer::test
