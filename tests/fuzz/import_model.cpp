// libFuzzer target: bytes to the importer. Of every four mutations three are of the model's messages, one is of its
// bytes.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "fuzz/mutate.h"
#include "fuzz/target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using isomer::Random;
using isomer::onnx_proto::ModelProto;

/// The model's bytes where they fit, else what stood there before.
size_t write(const ModelProto& model, uint8_t* data, size_t size, size_t max_size) {
  const size_t needed = model.ByteSizeLong();
  if (needed > max_size || !model.SerializePartialToArray(data, static_cast<int>(needed))) return size;
  return needed;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  isomer::test::import_and_print(std::as_bytes(std::span(data, size)));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  ModelProto model;
  if (random.chance(0.25) || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  for (uint64_t times = 1 + random.below(4); times > 0; --times) isomer::test::mutate(model, random);
  return write(model, data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                            size_t second_size, uint8_t* out, size_t max_size, unsigned seed) {
  Random random(seed);
  ModelProto model, other;
  const size_t size = std::min(first_size, max_size);
  std::memcpy(out, first, size);
  if (!model.ParseFromArray(first, static_cast<int>(first_size)) ||
      !other.ParseFromArray(second, static_cast<int>(second_size)))
    return size;
  isomer::test::cross_over(model, other, random);
  return write(model, out, size, max_size);
}
