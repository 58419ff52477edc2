#include "cuda/emulator.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>

#include "support/files.h"
#include "support/process.h"
#include "util/check.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::run_program;
using isomer::test::ScratchFolder;

/// Beside arguments: what is used there was meant for them.
constexpr int64_t kMargin = 4096;

/// Who used a byte last.
struct Shadow {
  static constexpr int kNobody = -1, kSeveral = -2;
  int writer = kNobody, writer_block = kNobody, writer_interval = 0;
  int reader = kNobody, reader_block = kNobody, reader_interval = 0;
  bool is_written = false;
};

/// A range of memory that threads share.
struct Watched {
  std::string name;
  std::byte *begin, *end;
  bool is_shared;  ///< by the threads of one block; what a block leaves there is gone
  std::vector<Shadow> bytes;
};

/// The machine: one at a time, as the compiler's calls have no argument to know it by.
class Machine {
 public:
  Machine(const EmulatedLibrary& library, ThreadOrder order) : order_(order) {
    for (const auto& [begin, end] : library.shared()) watch("shared memory", begin, end - begin, true, false);
  }

  void watch(std::string name, std::byte* memory, int64_t bytes, bool is_shared, bool is_written) {
    Shadow fresh;
    fresh.is_written = is_written;
    watched_.push_back(
        {std::move(name), memory, memory + bytes, is_shared, std::vector<Shadow>(static_cast<size_t>(bytes), fresh)});
  }

  void launch(EmulatedLibrary::Entry entry, const Launch& launch, void** arguments, const std::string& name) {
    function_ = name;
    for (Watched& range : watched_)
      for (Shadow& byte : range.bytes) byte.writer = byte.reader = Shadow::kNobody;
    block_ = 0;
    for (int64_t z = 0; z < launch.blocks[2]; ++z)
      for (int64_t y = 0; y < launch.blocks[1]; ++y)
        for (int64_t x = 0; x < launch.blocks[0]; ++x, ++block_)
          run_block(entry, launch, arguments, {unsigned(x), unsigned(y), unsigned(z)});
  }

  void access(const void* address, int bytes, bool is_write, bool is_atomic);
  void wait(int line) { threads_.wait(line); }
  int exchange(int line, const void* own, void* all, int bytes) {
    return threads_.exchange(line, thread_, own, all, bytes);
  }
  /// Written from now on until it is waited for: nobody else may use it.
  void copy_later(void* to, const void* from, int bytes) {
    access(from, bytes, false, false);
    access(to, bytes, true, false);
    threads_.copy_later(thread_, to, from, bytes);
  }
  void commit() { threads_.commit(thread_); }
  void complete(int left) {
    threads_.complete(thread_, left, [&](void* to, int bytes) { access(to, bytes, true, false); });
  }

  void leave_array() { find("array", "index out of bounds", "an array of a thread or of a block is left"); }

  std::vector<std::string> findings;

 private:
  void run_block(EmulatedLibrary::Entry entry, const Launch& launch, void** arguments, EmulatedIndex block);
  /// Once for each function, memory and kind.
  void find(std::string_view memory, const std::string& kind, const std::string& what) {
    if (known_.insert(fmt::format("{} {} {}", function_, memory, kind)).second)
      findings.push_back(fmt::format("{}: {}: {}", function_, kind, what));
  }
  void race(const Watched& range, size_t byte, std::string_view what, int other) {
    find(range.name, fmt::format("race in {}", range.name),
         fmt::format("byte {} is {} by thread {} and thread {} without a barrier between", byte, what, other, thread_));
  }

  const ThreadOrder order_;
  std::vector<Watched> watched_;
  std::string function_;
  int block_ = 0, thread_ = 0;
  BlockOfThreads threads_;
  std::set<std::string> known_;
};

Machine* machine = nullptr;

}  // namespace
}  // namespace isomer::kernel::test

using isomer::kernel::test::machine;

