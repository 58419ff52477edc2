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

/// A loop whose copies have several places each: while an iteration is computed, what comes `early` iterations later is
/// copied.
class FunctionPrinter::StagePrinter {
 public:
  StagePrinter(FunctionPrinter& printer, const Loop& loop, const CopiesAhead& ahead, int64_t stages)
      : printer_(printer),
        loop_(loop),
        ahead_(ahead),
        variable_(fmt::format("k{}", loop.variable)),
        extent_(*te::as_constant(loop.extent)),
        early_(stages - 1) {}

  void print() {
    printer_.ranges_.enter(loop_);
    printer_.around_.push_back(&loop_);
    find_copies();
    wait_for_threads();
    for (int64_t first = 0; first < early_; ++first) {
      if (first < extent_) print_first_copies(first);
      commit();
    }
    print_loop();
    printer_.around_.pop_back();
    printer_.ranges_.leave(loop_);
  }

 private:
  void find_copies() {
    for (const CopyAhead& copy : ahead_.copies) {
      all_.push_back(&copy);
      (printer_.is_async(copy) ? alone_ : by_registers_).push_back(&copy);
    }
    for (const CopyAhead* copy : by_registers_) arrays_.push_back(printer_.print_registers(*copy));
  }

  /// What the loop has copied last time is in use until all threads are done with it.
  void wait_for_threads() {
    const bool is_repeated = std::ranges::any_of(printer_.around_, [&](const Loop* each) {
      return each != &loop_ && !is_bound(each->kind) && te::as_constant(each->extent) != 1;
    });
    for (size_t k = 0; is_repeated && k < ahead_.begin; ++k) printer_.print(loop_.body[k]);
  }

  /// Of one of the first iterations, before the loop.
  void print_first_copies(int64_t iteration) {
    printer_.open("");
    printer_.line(fmt::format("const int {} = {};", variable_, iteration));
    printer_.print_places(all_, loop_);
    print_alone();
    for (const Fetch fetch : {Fetch::kLoad, Fetch::kStore}) {
      printer_.open("");
      print_by_registers(fetch);
      printer_.close();
    }
    printer_.close();
  }

  void print_loop() {
    printer_.line("#pragma unroll 1");
    printer_.open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable_, extent_));
    if (!alone_.empty()) printer_.line(fmt::format("op::complete<{}>();", early_ - 1));
    printer_.print(loop_.body[ahead_.end]);
    print_later(alone_, [&] {
      print_alone();
      print_by_registers(Fetch::kLoad);
    });
    commit();
    printer_.open("");
    printer_.print_places(all_, loop_);
    for (size_t k = ahead_.end + 1; k < loop_.body.size(); ++k) printer_.print(loop_.body[k]);
    printer_.close();
    if (!by_registers_.empty()) print_later(by_registers_, [&] { print_by_registers(Fetch::kStore); });
    printer_.close();
  }

  /// An iteration that is to come, under the name of this one.
  template <class Print>
  void print_later(const std::vector<const CopyAhead*>& placed, const Print& print_it) {
    if (early_ >= extent_) return;
    const std::string next = printer_.expressions_.fresh("next");
    printer_.open(fmt::format("if ({} + {} < {})", variable_, early_, extent_));
    printer_.line(fmt::format("const int {} = {} + {};", next, variable_, early_));
    printer_.open("");
    printer_.line(fmt::format("const int {} = {};", variable_, next));
    printer_.print_places(placed, loop_);
    print_it();
    printer_.close();
    printer_.close();
  }

  void print_alone() {
    for (const CopyAhead* copy : alone_) printer_.print_copy(*copy, Fetch::kAsync, "");
  }

  void print_by_registers(Fetch fetch) {
    for (size_t k = 0; k < by_registers_.size(); ++k) printer_.print_copy(*by_registers_[k], fetch, arrays_[k]);
  }

  void commit() {
    if (!alone_.empty()) printer_.line("op::commit();");
  }

  FunctionPrinter& printer_;
  const Loop& loop_;
  const CopiesAhead& ahead_;
  const std::string variable_;
  const int64_t extent_, early_;
  std::vector<const CopyAhead*> all_, alone_, by_registers_;  ///< those that are left to themselves; others
  std::vector<std::string> arrays_;                           ///< of registers
};

void FunctionPrinter::print_stages(const Loop& loop, const CopiesAhead& ahead, int64_t stages) {
  StagePrinter(*this, loop, ahead, stages).print();
}

std::string FunctionPrinter::place_ahead(int without) const {
  std::string index;
  for (const auto& [variable, stride] : fetched_->strides)
    if (variable != without) index += fmt::format("{}{} * k{}", index.empty() ? "" : " + ", stride, variable);
  return fmt::format("{}[{}]", array_, index.empty() ? "0" : index);
}

}  // namespace isomer::kernel::cuda
