// Tests of CPU code on the emulated GPU.
#include <gtest/gtest.h>

#include "cuda/fake_gpu.h"

namespace isomer::test {
namespace {

class OnFakeGpu : public testing::Environment {
 public:
  void SetUp() override {
    use_fake_gpu();
    target_of_tests() = kernel::CudaTarget{"emulated"};
  }
};
const auto* const on_fake_gpu = testing::AddGlobalTestEnvironment(new OnFakeGpu);

}  // namespace
}  // namespace isomer::test
