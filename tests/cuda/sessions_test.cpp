// Sessions on a GPU, which is emulated by a driver that does its work as late as it may (fake_driver.cpp).
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <functional>
#include <thread>

#include "cuda/fake_gpu.h"
#include "kernel/codegen_cuda/module.h"
#include "runtime/artifact_file.h"
#include "runtime/cuda/gpu.h"
#include "search/code/merge_variants.h"
#include "search/code/run_artifact.h"
#include "support/files.h"
#include "support/process.h"
#include "util/random.h"
#include "verify/check/equivalence.h"

namespace isomer::test {
namespace {

using runtime::DeviceKind;
using runtime::Session;
using te::Array;
using testing::HasSubstr;
using Arrays = std::vector<Array>;

class FakeGpu : public testing::Environment {
 public:
  void SetUp() override { use_fake_gpu(); }
};
const auto* const fake_gpu = testing::AddGlobalTestEnvironment(new FakeGpu);

Array floats(Dims dims, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = static_cast<double>(static_cast<float>(random.uniform(-1, 1)));
  return Array::reals(DataType::kFloat32, std::move(dims), values);
}

constexpr std::string_view kChain = R"(opset 17
graph g(x: float32[8,24]) -> (y: float32[8,16], z: float32[8,16]) {
  w: float32[24,16] = random 1
  b: float32[16] = random 2
  p = MatMul(x, w)
  q = Add(p, b)
  y = Relu(q)
  z = Softmax(q)
}
)";
/// Tasks that can't be one: several launches.
constexpr std::string_view kLayers = R"(opset 17
graph g(x: float32[8,24]) -> (y: float32[8,24]) {
  v: float32[24,16] = random 1
  w: float32[16,24] = random 2
  a = MatMul(x, v)
  b = Relu(a)
  c = MatMul(b, w)
  y = Softmax(c)
}
)";

std::unique_ptr<Session> session_of(std::string_view text) {
  const auto made = compiled_for_gpu(parsed(text));
  CHECK(made.ok()) << made.error().message();
  return opened(made->artifact);
}

void expect_same(std::string_view text, const std::vector<Arrays>& inputs) {
  const auto session = session_of(text);
  const auto run = [&](std::span<const Array> given) { return search::run_artifact(*session, given); };
  const auto result = compare_with(parsed(text), run, inputs, static_cast<int>(inputs.size()));
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_TRUE(result->passed()) << result->difference->text();
}

TEST(GpuSession, ComputesWhatTheModelMeans) {
  expect_same(kChain, {{floats({8, 24}, 1)}, {floats({8, 24}, 2)}});
  expect_same(kLayers, {{floats({8, 24}, 1)}, {floats({8, 24}, 2)}});
}

/// A compiler makes several calls of one barrier, each for some of the threads.
TEST(GpuSession, WaitsOnceWhereThereIsOneBarrier) {
  Random random(11);
  std::vector<double> values(32 * 14 * 14);
  for (double& value : values) value = static_cast<double>(random.between(-8, 8)) / 8;
  expect_same(R"(opset 17
graph g(x: float32[1,32,14,14]) -> (y: float32[1,48,14,14]) {
  w: float32[48,32,1,1] = random 1
  y = Conv(x, w)
}
)",
              {{Array::reals(DataType::kFloat32, {1, 32, 14, 14}, values)}});
}

TEST(GpuSession, ComputesInHalves) {
  for (const char* type : {"float16", "bfloat16"}) {
    SCOPED_TRACE(type);
    std::string text(R"(opset 17
graph g(x: T[1,6,9,9]) -> (y: T[1,8,9,9], z: T[1,8]) {
  w: T[8,6,3,3] = random 1
  c = Conv(x, w) {pads = [1,1,1,1]}
  y = Relu(c)
  p = GlobalAveragePool(y)
  m = Flatten(p)
  z = Softmax(m)
}
)");
    for (size_t at; (at = text.find(": T[")) != std::string::npos;) text.replace(at + 2, 1, type);
    const DataType half = parse_data_type(type);
    Random random(3);
    std::vector<double> values(6 * 9 * 9);
    for (double& value : values) value = static_cast<double>(random.between(-8, 8)) / 8;
    expect_same(text, {{Array::reals(half, {1, 6, 9, 9}, values)}});
  }
}

