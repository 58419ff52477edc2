#include "backends/onednn_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace isomer::backends::dnnl {
namespace {

using testing::HasSubstr;

Result<void> set_threads(const char* runtime, int threads) {
  setenv("ISOMER_FAKE_RUNTIME", runtime, 1);
  TRY(const Library library, Library::open(ISOMER_FAKE_ONEDNN));
  return library.set_threads(threads);
}

/// A build over TBB takes all cores, whatever is asked for.
TEST(OneDnnLibrary, MustHaveThreadsThatCanBeCounted) {
  EXPECT_TRUE(set_threads("1", 1).ok());
  for (const auto& [runtime, threads, found] : {std::tuple("1", 2, "one over one thread found"),
                                                {"2", 1, "one over OpenMP found"},  // which the library has not
                                                {"4", 1, "one over TBB found"},
                                                {"512", 1, "one over SYCL found"},
                                                {"1024", 1, "one over runtime 1024 found"}}) {
    const auto set = set_threads(runtime, threads);
    ASSERT_FALSE(set.ok()) << runtime;
    EXPECT_EQ(set.error().kind, ErrorKind::kUnsupported);
    EXPECT_THAT(set.error().message(), HasSubstr(found));
  }
}

}  // namespace
}  // namespace isomer::backends::dnnl
