// Imperative loop nests: buffers, loops, conditions, stores. The reference of operators that have no tensor expression
// is written in them; interpreter and code generator read the same text.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "graph/te/dim.h"
#include "graph/te/expr.h"

namespace isomer::te {

struct Statement;
using Block = std::vector<Statement>;

/// for (loop variable k = 0; k < extent; ++k) body
struct For {
  int loop;  ///< read as var(kLoop, loop)
  Expr extent;
  std::shared_ptr<const Block> body;
};
/// Runs body while the condition, read again before each round, holds.
struct While {
  Expr condition;
  std::shared_ptr<const Block> body;
};
struct If {
  Expr condition;
  std::shared_ptr<const Block> then;
  std::shared_ptr<const Block> otherwise;  ///< may be empty
};
/// local[index…] = value
struct Store {
  int local;
  std::vector<Expr> index;
  Expr value;
};
/// Sets the extents of a local buffer whose size data decide, before its first use; keeps no contents.
struct Resize {
  int local;
  std::vector<Expr> extents;
};

struct Statement {
  std::variant<For, While, If, Store, Resize> body;
};

/// A buffer of a procedure, zero before the first store. A scalar has no extents.
struct Local {
  DataType dtype;
  Shape shape;  ///< may hold symbols; a Resize overrides it
};

struct Procedure {
  std::vector<Local> locals;
  Block block;
};

// Builders for rows.
Statement for_loop(int loop, Expr extent, Block body);
Statement while_loop(Expr condition, Block body);
Statement if_then(Expr condition, Block then, Block otherwise = {});
Statement store(int local, std::vector<Expr> index, Expr value);
Statement resize(int local, std::vector<Expr> extents);
Expr load_local(int local, DataType dtype, std::vector<Expr> index);
Expr loop_var(int loop);

}  // namespace isomer::te
