#include "timed.h"

#include <isomer/isomer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

namespace {

void check(isomer_status status) {
  if (status == ISOMER_OK) return;
  std::fprintf(stderr, "schedule_rule: %s\n", isomer_last_error());
  std::exit(1);
}

class Artifact {
 public:
  explicit Artifact(const std::string& file) {
    check(isomer_model_open(file.c_str(), &model_));
    isomer_options options = {};
    options.threads = 1;
    check(isomer_session_create(model_, &options, &session_));
    size_t inputs = 0, outputs = 0;
    check(isomer_session_input_count(session_, &inputs));
    check(isomer_session_output_count(session_, &outputs));
    if (inputs != 1 || outputs != 1) std::exit(1);
    const char* name = nullptr;
    check(isomer_session_input(session_, 0, &name, &input_));
    check(isomer_session_output(session_, 0, &name, &output_));
    values_.resize(static_cast<size_t>(isomer_tensor_bytes(&input_)) / sizeof(float) + kAlignment);
    results_.resize(static_cast<size_t>(isomer_tensor_bytes(&output_)) + kAlignment * sizeof(float));
    input_.data = aligned(values_.data());
    output_.data = aligned(results_.data());
    unsigned state = 1;
    for (int64_t i = 0; i < isomer_tensor_bytes(&input_) / 4; ++i) {
      state = state * 1664525U + 1013904223U;
      static_cast<float*>(input_.data)[i] = static_cast<float>(state >> 8) / (1 << 24) - 0.5F;
    }
  }
  Artifact(const Artifact&) = delete;
  ~Artifact() {
    isomer_session_close(session_);
    isomer_model_close(model_);
  }

  double microseconds(int runs) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) check(isomer_session_run(session_, &input_, 1, &output_, 1));
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / runs;
  }

  bool equals(const Artifact& other) const {
    const auto bytes = static_cast<size_t>(isomer_tensor_bytes(&output_));
    if (output_.dtype != ISOMER_FLOAT32) return std::memcmp(output_.data, other.output_.data, bytes) == 0;
    const auto *mine = static_cast<const float*>(output_.data), *theirs = static_cast<const float*>(other.output_.data);
    for (size_t i = 0; i < bytes / 4; ++i)
      if (!(std::abs(mine[i] - theirs[i]) <= 1e-4F * std::max(1.F, std::abs(theirs[i])))) return false;
    return true;
  }

 private:
  static constexpr size_t kAlignment = 16;  // floats
  static void* aligned(void* pointer) {
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(pointer) + 63) / 64 * 64);
  }

  isomer_model* model_ = nullptr;
  isomer_session* session_ = nullptr;
  isomer_tensor input_ = {}, output_ = {};
  std::vector<float> values_;
  std::vector<char> results_;
};

}  // namespace

Comparison compare(const std::string& first, const std::string& second) {
  Artifact one(first), other(second);
  Comparison result;
  const int runs = std::max(1, static_cast<int>(2000 / (one.microseconds(1) + 1)));
  other.microseconds(1);
  result.are_equal = one.equals(other);
  result.first = result.second = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 60; ++round) {
    result.first = std::min(result.first, one.microseconds(runs));
    result.second = std::min(result.second, other.microseconds(runs));
  }
  return result;
}
