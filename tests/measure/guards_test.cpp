// Whatever a kernel does beyond the ends of its buffers, to its inputs, or differently each time, is found; what is
// right is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/guarded_memory.h"
#include "measure/machine_code.h"
#include "measure/worker.h"

namespace isomer {
namespace {

using test::Bytes;
using test::operator+;
using test::copies;
using test::Plant;
using testing::HasSubstr;

class Guards : public testing::Test {
 protected:
  KernelOutputs outputs(const ClockJob& job) {
    auto found = worker_.outputs(job, Numbers::kReals);
    CHECK(found.ok()) << found.error().message();
    return *std::move(found);
  }

  MeasuringWorker worker_{MeasuringOptions{.seconds = 1}};
};

/// Of any size, page or not.
constexpr int64_t kSizes[] = {4, 60, 64, 1000, 4092, 4096, 4100, 65536, 1'000'000};

TEST_F(Guards, LetThroughWhatIsRight) {
  for (const int64_t bytes : kSizes) {
    const KernelOutputs found = outputs(copies(bytes));
    EXPECT_EQ(found.fault, Fault::kNone) << bytes << ": " << found.why;
  }
}

TEST_F(Guards, FindWhatIsPlanted) {
  constexpr int64_t kBytes = 4096;
  const bool are_all_found = test::system_forbids();
  for (const Plant& plant : test::plants(kBytes)) {
    if (plant.needs_forbidding && !are_all_found) continue;
    const KernelOutputs found = outputs(copies(kBytes, plant.code, plant.left));
    if (plant.name == "one wrong element") {
      EXPECT_EQ(found.fault, Fault::kNone);  // which nobody knows here
      continue;
    }
    EXPECT_EQ(found.fault, plant.fault) << plant.name << ": " << found.why;
  }
}

TEST_F(Guards, TellTheBufferAndItsSide) {
  for (const int64_t bytes : kSizes) {
    EXPECT_THAT(outputs(copies(bytes, test::store_at_output(0))).why, HasSubstr("behind buffer 1 (which it writes)"));
    EXPECT_THAT(outputs(copies(bytes, test::store_at_output(-bytes - 4))).why, HasSubstr("in front of buffer 1"));
    EXPECT_THAT(outputs(copies(bytes, test::load_from_input(-bytes - 4))).why,
                HasSubstr("in front of buffer 0 (an input)"));
    EXPECT_THAT(outputs(copies(bytes, test::store_at_input(-bytes))).why, HasSubstr("writes buffer 0"));
  }
}

/// Its alignment leaves bytes behind a buffer that may be read, as long as nothing comes of it.
TEST_F(Guards, FindWhatDependsOnBytesBehind) {
  for (const int64_t bytes : kSizes) {
    const bool ends_at_page = bytes % 64 == 0;
    const KernelOutputs read = outputs(copies(bytes, test::load_from_input(0)));
    EXPECT_EQ(read.fault, ends_at_page ? Fault::kBounds : Fault::kNone) << bytes << ": " << read.why;
    const KernelOutputs taken = outputs(copies(bytes, test::load_from_input(0) + test::store_loaded(-4)));
    EXPECT_EQ(taken.fault, ends_at_page ? Fault::kBounds : Fault::kValue) << bytes << ": " << taken.why;
  }
}

TEST_F(Guards, StandAroundScratchMemory) {
  ClockJob job = copies(64);
  job.parts[0].scratch_bytes = 4096;
  // mov rax, [rdi + 16]; mov [rax + offset], ecx
  const auto writes_scratch = [&](int64_t offset) {
    job.code = test::image(Bytes{0x48, 0x8B, 0x47, 16, 0x89, 0x88} + test::word(offset) + test::copy_code(0, 1, 64) +
                           test::kReturn);
    return outputs(job);
  };
  EXPECT_EQ(writes_scratch(0).fault, Fault::kNone);
  EXPECT_EQ(writes_scratch(4092).fault, Fault::kNone);
  EXPECT_THAT(writes_scratch(4096).why, HasSubstr("behind the scratch memory of thread 0"));
  EXPECT_THAT(writes_scratch(-4).why, HasSubstr("in front of the scratch memory of thread 0"));
}

/// All of which do it at once: one is told.
TEST_F(Guards, MeetSeveralThreads) {
  MeasuringWorker worker(MeasuringOptions{.threads = 2, .seconds = 1});
  for (const bool is_right : {true, false, true}) {
    ClockJob job = copies(4096, is_right ? Bytes() : test::load_from_input(0));
    job.parts[0].iterations = 2;
    const auto found = worker.outputs(job, Numbers::kReals);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(found->fault, is_right ? Fault::kNone : Fault::kBounds) << found->why;
  }
}

TEST_F(Guards, FindElementsThatAreNotWritten) {
  EXPECT_THAT(outputs(copies(4000, {}, 4)).why, HasSubstr("element 999 of output 0 is not written"));
  EXPECT_THAT(outputs(copies(4000, Bytes{0x0F, 0x31} + test::store_loaded(-8))).why,
              HasSubstr("element 998 of output 0 differs between two runs"));
}

/// At little cost, in what is timed.
TEST_F(Guards, FindWritesNextToBuffersThatAreTimed) {
  for (const int64_t bytes : kSizes)
    for (const int64_t offset : {int64_t{0}, -bytes - 4}) {
      const auto time = worker_.time(copies(bytes, test::store_at_output(offset)));
      ASSERT_TRUE(time.ok());
      EXPECT_EQ(time->fault, Fault::kBounds) << bytes << " " << offset << ": " << time->why;
    }
}

TEST(GuardedMemory, KnowsWhoseItIs) {
  const std::vector<int64_t> sizes = {100, 0, 4096};
  for (const Flush flush : {Flush::kBehind, Flush::kInFront}) {
    const auto memory = GuardedMemory::allocate(sizes, flush, std::byte{7});
    ASSERT_TRUE(memory);
    EXPECT_FALSE(memory->written());
    for (size_t k = 0; k < sizes.size(); ++k) {
      const std::span<std::byte> bytes = memory->buffer(k);
      EXPECT_EQ(std::ssize(bytes), sizes[k]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0U);
      EXPECT_FALSE(sizes[k] > 0 && memory->touched(bytes.data()) && memory->touched(bytes.data())->buffer != k);
      const auto behind = memory->touched(bytes.data() + bytes.size() + GuardedMemory::kGuard / 4);
      const auto before = memory->touched(bytes.data() - GuardedMemory::kGuard / 4);
      ASSERT_TRUE(behind && before);
      EXPECT_TRUE(behind->buffer == k && behind->is_behind);
      EXPECT_TRUE(before->buffer == k && !before->is_behind);
    }
    EXPECT_FALSE(memory->touched(&sizes));
    (memory->buffer(0).data() + 100)[0] = std::byte{8};
    ASSERT_TRUE(memory->written());
    EXPECT_TRUE(memory->written()->buffer == 0 && memory->written()->is_behind);
  }
}

}  // namespace
}  // namespace isomer
