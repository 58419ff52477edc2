#include "runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace isomer::runtime {
namespace {

constexpr int64_t kSmallUnit = 64;
constexpr int64_t kLargePage = int64_t{2} << 20;

int64_t round_up(int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; }

/// What no allocation may pass: Linux hands out addresses without memory behind them.
int64_t physical_bytes() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

/// Untouched pages of zeros, aligned to large ones; the pages around them go back.
std::byte* map_pages(int64_t bytes) {
  void* start =
      mmap(nullptr, bytes + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(start);
  const int64_t before = -reinterpret_cast<intptr_t>(start) & (kLargePage - 1);
  if (before > 0) munmap(first, before);
  if (before < kLargePage) munmap(first + before + bytes, kLargePage - before);
  madvise(first + before, bytes, MADV_HUGEPAGE);  // a refusal costs time only
  return first + before;
}

}  // namespace

std::optional<Memory> Memory::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > physical_bytes()) return std::nullopt;
  Memory memory;
  memory.bytes_ = round_up(std::max<int64_t>(bytes, 1), kSmallUnit);
  if (memory.is_mapped()) {
    memory.bytes_ = round_up(memory.bytes_, kLargePage);
    memory.data_ = map_pages(memory.bytes_);
  } else {
    memory.data_ = static_cast<std::byte*>(std::aligned_alloc(kSmallUnit, memory.bytes_));
    if (memory.data_ != nullptr) std::memset(memory.data_, 0, memory.bytes_);
  }
  if (memory.data_ == nullptr) return std::nullopt;
  return memory;
}

bool Memory::is_mapped() const { return bytes_ >= kLargePage; }

Memory::~Memory() {
  if (data_ != nullptr && is_mapped())
    munmap(data_, bytes_);
  else
    std::free(data_);
}

// A copy, not a mapping of the file: what was hashed is what runs, whoever writes to the file later, and folders may be
// mounted noexec.
Result<ExecutableMemory> ExecutableMemory::copy_of(std::span<const std::byte> code) {
  ExecutableMemory memory;
  if (code.empty()) return memory;
  void* start = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return unsupported("code", "{} bytes of memory expected, found: {}", code.size(), std::strerror(errno));
  memory.code_ = {static_cast<const std::byte*>(start), code.size()};
  std::memcpy(start, code.data(), code.size());
  if (mprotect(start, code.size(), PROT_READ | PROT_EXEC) != 0)
    return unsupported("code", "a system that lets a program make code expected, found: {}", std::strerror(errno));
  return memory;
}

ExecutableMemory::~ExecutableMemory() {
  if (!code_.empty()) munmap(const_cast<std::byte*>(code_.data()), code_.size());
}

}  // namespace isomer::runtime
