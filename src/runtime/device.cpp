#include "runtime/device.h"

#include <cstring>
#include <memory>

#include "runtime/memory.h"

namespace isomer::runtime {

std::optional<DeviceMemory> HostDevice::allocate(int64_t bytes) {
  auto memory = Memory::allocate(bytes);
  if (!memory) return std::nullopt;
  auto owner = std::make_shared<Memory>(std::move(*memory));
  return std::optional<DeviceMemory>(std::in_place, owner->data(), owner->bytes(), [owner] {});
}

void HostDevice::clear(void* to, int64_t bytes) {
  if (bytes > 0) std::memset(to, 0, static_cast<size_t>(bytes));
}
void HostDevice::copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memmove(to, from, static_cast<size_t>(bytes));
}

}  // namespace isomer::runtime
