#include "runtime/value_table.h"

#include <gtest/gtest.h>

#include "runtime/plan_builder.h"

namespace isomer::runtime::test {
namespace {

constexpr int64_t kMost = 800;

/// Has so much at a time.
class SmallDevice final : public HostDevice {
 public:
  std::optional<DeviceMemory> allocate(int64_t bytes) override {
    return bytes > kMost ? std::nullopt : HostDevice::allocate(bytes);
  }
};

TEST(ValueTable, GrowsByAsMuchAsThereIs) {
  PlanBuilder plan;
  const int32_t number = plan.dynamic_output("y", ElementType::kInt64, {-1});
  const Artifact artifact = plan.build({});
  SmallDevice device;
  auto table = ValueTable::create(artifact.variants[0], {}, device);
  ASSERT_TRUE(table.ok()) << table.error().message();
  const auto elements = [&] { return reinterpret_cast<int64_t*>(table->data(number)); };
  const auto grow = [&](int64_t count) { return table->grow(number, std::vector<int64_t>{count}); };
  constexpr int64_t kCount = kMost / sizeof(int64_t);
  for (int64_t k = 0; k < kCount; ++k) {
    ASSERT_TRUE(grow(k + 1)) << table->problem();
    elements()[k] = k;
  }
  for (int64_t k = 0; k < kCount; ++k) EXPECT_EQ(elements()[k], k);
  EXPECT_FALSE(grow(2 * kCount));
}

}  // namespace
}  // namespace isomer::runtime::test