/// Number 65 is larger, and rounds to what the others are: it is no greater than the greatest, nor chosen before them.
TEST(GpuSession, ComparesHalvesAsTheyAreStored) {
  constexpr int64_t kLength = 128;
  const auto session = session_of(R"(opset 18
graph g(a: float16[1,128], b: float16[1,128]) -> (chosen: int64[1], equal: bool[1,128]) {
  axis: int64[1] = {1}
  p = Add(a, b)
  chosen = ArgMax(p) {axis = 1, keepdims = 0}
  m = ReduceMax(p, axis)
  equal = Equal(p, m)
}
)");
  std::vector<double> a(kLength, 1), b(kLength, 0);
  a[0] = 0.5;
  b[65] = 0x1p-12;
  const auto found = search::run_artifact(*session, Arrays{Array::reals(DataType::kFloat16, {1, kLength}, a),
                                                           Array::reals(DataType::kFloat16, {1, kLength}, b)});
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ((*found)[0].integer(0), 1);
  for (int64_t k = 0; k < kLength; ++k) EXPECT_EQ((*found)[1].integer(k), k > 0) << k;
}

/// A function of the emulated driver.
template <class Function>
Function of_driver(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen(ISOMER_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), name));
}

TEST(GpuSession, RepeatsWhatWasCapturedOnNewData) {
  const auto session = session_of(kLayers);
  // The same places in every run: from the second one on, a graph.
  const auto graph_launches = of_driver<int (*)()>("isomer_fake_graph_launches");
  const int before = graph_launches();
  std::vector<float> x(8 * 24), y(8 * 24);
  const std::vector<int64_t> dims = {8, 24};
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    for (float& each : x) each = static_cast<float>(random.uniform(-1, 1));
    const runtime::Tensor input{runtime::ElementType::kFloat32, dims, x.data()};
    runtime::Tensor output{runtime::ElementType::kFloat32, dims, y.data()};
    const auto done = session->run({&input, 1}, {&output, 1});
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(output.data, y.data());
    const auto expected = compare_with(
        parsed(kLayers),
        [&](std::span<const Array>) {
          return Result<Arrays>(
              Arrays{Array::reals(DataType::kFloat32, {8, 24}, std::vector<double>(y.begin(), y.end()))});
        },
        std::vector<Arrays>{{Array::reals(DataType::kFloat32, {8, 24}, std::vector<double>(x.begin(), x.end()))}}, 1);
    ASSERT_TRUE(expected.ok()) << expected.error().message();
    EXPECT_TRUE(expected->passed()) << seed << ": " << expected->difference->text();
  }
  EXPECT_EQ(graph_launches() - before, 4);
}

/// Memory of the GPU that a caller owns, and streams of theirs.
class Caller {
 public:
  Caller() : gpu_(*runtime::cuda::Gpu::open(0)), current_(*gpu_) {}
  ~Caller() {
    for (const auto place : places_) driver().memory_free(place);
    for (auto* const stream : streams_) driver().stream_destroy(stream);
  }
  const runtime::cuda::Driver& driver() const { return gpu_->driver(); }

