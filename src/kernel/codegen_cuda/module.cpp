#include "kernel/codegen_cuda/module.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

#include "util/file.h"
#include "util/hash.h"
#include "util/output_file.h"
#include "util/subprocess.h"
#include "util/temporary_folder.h"

namespace isomer::kernel {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 60;
constexpr const char* kProgram = "isomer-cubin";

Result<void> write(const fs::path& path, std::string_view text) {
  TRY(OutputFile file, OutputFile::create(path));
  TRY_VOID(file.write(text));
  return file.commit();
}

Result<std::string> read(const fs::path& path) {
  TRY(const auto file, MappedFile::open(path));
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The first lines that name an error, or else the first ones.
std::string first_lines(const std::string& log) {
  constexpr size_t kMost = 400;
  const size_t error = log.find("error");
  const size_t start = error == std::string::npos ? 0 : log.rfind('\n', error) + 1;
  std::string text = log.substr(start, kMost);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// CUBINs that were made before: a file each, of its name a hash, which holds the whole key.
class CubinCache {
 public:
  CubinCache(const std::string& text, const std::string& arch, const Nvrtc& nvrtc)
      : key_(fmt::format("{}; {}\n{}", nvrtc.build(), fmt::join(Nvrtc::options(arch), " "), text)) {
    if (const fs::path folder = cache_folder(); !folder.empty())
      file_ = folder / "cubins" / Hasher().add(key_).finish().hex();
  }

  std::optional<Cubin> find() const {
    if (file_.empty()) return std::nullopt;
    const auto file = read(file_);
    if (!file.ok()) return std::nullopt;
    Head head;
    if (file->size() < sizeof head) return std::nullopt;
    std::memcpy(&head, file->data(), sizeof head);
    const std::string_view rest = std::string_view(*file).substr(sizeof head);
    if (!rest.starts_with(key_) || rest.size() - key_.size() <= head.log_size) return std::nullopt;
    const std::string_view log = rest.substr(key_.size(), head.log_size),
                           image = rest.substr(key_.size() + head.log_size);
    if (head != Head::of(log, image)) return std::nullopt;
    return Cubin{bytes_of(image), parse_ptxas_log(log)};
  }

  /// Where that can't be kept nothing is lost but time.
  void keep(std::string_view log, std::string_view image) const {
    std::error_code error;
    if (file_.empty() || (fs::create_directories(file_.parent_path(), error), error)) return;
    const Head head = Head::of(log, image);
    std::string content(reinterpret_cast<const char*>(&head), sizeof head);
    content += key_;
    content += log;
    content += image;
    (void)write(file_, content).ok();
  }

 private:
  /// Of a file, in which the key, the log and the image follow.
  struct Head {
    uint64_t log_size;
    Hash128 content;
    bool operator==(const Head&) const = default;

    static Head of(std::string_view log, std::string_view image) {
      return {log.size(), Hasher().add(log).add(image).finish()};
    }
  };

  std::string key_;
  fs::path file_;
};

Result<Cubin> cubin_of(const std::string& text, const std::string& arch) {
  TRY(const Nvrtc nvrtc, find_nvrtc());
  const std::string whole = fmt::format("{}\n{}", cuda_prelude(), text);
  const CubinCache cache(whole, arch, nvrtc);
  if (auto known = cache.find()) return *std::move(known);
  const fs::path beside = own_program(kProgram);
  const fs::path program = beside.empty() ? kProgram : beside;
  TRY(const TemporaryFolder folder, TemporaryFolder::in_system_folder());
  const fs::path source = folder.path() / "kernels.cu", image = folder.path() / "kernels.cubin";
  TRY_VOID(write(source, whole));
  TRY(const Finished done,
      run_program({program.string(), nvrtc.library(), arch, source.string(), image.string()}, kMostSeconds));
  if (done.exit_code != 0)
    return unsupported("cuda", "code that NVRTC compiles for {} expected: {}", arch,
                       done.output.empty() ? fmt::format("exit code {}", done.exit_code) : first_lines(done.output));
  TRY(const std::string made, read(image));
  cache.keep(done.output, made);
  return Cubin{bytes_of(made), parse_ptxas_log(done.output)};
}

/// Its words, as `make` takes them: "ccache g++".
std::vector<std::string> cpp_compiler() {
  const char* const given = std::getenv("CXX");
  std::istringstream text(given ? given : "");
  std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  return words.empty() ? std::vector<std::string>{"c++"} : words;
}

Result<Cubin> emulated(const std::string& text, const std::vector<std::string>& functions) {
  TRY(const TemporaryFolder folder, TemporaryFolder::in_system_folder());
  const fs::path source = folder.path() / "kernels.cpp", image = folder.path() / "kernels.so";
  TRY_VOID(write(source, emulated_source(text, functions)));
  // Products and sums are rounded apart or fused as a GPU's compiler would: either is within the bounds of a check.
  std::vector<std::string> command = cpp_compiler();
  const std::string compiler = fmt::format("{}", fmt::join(command, " "));
  for (const std::string& word :
       {std::string("-std=c++17"), std::string("-O1"), std::string("-fPIC"), std::string("-shared"), std::string("-w"),
        source.string(), std::string("-o"), image.string()})
    command.push_back(word);
  TRY(const Finished done, run_program(command, 10 * kMostSeconds));
  if (done.exit_code != 0)
    return unsupported("cuda", "code that {} compiles expected: {}", compiler, first_lines(done.output));
  TRY(const std::string made, read(image));
  return Cubin{bytes_of(made), {}};
}

}  // namespace

Result<Cubin> compile_cuda(const std::string& text, const std::vector<std::string>& functions,
                           const std::string& arch) {
  return arch == kEmulated ? emulated(text, functions) : cubin_of(text, arch);
}

Result<void> find_cuda_compiler(const std::string& arch) {
  if (arch == kEmulated) {
    std::vector<std::string> command = cpp_compiler();
    command.emplace_back("--version");
    if (auto found = run_program(command, kMostSeconds); !found.ok()) return std::move(found).error();
    return {};
  }
  TRY(const Nvrtc nvrtc, find_nvrtc());
  const std::vector<std::string> known = nvrtc.archs();
  if (!known.empty() && std::ranges::find(known, arch) == known.end())
    return unsupported("target", "an architecture that NVRTC {}.{} compiles for ({}) expected, '{}' found",
                       nvrtc.major(), nvrtc.minor(), fmt::join(known, ", "), arch);
  return {};
}

}  // namespace isomer::kernel
