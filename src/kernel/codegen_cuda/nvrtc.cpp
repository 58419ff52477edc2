#include "kernel/codegen_cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <regex>
#include <sstream>

#include "backends/find_library.h"
#include "backends/foreign_functions.h"

namespace isomer::kernel {
namespace {

/// What the same program gets each time.
std::string without_times(const std::string& log) {
  std::istringstream lines(log);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (line.find("Compile time") == std::string::npos) result += line + "\n";
  if (!result.empty()) result.pop_back();
  return result;
}

/// The size and the time of the file that a function was loaded from.
std::string file_of(void* function) {
  Dl_info info;
  struct stat file;
  if (dladdr(function, &info) == 0 || !info.dli_fname || stat(info.dli_fname, &file) != 0) return "";
  return fmt::format("{} bytes of {}.{:09}", file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

}  // namespace

struct Nvrtc::Functions {
  using Program = void*;
  int (*version)(int*, int*);
  int (*arch_count)(int*);
  int (*archs)(int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
};

Result<Nvrtc> Nvrtc::open(const std::string& library) {
  TRY(auto find, backends::ForeignFunctions::open(library, "nvrtc"));
  auto functions = std::make_shared<Functions>();
  find(functions->version, "nvrtcVersion");
  find(functions->arch_count, "nvrtcGetNumSupportedArchs");
  find(functions->archs, "nvrtcGetSupportedArchs");
  find(functions->create, "nvrtcCreateProgram");
  find(functions->destroy, "nvrtcDestroyProgram");
  find(functions->compile, "nvrtcCompileProgram");
  find(functions->log_size, "nvrtcGetProgramLogSize");
  find(functions->log, "nvrtcGetProgramLog");
  find(functions->cubin_size, "nvrtcGetCUBINSize");
  find(functions->cubin, "nvrtcGetCUBIN");
  TRY_VOID(find.are_all_there());
  Nvrtc result;
  result.library_ = library;
  if (functions->version(&result.major_, &result.minor_) != 0)
    return unsupported("nvrtc", "a version expected, {} tells none", library);
  result.build_ =
      fmt::format("{}.{}, {}", result.major_, result.minor_, file_of(reinterpret_cast<void*>(functions->version)));
  result.functions_ = std::move(functions);
  return result;
}

Result<Nvrtc> find_nvrtc() {
  Result<Nvrtc> last = unsupported("nvrtc", "its shared library expected, none found");
  for (const std::string& library : backends::places_of(backends::nvrtc_library()))
    if (last = Nvrtc::open(library); last.ok()) break;
  return last;
}

std::vector<std::string> Nvrtc::archs() const {
  constexpr int kFirstWithFeatures = 90;
  int count = 0;
  if (functions_->arch_count(&count) != 0 || count <= 0) return {};
  std::vector<int> numbers(static_cast<size_t>(count));
  if (functions_->archs(numbers.data()) != 0) return {};
  std::vector<std::string> result;
  for (const int number : numbers) {
    result.push_back(fmt::format("sm_{}", number));
    if (number >= kFirstWithFeatures) result.push_back(fmt::format("sm_{}a", number));
  }
  return result;
}

std::vector<std::string> Nvrtc::options(const std::string& arch) {
  return {"--gpu-architecture=" + arch, "--std=c++17", "--ptxas-options=-v"};
}

Result<Cubin> Nvrtc::compile(const std::string& text, const std::string& arch) const {
  const Functions& nvrtc = *functions_;
  Functions::Program program = nullptr;
  if (nvrtc.create(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0)
    return unsupported("nvrtc", "a program expected, it makes none");
  const std::unique_ptr<Functions::Program, int (*)(Functions::Program*)> owner(&program, nvrtc.destroy);
  const std::vector<std::string> given = options(arch);
  std::vector<const char*> pointers;
  for (const std::string& option : given) pointers.push_back(option.c_str());
  const int status = nvrtc.compile(program, static_cast<int>(pointers.size()), pointers.data());
  size_t size = 0;
  std::string log;
  if (nvrtc.log_size(program, &size) == 0 && size > 0) {
    log.resize(size);
    (void)nvrtc.log(program, log.data());
    log.resize(log.find_last_not_of(std::string_view("\0\n", 2)) + 1);
  }
  if (status != 0) return unsupported("nvrtc", "code that it compiles for {} expected: {}", arch, log);
  if (nvrtc.cubin_size(program, &size) != 0 || size == 0)
    return unsupported("nvrtc", "machine code for {} expected, it makes none", arch);
  Cubin result;
  result.image.resize(size);
  if (nvrtc.cubin(program, reinterpret_cast<char*>(result.image.data())) != 0)
    return unsupported("nvrtc", "machine code for {} expected, it gives none", arch);
  result.functions = parse_ptxas_log(log);
  result.log = without_times(log);
  return result;
}

std::vector<CudaUse> parse_ptxas_log(std::string_view log) {
  static const std::regex entry("Compiling entry function '([^']+)'"), registers("Used ([0-9]+) registers"),
      spills("([0-9]+) bytes spill (?:stores|loads)"), shared("([0-9]+) bytes smem");
  std::vector<CudaUse> result;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, entry)) result.push_back({match[1]});
    if (result.empty()) continue;
    CudaUse& use = result.back();
    if (std::regex_search(line, match, registers)) use.registers = std::stoll(match[1]);
    if (std::regex_search(line, match, shared)) use.shared_bytes = std::stoll(match[1]);
    for (auto at = std::sregex_iterator(line.begin(), line.end(), spills); at != std::sregex_iterator(); ++at)
      use.spill_bytes += std::stoll((*at)[1]);
  }
  return result;
}

}  // namespace isomer::kernel