  runtime::cuda::Stream stream() {
    runtime::cuda::Stream made = nullptr;
    CHECK(driver().stream_create(&made, 0) == 0);
    return streams_.emplace_back(made);
  }
  void destroy(runtime::cuda::Stream stream) {
    CHECK(std::erase(streams_, stream) == 1 && driver().stream_destroy(stream) == 0);
  }
  /// From `offset` on in memory of its own.
  void* allocate(size_t bytes, size_t offset = 0) {
    runtime::cuda::Address place = 0;
    CHECK(driver().memory_allocate(&place, bytes + offset) == 0);
    places_.push_back(place);
    return reinterpret_cast<void*>(place + offset);
  }
  /// What it gets is ready when the stream has come so far.
  void fill(void* to, const std::vector<float>& from, runtime::cuda::Stream stream) {
    CHECK(driver().copy_to_device(reinterpret_cast<runtime::cuda::Address>(to), from.data(), from.size() * 4, stream) ==
          0);
  }
  std::vector<float> content(void* from, size_t count) {
    std::vector<float> to(count);
    CHECK(driver().copy_to_host(to.data(), reinterpret_cast<runtime::cuda::Address>(from), count * 4, nullptr) == 0);
    CHECK(driver().stream_synchronize(nullptr) == 0);
    return to;
  }

 private:
  std::shared_ptr<const runtime::cuda::Gpu> gpu_;
  runtime::cuda::Gpu::Current current_;
  std::vector<runtime::cuda::Address> places_;
  std::vector<runtime::cuda::Stream> streams_;
};

TEST(GpuSession, MeasuresItsRunsOnTheDevice) {
  const auto made = compiled_for_gpu(parsed(kChain));
  ASSERT_TRUE(made.ok()) << made.error().message();
  auto model = runtime::Model::load(made->artifact);
  ASSERT_TRUE(model.ok()) << model.error().message();
  runtime::SessionOptions options;
  const auto plain = Session::create(*model, options);
  options.device_timed = true;
  const auto timed = Session::create(*model, options);
  ASSERT_TRUE(plain.ok() && timed.ok());
  for (int turn = 0; turn < 3; ++turn) {
    const Arrays inputs = {floats({8, 24}, 5)};
    const auto expected = search::run_artifact(**plain, inputs), found = search::run_artifact(**timed, inputs);
    ASSERT_TRUE(expected.ok() && found.ok());
    for (size_t k = 0; k < expected->size(); ++k)
      EXPECT_TRUE(te::to_tensor((*expected)[k]).same_contents(te::to_tensor((*found)[k])));
    EXPECT_GT((*timed)->device_seconds(), 0);
    EXPECT_EQ((*plain)->device_seconds(), 0);
  }
}

TEST(GpuSession, TakesTensorsWhereTheyLie) {
  const auto session = session_of(kLayers);
  const std::vector<int64_t> dims = {8, 24};
  Random random(7);
  std::vector<float> x(8 * 24), expected(8 * 24);
  for (float& each : x) each = static_cast<float>(random.uniform(-1, 1));
  {
    const runtime::Tensor input{runtime::ElementType::kFloat32, dims, x.data()};
    runtime::Tensor output{runtime::ElementType::kFloat32, dims, expected.data()};
    ASSERT_TRUE(session->run({&input, 1}, {&output, 1}).ok());
  }
  Caller caller;
  auto* const one = caller.stream();
  auto* const other = caller.stream();
  struct Case {
    const char* name;
    runtime::cuda::Stream input, output;
    size_t offset;
  };
  for (const Case& each : {Case{"one stream", one, one, 0}, Case{"two streams", one, other, 0},
                           Case{"the default stream", nullptr, nullptr, 0}, Case{"unaligned", one, one, 4}}) {
    SCOPED_TRACE(each.name);
    void* const x_place = caller.allocate(x.size() * 4, each.offset);
    void* const y_place = caller.allocate(x.size() * 4, each.offset);
    for (int turn = 0; turn < 3; ++turn) {
      caller.fill(x_place, x, each.input);
      const runtime::Tensor input{runtime::ElementType::kFloat32, dims, x_place, DeviceKind::kCuda, each.input};
      runtime::Tensor output{runtime::ElementType::kFloat32, dims, y_place, DeviceKind::kCuda, each.output};
      const auto done = session->run({&input, 1}, {&output, 1});
      ASSERT_TRUE(done.ok()) << done.error().message();
      EXPECT_EQ(output.data, y_place);
      EXPECT_EQ(output.device, DeviceKind::kCuda);
      EXPECT_EQ(caller.content(y_place, x.size()), expected);
    }
  }
  {
    SCOPED_TRACE("memory of the session");
    const runtime::Tensor input{runtime::ElementType::kFloat32, dims, x.data()};
    runtime::Tensor on_gpu, on_host;
    on_gpu.device = DeviceKind::kCuda;
    ASSERT_TRUE(session->run({&input, 1}, {&on_gpu, 1}).ok());
    EXPECT_EQ(on_gpu.device, DeviceKind::kCuda);
    EXPECT_EQ(caller.content(on_gpu.data, x.size()), expected);
    ASSERT_TRUE(session->run({&input, 1}, {&on_host, 1}).ok());
    EXPECT_EQ(on_host.device, DeviceKind::kCpu);
    EXPECT_EQ(std::memcmp(on_host.data, expected.data(), x.size() * 4), 0);
  }
}

