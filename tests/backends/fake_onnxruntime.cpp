// A library with the C API of ONNX Runtime, of the version $ISOMER_FAKE_VERSION: its functions do nothing, and say that
// all went well. Runs go on until they are ended where $ISOMER_FAKE_ENDLESS is set.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace {

struct Api {
  void* const* (*api)(uint32_t version);
  const char* (*version)();
};

std::atomic<bool> terminates = false;

void* nothing() { return nullptr; }
void* run() {
  while (std::getenv("ISOMER_FAKE_ENDLESS") && !terminates) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return nullptr;
}
void* set_terminate() {
  terminates = true;
  return nullptr;
}
void* unset_terminate() {
  terminates = false;
  return nullptr;
}

void* const* functions(uint32_t) {
  static const auto all = [] {
    std::array<void*, 128> made;
    made.fill(reinterpret_cast<void*>(nothing));
    made[9] = reinterpret_cast<void*>(run);
    made[46] = reinterpret_cast<void*>(set_terminate);
    made[47] = reinterpret_cast<void*>(unset_terminate);
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