// What emulated code refers to.
extern "C" {
isomer::kernel::test::EmulatedIndex isomer_emulated_thread, isomer_emulated_block;
void isomer_emulated_barrier(int line) { machine->wait(line); }
int isomer_emulated_exchange(int line, const void* own, void* all, int bytes) {
  return machine->exchange(line, own, all, bytes);
}
void isomer_emulated_copy(void* to, const void* from, int bytes) { machine->copy_later(to, from, bytes); }
void isomer_emulated_commit() { machine->commit(); }
void isomer_emulated_complete(int left) { machine->complete(left); }
void isomer_emulated_atomic(const void* address, int bytes) { machine->access(address, bytes, true, true); }

#define ISOMER_ACCESS(bytes)                                                                          \
  void __tsan_read##bytes(void* address) { machine->access(address, bytes, false, false); }           \
  void __tsan_write##bytes(void* address) { machine->access(address, bytes, true, false); }           \
  void __tsan_unaligned_read##bytes(void* address) { machine->access(address, bytes, false, false); } \
  void __tsan_unaligned_write##bytes(void* address) { machine->access(address, bytes, true, false); }
ISOMER_ACCESS(1)
ISOMER_ACCESS(2)
ISOMER_ACCESS(4)
ISOMER_ACCESS(8)
ISOMER_ACCESS(16)
#undef ISOMER_ACCESS
void __tsan_read_range(void* address, unsigned long bytes) { machine->access(address, int(bytes), false, false); }
void __tsan_write_range(void* address, unsigned long bytes) { machine->access(address, int(bytes), true, false); }
void __ubsan_handle_out_of_bounds(void*, void*) { machine->leave_array(); }
void __tsan_vptr_update(void**, void*) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}

namespace isomer::kernel::test {
namespace {

void Machine::access(const void* address, int bytes, bool is_write, bool is_atomic) {
  if (!threads_.is_running()) return;
  const int interval = threads_.interval();
  const auto* const first = static_cast<const std::byte*>(address);
  const auto range = std::find_if(watched_.begin(), watched_.end(), [&](const Watched& each) {
    const int64_t margin = each.is_shared ? 0 : kMargin;
    return each.begin - margin <= first && first < each.end + margin;
  });
  if (range == watched_.end()) return;  // a thread's own
  if (first < range->begin || first + bytes > range->end)
    return find(range->name, "index out of bounds",
                fmt::format("byte {} of {} does not exist", first - range->begin, range->name));
  for (int k = 0; k < bytes; ++k) {
    const auto at = static_cast<size_t>(first - range->begin) + static_cast<size_t>(k);
    Shadow& byte = range->bytes[at];
    const auto conflicts = [&](int other, int other_block, int other_interval) {
      if (other == Shadow::kNobody || is_atomic) return false;
      if (other_block != block_) return !range->is_shared;
      return other != thread_ && other_interval == interval;
    };
    if (conflicts(byte.writer, byte.writer_block, byte.writer_interval))
      race(*range, at, is_write ? "written" : "written and read", byte.writer);
    if (is_write && conflicts(byte.reader, byte.reader_block, byte.reader_interval))
      race(*range, at, "read and written", byte.reader);
    if (is_write) {
      byte.writer = thread_;
      byte.writer_block = block_;
      byte.writer_interval = interval;
      byte.is_written = true;
      continue;
    }
    const bool is_there = byte.is_written && (!range->is_shared || byte.writer_block == block_);
    if (!is_there && !is_atomic)
      find(range->name, "not initialized", fmt::format("byte {} of {} is read and was not written", at, range->name));
    const bool is_read = byte.reader != Shadow::kNobody;
    const bool is_same_time = is_read && byte.reader_block == block_ && byte.reader_interval == interval;
    const bool is_other_block = is_read && byte.reader_block != block_ && !range->is_shared;
    byte.reader = is_same_time && byte.reader != thread_ ? Shadow::kSeveral : thread_;
    byte.reader_block = is_other_block ? Shadow::kSeveral : block_;
    byte.reader_interval = interval;
  }
}

void Machine::run_block(EmulatedLibrary::Entry entry, const Launch& launch, void** arguments, EmulatedIndex block) {
  isomer_emulated_block = block;
  const std::string missed = threads_.run(
      launch.threads, order_, [&] { entry(arguments); },
      [&](int number, EmulatedIndex index) {
        thread_ = number;
        isomer_emulated_thread = index;
      });
  if (!missed.empty()) find("", "barrier", missed);
}

/// The writable segments of a loaded library.
std::vector<std::pair<std::byte*, std::byte*>> writable_memory(void* handle) {
  struct Search {
    const char* name;
    std::vector<std::pair<std::byte*, std::byte*>> found;
  };
  link_map* map = nullptr;
  CHECK(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) << "no link map";
  Search search{map->l_name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& search = *static_cast<Search*>(data);
        if (std::strcmp(info->dlpi_name, search.name) != 0) return 0;
        for (int k = 0; k < info->dlpi_phnum; ++k) {
          const auto& segment = info->dlpi_phdr[k];
          if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
          auto* const begin = reinterpret_cast<std::byte*>(info->dlpi_addr + segment.p_vaddr);
          search.found.emplace_back(begin, begin + segment.p_memsz);
        }
        return 1;
      },
      &search);
  return search.found;
}

/// Memory of an argument, with margins around that nobody may touch.
struct Argument {
  std::vector<std::byte> memory;
  int64_t bytes;
  explicit Argument(int64_t size) : memory(static_cast<size_t>(size + 2 * kMargin), std::byte{0xff}), bytes(size) {}
  std::byte* data() { return memory.data() + kMargin; }
};

}  // namespace

