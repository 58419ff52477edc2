// A library with the names of NVIDIA's driver API whose device is emulated: modules are shared libraries of the same
// source (`cuda=emulated`), launches run threads on stacks of their own. It is as unkind as a driver may be: work is
// done only when somebody waits for it, the host can't touch memory of the device, fresh memory holds no zeros, calls
// without a current context fail, threads that wait for each other in vain are a failure of their launch, and captures
// are ended by what the driver API says ends them. $ISOMER_FAKE_FAULT plants a fault, "KIND:N", at the N-th call that
// can have it:
//     no-device           there is none
//     other-first         there are two, of which the first is another GPU
//     out-of-memory:N     the N-th allocation
//     bad-module:N        the N-th module
//     illegal-address:N   the N-th launch; everything fails from then on
//     timeout:N           the same, as watchdogs end it
//     lost:N              the N-th call of any kind; everything fails from then on
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cuda/block_of_threads.h"

namespace {

using isomer::kernel::test::BlockOfThreads;
using isomer::kernel::test::EmulatedIndex;
using isomer::kernel::test::ThreadOrder;
using Address = unsigned long long;

enum Status : int {
  kDone = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNotFound = 500,
  kIllegalAddress = 700,
  kTimeout = 702,
  kLaunchFailed = 719,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureImplicit = 906,
  kUnknown = 999,
};
const std::map<int, std::pair<const char*, const char*>> kNames = {
    {kDone, {"CUDA_SUCCESS", "no error"}},
    {kInvalidValue, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {kOutOfMemory, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {kNotInitialized, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
    {kNoDevice, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {kInvalidImage, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
    {kInvalidContext, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {kNotFound, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {kIllegalAddress, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {kTimeout, {"CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"}},
    {kLaunchFailed, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
    {kCaptureUnsupported,
     {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
    {kCaptureInvalidated, {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error"}},
    {kCaptureImplicit,
     {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
      "operation would make the legacy stream depend on a capturing blocking stream"}},
    {kUnknown, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
};

/// Work of a stream: a status other than kDone stays.
using Work = std::function<Status()>;

struct Graph {
  std::vector<Work> works;
};
struct Stream {
  struct Entry {
    int64_t number;  ///< in the order in which all work was asked for
    Work work;
  };
  bool is_blocking = true;  ///< it and the null stream wait for each other
  std::deque<Entry> entries;
  std::unique_ptr<Graph> captured;  ///< while it is captured
  std::thread::id capturing;        ///< the thread that captures it
  bool is_invalid = false;          ///< the capture
};
struct Event {
  std::chrono::steady_clock::time_point time;
  Stream* stream = nullptr;
};
struct Module {
  void* handle = nullptr;
  int file = -1;  ///< of its own number as long as it is loaded: the loader knows libraries by their paths
};
struct Function {
  void (*entry)(void**) = nullptr;
  const int* sizes = nullptr;      ///< of its parameters; ends with 0
  unsigned most_shared_bytes = 0;  ///< that launches may ask for
};

BlockOfThreads* block_of_threads = nullptr;

class Machine {
 public:
  static Machine& get() {
    static Machine* const machine = new Machine;  // lives as long as the process
    return *machine;
  }

  const pid_t process = getpid();  ///< one that is forked from it has no context
  std::mutex mutex;
  Stream null_stream;
  std::set<Stream*> streams = {&null_stream};
  std::map<Address, size_t> memory;  ///< of the device
  std::set<std::pair<const std::byte*, size_t>> pinned;
  std::map<std::pair<Module*, std::string>, std::unique_ptr<Function>> functions;
  Status sticky = kDone;
  std::string launch_failure;  ///< what was wrong with the launch that failed
  std::function<void()> at_capture;
  int graph_launches = 0;

  /// Of this call; whether the fault is due.
  bool is_due(const char* kind) {
    if (fault_ != kind) return false;
    return ++calls_ == number_;
  }
  bool has_fault(const char* kind) const { return fault_ == kind; }

  Stream* find(Stream* stream) {
    if (!stream) return &null_stream;
    return streams.contains(stream) ? stream : nullptr;
  }

  /// The null stream can't be used while a stream that it would wait for is captured.
  Status check_use(Stream* stream) {
    if (!stream) return kInvalidValue;
    Status status = kDone;
    for (Stream* other : streams) {
      if (stream != &null_stream || !other->captured || !other->is_blocking) continue;
      other->is_invalid = true;
      status = kCaptureImplicit;
    }
    return status;
  }

  Status ask(Stream* given, Work work) {
    Stream* const stream = find(given);
    if (const Status status = check_use(stream); status != kDone) return status;
    if (stream->captured)
      stream->captured->works.push_back(std::move(work));
    else
      stream->entries.push_back({next_++, std::move(work)});
    return kDone;
  }

  /// All of the stream's work, and of the null stream what comes before it; of others before the null stream's.
  Status finish(Stream* given) {
    Stream* const stream = find(given);
    if (const Status status = check_use(stream); status != kDone) return status;
    if (stream->captured) {
      stream->is_invalid = true;
      return kCaptureUnsupported;
    }
    protect(PROT_READ | PROT_WRITE);
    run(*stream, next_);
    protect(PROT_NONE);
    return sticky;
  }
  Status finish_all() {
    protect(PROT_READ | PROT_WRITE);
    for (Stream* stream : streams) run(*stream, next_);
    protect(PROT_NONE);
    return sticky;
  }
  /// Whether something is captured, by anybody or by this thread; the captures end.
  bool ends_captures(bool of_all_threads) {
    bool result = false;
    for (Stream* stream : streams) {
      if (!stream->captured || !(of_all_threads || stream->capturing == std::this_thread::get_id())) continue;
      stream->is_invalid = result = true;
    }
    return result;
  }

  Status allocate(Address* to, size_t bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t whole = (bytes + page - 1) / page * page;
    // Nothing lies behind it, and limits of the process's memory do not count it.
    void* const start = mmap(nullptr, whole + page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return kOutOfMemory;
    std::memset(start, 0xff, whole);
    mprotect(start, whole + page, PROT_NONE);
    *to = reinterpret_cast<Address>(start);
    memory[*to] = whole;
    return kDone;
  }
  Status free(Address address) {
    const auto found = memory.find(address);
    if (found == memory.end()) return kInvalidValue;
    finish_all();
    munmap(reinterpret_cast<void*>(address), found->second + static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    memory.erase(found);
    return kDone;
  }
  bool owns(Address address, size_t bytes) const {
    auto above = memory.upper_bound(address);
    if (above == memory.begin()) return false;
    const auto& [start, size] = *--above;
    return address + bytes <= start + size;
  }
  bool is_pinned(const void* pointer, size_t bytes) const {
    for (const auto& [start, size] : pinned)
      if (start <= pointer && static_cast<const std::byte*>(pointer) + bytes <= start + size) return true;
    return false;
  }

 private:
  Machine() {
    // Modules refer to this library's functions.
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&Machine::get), &info) != 0)
      dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    const char* const planted = std::getenv("ISOMER_FAKE_FAULT");
    const std::string text = planted ? planted : "";
    fault_ = text.substr(0, text.find(':'));
    if (const size_t colon = text.find(':'); colon != std::string::npos) number_ = std::atol(text.c_str() + colon + 1);
  }

  void protect(int rights) {
    for (const auto& [address, bytes] : memory) mprotect(reinterpret_cast<void*>(address), bytes, rights);
  }

  void run(Stream& stream, int64_t end) {
    while (!stream.entries.empty() && stream.entries.front().number < end) {
      const Stream::Entry entry = std::move(stream.entries.front());
      stream.entries.pop_front();
      if (&stream == &null_stream) {
        for (Stream* other : streams)
          if (other != &null_stream && other->is_blocking) run(*other, entry.number);
      } else if (stream.is_blocking) {
        run(null_stream, entry.number);
      }
      if (sticky == kDone) sticky = entry.work();
    }
  }

  int64_t next_ = 0;
  std::string fault_;
  long calls_ = 0, number_ = 0;
};

thread_local std::vector<void*> contexts;
int the_context = 0;

/// Runs a call of the API under the machine's lock.
template <class Call>
int guarded(const Call& call) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  if (getpid() != machine.process) return kNotInitialized;
  if (machine.sticky != kDone) return machine.sticky;
  if (machine.is_due("lost")) return machine.sticky = kUnknown;
  return call(machine);
}
/// The same for calls that need a context.
template <class Call>
int in_context(const Call& call) {
  return guarded([&](Machine& machine) -> int { return contexts.empty() ? kInvalidContext : call(machine); });
}
/// The same for calls that a thread's own captures, which are thread-local ones, do not allow.
template <class Call>
int outside_of_captures(const Call& call) {
  return in_context(
      [&](Machine& machine) -> int { return machine.ends_captures(false) ? kCaptureUnsupported : call(machine); });
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

/// Bytes of the file that starts here: section headers are its end.
size_t file_bytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
}

struct LaunchArguments {
  std::vector<std::vector<std::byte>> values;
  std::vector<void*> pointers;
};

/// What was wrong with its barriers; empty: nothing.
std::string run_launch(const Function& function, const std::array<int64_t, 3>& blocks,
                       const std::array<int64_t, 3>& threads, void** arguments);

}  // namespace

#define ISOMER_EXPORT extern "C" __attribute__((visibility("default")))

// What modules refer to.
ISOMER_EXPORT EmulatedIndex isomer_emulated_thread, isomer_emulated_block;
EmulatedIndex isomer_emulated_thread, isomer_emulated_block;
ISOMER_EXPORT void isomer_emulated_barrier(int line) { block_of_threads->wait(line); }
ISOMER_EXPORT void isomer_emulated_atomic(const void*, int) {}
static int running_thread = 0;
static bool has_exchanged = false;
ISOMER_EXPORT int isomer_emulated_exchange(int line, const void* own, void* all, int bytes) {
  has_exchanged = true;
  return block_of_threads->exchange(line, running_thread, own, all, bytes);
}
ISOMER_EXPORT void isomer_emulated_copy(void* to, const void* from, int bytes) {
  block_of_threads->copy_later(running_thread, to, from, bytes);
}
ISOMER_EXPORT void isomer_emulated_commit() { block_of_threads->commit(running_thread); }
ISOMER_EXPORT void isomer_emulated_complete(int left) {
  block_of_threads->complete(running_thread, left, [](void*, int) {});
}

namespace {

std::string run_launch(const Function& function, const std::array<int64_t, 3>& blocks,
                       const std::array<int64_t, 3>& threads, void** arguments) {
  static BlockOfThreads* const fibers = new BlockOfThreads;
  block_of_threads = fibers;
  // Barriers stand where all threads come: if the first block has met none, no block does, and threads need no stacks.
  bool has_barriers = true;
  has_exchanged = false;
  for (int64_t z = 0; z < blocks[2]; ++z)
    for (int64_t y = 0; y < blocks[1]; ++y)
      for (int64_t x = 0; x < blocks[0]; ++x) {
        isomer_emulated_block = {unsigned(x), unsigned(y), unsigned(z)};
        if (has_barriers) {
          std::string wrong = fibers->run(
              threads, ThreadOrder::kForward, [&] { function.entry(arguments); },
              [](int number, EmulatedIndex index) {
                running_thread = number;
                isomer_emulated_thread = index;
              });
          if (!wrong.empty()) return wrong;
          has_barriers = fibers->interval() > 1 || has_exchanged;
          continue;
        }
        for (unsigned c = 0; c < threads[2]; ++c)
          for (unsigned b = 0; b < threads[1]; ++b)
            for (unsigned a = 0; a < threads[0]; ++a) {
              isomer_emulated_thread = {a, b, c};
              function.entry(arguments);
            }
      }
  return "";
}

}  // namespace

ISOMER_EXPORT int cuInit(unsigned) {
  return guarded([](Machine& machine) { return machine.has_fault("no-device") ? kNoDevice : kDone; });
}
ISOMER_EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kDone;
}
ISOMER_EXPORT int cuGetErrorName(int status, const char** name) {
  const auto found = kNames.find(status);
  if (found == kNames.end()) return kInvalidValue;
  *name = found->second.first;
  return kDone;
}
ISOMER_EXPORT int cuGetErrorString(int status, const char** text) {
  const auto found = kNames.find(status);
  if (found == kNames.end()) return kInvalidValue;
  const std::string& failure = Machine::get().launch_failure;
  *text = status == kLaunchFailed && !failure.empty() ? failure.c_str() : found->second.second;
  return kDone;
}
/// How many devices there are in front of the emulated one.
static int others() { return Machine::get().has_fault("other-first") ? 1 : 0; }
ISOMER_EXPORT int cuDeviceGetCount(int* count) {
  *count = others() + 1;
  return kDone;
}
ISOMER_EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal <= others() ? kDone : kInvalidValue;
}
ISOMER_EXPORT int cuDeviceGetName(char* name, int size, int device) {
  std::strncpy(name, device == others() ? "Emulated GPU" : "Another GPU", static_cast<size_t>(size));
  return kDone;
}
ISOMER_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  constexpr int kMultiprocessors = 16, kMajor = 75;
  *value = attribute == kMultiprocessors ? 4 : 0;  // compute capability 0.0: none that NVIDIA has
  if (attribute == kMajor && device != others()) *value = 5;
  return kDone;
}
ISOMER_EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{8} << 30;
  return kDone;
}
ISOMER_EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  return guarded([&](Machine&) {
    *context = &the_context;
    return kDone;
  });
}
ISOMER_EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return kDone; }
ISOMER_EXPORT int cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(context);
  return kDone;
}
ISOMER_EXPORT int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return kInvalidContext;
  *context = contexts.back();
  contexts.pop_back();
  return kDone;
}
ISOMER_EXPORT int cuCtxSynchronize() {
  return in_context(
      [](Machine& machine) -> int { return machine.ends_captures(true) ? kCaptureUnsupported : machine.finish_all(); });
}

ISOMER_EXPORT int cuMemAlloc_v2(Address* address, size_t bytes) {
  return outside_of_captures([&](Machine& machine) {
    if (bytes == 0) return kInvalidValue;
    return machine.is_due("out-of-memory") ? kOutOfMemory : machine.allocate(address, bytes);
  });
}
ISOMER_EXPORT int cuMemFree_v2(Address address) {
  return outside_of_captures([&](Machine& machine) { return machine.free(address); });
}
ISOMER_EXPORT int cuMemAllocHost_v2(void** to, size_t bytes) {
  return outside_of_captures([&](Machine& machine) {
    *to = std::malloc(bytes);
    std::memset(*to, 0xff, bytes);
    machine.pinned.emplace(static_cast<std::byte*>(*to), bytes);
    return kDone;
  });
}
ISOMER_EXPORT int cuMemFreeHost(void* memory) {
  return outside_of_captures([&](Machine& machine) {
    for (auto at = machine.pinned.begin(); at != machine.pinned.end(); ++at) {
      if (at->first != memory) continue;
      machine.finish_all();
      machine.pinned.erase(at);
      std::free(memory);
      return kDone;
    }
    return kInvalidValue;
  });
}
ISOMER_EXPORT int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Stream* stream) {
  return in_context([&](Machine& machine) {
    if (!machine.owns(to, bytes)) return kInvalidValue;
    return machine.ask(stream, [=] {
      std::memset(pointer(to), value, bytes);
      return kDone;
    });
  });
}
ISOMER_EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream* stream) {
  return in_context([&](Machine& machine) {
    if (!machine.owns(to, bytes) || machine.owns(reinterpret_cast<Address>(from), 1)) return kInvalidValue;
    // What is not pinned is read before the call returns.
    std::shared_ptr<std::vector<std::byte>> staged;
    if (!machine.is_pinned(from, bytes)) {
      const auto* const first = static_cast<const std::byte*>(from);
      staged = std::make_shared<std::vector<std::byte>>(first, first + bytes);
    }
    return machine.ask(stream, [=] {
      std::memcpy(pointer(to), staged ? staged->data() : from, bytes);
      return kDone;
    });
  });
}
ISOMER_EXPORT int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream* stream) {
  return in_context([&](Machine& machine) {
    if (!machine.owns(from, bytes) || machine.owns(reinterpret_cast<Address>(to), 1)) return kInvalidValue;
    std::memset(to, 0xff, bytes);
    return machine.ask(stream, [=] {
      std::memcpy(to, pointer(from), bytes);
      return kDone;
    });
  });
}
ISOMER_EXPORT int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream* stream) {
  return in_context([&](Machine& machine) {
    const bool overlap = to < from + bytes && from < to + bytes;
    if (!machine.owns(to, bytes) || !machine.owns(from, bytes) || overlap) return kInvalidValue;
    return machine.ask(stream, [=] {
      std::memcpy(pointer(to), pointer(from), bytes);
      return kDone;
    });
  });
}

