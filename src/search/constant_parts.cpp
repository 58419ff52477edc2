#include "search/constant_parts.h"

#include "kernel/tree.h"

namespace isomer {

ConstantParts take_constant_parts(kernel::Kernel& kernel, const std::set<int>& constants) {
  std::set<int> known;
  for (const int input : constants) known.insert(kernel.inputs[input]);
  ConstantParts parts;
  parts.kernel = kernel;
  parts.kernel.body.clear();
  kernel::Statements rest;
  for (kernel::Statement& statement : kernel.body) {
    const kernel::Statements alone = {statement};
    std::set<int> written, read;
    kernel::for_each_block(alone, [&](const kernel::Block& block, const auto&) { written.merge(kernel::stores(block)); });
    kernel::for_each_expression(alone, [&](const kernel::Expr& e) { read.merge(kernel::loads(e)); });
    bool constant = true;
    for (const int buffer : read) constant &= known.contains(buffer) || written.contains(buffer);
    for (const int buffer : written) constant &= !kernel::is_output(kernel, buffer);
    if (!constant) {
      rest.push_back(std::move(statement));
      continue;
    }
    known.insert(written.begin(), written.end());
    parts.kernel.body.push_back(std::move(statement));
  }
  kernel.body = std::move(rest);
  for (const int buffer : known) {
    const bool made = !kernel::writers(parts.kernel, buffer).empty() && kernel.buffers[buffer].scope == kernel::Scope::kArgument;
    if (made && !kernel::readers(kernel, buffer).empty()) parts.buffers.push_back(buffer);
  }
  return parts;
}

}  // namespace isomer