EmulatedLibrary::EmulatedLibrary(const std::string& text, const std::vector<std::string>& functions) {
  const ScratchFolder folder;
  const std::string source = emulated_source(text, functions);
  const auto file = folder.path() / "kernels.cpp", object = folder.path() / "kernels.o",
             library = folder.path() / "kernels.so";
  isomer::test::write_file(file, source);
  const auto step = [&](const std::vector<std::string>& command) {
    const auto outcome = run_program(command);
    if (outcome.exit_code != 0) throw std::runtime_error(outcome.err + source);
  };
  step({"g++", "-std=c++17", "-O0", "-fPIC", "-w", "-fsanitize=thread,bounds", "-c", file.string(), "-o",
        object.string()});
  step({"g++", "-shared", object.string(), "-o", library.string()});  // without the sanitizer's own library
  handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw std::runtime_error(dlerror());
  shared_ = writable_memory(handle_);
}

EmulatedLibrary::~EmulatedLibrary() {
  if (handle_) dlclose(handle_);
}

EmulatedLibrary::Entry EmulatedLibrary::entry(const std::string& function) const {
  auto* const found = dlsym(handle_, ("emulated_" + function).c_str());
  CHECK(found) << function;
  return reinterpret_cast<Entry>(found);
}

EmulatedRun emulate(const EmulatedLibrary& library, const Kernel& kernel, const CudaKernel& code,
                    const std::vector<Tensor>& inputs, ThreadOrder order) {
  Machine here(library, order);
  machine = &here;
  std::vector<std::optional<Argument>> arguments(kernel.buffers.size());
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const Buffer& buffer = kernel.buffers[b];
    if (buffer.scope != Scope::kArgument) continue;
    arguments[b].emplace(byte_size(buffer.dtype, element_count(buffer.shape).value()));
    const auto input = std::find(kernel.inputs.begin(), kernel.inputs.end(), static_cast<int>(b));
    const bool is_input = input != kernel.inputs.end();
    if (is_input) {
      const auto bytes = inputs[static_cast<size_t>(input - kernel.inputs.begin())].bytes();
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(arguments[b]->data()));
    }
    here.watch(buffer.name, arguments[b]->data(), arguments[b]->bytes, false, is_input);
  }
  int outcome = 0;
  for_each_launch(code, [&](const CudaLaunch& launch, int turn) {
    int* error = &outcome;
    std::vector<void*> pointers, addresses = {&error};
    for (const int b : launch.buffers) pointers.push_back(arguments[static_cast<size_t>(b)]->data());
    for (void*& pointer : pointers) addresses.push_back(&pointer);
    if (launch.takes_turn) addresses.push_back(&turn);
    here.launch(library.entry(launch.function), launch.launch, addresses.data(), launch.function);
  });
  machine = nullptr;
  EmulatedRun run;
  run.outcome = outcome;
  run.findings = std::move(here.findings);
  for (size_t b = 0; b < arguments.size(); ++b) {
    if (!arguments[b]) continue;
    const auto& memory = arguments[b]->memory;
    const auto is_touched = [](std::byte byte) { return byte != std::byte{0xff}; };
    if (std::any_of(memory.begin(), memory.begin() + kMargin, is_touched) ||
        std::any_of(memory.end() - kMargin, memory.end(), is_touched))
      run.findings.push_back(kernel.buffers[b].name + ": memory beside it was written");
  }
  run.outputs = outputs_of(kernel, [&](size_t b) { return arguments[b]->data(); });
  return run;
}

}  // namespace isomer::kernel::test
