// A library with the C API of ONNX Runtime, of the version $ISOMER_FAKE_VERSION: its functions do nothing, and say that
// all went well.
#include <array>
#include <cstdint>
#include <cstdlib>

namespace {

struct Api {
  void* const* (*api)(uint32_t version);
  const char* (*version)();
};

void* nothing() { return nullptr; }

void* const* functions(uint32_t) {
  static const auto all = [] {
    std::array<void*, 128> made;
    made.fill(reinterpret_cast<void*>(nothing));
    return made;
  }();
  return all.data();
}

const char* version() { return std::getenv("ISOMER_FAKE_VERSION"); }

}  // namespace

extern "C" const Api* OrtGetApiBase() {
  static constexpr Api kApi{functions, version};
  return &kApi;
}