/// Numbers of the layers' input, and what they give.
struct Layers {
  static constexpr int64_t kCount = 8 * 24;
  const std::vector<int64_t> dims = {8, 24};
  std::vector<float> x = std::vector<float>(kCount), expected = std::vector<float>(kCount);

  explicit Layers(Session& session) {
    Random random(9);
    for (float& each : x) each = static_cast<float>(random.uniform(-1, 1));
    const auto done = run_on_host(session, expected);
    CHECK(done.ok()) << done.error().message();
  }
  Result<void> run_on_host(Session& session, std::vector<float>& to) {
    const runtime::Tensor input{runtime::ElementType::kFloat32, dims, x.data()};
    runtime::Tensor output{runtime::ElementType::kFloat32, dims, to.data()};
    return session.run({&input, 1}, {&output, 1});
  }
  Result<void> run_in(Session& session, runtime::cuda::Stream stream, void* from, void* to) {
    const runtime::Tensor input{runtime::ElementType::kFloat32, dims, from, DeviceKind::kCuda, stream};
    runtime::Tensor output{runtime::ElementType::kFloat32, dims, to, DeviceKind::kCuda, stream};
    return session.run({&input, 1}, {&output, 1});
  }
};

TEST(GpuSession, UsesNoStreamOfTheCallerAfterARun) {
  const auto session = session_of(kLayers);
  Layers layers(*session);
  Caller caller;
  void* const x_place = caller.allocate(Layers::kCount * 4);
  void* const y_place = caller.allocate(Layers::kCount * 4);
  for (int turn = 0; turn < 3; ++turn) {
    auto* const stream = caller.stream();
    caller.fill(x_place, layers.x, stream);
    const auto done = layers.run_in(*session, stream, x_place, y_place);
    caller.destroy(stream);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(caller.content(y_place, Layers::kCount), layers.expected);
    std::vector<float> y(Layers::kCount);
    const auto copied = session->copy_of(std::as_bytes(std::span(layers.x)));
    EXPECT_TRUE(copied.ok());
    const auto on_host = layers.run_on_host(*session, y);
    ASSERT_TRUE(on_host.ok()) << on_host.error().message();
    EXPECT_EQ(y, layers.expected);
  }
}

TEST(GpuSession, GoesOnAfterWhatTheDriverRefused) {
  const auto session = session_of(kLayers);
  Layers layers(*session);
  Caller caller;
  void* const x_place = caller.allocate(Layers::kCount * 4);
  void* const y_place = caller.allocate(Layers::kCount * 4);
  for (int turn = 0; turn < 2; ++turn) {
    const auto refused = layers.run_in(*session, reinterpret_cast<runtime::cuda::Stream>(&layers), x_place, y_place);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message(), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
    std::vector<float> y(Layers::kCount);
    const auto done = layers.run_on_host(*session, y);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(y, layers.expected);
  }
}

