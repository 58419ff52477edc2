// isomer env: what this machine and this build are.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/find_library.h"
#include "cli/commands.h"
#include "isomer_version.h"
#include "kernel/codegen_cuda/nvrtc.h"
#include "runtime/cuda/gpu.h"
#include "util/machine_peak.h"
#include "util/memory_limit.h"
#include "util/threads.h"
#include "util/version.h"
#include "verify/prover/smt.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

struct EnvOptions : CommonOptions {
  bool peak = false;
};

/// The value of the first "key : value" line of /proc/cpuinfo.
std::string cpu_fact(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) != key) continue;
    return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
  }
  return "";
}

std::vector<std::string> cpu_features() {
  static constexpr std::array kNamed = {"sse4_2",      "avx",      "f16c",     "fma",      "avx2",
                                        "avx512f",     "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
                                        "avx512_bf16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8"};
  const std::string flags = " " + cpu_fact("flags") + " ";
  std::vector<std::string> found;
  for (const char* name : kNamed)
    if (flags.find(fmt::format(" {} ", name)) != std::string::npos) found.emplace_back(name);
  return found;
}

json caches() {
  json result = json::object();
  for (const auto& [name, key] :
       {std::pair{"l1d", _SC_LEVEL1_DCACHE_SIZE}, {"l2", _SC_LEVEL2_CACHE_SIZE}, {"l3", _SC_LEVEL3_CACHE_SIZE}}) {
    const long size = sysconf(key);
    result[name] = size > 0 ? json(size) : json(nullptr);
  }
  return result;
}

/// Null where there is none.
json place(const backends::ForeignLibrary& library) {
  const std::string found = backends::find(library);
  return found.empty() ? json(nullptr) : json(found);
}

/// Where the shell would find it; null where it would not.
json program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    std::error_code error;
    if (std::filesystem::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0) return file.string();
  }
  return nullptr;
}

/// The driver's devices; null where there is no driver that starts.
json gpus() {
  const auto found = runtime::cuda::gpus();
  if (!found.ok()) return nullptr;
  json devices = json::array();
  for (const runtime::cuda::GpuFacts& gpu : *found)
    devices.push_back(fmt::format("{} ({}), {} multiprocessors, {:.1f} GB", gpu.name, gpu.arch(), gpu.multiprocessors,
                                  static_cast<double>(gpu.memory_bytes) / 1e9));
  return devices;
}

json cuda() {
  json facts = {{"driver", place(backends::cuda_driver_library())}, {"driver_version", nullptr}, {"devices", gpus()}};
  if (const auto driver = runtime::cuda::Driver::open(); driver.ok())
    facts["driver_version"] = fmt::format("{}.{}", (*driver)->version / 1000, (*driver)->version % 1000 / 10);
  const auto nvrtc = kernel::find_nvrtc();
  facts["nvrtc"] = nvrtc.ok() ? json(nvrtc->library()) : json(nullptr);
  facts["nvrtc_version"] = nvrtc.ok() ? json(fmt::format("{}.{}", nvrtc->major(), nvrtc->minor())) : json(nullptr);
  facts["cublaslt"] = place(backends::cublaslt_library());
  return facts;
}

json gigabytes(std::optional<int64_t> bytes) { return bytes ? json(static_cast<double>(*bytes) / 1e9) : json(nullptr); }

std::optional<int64_t> default_limit() {
  const MemoryLimit limit = default_memory_limit();
  return limit.is_none() ? std::nullopt : std::optional(limit.bytes);
}

json environment() {
  return {{"version", ISOMER_VERSION},
          {"git", git_revision()},
          {"cpu", {{"model", cpu_fact("model name")}, {"features", cpu_features()}, {"caches", caches()}}},
          {"threads", available_threads()},
          {"memory", {{"available_gb", gigabytes(machine_memory())}, {"limit_gb", gigabytes(default_limit())}}},
          {"llvm", ISOMER_LLVM_VERSION},
          {"z3", program(verify::SolverOptions().program)},
          {"xgboost", place(backends::xgboost_library())},
          {"cuda", cuda()},
          {"cudnn", place(backends::cudnn_library())},
          {"peers",
           {{"onednn", place(backends::onednn_library())}, {"onnxruntime", place(backends::onnxruntime_library())}}}};
}

/// At one thread and at all; the last cache and memory are divided between threads. Null: it needs more memory than is
/// allowed.
json peak(int all, MemoryLimit limit) {
  constexpr int64_t kMost = 4 << 20, kMemory = 256 << 20, kPage = 2 << 20;
  const long stated = sysconf(_SC_LEVEL3_CACHE_SIZE);
  json result = json::object();
  for (const int threads : std::set{1, all}) {
    json& facts = result[fmt::format("threads_{}", threads)];
    facts["fma_gflops"] = measure_fma_peak(threads);
    const auto figure = [&](double (*measure)(int64_t, int), int64_t bytes, int copies) {
      const bool fits = limit.allows(threads * copies * std::max(bytes, kPage));
      return fits ? json(measure(bytes, threads)) : json(nullptr);
    };
    const auto read = [&](int64_t bytes) { return figure(measure_read_bandwidth, bytes, 1); };
    const int64_t last = stated > 0 ? std::min(kMost, stated / 2 / threads) : kMost / threads;
    facts["copy_gbs"] = {{"memory", figure(measure_copy_bandwidth, kMemory / threads, 2)}};
    facts["read_gbs"] = {
        {"l1", read(16 << 10)}, {"l2", read(192 << 10)}, {"l3", read(last)}, {"memory", read(kMemory / threads)}};
  }
  return result;
}

void print_text(const json& facts, int indent = 0) {
  for (const auto& [key, value] : facts.items()) {
    const std::string name = fmt::format("{:{}}{}", "", indent, key);
    if (value.is_object()) {
      fmt::print("{}\n", name);
      print_text(value, indent + 2);
      continue;
    }
    std::string text = value.is_number_float() ? fmt::format("{:.1f}", value.get<double>())
                       : value.is_null()       ? "not found"
                       : value.is_string()     ? value.get<std::string>()
                                               : value.dump();
    if (value.is_array()) {
      text.clear();
      for (const auto& item : value) text += (text.empty() ? "" : " ") + item.get<std::string>();
    }
    fmt::print("{:<16} {}\n", name, text);
  }
}

}  // namespace

void add_env(CLI::App& app, int& exit) {
  auto options = std::make_shared<EnvOptions>();
  CLI::App* command = app.add_subcommand("env", "What was detected: version, CPU, libraries, peers");
  command->add_flag("--peak", options->peak, "Measure multiply-adds and bandwidths");
  options->add_general_to(*command);
  command->callback([options, &exit] {
    json facts = environment();
    facts["threads"] = options->thread_count();
    if (options->peak) facts["peak"] = peak(options->thread_count(), options->memory_limit());
    if (options->json)
      fmt::print("{}\n", json_text(facts, 2));
    else
      print_text(facts);
    exit = kDone;
  });
}

}  // namespace isomer::cli
