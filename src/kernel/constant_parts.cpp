#include "kernel/constant_parts.h"

#include <algorithm>
#include <set>

#include "kernel/tree.h"

namespace isomer::kernel {

ConstantParts take_constant_parts(Kernel& kernel) {
  struct Access {
    std::set<int> written, read;
    bool constant = true;
  };
  std::vector<Access> accesses;
  // Buffers that something writes which is not constant, inputs, and what is sized in a run.
  std::set<int> varying;
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    if (!constants(kernel.buffers[b].shape)) varying.insert(static_cast<int>(b));
  for (const int input : kernel.inputs)
    if (input >= 0 && !kernel.buffers[static_cast<size_t>(input)].is_constant) varying.insert(input);
  for (const Statement& statement : kernel.body) {
    Access& access = accesses.emplace_back();
    access.written = resized({statement});
    for_each_block(statement, [&](const Block& block, const auto&) { access.written.merge(stores(block)); });
    for_each_expression(statement, [&](const Expr& e) { access.read.merge(loads(e)); });
    for (const int buffer : access.written)
      if (is_output(kernel, buffer)) varying.insert(buffer);
  }
  // A statement that touches what varies varies with all that it writes.
  const auto varies = [&](int buffer) { return varying.contains(buffer); };
  for (bool changed = true; changed;) {
    changed = false;
    for (Access& access : accesses) {
      if (!access.constant || (std::none_of(access.read.begin(), access.read.end(), varies) &&
                               std::none_of(access.written.begin(), access.written.end(), varies)))
        continue;
      access.constant = false;
      varying.insert(access.written.begin(), access.written.end());
      changed = true;
    }
  }
  ConstantParts parts;
  parts.kernel = kernel;
  parts.kernel.body.clear();
  Statements rest;
  std::set<int> known;
  for (size_t k = 0; k < accesses.size(); ++k) {
    (accesses[k].constant ? parts.kernel.body : rest).push_back(std::move(kernel.body[k]));
    if (accesses[k].constant) known.insert(accesses[k].written.begin(), accesses[k].written.end());
  }
  kernel.body = std::move(rest);
  const std::set<int> used = touched(kernel.body);  // by blocks, and by what asks how often or whether they run
  for (const int buffer : known) {
    const bool made = !writers(parts.kernel, buffer).empty() && kernel.buffers[buffer].scope == Scope::kArgument;
    if (made && used.contains(buffer)) parts.buffers.push_back(buffer);
  }
  return parts;
}

}  // namespace isomer::kernel