/// What another thread does while something is captured.
struct Others {
  static inline std::function<void()> work;
  explicit Others(std::function<void()> theirs) {
    work = std::move(theirs);
    of_driver<void (*)(void (*)())>("isomer_fake_at_capture")([] { std::thread(work).join(); });
  }
  ~Others() { of_driver<void (*)(void (*)())>("isomer_fake_at_capture")(nullptr); }
};

TEST(GpuSession, CapturesBesideOthers) {
  const auto made = compiled_for_gpu(parsed(kLayers));
  ASSERT_TRUE(made.ok()) << made.error().message();
  const auto session = opened(made->artifact);
  Layers layers(*session);
  Caller caller;
  void* const place = caller.allocate(Layers::kCount * 4);
  auto other = opened(made->artifact);
  int captures = 0;
  const Others others([&] {
    ++captures;
    // The legacy default stream, memory, and the end of a session.
    const Caller theirs;
    const runtime::cuda::Driver& driver = theirs.driver();
    EXPECT_EQ(driver.memory_set(reinterpret_cast<runtime::cuda::Address>(place), 0, 4, nullptr), 0);
    EXPECT_EQ(driver.stream_synchronize(nullptr), 0);
    other.reset();
  });
  const auto graph_launches = of_driver<int (*)()>("isomer_fake_graph_launches");
  const int before = graph_launches();
  std::vector<float> y(Layers::kCount);
  for (int turn = 0; turn < 3; ++turn) {
    const auto done = layers.run_on_host(*session, y);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(y, layers.expected);
  }
  EXPECT_EQ(captures, 1);
  EXPECT_EQ(graph_launches() - before, 3);
}

/// Waiting for the whole context ends captures, whoever does it.
TEST(GpuSession, CapturesLaterWhatOthersEnded) {
  const auto session = session_of(kLayers);
  Layers layers(*session);
  int captures = 0;
  const Others others([&] {
    const Caller theirs;
    if (++captures > 3) return;
    EXPECT_NE(of_driver<int (*)()>("cuCtxSynchronize")(), 0);
  });
  const auto graph_launches = of_driver<int (*)()>("isomer_fake_graph_launches");
  const int before = graph_launches();
  std::vector<float> y(Layers::kCount);
  constexpr int kRuns = 20;
  for (int turn = 0; turn < kRuns; ++turn) {
    const auto done = layers.run_on_host(*session, y);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(y, layers.expected);
  }
  EXPECT_EQ(captures, 4);
  // Without a graph are one, two and four runs from the captures that failed on.
  EXPECT_EQ(graph_launches() - before, kRuns - 7);
}

TEST(GpuSession, AMachineOfLittleMemoryMayHaveAGpuOfMuch) {
  const Graph graph = parsed(R"(opset 17
graph g(a: float32[640,8], b: float32[8,640], c: float32[640,8]) -> (y: float32[640,8]) {
  p = MatMul(a, b)
  y = MatMul(p, c)
}
)");
  runtime::SessionOptions options;
  options.memory = MemoryLimit{1 << 20};
  const auto on_gpu = compiled_for_gpu(graph);
  ASSERT_TRUE(on_gpu.ok()) << on_gpu.error().message();
  EXPECT_GT(on_gpu->artifact.variants[0].arena_bytes, options.memory.bytes);
  const auto session = Session::create(*runtime::Model::load(on_gpu->artifact), options);
  EXPECT_TRUE(session.ok()) << session.error().message();
  const auto refused = Session::create(*runtime::Model::load(compiled(graph)->artifact), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("more memory for the values of a run expected"));
}

