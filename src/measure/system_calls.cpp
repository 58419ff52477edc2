#include "measure/system_calls.h"

#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace isomer {
namespace {

/// Addresses of machine code, within one block of 4 GB: filters compare 32 bits at a time.
struct CodeRange {
  uint64_t begin, last;
};

int add_code(dl_phdr_info* object, size_t, void* all) {
  constexpr uint64_t kBlock = uint64_t{1} << 32;
  for (size_t k = 0; k < object->dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[k];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    const uint64_t end = begin + segment.p_memsz;
    while (begin < end) {
      const uint64_t until = std::min(end, (begin / kBlock + 1) * kBlock);
      static_cast<std::vector<CodeRange>*>(all)->push_back({begin, until - 1});
      begin = until;
    }
  }
  return 0;
}

sock_filter jump(uint16_t condition, uint64_t value, uint8_t if_true, uint8_t if_false) {
  return BPF_JUMP(static_cast<uint16_t>(BPF_JMP | condition | BPF_K), static_cast<uint32_t>(value), if_true, if_false);
}
sock_filter load(size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
sock_filter end(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

}  // namespace

bool forbid_system_calls_of_new_code() {
  std::vector<CodeRange> ranges;
  dl_iterate_phdr(add_code, &ranges);
  constexpr size_t kLow = offsetof(seccomp_data, instruction_pointer), kHigh = kLow + sizeof(uint32_t);
  std::vector<sock_filter> filter;
  for (const CodeRange& range : ranges) {
    filter.push_back(load(kHigh));
    filter.push_back(jump(BPF_JEQ, range.begin >> 32, 0, 4));
    filter.push_back(load(kLow));
    filter.push_back(jump(BPF_JGE, range.begin, 0, 2));
    filter.push_back(jump(BPF_JGT, range.last, 1, 0));
    filter.push_back(end(SECCOMP_RET_ALLOW));
  }
  filter.push_back(end(SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program{static_cast<uint16_t>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;  // of all threads
}

}  // namespace isomer
