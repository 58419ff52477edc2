#include "runtime/call.h"

#include "runtime/workers.h"

namespace isomer::runtime {

// Clang's sanitizer looks for the type of a function before its first byte; machine code has none there.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
Outcome
call(PartFunction function, Frame& frame, int64_t begin, int64_t end) {
  return static_cast<Outcome>(function(&frame, begin, end));
}

Outcome call(const ExecutableMemory& image, const Part& part, Frame& frame, int64_t begin, int64_t end) {
  const FlushDenormals flush;
  const auto start = reinterpret_cast<uintptr_t>(image.bytes().data());
  return call(reinterpret_cast<PartFunction>(start + part.entry), frame, begin, end);
}

}  // namespace isomer::runtime
