#include "graph/te/rewrite_program.h"

#include <algorithm>

namespace isomer::te {
namespace {

class Rewriter {
 public:
  explicit Rewriter(const std::function<Expr(const Expr&)>& replace) : replace_(replace) {}

  bool rewrite(Stage& stage) const {
    return std::visit([this](auto& body) { return rewrite(body); }, stage.body);
  }

 private:
  bool rewrite(MapReduce& stage) const {
    for (Expr& body : stage.bodies) body = transform(body, replace_);
    return true;
  }
  bool rewrite(Scan& scan) const {
    for (Scan::State& state : scan.states) state.init = transform(state.init, replace_);
    for (MapReduce& step : scan.steps) rewrite(step);
    return true;
  }
  bool rewrite(Update& update) const {
    update.init = transform(update.init, replace_);
    for (Expr& position : update.index) position = transform(position, replace_);
    update.value = transform(update.value, replace_);
    return true;
  }
  bool rewrite(Imperative&) const { return false; }

  const std::function<Expr(const Expr&)>& replace_;
};

}  // namespace

bool rewrite(Program& program, const std::function<Expr(const Expr&)>& replace) {
  const Rewriter rewriter(replace);
  return std::all_of(program.stages.begin(), program.stages.end(),
                     [&](Stage& stage) { return rewriter.rewrite(stage); });
}

}  // namespace isomer::te
