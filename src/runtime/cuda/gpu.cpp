#include "runtime/cuda/gpu.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "util/parse_number.h"

namespace isomer::runtime::cuda {
namespace {

/// Of pinned memory: each holds a scalar or the dims of a value.
constexpr int64_t kPlaceBytes = 512;
constexpr int64_t kPlaces = 64;
constexpr int64_t kAligned = 64;

Address address(const void* pointer) { return reinterpret_cast<Address>(pointer); }

Result<GpuFacts> facts_of(const Driver& driver, int ordinal) {
  GpuFacts facts;
  facts.ordinal = ordinal;
  DeviceNumber device = 0;
  TRY_VOID(driver.check(driver.device_get(&device, ordinal), fmt::format("device {}", ordinal)));
  std::array<char, 256> name = {};
  TRY_VOID(driver.check(driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device), "its name"));
  facts.name = name.data();
  const auto number = [&](Attribute attribute) {
    int value = 0;
    return driver.device_attribute(&value, attribute, device) == 0 ? value : 0;
  };
  facts.major = number(Attribute::kCapabilityMajor);
  facts.minor = number(Attribute::kCapabilityMinor);
  facts.multiprocessors = number(Attribute::kMultiprocessors);
  facts.second_level_cache = number(Attribute::kSecondLevelCache);
  size_t bytes = 0;
  TRY_VOID(driver.check(driver.device_memory(&bytes, device), "the size of its memory"));
  facts.memory_bytes = static_cast<int64_t>(bytes);
  return facts;
}

Result<int> count_of(const Driver& driver) {
  int count = 0;
  TRY_VOID(driver.check(driver.device_count(&count), "a number of devices"));
  return count;
}

}  // namespace

std::string GpuFacts::arch() const { return major == 0 ? "emulated" : fmt::format("sm_{}{}", major, minor); }

bool runs(const std::string& arch, const GpuFacts& gpu) {
  if (arch == gpu.arch()) return true;
  if (arch == gpu.arch() + "a") return gpu.major > 0;
  constexpr std::string_view kPrefix = "sm_";
  if (!arch.starts_with(kPrefix)) return false;
  const auto number = parse_number<int>(std::string_view(arch).substr(kPrefix.size()));
  return number && *number / 10 == gpu.major && *number % 10 <= gpu.minor;
}

Result<std::vector<GpuFacts>> gpus() {
  TRY(const std::shared_ptr<const Driver> driver, Driver::open());
  TRY(const int count, count_of(*driver));
  std::vector<GpuFacts> all;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    TRY(GpuFacts facts, facts_of(*driver, ordinal));
    all.push_back(std::move(facts));
  }
  return all;
}

Result<std::shared_ptr<const Gpu>> Gpu::open(int ordinal) {
  TRY(std::shared_ptr<const Driver> driver, Driver::open());
  TRY(const int count, count_of(*driver));
  if (ordinal < 0 || ordinal >= count)
    return unsupported("cuda", "device {} expected, {} devices found", ordinal, count);
  TRY(GpuFacts facts, facts_of(*driver, ordinal));
  std::shared_ptr<Gpu> gpu(new Gpu(driver, std::move(facts)));
  TRY_VOID(driver->check(driver->primary_retain(&gpu->context_, ordinal), "its context"));
  return std::shared_ptr<const Gpu>(std::move(gpu));
}

Gpu::~Gpu() {
  if (context_) driver_->primary_release(facts_.ordinal);
}

Result<std::unique_ptr<GpuDevice>> GpuDevice::create(std::shared_ptr<const Gpu> gpu) {
  const Driver& driver = gpu->driver();
  const Gpu::Current current(*gpu);
  std::unique_ptr<GpuDevice> device(new GpuDevice(gpu));
  // Captures in it leave the legacy default stream to others; `follow` orders the work.
  TRY_VOID(driver.check(driver.stream_create(&device->streams_->own, kNonBlocking), "a stream"));
  device->streams_->used = device->streams_->own;
  void* pinned = nullptr;
  TRY_VOID(driver.check(driver.memory_allocate_host(&pinned, kPlaces * kPlaceBytes), "pinned memory"));
  device->pinned_ = static_cast<std::byte*>(pinned);
  return device;
}

GpuDevice::Streams::~Streams() {
  if (!own) return;
  const Gpu::Current current(*gpu);
  gpu->driver().stream_synchronize(own);
  gpu->driver().stream_destroy(own);
}

