#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/te/named_monoid.h"
#include "graph/te/print.h"
#include "kernel/loop_nest.h"
#include "kernel/micro_kernel.h"

namespace isomer::kernel {
namespace {

std::string_view place(Scope scope) {
  switch (scope) {
    case Scope::kArgument: return "";
    case Scope::kCache: return " in cache";
    case Scope::kRegister: return " in registers";
    case Scope::kShared: return " shared";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string run() {
    for (const Buffer& buffer : kernel_.buffers) {
      std::vector<Expr> dims;
      for (const Dim& dim : buffer.shape) dims.push_back(dim.expr());
      const std::string gap = buffer.row_gap > 0 ? fmt::format(" with gaps of {}", buffer.row_gap) : "";
      text_ += fmt::format("buffer {}: {}[{}]{}{}{}{}\n", buffer.name, isomer::name(buffer.dtype), list(dims),
                           place(buffer.scope), gap, buffer.is_swizzled ? " swizzled" : "",
                           buffer.is_constant ? " constant" : "");
    }
    text_ += fmt::format("inputs {}\noutputs {}\n", names(kernel_.inputs), names(kernel_.outputs));
    print(kernel_.body);
    return std::move(text_);
  }

 private:
  std::string text(const Expr& expr) const {
    return te::print(expr, [this](const te::BufferRef& buffer) { return kernel_.buffers[buffer.index].name; });
  }

  std::string list(const std::vector<Expr>& exprs) const {
    std::string result;
    for (const Expr& e : exprs) result += (result.empty() ? "" : ", ") + text(e);
    return result;
  }

  std::string names(const std::vector<int>& buffers) const {
    std::string result;
    for (const int b : buffers)
      result += (result.empty() ? "" : ", ") + (b < 0 ? std::string("none") : kernel_.buffers[b].name);
    return result;
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  void print(const Statements& statements) {
    for (const Statement& statement : statements) std::visit([&](const auto& s) { print(s); }, statement.node);
  }

  void print_body(const Statements& statements) {
    ++depth_;
    print(statements);
    --depth_;
    line("}}");
  }

  void print(const Loop& loop) {
    std::string notes;
    const MicroKernel* const called = micro_kernel_of(kernel_, loop);
    if (called)
      notes += fmt::format(" by {} {}", called->name, Hasher().add(std::string_view(called->text)).finish().hex());
    for (const auto& [key, value] : loop.annotations)
      if (!called || key != kMicroKernel) notes += fmt::format(" {}={}", key, value);
    line("for k{} < {}{}{}{}{} {{", loop.variable, text(loop.extent), loop.kind == LoopKind::kSerial ? "" : " ",
         name(loop.kind), loop.ordered ? " ordered" : "", notes);
    print_body(loop.body);
  }

  void print(const Block& block) {
    std::string head;
    const auto iterators = [&](char letter, const std::vector<Iterator>& list) {
      for (size_t k = 0; k < list.size(); ++k)
        head += fmt::format("{}{}{} < {} = {}", head.empty() ? " " : ", ", letter, k, text(list[k].extent),
                            text(list[k].binding));
    };
    iterators('i', block.axes);
    iterators('r', block.reduce);
    if (block.predicate) head += fmt::format(" if {}", text(block.predicate));
    line("{}:{} {{", block.name, head);
    ++depth_;
    for (size_t c = 0; c < block.writes.size(); ++c) {
      const Write& write = block.writes[c];
      std::string how = "=";
      if (block.is_reduction()) {
        const bool is_named = std::ranges::any_of(
            te::kNamedMonoids, [&](const te::NamedMonoid& known) { return known.name == block.combine.name; });
        how = is_named ? block.combine.name : text(block.combine.combine[c]);
        how = fmt::format(
            "{} {}=", block.initialize ? fmt::format("from {}", text(block.combine.identity[c])) : "with old", how);
      }
      line("{}[{}] {} {}", kernel_.buffers[write.buffer].name, list(write.index), how, text(block.bodies[c]));
    }
    --depth_;
    line("}}");
  }

  void print(const Branch& branch) {
    line("if {} {{", text(branch.condition));
    print_body(branch.then);
    if (branch.otherwise.empty()) return;
    line("else {{");
    print_body(branch.otherwise);
  }

  void print(const While& loop) {
    line("while {} {{", text(loop.condition));
    print_body(loop.body);
  }

  void print(const Barrier&) { line("barrier"); }

  void print(const Resize& resize) {
    line("resize {} to [{}]", kernel_.buffers[resize.buffer].name, list(resize.extents));
  }

  const Kernel& kernel_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

Hash128 structural_hash(const Kernel& kernel) { return Hasher().add(std::string_view(print(kernel))).finish(); }

}  // namespace isomer::kernel