/// A child has no context of its parent's.
TEST(GpuSession, SaysThatItsProcessWasForked) {
  const auto made = compiled_for_gpu(parsed(kLayers));
  ASSERT_TRUE(made.ok()) << made.error().message();
  const auto session = opened(made->artifact);
  Layers layers(*session);
  const auto says_so = [](const auto& result) {
    return !result.ok() && result.error().message().find("one that was forked from it found") != std::string::npos;
  };
  const pid_t child = fork();
  if (child == 0) {
    std::vector<float> y(Layers::kCount);
    const bool is_told = says_so(layers.run_on_host(*session, y)) && says_so(runtime::cuda::Gpu::open(0));
    _exit(is_told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(GpuSession, TellsWhichStepFailedAndGoesOn) {
  const auto session = session_of(R"(opset 17
graph g(a: int64[4], b: int64[4], i: int64[2]) -> (q: int64[4], p: int64[2]) {
  q = Div(a, b)
  s = Add(a, b)
  p = Gather(s, i)
}
)");
  const auto run = [&](std::vector<int64_t> b, std::vector<int64_t> i) {
    return search::run_artifact(
        *session, Arrays{Array::integers(DataType::kInt64, {4}, std::vector<int64_t>{8, 6, 4, 2}),
                         Array::integers(DataType::kInt64, {4}, b), Array::integers(DataType::kInt64, {2}, i)});
  };
  EXPECT_TRUE(run({1, 2, 3, 4}, {0, 3}).ok());
  const auto divided = run({1, 2, 0, 4}, {0, 3});
  ASSERT_FALSE(divided.ok());
  EXPECT_THAT(divided.error().message(), HasSubstr("Div"));
  EXPECT_THAT(divided.error().message(), HasSubstr("divisor other than 0"));
  const auto outside = run({1, 2, 3, 4}, {0, 4});
  ASSERT_FALSE(outside.ok());
  EXPECT_THAT(outside.error().message(), HasSubstr("Gather"));
  EXPECT_THAT(outside.error().message(), HasSubstr("an index inside"));
  EXPECT_TRUE(run({1, 2, 3, 4}, {0, 3}).ok());
}

TEST(GpuSession, OneArtifactServesBoth) {
  const Graph graph = parsed(kLayers);
  auto gpu = compiled_for_gpu(graph);
  ASSERT_TRUE(gpu.ok()) << gpu.error().message();
  auto cpu = compiled(graph);
  ASSERT_TRUE(cpu.ok());
  runtime::Artifact artifact = gpu->artifact;
  search::merge(artifact, cpu->artifact);
  const ScratchFolder folder;
  const auto path = folder.path() / "both.iso";
  const auto written = runtime::write_artifact(artifact, path);
  ASSERT_TRUE(written.ok()) << written.error().message();
  const auto model = runtime::Model::open(path);
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ((*model)->variants().size(), 1u);
  for (const char* device : {"", "cpu", "cuda", "cuda:0"}) {
    runtime::SessionOptions options;
    options.device = *runtime::parse_device(device);
    const auto session = Session::create(*model, options);
    ASSERT_TRUE(session.ok()) << session.error().message();
    EXPECT_EQ((*session)->variant().target.device,
              std::string_view(device) == "cpu" ? DeviceKind::kCpu : DeviceKind::kCuda);
    const auto run = [&](std::span<const Array> given) { return search::run_artifact(**session, given); };
    const auto result = compare_with(graph, run, std::vector<Arrays>{{floats({8, 24}, 3)}}, 1);
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_TRUE(result->passed()) << result->difference->text();
  }
  runtime::SessionOptions options;
  options.device = *runtime::parse_device("cuda:7");
  const auto none = Session::create(*model, options);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message(), HasSubstr("cuda:7"));
  for (const char* wrong : {"gpu", "cuda:", "cuda:-1", "cuda:1x"}) EXPECT_FALSE(runtime::parse_device(wrong).ok());
}

TEST(GpuSession, OfSeveralVariantsThatADeviceRunsTheFirstCounts) {
  const auto gpu = compiled_for_gpu(parsed(kLayers));
  ASSERT_TRUE(gpu.ok()) << gpu.error().message();
  runtime::Artifact artifact = gpu->artifact;
  search::merge(artifact, gpu->artifact);
  const auto model = runtime::Model::load(artifact);
  ASSERT_TRUE(model.ok()) << model.error().message();
  for (const char* device : {"", "cuda", "cuda:0"}) {
    const auto found = (*model)->find({}, *runtime::parse_device(device));
    ASSERT_TRUE(found.ok()) << device << ": " << found.error().message();
    EXPECT_EQ(*found, (*model)->variants()[0]);
  }
}

TEST(GpuSession, ATensorOfAGpuIsNoneOfTheCpu) {
  const auto session = opened(compiled(parsed(kLayers))->artifact);
  const std::vector<int64_t> dims = {8, 24};
  float number = 0;
  const runtime::Tensor input{runtime::ElementType::kFloat32, dims, &number, DeviceKind::kCuda};
  runtime::Tensor output;
  const auto done = session->run({&input, 1}, {&output, 1});
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message(), HasSubstr("a tensor of the CPU expected"));
}

/// What `isomer run` says where the driver has a fault.
Outcome run_with_fault(const std::string& artifact, const std::string& fault) {
  return run_program({"env", std::string("ISOMER_CUDA_DRIVER=") + ISOMER_FAKE_DRIVER, "ISOMER_FAKE_FAULT=" + fault,
                      tool_path("isomer").string(), "run", artifact});
}

TEST(GpuSession, EachFaultOfADriverIsOneSentence) {
  const ScratchFolder folder;
  const std::string path = (folder.path() / "layers.iso").string();
  const auto made = compiled_for_gpu(parsed(kLayers));
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(runtime::write_artifact(made->artifact, path).ok());
  const Outcome good = run_with_fault(path, "none");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  struct Fault {
    const char* fault;
    const char* sentence;
  };
  std::vector<Fault> faults = {{"no-device", "no CUDA-capable device is detected"},
                               {"bad-module:1", "module 0 to be loaded expected"},
                               {"illegal-address:1", "an illegal memory access"},
                               {"illegal-address:2", "an illegal memory access"},
                               {"timeout:1", "the launch timed out"}};
  for (const char* each : {"1", "2", "3", "4"}) {
    SCOPED_TRACE(each);
    const Outcome outcome = run_with_fault(path, std::string("out-of-memory:") + each);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("memory"));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  for (const Fault& each : faults) {
    SCOPED_TRACE(each.fault);
    const Outcome outcome = run_with_fault(path, each.fault);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(each.sentence));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  // Threads of a block that wait at different barriers are a failure of their launch.
  runtime::Artifact apart = made->artifact;
  std::vector<std::string> functions;
  std::string text;
  for (const runtime::Kernel& kernel : apart.kernels)
    for (const runtime::Launch& launch : kernel.launches) {
      functions.push_back(launch.function);
      text += "extern \"C\" __global__ void " + launch.function + "(int* outcome";
      for (size_t k = 0; k < launch.buffers.size(); ++k) text += ", void* p" + std::to_string(k);
      text += ") {\n  if (threadIdx.x < 3) {\n    __syncthreads();\n  } else {\n    __syncthreads();\n  }\n}\n";
    }
  for (runtime::Module& module : apart.modules) {
    auto compiled = kernel::compile_cuda(text, functions, module.arch);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    module.image = std::move(compiled->image);
  }
  const std::string path_apart = (folder.path() / "apart.iso").string();
  ASSERT_TRUE(runtime::write_artifact(apart, path_apart).ok());
  const Outcome failed = run_with_fault(path_apart, "none");
  EXPECT_EQ(failed.exit_code, 3) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("CUDA_ERROR_LAUNCH_FAILED (threads wait at different ones)"));
  // The device is lost at any call: never a crash, never two sentences, right or refused.
  for (int call = 1; call <= 60; call += 3) {
    SCOPED_TRACE(call);
    const Outcome outcome = run_with_fault(path, "lost:" + std::to_string(call));
    EXPECT_TRUE(outcome.exit_code == 3 || (outcome.exit_code == 0 && outcome.out == good.out))
        << outcome.exit_code << outcome.err;
    EXPECT_LE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace isomer::test
