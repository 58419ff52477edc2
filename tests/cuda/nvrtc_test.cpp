// NVRTC takes the code of kernels, for the GPUs of today, and default schedules spill no registers.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "kernel/codegen_cuda.h"
#include "kernel/codegen_cuda/module.h"
#include "kernel/codegen_cuda/nvrtc.h"
#include "kernel/default_schedule.h"
#include "kernel/launch_examples.h"
#include "kernel/row_tasks.h"
#include "kernel/space/gpu_modules.h"
#include "support/files.h"
#include "support/long_run.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::is_long_run;
using testing::HasSubstr;

TEST(Ptxas, ItsLogSaysWhatFunctionsTake) {
  const char* const log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'f1' for 'sm_80'\n"
      "ptxas info    : Function properties for f1\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 1080 bytes smem, 392 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'f0' for 'sm_80'\n"
      "ptxas info    : Used 10 registers, 380 bytes cmem[0]\n";
  EXPECT_EQ(parse_ptxas_log(log), (std::vector<CudaUse>{{"f1", 255, 20, 1080}, {"f0", 10, 0, 0}}));
}

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    auto found = find_nvrtc();
    ASSERT_TRUE(found.ok() || !std::getenv("ISOMER_TEST_NVRTC")) << found.error().message();
    if (!found.ok()) GTEST_SKIP() << "no NVRTC here: " << found.error().message();
    nvrtc_ = std::make_unique<Nvrtc>(*std::move(found));
  }
  std::unique_ptr<Nvrtc> nvrtc_;
};

TEST_F(NvrtcTest, CompilesDefaultSchedulesWithoutSpills) {
  std::string text(cuda_prelude());
  size_t functions = 0;
  std::vector<Example> all = examples();
  all.push_back(product());
  all.push_back(rows());
  all.push_back(
      {"large_product",
       "s0 = reduce [256, 256] over [256] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput "
       "s0\n",
       {{256, 256}, {256, 256}}});
  const auto add = [&](const Schedule& schedule) {
    const CudaKernel code = ok(emit_cuda(schedule.finish(), fmt::format("f{}_", functions)));
    functions += code.launches.size();
    text += code.text;
  };
  for (const Example& example : all) add(default_gpu_schedule(Schedule(lowered(example))));
  Machine machine;
  machine.tf32 = true;
  Preferring preferring;
  add(scheduled(Schedule(lowered(all.back())), gpu_space(), machine, preferring).schedule);
  EXPECT_NE(text.find("op::mma_tf32(", cuda_prelude().size()), std::string::npos);
  for (const char* arch : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(arch);
    const Cubin cubin = ok(nvrtc_->compile(text, arch));
    EXPECT_EQ(cubin.functions.size(), functions);
    for (const CudaUse& use : cubin.functions) {
      EXPECT_GT(use.registers, 0) << use.function;
      EXPECT_EQ(use.spill_bytes, 0) << use.function;
    }
  }
}

TEST_F(NvrtcTest, CompilesEveryRow) {
  Random random(5);
  std::string text(cuda_prelude());
  size_t kernels = 0, functions = 0, spilled = 0;
  const auto flush = [&] {
    const Cubin cubin = ok(nvrtc_->compile(text, random.chance(0.5) ? "sm_80" : "sm_90a"));
    EXPECT_EQ(cubin.functions.size(), functions);
    spilled += static_cast<size_t>(std::count_if(cubin.functions.begin(), cubin.functions.end(),
                                                 [](const CudaUse& use) { return use.spill_bytes > 0; }));
    text = cuda_prelude();
    functions = 0;
  };
  for (const OpDef* op : rows_with_meaning())
    for (int turn = 0; turn < (is_long_run() ? 16 : 1); ++turn) {
      const auto task = lowered(isomer::test::make_instance(*op, random, turn));
      if (!task.ok()) continue;
      const auto code = emit_cuda(default_gpu_schedule(Schedule(task->kernel)).finish(), fmt::format("f{}_", kernels));
      if (!code.ok()) continue;
      ++kernels;
      functions += code->launches.size();
      text += code->text;
      if (kernels % 16 == 0) flush();
    }
  flush();
  EXPECT_GT(kernels, 120u);
  // Deformable convolutions of volumes, which weigh eight corners, may.
  EXPECT_LE(500 * spilled, kernels);
  std::cout << kernels << " kernels, " << spilled << " functions spill registers\n";
}

TEST_F(NvrtcTest, SaysWhatItCompilesFor) {
  EXPECT_THAT(nvrtc_->archs(), testing::IsSupersetOf({"sm_80", "sm_90", "sm_90a"}));
  EXPECT_THAT(nvrtc_->archs(), testing::Not(testing::Contains("sm_80a")));
}

TEST_F(NvrtcTest, SaysTheSameOfTheSameProgram) {
  const auto code = ok(nvrtc_->compile("extern \"C\" __global__ void f() {}", "sm_80"));
  EXPECT_THAT(code.log, testing::HasSubstr("registers"));
  EXPECT_THAT(code.log, testing::Not(testing::HasSubstr(" ms")));
}

/// Several have one version.
TEST_F(NvrtcTest, TellsItsBuildsApart) {
  Dl_info info;
  ASSERT_NE(dladdr(dlsym(dlopen(nvrtc_->library().c_str(), RTLD_NOW), "nvrtcVersion"), &info), 0);
  const isomer::test::ScratchFolder folder;
  const auto copy = folder.path() / "libnvrtc.so";
  std::filesystem::copy_file(info.dli_fname, copy);
  std::filesystem::last_write_time(copy, std::filesystem::last_write_time(info.dli_fname) + std::chrono::hours(1));
  const Nvrtc other = ok(Nvrtc::open(copy.string()));
  EXPECT_EQ(other.minor(), nvrtc_->minor());
  EXPECT_NE(other.build(), nvrtc_->build());
  EXPECT_EQ(ok(Nvrtc::open(nvrtc_->library())).build(), nvrtc_->build());
}

/// A file of the cache that is cut off, or has a wrong byte anywhere, is made anew.
TEST_F(NvrtcTest, DamagedFilesOfTheCacheAreNotUsed) {
  const isomer::test::ScratchFolder folder;
  setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  const auto image = [] { return ok(compile_cuda("extern \"C\" __global__ void f() {}", {"f"}, "sm_80")).image; };
  const std::vector<std::byte> right = image();
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "isomer" / "cubins"))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  const auto size = std::filesystem::file_size(files[0]);
  for (const size_t cut : {size_t{100}, right.size() / 2, right.size()}) {
    std::filesystem::resize_file(files[0], size - cut);
    EXPECT_EQ(image(), right) << cut;
    EXPECT_EQ(std::filesystem::file_size(files[0]), size);
  }
  for (const size_t place : {size_t{3}, size_t{20}, size - right.size() / 2, size - 1}) {
    std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(place));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(place));
    file.put(static_cast<char>(byte ^ 0x10));
    file.close();
    EXPECT_EQ(image(), right) << place;
  }
}

TEST_F(NvrtcTest, SaysWhatItDoesNotTake) {
  const auto made = nvrtc_->compile("extern \"C\" __global__ void f() { nothing(); }", "sm_80");
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message(), HasSubstr("\"nothing\" is undefined"));
}

TEST(Nvrtc, WhatIsNoLibraryIsSaid) {
  const auto opened = Nvrtc::open("/nonexistent/libnvrtc.so");
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message(), HasSubstr("its shared library expected, /nonexistent/libnvrtc.so"));
}

}  // namespace
}  // namespace isomer::kernel::test
