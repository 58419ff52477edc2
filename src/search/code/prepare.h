// The last form of a model before code is made of it: every pass, with all composites that have rows, whatever the
// model's opset is, bodies specialized for what is known around them.
#pragma once

#include "search/code/compile.h"

namespace isomer::search {

struct PrepareOptions {
  int level = 2;
  std::vector<std::string> without = {};  ///< passes that are left out
  int threads = 1;
  bool integer_products = false;  ///< instead of those of dequantized numbers (integer_products.h), from level 2 on
};

/// Those for code that is made with these options.
PrepareOptions prepare_options(const CompileOptions& options, int level, std::vector<std::string> without = {});

/// Of a graph whose dims are bound. Errors: those of the passes.
Result<void> prepare_for_code(Graph& graph, const PrepareOptions& options);

}  // namespace isomer::search