ISOMER_EXPORT int cuStreamCreate(Stream** stream, unsigned flags) {
  constexpr unsigned kNonBlocking = 1;
  return in_context([&](Machine& machine) {
    if (flags > kNonBlocking) return kInvalidValue;
    *stream = new Stream;
    (*stream)->is_blocking = flags != kNonBlocking;
    machine.streams.insert(*stream);
    return kDone;
  });
}
ISOMER_EXPORT int cuStreamDestroy_v2(Stream* stream) {
  return in_context([&](Machine& machine) {
    if (!stream || machine.finish(stream) == kInvalidValue) return kInvalidValue;
    machine.streams.erase(stream);
    delete stream;
    return kDone;
  });
}
ISOMER_EXPORT int cuStreamSynchronize(Stream* stream) {
  return in_context([&](Machine& machine) { return machine.finish(stream); });
}
ISOMER_EXPORT int cuStreamBeginCapture_v2(Stream* stream, int) {
  std::function<void()> then;
  const int status = in_context([&](Machine& machine) {
    Stream* const known = machine.find(stream);
    if (!known || known == &machine.null_stream || known->captured) return kInvalidValue;
    known->captured = std::make_unique<Graph>();
    known->capturing = std::this_thread::get_id();
    known->is_invalid = false;
    then = machine.at_capture;
    return kDone;
  });
  if (then) then();
  return status;
}
/// What is done from now on whenever a capture has begun.
ISOMER_EXPORT void isomer_fake_at_capture(void (*call)()) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.at_capture = call;
}
ISOMER_EXPORT int cuStreamEndCapture(Stream* stream, Graph** graph) {
  return in_context([&](Machine& machine) {
    Stream* const known = machine.find(stream);
    if (!known || !known->captured) return kInvalidValue;
    const std::unique_ptr<Graph> captured = std::move(known->captured);
    if (known->is_invalid) return kCaptureInvalidated;
    *graph = new Graph(*captured);
    return kDone;
  });
}
ISOMER_EXPORT int cuGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) {
  return in_context([&](Machine&) {
    *exec = new Graph(*graph);
    return kDone;
  });
}
ISOMER_EXPORT int cuGraphLaunch(Graph* exec, Stream* stream) {
  return in_context([&](Machine& machine) {
    ++machine.graph_launches;
    return machine.ask(stream, [works = exec->works] {
      for (const Work& work : works)
        if (const Status status = work(); status != kDone) return status;
      return kDone;
    });
  });
}
ISOMER_EXPORT int cuGraphDestroy(Graph* graph) {
  delete graph;
  return kDone;
}
ISOMER_EXPORT int cuGraphExecDestroy(Graph* graph) {
  delete graph;
  return kDone;
}

