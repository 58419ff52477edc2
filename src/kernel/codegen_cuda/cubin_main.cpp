// isomer-cubin NVRTC ARCH IN.cu OUT.cubin: what NVIDIA's compiler makes of one file, in a process of its own, as a
// compiler may crash or go on forever. Prints what ptxas says.
#include <fmt/format.h>
#include <sys/resource.h>

#include "kernel/codegen_cuda/nvrtc.h"
#include "util/file.h"
#include "util/output_file.h"
#include "util/print_error.h"

namespace {

using namespace isomer;

constexpr rlim_t kMostBytes = rlim_t{8} << 30;
constexpr rlim_t kMostSeconds = 60;

Result<void> run(char** arguments) {
  TRY(const kernel::Nvrtc nvrtc, kernel::Nvrtc::open(arguments[1]));
  TRY(const auto source, MappedFile::open(arguments[3]));
  const std::string text(reinterpret_cast<const char*>(source->bytes().data()), source->bytes().size());
  TRY(const kernel::Cubin cubin, nvrtc.compile(text, arguments[2]));
  TRY(OutputFile output, OutputFile::create(arguments[4]));
  TRY_VOID(output.write(cubin.image));
  TRY_VOID(output.commit());
  fmt::print("{}\n", cubin.log);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    print_error("isomer-cubin: NVRTC ARCH IN.cu OUT.cubin expected, {} arguments found\n", count - 1);
    return 2;
  }
  const rlimit bytes{kMostBytes, kMostBytes}, seconds{kMostSeconds, kMostSeconds}, no_core{0, 0};
  setrlimit(RLIMIT_AS, &bytes);
  setrlimit(RLIMIT_CPU, &seconds);
  setrlimit(RLIMIT_CORE, &no_core);
  const auto done = run(arguments);
  if (done.ok()) return 0;
  fmt::print("{}\n", done.error().message());
  return 3;
}
