// Code made in copies of the process is the same code; whatever happens there is told, and the next candidate's is
// made.
#include "tune/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "tune/examples.h"
#include "util/clock.h"
#include "util/temporary_folder.h"

namespace isomer::tune::test {
namespace {

using testing::HasSubstr;

class Compiling : public testing::Test {
 protected:
  /// Of this kernel, several times: the second copy fails like this.
  std::vector<Result<ClockJob>> jobs(const std::function<void()>& fail, int count = 4) {
    const std::vector<kernel::Kernel> kernels(static_cast<size_t>(count), kernel_);
    std::vector<const kernel::Kernel*> pointers;
    for (const kernel::Kernel& kernel : kernels) pointers.push_back(&kernel);
    options_.make = [&](const kernel::Kernel& kernel, const kernel::CpuTarget& target) {
      if (&kernel == pointers[1]) fail();
      return kernel::compile(kernel, target);
    };
    return Compiler(kernel::host_target(), options_).compile(pointers);
  }
  void expect_failure(const std::function<void()>& fail, const std::string& part) {
    const auto all = jobs(fail);
    for (size_t k = 0; k < all.size(); ++k) EXPECT_EQ(all[k].ok(), k != 1) << k;
    ASSERT_FALSE(all[1].ok());
    EXPECT_EQ(all[1].error().kind, ErrorKind::kUnsupported);
    EXPECT_THAT(all[1].error().message(), HasSubstr(part));
  }

  const kernel::Kernel kernel_ = candidates_of("product").preferred().made.kernel;
  CompilerOptions options_;
};

TEST_F(Compiling, MakesTheCodeThatIsMadeHere) {
  const auto here = kernel::compile(kernel_, kernel::host_target());
  ASSERT_TRUE(here.ok());
  for (const Result<ClockJob>& job : jobs([] {})) {
    ASSERT_TRUE(job.ok()) << job.error().message();
    EXPECT_EQ(job->code, here->image);
    EXPECT_EQ(job->parts, here->kernels[0]);
  }
}

/// By who kills processes where memory is short, say.
TEST_F(Compiling, GoesOnWhereACopyIsKilledOnce) {
  const TemporaryFolder folder = *TemporaryFolder::in_system_folder();
  const std::filesystem::path killed = folder.path() / "killed";
  for (const Result<ClockJob>& job : jobs([&] {
         if (!std::filesystem::exists(killed) && std::filesystem::create_directory(killed)) std::raise(SIGKILL);
       }))
    EXPECT_TRUE(job.ok()) << job.error().message();
  expect_failure([] { std::raise(SIGKILL); }, "signal 9");
}

TEST_F(Compiling, TellsWhatHappened) {
  options_.seconds = 5;
  expect_failure([] { std::raise(SIGSEGV); }, "signal 11");
  expect_failure([] { std::abort(); }, "signal 6");
  expect_failure([] { _exit(3); }, "ended");
  expect_failure([] { CHECK(false) << "planted"; }, "planted");
}

TEST_F(Compiling, EndsWhatNeverReturns) {
  options_.seconds = 0.4;
  const auto begin = Clock::now();
  expect_failure(
      [] {
        for (;;) pause();
      },
      "took longer");
  EXPECT_LT(seconds_since(begin), 60);
}

TEST_F(Compiling, RefusesCodeThatIsTooLarge) {
  options_.most_code_bytes = 16;
  for (const Result<ClockJob>& job : jobs([] {})) {
    ASSERT_FALSE(job.ok());
    EXPECT_THAT(job.error().message(), HasSubstr("at most 16 bytes of code"));
  }
}

}  // namespace
}  // namespace isomer::tune::test
