#include "kernel/run_kernel.h"

#include <algorithm>
#include <cstring>

#include "runtime/call.h"
#include "runtime/math_table.h"
#include "util/check.h"

namespace isomer::kernel::test {
namespace {

using runtime::Frame;

constexpr int64_t kMargin = 64;
constexpr std::byte kGarbage{0xff};  // NaN; integers far out of range

/// Elements between margins that nobody may write to.
class Block {
 public:
  explicit Block(int64_t bytes, std::byte fill)
      : bytes_(bytes), memory_(*runtime::Memory::allocate(bytes + 2 * kMargin)) {
    std::memset(memory_.data(), 0x5a, bytes + 2 * kMargin);
    std::memset(data(), static_cast<int>(fill), bytes);
  }
  std::byte* data() const { return memory_.data() + kMargin; }
  void check(const std::string& name) const {
    for (int64_t i = 0; i < kMargin; ++i)
      CHECK(memory_.data()[i] == std::byte{0x5a} && data()[bytes_ + i] == std::byte{0x5a}) << name << " was left";
  }

 private:
  int64_t bytes_;
  runtime::Memory memory_;
};

class Runner {
 public:
  explicit Runner(const Kernel& kernel)
      : kernel_(kernel),
        blocks_(kernel.buffers.size()),
        pointers_(kernel.buffers.size()),
        extents_(kernel.buffers.size()),
        extent_pointers_(kernel.buffers.size()) {
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const Buffer& buffer = kernel.buffers[b];
      if (buffer.scope != Scope::kArgument) continue;
      const auto dims = constants(buffer.shape);
      extents_[b] = dims ? *dims : Dims(buffer.shape.size(), 0);
      extent_pointers_[b] = dims ? nullptr : extents_[b].data();
      if (dims) allocate(b, byte_size(buffer.dtype, element_count(*dims)), kGarbage);
    }
  }

  void set(int buffer, const Tensor& tensor) {
    if (!blocks_[buffer]) {
      extents_[buffer] = tensor.dims();
      allocate(buffer, byte_size(tensor.dtype(), element_count(tensor.dims())), kGarbage);
    }
    std::copy(tensor.bytes().begin(), tensor.bytes().end(), reinterpret_cast<std::byte*>(blocks_[buffer]->data()));
  }

  Result<void> run(const MachineCode& code, const runtime::ExecutableMemory& memory) {
    const runtime::Outcome outcome = runtime::run_parts(code.kernels[0], [&](const Part& part, int64_t turn) {
      const Block scratch(part.scratch_bytes, kGarbage);
      Shared shared{{pointers_.data(), extent_pointers_.data(), scratch.data(), resize, runtime::math_table(), turn},
                    this};
      runtime::Outcome worst = runtime::Outcome::kDone;
      for (int64_t piece = 0; piece < 3; ++piece) {
        const int64_t begin = part.iterations * piece / 3, end = part.iterations * (piece + 1) / 3;
        if (begin == end && part.iterations > 0) continue;
        worst = std::max(worst, runtime::call(memory, part, shared.frame, begin, end));
      }
      scratch.check("scratch memory");
      return worst;
    });
    if (outcome != runtime::Outcome::kDone) return invalid("outcome", "{}", static_cast<int32_t>(outcome));
    for (size_t b = 0; b < blocks_.size(); ++b)
      if (blocks_[b]) blocks_[b]->check(kernel_.buffers[b].name);
    return {};
  }

  Tensor tensor(int buffer) const {
    if (buffer < 0 || !blocks_[buffer]) return {};
    const DataType dtype = kernel_.buffers[buffer].dtype;
    const std::byte* const data = blocks_[buffer]->data();
    return Tensor(dtype, extents_[buffer],
                  std::vector<std::byte>(data, data + byte_size(dtype, element_count(extents_[buffer]))));
  }

 private:
  struct Shared {
    Frame frame;
    Runner* runner;
  };
  static bool resize(Frame* frame, int32_t buffer, int64_t bytes) {
    if (bytes > int64_t{1} << 30) return false;
    reinterpret_cast<Shared*>(frame)->runner->allocate(buffer, bytes, std::byte{0});
    return true;
  }
  void allocate(size_t buffer, int64_t bytes, std::byte fill) {
    blocks_[buffer].emplace(bytes, fill);
    pointers_[buffer] = blocks_[buffer]->data();
  }

  const Kernel& kernel_;
  std::vector<std::optional<Block>> blocks_;
  std::vector<void*> pointers_;
  std::vector<Dims> extents_;
  std::vector<int64_t*> extent_pointers_;
};

}  // namespace

Result<Run> run(const Kernel& kernel, const std::vector<Tensor>& inputs, const CpuTarget& target) {
  TRY(const MachineCode code, compile(kernel, target));
  TRY(const runtime::ExecutableMemory memory, runtime::ExecutableMemory::copy_of(code.image));
  Runner runner(kernel);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (kernel.inputs[i] >= 0) runner.set(kernel.inputs[i], inputs[i]);
  TRY_VOID(runner.run(code, memory));
  Run result;
  for (const int output : kernel.outputs) result.outputs.push_back(runner.tensor(output));
  for (size_t b = 0; b < kernel.buffers.size(); ++b) result.buffers.push_back(runner.tensor(static_cast<int>(b)));
  return result;
}

}  // namespace isomer::kernel::test
