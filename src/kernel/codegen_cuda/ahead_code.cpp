#include "kernel/codegen_cuda/function_printer.h"

#include <algorithm>

#include "kernel/codegen_cuda/types.h"

namespace isomer::kernel::cuda {

void FunctionPrinter::print_copy(const CopyAhead& copy, Fetch fetch, const std::string& array) {
  fetch_ = fetch;
  fetched_ = &copy;
  array_ = array;
  print(*copy.statement);
  fetch_ = Fetch::kWhole;
  fetched_ = nullptr;
}

std::string FunctionPrinter::print_registers(const CopyAhead& copy) {
  const std::string array = expressions_.fresh("ahead");
  line(fmt::format("__align__({}) {} {}[{}];", kAlignment, memory_type(copy.dtype), array, copy.count));
  return array;
}

void FunctionPrinter::print_ahead(const Loop& loop, const CopiesAhead& ahead) {
  const std::string variable = fmt::format("k{}", loop.variable), next = expressions_.fresh("next");
  std::vector<std::string> arrays;
  const auto print_copies = [&](Fetch fetch) {
    for (size_t k = 0; k < ahead.copies.size(); ++k) print_copy(ahead.copies[k], fetch, arrays[k]);
  };
  for (const CopyAhead& copy : ahead.copies) arrays.push_back(print_registers(copy));
  ranges_.enter(loop);
  around_.push_back(&loop);
  open("");
  line(fmt::format("const int {} = 0;", variable));
  print_copies(Fetch::kLoad);
  close();
  line("#pragma unroll 1");
  open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, *te::as_constant(loop.extent)));
  for (size_t k = 0; k < ahead.begin; ++k) print(loop.body[k]);
  print_copies(Fetch::kStore);
  print(loop.body[ahead.end]);
  open(fmt::format("if ({} < {})", variable, *te::as_constant(loop.extent) - 1));
  line(fmt::format("const int {} = {} + 1;", next, variable));
  open("");
  line(fmt::format("const int {} = {};", variable, next));
  print_copies(Fetch::kLoad);
  close();
  close();
  for (size_t k = ahead.end + 1; k < loop.body.size(); ++k) print(loop.body[k]);
  close();
  around_.pop_back();
  ranges_.leave(loop);
}

void FunctionPrinter::find_stages(const Statement& launched, const Statement& statement) {
  if (const auto* loop = std::get_if<Loop>(&statement.node)) {
    const CopiesAhead ahead = copies_ahead(kernel_, launch_, written_, *loop);
    if (const int64_t stages = stages_of(launched, *loop, ahead); stages > 1)
      for (const CopyAhead& copy : ahead.copies) places_[copy.target] = stages;
    for (const Statement& inner : loop->body) find_stages(launched, inner);
  }
  if (const auto* branch = std::get_if<Branch>(&statement.node))
    for (const Statements* body : {&branch->then, &branch->otherwise})
      for (const Statement& inner : *body) find_stages(launched, inner);
}

void FunctionPrinter::print_places(const std::vector<const CopyAhead*>& copies, const Loop& loop) {
  for (const CopyAhead* copy : copies)
    line(fmt::format("{}* const {} = &{}[{} * (k{} % {})];", memory_type(copy->dtype), name_of(copy->target),
                     name_of_places(copy->target), *element_count(buffer_at(copy->target).shape).constant(),
                     loop.variable, places_.at(copy->target)));
}

bool FunctionPrinter::is_async(const CopyAhead& copy) {
  const std::string before = text_;
  is_async_ = true;
  print_copy(copy, Fetch::kAsync, "");
  text_ = before;
  return is_async_;
}

void FunctionPrinter::print_stages(const Loop& loop, const CopiesAhead& ahead, int64_t stages) {
  const std::string variable = fmt::format("k{}", loop.variable);
  const int64_t extent = *te::as_constant(loop.extent), early = stages - 1;
  ranges_.enter(loop);
  around_.push_back(&loop);
  std::vector<const CopyAhead*> all, alone, by_registers;
  std::vector<std::string> arrays;
  for (const CopyAhead& copy : ahead.copies) {
    all.push_back(&copy);
    (is_async(copy) ? alone : by_registers).push_back(&copy);
  }
  for (const CopyAhead* copy : by_registers) arrays.push_back(print_registers(*copy));
  const auto print_alone = [&] {
    for (const CopyAhead* copy : alone) print_copy(*copy, Fetch::kAsync, "");
  };
  const auto print_by_registers = [&](Fetch fetch) {
    for (size_t k = 0; k < by_registers.size(); ++k) print_copy(*by_registers[k], fetch, arrays[k]);
  };
  const auto commit = [&] {
    if (!alone.empty()) line("op::commit();");
  };
  // An iteration that is to come, under the name of this one.
  const auto print_later = [&](const std::vector<const CopyAhead*>& placed, const auto& print_it) {
    if (early >= extent) return;
    const std::string next = expressions_.fresh("next");
    open(fmt::format("if ({} + {} < {})", variable, early, extent));
    line(fmt::format("const int {} = {} + {};", next, variable, early));
    open("");
    line(fmt::format("const int {} = {};", variable, next));
    print_places(placed, loop);
    print_it();
    close();
    close();
  };
  // What the loop has copied last time is in use until all threads are done with it.
  const bool is_repeated = std::ranges::any_of(around_, [&](const Loop* each) {
    return each != &loop && !is_bound(each->kind) && te::as_constant(each->extent) != 1;
  });
  for (size_t k = 0; is_repeated && k < ahead.begin; ++k) print(loop.body[k]);
  for (int64_t first = 0; first < early; ++first) {
    if (first < extent) {
      open("");
      line(fmt::format("const int {} = {};", variable, first));
      print_places(all, loop);
      print_alone();
      for (const Fetch fetch : {Fetch::kLoad, Fetch::kStore}) {
        open("");
        print_by_registers(fetch);
        close();
      }
      close();
    }
    commit();
  }
  line("#pragma unroll 1");
  open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, extent));
  if (!alone.empty()) line(fmt::format("op::complete<{}>();", early - 1));
  print(loop.body[ahead.end]);
  print_later(alone, [&] {
    print_alone();
    print_by_registers(Fetch::kLoad);
  });
  commit();
  open("");
  print_places(all, loop);
  for (size_t k = ahead.end + 1; k < loop.body.size(); ++k) print(loop.body[k]);
  close();
  if (!by_registers.empty()) print_later(by_registers, [&] { print_by_registers(Fetch::kStore); });
  close();
  around_.pop_back();
  ranges_.leave(loop);
}

std::string FunctionPrinter::place_ahead(int without) const {
  std::string index;
  for (const auto& [variable, stride] : fetched_->strides)
    if (variable != without) index += fmt::format("{}{} * k{}", index.empty() ? "" : " + ", stride, variable);
  return fmt::format("{}[{}]", array_, index.empty() ? "0" : index);
}

}  // namespace isomer::kernel::cuda
