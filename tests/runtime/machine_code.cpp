#include "runtime/machine_code.h"

// The frame comes in rdi, the range in rsi and rdx. Frame: buffers 0, extents 8, scratch 16, resize 24, math 32.
__asm__(R"(
  .pushsection .text
isomer_test_code:
isomer_test_add_one:
  mov (%rdi), %rax
  mov (%rax), %rcx
  mov 8(%rax), %r8
  mov $0x3f800000, %r9d
  movd %r9d, %xmm1
1:
  cmp %rdx, %rsi
  jge 2f
  movss (%rcx,%rsi,4), %xmm0
  addss %xmm1, %xmm0
  movss %xmm0, (%r8,%rsi,4)
  inc %rsi
  jmp 1b
2:
  xor %eax, %eax
  ret

isomer_test_add:
  mov (%rdi), %rax
  mov (%rax), %rcx
  mov 8(%rax), %r8
  mov 16(%rax), %r9
1:
  cmp %rdx, %rsi
  jge 2f
  movss (%rcx,%rsi,4), %xmm0
  addss (%r8,%rsi,4), %xmm0
  movss %xmm0, (%r9,%rsi,4)
  inc %rsi
  jmp 1b
2:
  xor %eax, %eax
  ret

isomer_test_range_start:
  mov 16(%rdi), %r8
  mov %rsi, (%r8)
  mov (%rdi), %rax
  mov (%rax), %rcx
1:
  cmp %rdx, %rsi
  jge 2f
  mov (%r8), %rax
  mov %rax, (%rcx,%rsi,8)
  inc %rsi
  jmp 1b
2:
  xor %eax, %eax
  ret

isomer_test_control_word:
  mov (%rdi), %rax
  mov (%rax), %rcx
1:
  cmp %rdx, %rsi
  jge 2f
  stmxcsr (%rcx,%rsi,4)
  inc %rsi
  jmp 1b
2:
  xor %eax, %eax
  ret

isomer_test_add_integers:
  mov (%rdi), %rax
  mov (%rax), %rcx
  mov 8(%rax), %r8
  mov 16(%rax), %r9
  mov (%rcx), %rax
  add (%r8), %rax
  mov %rax, (%r9)
  xor %eax, %eax
  ret

isomer_test_less:
  mov (%rdi), %rax
  mov (%rax), %rcx
  mov 8(%rax), %r8
  mov 16(%rax), %r9
  mov (%rcx), %rax
  cmp (%r8), %rax
  setl (%r9)
  xor %eax, %eax
  ret

isomer_test_count_up:
  push %rbx
  push %r12
  push %r13
  mov %rdi, %rbx
  mov (%rdi), %rax
  mov (%rax), %rax
  mov (%rax), %r12
  mov 8(%rdi), %rax
  mov 8(%rax), %rax
  mov %r12, (%rax)
  mov $1, %esi
  lea (,%r12,8), %rdx
  call *24(%rbx)
  test %al, %al
  jz 3f
  mov (%rbx), %rax
  mov 8(%rax), %rax
  xor %ecx, %ecx
1:
  cmp %r12, %rcx
  jge 2f
  mov %rcx, (%rax,%rcx,8)
  inc %rcx
  jmp 1b
2:
  xor %eax, %eax
  jmp 4f
3:
  mov $3, %eax
4:
  pop %r13
  pop %r12
  pop %rbx
  ret

isomer_test_extent:
  mov 8(%rdi), %rax
  mov (%rax), %rax
  mov (%rax), %rcx
  mov (%rdi), %rax
  mov 8(%rax), %r8
  mov %rcx, (%r8)
  xor %eax, %eax
  ret

isomer_test_sine:
  push %rbx
  mov (%rdi), %rbx
  mov (%rbx), %rax
  movsd (%rax), %xmm0
  mov 32(%rdi), %rax
  call *(%rax)
  mov 8(%rbx), %rax
  movsd %xmm0, (%rax)
  xor %eax, %eax
  pop %rbx
  ret

isomer_test_out_of_range:
  mov $1, %eax
  ret
isomer_test_code_end:
  .popsection
)");

extern "C" {
extern const std::byte isomer_test_code[], isomer_test_code_end[], isomer_test_add_one[], isomer_test_add[],
    isomer_test_range_start[], isomer_test_control_word[], isomer_test_add_integers[], isomer_test_less[],
    isomer_test_count_up[], isomer_test_extent[], isomer_test_sine[], isomer_test_out_of_range[];
}

namespace isomer::runtime::test {
namespace {

uint64_t offset_of(const std::byte* entry) { return static_cast<uint64_t>(entry - isomer_test_code); }

}  // namespace

std::span<const std::byte> machine_code() { return {isomer_test_code, isomer_test_code_end}; }

Entries entries() {
  return {.add_one = offset_of(isomer_test_add_one),
          .add = offset_of(isomer_test_add),
          .range_start = offset_of(isomer_test_range_start),
          .control_word = offset_of(isomer_test_control_word),
          .add_integers = offset_of(isomer_test_add_integers),
          .less = offset_of(isomer_test_less),
          .count_up = offset_of(isomer_test_count_up),
          .extent = offset_of(isomer_test_extent),
          .sine = offset_of(isomer_test_sine),
          .out_of_range = offset_of(isomer_test_out_of_range)};
}

}  // namespace isomer::runtime::test
