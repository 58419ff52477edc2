#include "graph/te/statement.h"

namespace isomer::te {
namespace {

std::shared_ptr<const Block> shared(Block block) { return std::make_shared<const Block>(std::move(block)); }

}  // namespace

Statement for_loop(int loop, Expr extent, Block body) {
  return {For{loop, std::move(extent), shared(std::move(body))}};
}
Statement while_loop(Expr condition, Block body) { return {While{std::move(condition), shared(std::move(body))}}; }
Statement if_then(Expr condition, Block then, Block otherwise) {
  return {If{std::move(condition), shared(std::move(then)), shared(std::move(otherwise))}};
}
Statement store(int local, std::vector<Expr> index, Expr value) {
  return {Store{local, std::move(index), std::move(value)}};
}
Statement resize(int local, std::vector<Expr> extents) { return {Resize{local, std::move(extents)}}; }
Expr load_local(int local, DataType dtype, std::vector<Expr> index) {
  return load({BufferRef::Kind::kLocal, local, 0}, dtype, std::move(index));
}
Expr loop_var(int loop) { return var(VarKind::kLoop, loop); }

}  // namespace isomer::te
