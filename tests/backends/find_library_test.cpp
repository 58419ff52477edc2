#include "backends/find_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/files.h"

namespace isomer::backends {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

/// A variable of the environment as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "";
}

class FindLibrary : public testing::Test {
 protected:
  const isomer::test::ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path();
  const Variable path_{"PATH", (folder_ / "empty").string() + ":" + (folder_ / "python" / "bin").string()};
  const Variable environment_{"VIRTUAL_ENV", ""}, home_{"HOME", (folder_ / "home").string()};
  ForeignLibrary library_{
      "ISOMER_TEST_LIBRARY", {"libisomertest.so.2", "libisomertest.so.1"}, {"isomertest/lib"}, {folder_ / "toolkit"}};
};

TEST_F(FindLibrary, LooksWhereOnePutsIt) {
  EXPECT_THAT(places_of(library_), ElementsAre("libisomertest.so.2", "libisomertest.so.1"));
  const fs::path packages = folder_ / "python/lib/python3.11/site-packages/isomertest/lib";
  const fs::path users = folder_ / "home/.local/lib/python3.11/site-packages/isomertest/lib";
  touch(folder_ / "python/bin/python3");
  touch(folder_ / "toolkit/libisomertest.so.1");
  touch(packages / "libisomertest.so.1.20.3");
  touch(users / "libisomertest.so.2");
  EXPECT_THAT(places_of(library_),
              ElementsAre("libisomertest.so.2", "libisomertest.so.1", (folder_ / "toolkit/libisomertest.so.1").string(),
                          (packages / "libisomertest.so.1.20.3").string(), (users / "libisomertest.so.2").string()));
}

/// What a link says is seen from its own folder, wherever the program runs.
TEST_F(FindLibrary, FollowsLinksFromTheirFolders) {
  const fs::path packages = folder_ / "real/lib/python3.11/site-packages/isomertest/lib";
  touch(folder_ / "real/bin/python3.11");
  touch(packages / "libisomertest.so.1");
  fs::create_directories(folder_ / "python/bin");
  fs::create_symlink("../../real/bin/python3.11", folder_ / "python/bin/python3");
  // Names of the same links lead elsewhere in another folder, and back here.
  const fs::path other = folder_ / "other/real/bin";
  fs::create_directories(other);
  fs::create_symlink(folder_ / "python/bin/python3", other / "python3.11");
  const fs::path before = fs::current_path(), inside = folder_ / "other/a/b";
  fs::create_directories(inside);
  fs::current_path(inside);
  const std::vector<std::string> places = places_of(library_);
  fs::current_path(before);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_TRUE(fs::equivalent(places.back(), packages / "libisomertest.so.1")) << places.back();
}

TEST_F(FindLibrary, TakesWhatIsGivenAlone) {
  const Variable variable("ISOMER_TEST_LIBRARY", "/there/lib.so");
  EXPECT_THAT(places_of(library_), ElementsAre("/there/lib.so"));
  EXPECT_THAT(places_of(library_, "/given/lib.so"), ElementsAre("/given/lib.so"));
  EXPECT_EQ(find(library_, "/given/lib.so"), "/given/lib.so");
  EXPECT_THAT(find(library_), IsEmpty());
}

TEST_F(FindLibrary, SkipsWhatCannotBeOpened) {
  touch(folder_ / "toolkit/libisomertest.so.2");
  EXPECT_THAT(find(library_), IsEmpty());
  library_.names = {"libisomertest.so.2", "libc.so.6"};
  EXPECT_EQ(find(library_), "libc.so.6");
}

}  // namespace
}  // namespace isomer::backends