GpuDevice::~GpuDevice() {
  if (!pinned_) return;
  const Gpu::Current current(*gpu_);
  gpu_->driver().stream_synchronize(streams_->own);
  gpu_->driver().memory_free_host(pinned_);
}

std::optional<DeviceMemory> GpuDevice::allocate(int64_t bytes) {
  const Gpu::Current current(*gpu_);
  const Driver& driver = gpu_->driver();
  const int64_t taken = (std::max<int64_t>(bytes, 1) + kAligned - 1) / kAligned * kAligned;
  Address place = 0;
  if (bytes < 0 || failure_ || driver.memory_allocate(&place, static_cast<size_t>(taken)) != 0) return std::nullopt;
  const auto release = [streams = streams_, place] {
    const Gpu::Current made_current(*streams->gpu);
    streams->gpu->driver().stream_synchronize(streams->used);
    streams->gpu->driver().memory_free(place);
  };
  std::optional<DeviceMemory> memory(std::in_place, reinterpret_cast<std::byte*>(place), taken, release);
  clear(memory->data(), taken);
  return memory;
}

void GpuDevice::clear(void* to, int64_t bytes) {
  if (bytes > 0)
    ask("memory to clear",
        [&] { return gpu_->driver().memory_set(address(to), 0, static_cast<size_t>(bytes), stream()); });
}

void GpuDevice::copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0)
    ask("a copy in its memory", [&] {
      return gpu_->driver().copy_in_device(address(to), address(from), static_cast<size_t>(bytes), stream());
    });
}

void GpuDevice::upload(void* to, const void* from, int64_t bytes) {
  if (bytes <= 0) return;
  if (bytes <= kPlaceBytes) {
    if (next_place_ == kPlaces) {
      next_place_ = 1;
      ask("work to be done", [&] { return gpu_->driver().stream_synchronize(stream()); });
    }
    std::byte* const place = pinned_ + kPlaceBytes * next_place_++;
    std::memcpy(place, from, static_cast<size_t>(bytes));
    from = place;
  }
  // From memory that is not pinned the driver has copied what it needs when it returns.
  ask("a copy to its memory",
      [&] { return gpu_->driver().copy_to_device(address(to), from, static_cast<size_t>(bytes), stream()); });
}

Result<void> GpuDevice::download(void* to, const void* from, int64_t bytes) {
  void* const place = bytes <= kPlaceBytes ? pinned_ : to;
  if (bytes > 0)
    ask("a copy from its memory",
        [&] { return gpu_->driver().copy_to_host(place, address(from), static_cast<size_t>(bytes), stream()); });
  TRY_VOID(finish());
  if (place != to && bytes > 0) std::memcpy(to, place, static_cast<size_t>(bytes));
  return {};
}

Result<void> GpuDevice::finish() {
  ask("work that ends", [&] { return gpu_->driver().stream_synchronize(stream()); });
  next_place_ = 1;
  if (failure_) return *failure_;
  is_idle_ = true;
  return {};
}

Result<void> GpuDevice::follow(std::span<void* const> streams) {
  streams_->used = streams.size() == 1 ? static_cast<Stream>(streams[0]) : streams_->own;
  for (void* const each : streams)
    if (each != stream())
      ask("work of the caller that ends", [&] { return gpu_->driver().stream_synchronize(static_cast<Stream>(each)); });
  if (failure_) return *failure_;
  return {};
}

void GpuDevice::leave() {
  if (!is_idle_) gpu_->driver().stream_synchronize(stream());
  is_idle_ = true;
  next_place_ = 1;
  failure_.reset();
  streams_->used = streams_->own;
}

std::shared_ptr<const GraphExec> GpuDevice::capture(const std::function<Result<void>()>& enqueue) {
  const Driver& driver = gpu_->driver();
  const Stream used = std::exchange(streams_->used, streams_->own);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  bool is_whole = !failure_ && driver.capture_begin(stream(), kCaptureThreadLocal) == 0;
  if (is_whole) {
    is_whole = enqueue().ok() && !failure_;
    failure_.reset();
    is_whole &= driver.capture_end(stream(), &graph) == 0 && graph;
    is_whole = is_whole && driver.graph_instantiate(&exec, graph, 0) == 0;
    if (graph) driver.graph_destroy(graph);
  }
  streams_->used = used;
  if (!is_whole) return nullptr;
  return {new GraphExec(exec), [gpu = gpu_](const GraphExec* made) {
            const Gpu::Current current(*gpu);
            gpu->driver().graph_exec_destroy(*made);
            delete made;
          }};
}

}  // namespace isomer::runtime::cuda