ISOMER_EXPORT int cuModuleLoadData(Module** module, const void* image) {
  return outside_of_captures([&](Machine& machine) {
    const size_t bytes = file_bytes(image);
    if (bytes == 0 || machine.is_due("bad-module")) return kInvalidImage;
    const int file = memfd_create("module", 0);
    if (write(file, image, bytes) != static_cast<ssize_t>(bytes)) return kInvalidImage;
    void* const handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      close(file);
      return kInvalidImage;
    }
    *module = new Module{handle, file};
    return kDone;
  });
}
ISOMER_EXPORT int cuModuleUnload(Module* module) {
  return outside_of_captures([&](Machine& machine) {
    machine.finish_all();
    std::erase_if(machine.functions, [&](const auto& known) { return known.first.first == module; });
    dlclose(module->handle);
    close(module->file);
    delete module;
    return kDone;
  });
}
ISOMER_EXPORT int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  return in_context([&](Machine& machine) {
    auto& known = machine.functions[{module, name}];
    if (!known) known = std::make_unique<Function>();
    const std::string entry = "emulated_" + std::string(name), sizes = "parameters_" + std::string(name);
    known->entry = reinterpret_cast<void (*)(void**)>(dlsym(module->handle, entry.c_str()));
    known->sizes = static_cast<const int*>(dlsym(module->handle, sizes.c_str()));
    *function = known.get();
    return known->entry && known->sizes ? kDone : kNotFound;
  });
}
ISOMER_EXPORT int cuFuncSetAttribute(Function* function, int attribute, int value) {
  constexpr int kMostAskedSharedBytes = 8, kMost = 227 << 10;
  return in_context([&](Machine&) {
    if (attribute != kMostAskedSharedBytes || value < 0 || value > kMost) return kInvalidValue;
    function->most_shared_bytes = static_cast<unsigned>(value);
    return kDone;
  });
}
ISOMER_EXPORT int cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                 Stream* stream, void** parameters, void** extra) {
  return in_context([&](Machine& machine) {
    if (shared_bytes > function->most_shared_bytes || extra || block_x * block_y * block_z > 1024 ||
        grid_x * grid_y * grid_z == 0)
      return kInvalidValue;
    auto arguments = std::make_shared<LaunchArguments>();
    for (size_t k = 0; function->sizes[k] != 0; ++k) {
      const auto* const value = static_cast<const std::byte*>(parameters[k]);
      arguments->values.emplace_back(value, value + function->sizes[k]);
    }
    for (auto& value : arguments->values) arguments->pointers.push_back(value.data());
    const std::array<int64_t, 3> blocks = {grid_x, grid_y, grid_z}, threads = {block_x, block_y, block_z};
    return machine.ask(stream, [=, &machine] {
      if (machine.is_due("illegal-address")) return kIllegalAddress;
      if (machine.is_due("timeout")) return kTimeout;
      machine.launch_failure = run_launch(*function, blocks, threads, arguments->pointers.data());
      return machine.launch_failure.empty() ? kDone : kLaunchFailed;
    });
  });
}

/// How often graphs were launched so far.
ISOMER_EXPORT int isomer_fake_graph_launches() {
  return guarded([](Machine& machine) { return machine.graph_launches; });
}

ISOMER_EXPORT int cuEventCreate(Event** event, unsigned) {
  return in_context([&](Machine&) {
    *event = new Event;
    return kDone;
  });
}
ISOMER_EXPORT int cuEventDestroy_v2(Event* event) {
  delete event;
  return kDone;
}
ISOMER_EXPORT int cuEventRecord(Event* event, Stream* stream) {
  return in_context([&](Machine& machine) {
    event->stream = stream;
    return machine.ask(stream, [event] {
      event->time = std::chrono::steady_clock::now();
      return kDone;
    });
  });
}
ISOMER_EXPORT int cuEventElapsedTime(float* milliseconds, Event* begin, Event* end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return kDone;
}
