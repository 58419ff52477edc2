// The emulator finds what it is there for: every barrier that is missing, indices that are off, memory that nobody
// wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/emulator.h"
#include "graph/te/array.h"
#include "kernel/launch_examples.h"

namespace isomer::kernel::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Emulated {
  Kernel kernel;
  CudaKernel code;
  std::vector<Tensor> inputs;

  Emulated(const Example& example, const Schedule& schedule)
      : kernel(schedule.finish()), code(ok(emit_cuda(kernel, "f"))) {
    Random random(3);
    inputs = integers(example, random);
  }
  EmulatedRun run(const std::string& text, ThreadOrder order = ThreadOrder::kForward) const {
    std::vector<std::string> functions;
    for (const CudaLaunch& launch : code.launches) functions.push_back(launch.function);
    return emulate(EmulatedLibrary(text, functions), kernel, code, inputs, order);
  }
};

/// The text with the occurrence `number` of `from` replaced; empty: there are not so many.
std::string replaced_if_there(std::string text, const std::string& from, const std::string& to, int number) {
  size_t at = text.find(from);
  for (; at != std::string::npos && number > 0; --number) at = text.find(from, at + 1);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to, int number) {
  std::string result = replaced_if_there(text, from, to, number);
  EXPECT_NE(result, "") << from << " in " << text;
  return result;
}

TEST(Emulator, GivesWhatPlainLoopsGive) {
  for (const bool is_tiled : {true, false}) {
    const Example example = is_tiled ? product() : rows();
    const Kernel kernel = lowered(example);
    const Emulated plain(example, Schedule(kernel)),
        launched(example, is_tiled ? tiled(kernel) : rows_in_blocks(kernel));
    const EmulatedRun expected = plain.run(plain.code.text);
    ASSERT_THAT(expected.findings, IsEmpty());
    for (const ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward}) {
      const EmulatedRun found = launched.run(launched.code.text, order);
      EXPECT_THAT(found.findings, IsEmpty()) << launched.code.text;
      EXPECT_THAT(found.outputs[0].bytes(), testing::ElementsAreArray(expected.outputs[0].bytes()));
    }
  }
}

TEST(Emulator, FindsEveryBarrierThatIsMissing) {
  for (const bool is_tiled : {true, false}) {
    const Example example = is_tiled ? product() : rows();
    const Emulated launched(example, is_tiled ? tiled(lowered(example)) : rows_in_blocks(lowered(example)));
    int removed = 0;
    for (std::string text; !(text = replaced_if_there(launched.code.text, "__syncthreads();", "", removed)).empty();
         ++removed)
      EXPECT_THAT(launched.run(text).findings, Contains(HasSubstr("race in shared memory"))) << text;
    EXPECT_EQ(removed, is_tiled ? 2 : 1);
  }
}

TEST(Emulator, FindsBarriersThatNotAllThreadsReach) {
  const Emulated launched(product(), tiled(lowered(product())));
  const std::string text = replaced(launched.code.text, "__syncthreads();", "if (threadIdx.x < 3) __syncthreads();", 1);
  EXPECT_THAT(launched.run(text).findings, Contains(HasSubstr("barrier: threads wait at different ones")));
}

TEST(Emulator, FindsLanesThatWaitAtDifferentExchanges) {
  const Emulated launched(long_rows(), rows_of_warps(lowered(long_rows())));
  ASSERT_THAT(launched.run(launched.code.text).findings, IsEmpty());
  const size_t at = launched.code.text.find("op::across(");
  ASSERT_NE(at, std::string::npos);
  const std::string call = launched.code.text.substr(at, launched.code.text.find(';', at) - at);
  const std::string text = replaced(launched.code.text, call, "threadIdx.x % 2 == 0 ? " + call + "\n: " + call, 0);
  EXPECT_THAT(launched.run(text).findings, Contains(HasSubstr("lanes wait at different exchanges")));
}

TEST(Emulator, FindsIndicesThatAreOff) {
  const Emulated plain(rows(), Schedule(lowered(rows())));
  const std::string beyond = replaced(plain.code.text, "m_s1[", "m_s1[1 + ", 0);
  EXPECT_THAT(plain.run(beyond).findings, Contains(HasSubstr("byte 960 of s1 does not exist")));
  const std::string before = replaced(plain.code.text, "m_in0[", "m_in0[-1 + ", 0);
  EXPECT_THAT(plain.run(before).findings, Contains(HasSubstr("byte -4 of in0 does not exist")));

  const Emulated launched(product(), tiled(lowered(product())));
  const std::string shared = replaced(launched.code.text, "m_in0_cache[", "m_in0_cache[1 + ", 1);
  EXPECT_THAT(launched.run(shared).findings, Not(IsEmpty()));
}

TEST(Emulator, FindsWhatNobodyWrote) {
  const Emulated launched(rows(), rows_in_blocks(lowered(rows())));
  const std::string text = replaced(launched.code.text, "threadIdx.x == 0", "threadIdx.x == 0 && blockIdx.x != 2", 0);
  EXPECT_THAT(launched.run(text).findings, Contains(HasSubstr("is read and was not written")));
}

TEST(Emulator, FindsRacesBetweenBlocks) {
  Schedule schedule(lowered(rows()));
  ok(schedule.bind(ok(schedule.loops("s1"))[0], "block.x"));
  const Emulated launched(rows(), schedule);
  ASSERT_THAT(launched.run(launched.code.text).findings, IsEmpty());
  const std::string text = replaced(launched.code.text, "m_s1[(40 *", "m_s1[(20 *", 0);
  EXPECT_THAT(launched.run(text).findings, Contains(HasSubstr("race in s1")));
}

}  // namespace
}  // namespace isomer::kernel::test
