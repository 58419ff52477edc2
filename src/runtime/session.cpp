#include "runtime/session.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "util/threads.h"

namespace isomer::runtime {
namespace {

constexpr int kMostThreads = 1024;

Error usage(std::string where, std::string what) { return {ErrorKind::kUsage, std::move(where), std::move(what)}; }

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

Result<void> check_count(std::string_view what, size_t expected, size_t found) {
  if (expected == found) return {};
  return usage(std::string(what), fmt::format("{} expected, {} found", expected, found));
}

Result<void> check_tensor(std::string_view what, const Port& port, const Value& value, const Tensor& tensor) {
  if (tensor.type == value.type && std::ranges::equal(tensor.dims, value.dims)) return {};
  return usage(
      fmt::format("{} '{}'", what, port.name),
      fmt::format("{} expected, {} found", describe(value.type, value.dims), describe(tensor.type, tensor.dims)));
}

/// Enough for `bytes`, kept for the next run.
Result<void*> take(Memory& memory, int64_t bytes) {
  if (memory.data() == nullptr || memory.bytes() < bytes) {
    auto larger = Memory::allocate(bytes);
    if (!larger) return unsupported("", "{} bytes of memory expected, less found", bytes);
    memory = std::move(*larger);
  }
  return static_cast<void*>(memory.data());
}

/// What is taken for values before the first run, and in it where the caller has no aligned memory.
Result<void> check_memory(const Variant& variant, MemoryLimit limit) {
  int64_t bytes = variant.arena_bytes;
  for (const auto* ports : {&variant.inputs, &variant.outputs})
    for (const Port& port : *ports) {
      const int64_t more = std::max<int64_t>(variant.values[port.value].bytes, 0);
      if (__builtin_add_overflow(bytes, more, &bytes)) bytes = std::numeric_limits<int64_t>::max();
    }
  return limit.check(bytes, "the values of a run");
}

}  // namespace

Session::Session(std::shared_ptr<const Model> model, const Variant& variant, ValueTable table, int threads)
    : model_(std::move(model)),
      variant_(variant),
      table_(std::move(table)),
      workers_(threads),
      inputs_(variant.inputs.size()),
      outputs_(variant.outputs.size()) {}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    return usage("threads", fmt::format("a number from 0 to {} expected, {} found", kMostThreads, options.threads));
  TRY(const Variant* variant, model->find(options.bindings));
  TRY_VOID(check_memory(*variant, options.memory));
  TRY(ValueTable table, ValueTable::create(*model, *variant, options.memory));
  const int threads = options.threads == 0 ? available_threads() : options.threads;
  std::unique_ptr<Session> session(new Session(model, *variant, std::move(table), threads));
  TRY(Executor executor, Executor::create(*model, *variant, session->table_, session->workers_, options.timed));
  session->executor_ = std::make_unique<Executor>(std::move(executor));
  return session;
}

Result<void> Session::check(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  TRY_VOID(check_count("inputs", variant_.inputs.size(), inputs.size()));
  TRY_VOID(check_count("outputs", variant_.outputs.size(), outputs.size()));
  for (size_t k = 0; k < inputs.size(); ++k) {
    TRY_VOID(check_tensor("input", variant_.inputs[k], input(k), inputs[k]));
    if (inputs[k].data == nullptr && input(k).bytes > 0)
      return usage(fmt::format("input '{}'", variant_.inputs[k].name),
                   "a pointer to its elements expected, none found");
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].data != nullptr && !table_.is_open(variant_.outputs[k].value))
      TRY_VOID(check_tensor("output", variant_.outputs[k], output(k), outputs[k]));
  return {};
}

Result<void> Session::bind_inputs(std::span<const Tensor> inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    void* data = inputs[k].data;
    if (data == nullptr || !is_aligned(data)) {
      TRY(data, take(inputs_[k].memory, input(k).bytes));
      if (input(k).bytes > 0) std::memcpy(data, inputs[k].data, input(k).bytes);
    }
    table_.place(variant_.inputs[k].value, data);
  }
  return {};
}

Result<void> Session::bind_outputs(std::span<const Tensor> outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const int32_t value = variant_.outputs[k].value;
    outputs_[k].copy_to = nullptr;
    if (table_.is_open(value)) continue;
    void* data = outputs[k].data;
    if (data == nullptr || !is_aligned(data)) {
      outputs_[k].copy_to = data;
      TRY(data, take(outputs_[k].memory, output(k).bytes));
    }
    table_.place(value, data);
  }
  return {};
}

void Session::hand_out(std::span<Tensor> outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const int32_t value = variant_.outputs[k].value;
    void* data = table_.data(value);
    if (outputs_[k].copy_to != nullptr) {
      if (output(k).bytes > 0) std::memcpy(outputs_[k].copy_to, data, output(k).bytes);
      data = outputs_[k].copy_to;
    }
    outputs[k] = {output(k).type, table_.dims(value), data};
  }
}

Result<void> Session::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::lock_guard lock(mutex_);
  TRY_VOID(check(inputs, outputs));
  TRY_VOID(bind_inputs(inputs));
  TRY_VOID(bind_outputs(outputs));
  {
    const FlushDenormals flush;
    workers_.keep_apart();
    TRY_VOID(executor_->run());
  }
  hand_out(outputs);
  return {};
}

std::vector<StepTime> Session::times() const {
  const std::lock_guard lock(mutex_);
  return executor_->times();
}

int64_t Session::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = table_.memory_bytes();
  for (const auto* ports : {&inputs_, &outputs_})
    for (const PortMemory& port : *ports) bytes += port.memory.bytes();
  return bytes;
}

}  // namespace isomer::runtime
