// The real models of models/ on the emulated GPU, through the C interface: small ones always, all in the long run. The
// same model compiled for the CPU says what is right; that is checked against the interpreter elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <isomer/isomer.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "models/model_case.h"
#include "support/files.h"
#include "support/long_run.h"
#include "support/process.h"
#include "util/random.h"

namespace isomer::test {
namespace {

std::vector<std::string> chosen_models() {
  if (is_long_run()) return model_names();
  return {"mlp", "espcn", "lstm", "loop_decoder"};
}

void succeed(isomer_status status) {
  if (status != ISOMER_OK) throw std::runtime_error(isomer_last_error());
}

/// An artifact's session and what it gave last.
class Artifact {
 public:
  Artifact(const std::filesystem::path& path, const char* device) {
    isomer_model* model = nullptr;
    succeed(isomer_model_open(path.c_str(), &model));
    const std::unique_ptr<isomer_model, void (*)(isomer_model*)> owner(model, isomer_model_close);
    isomer_session* session = nullptr;
    succeed(isomer_session_create_on(model, device, nullptr, &session));
    session_.reset(session);
  }

  std::vector<isomer_tensor> inputs() const {
    size_t count = 0;
    succeed(isomer_session_input_count(session_.get(), &count));
    std::vector<isomer_tensor> all(count);
    for (size_t k = 0; k < count; ++k) succeed(isomer_session_input(session_.get(), k, nullptr, &all[k]));
    return all;
  }
  /// The session's memory.
  std::vector<isomer_tensor> run(const std::vector<isomer_tensor>& inputs) {
    size_t count = 0;
    succeed(isomer_session_output_count(session_.get(), &count));
    std::vector<isomer_tensor> outputs(count);
    succeed(isomer_session_run(session_.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    return outputs;
  }

 private:
  std::unique_ptr<isomer_session, void (*)(isomer_session*)> session_{nullptr, isomer_session_close};
};

/// Normal floats, and integers that index something small.
std::vector<std::byte> content_of(const isomer_tensor& tensor, Random& random) {
  std::vector<std::byte> bytes(static_cast<size_t>(isomer_tensor_bytes(&tensor)));
  if (tensor.dtype == ISOMER_FLOAT32) {
    auto* const first = reinterpret_cast<float*>(bytes.data());
    for (size_t k = 0; k < bytes.size() / sizeof(float); ++k) first[k] = static_cast<float>(random.normal());
  } else if (tensor.dtype == ISOMER_INT64) {
    auto* const first = reinterpret_cast<int64_t*>(bytes.data());
    for (size_t k = 0; k < bytes.size() / sizeof(int64_t); ++k) first[k] = static_cast<int64_t>(random.below(8));
  } else if (tensor.dtype == ISOMER_BOOL) {
    for (std::byte& each : bytes) each = std::byte(random.below(2));
  }
  return bytes;
}

void expect_equal(const isomer_tensor& expected, const isomer_tensor& found) {
  ASSERT_EQ(expected.dtype, found.dtype);
  ASSERT_TRUE(std::equal(expected.dims, expected.dims + expected.rank, found.dims, found.dims + found.rank));
  const auto bytes = static_cast<size_t>(isomer_tensor_bytes(&expected));
  if (expected.dtype != ISOMER_FLOAT32) {
    EXPECT_EQ(std::memcmp(expected.data, found.data, bytes), 0);
    return;
  }
  const auto *const a = static_cast<const float*>(expected.data), *const b = static_cast<const float*>(found.data);
  float largest = 0, difference = 0;
  for (size_t k = 0; k < bytes / sizeof(float); ++k) {
    largest = std::max(largest, std::abs(a[k]));
    difference = std::max(difference, std::isnan(a[k]) != std::isnan(b[k]) ? INFINITY : std::abs(a[k] - b[k]));
  }
  EXPECT_LE(difference, 1e-4F * largest + 1e-6F);
}

class GpuModels : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { setenv("ISOMER_CUDA_DRIVER", ISOMER_FAKE_DRIVER, 1); }
};

TEST_P(GpuModels, GiveWhatTheyGiveOnTheCpu) {
  const ScratchFolder scratch;
  const auto model = fill_model(GetParam(), scratch.path());
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto compiled = [&](const std::string& target) {
    const auto path = scratch.path() / (target + ".iso");
    std::vector<std::string> command = {tool_path("isomer").string(),
                                        "compile",
                                        model->string(),
                                        "-o",
                                        path.string(),
                                        "--target",
                                        target,
                                        "--level",
                                        "2",
                                        "--no-check"};
    for (const std::string& flag : shape_flags(GetParam())) command.push_back(flag);
    const Outcome outcome = run_program(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return path;
  };
  Artifact cpu(compiled("cpu"), "cpu"), gpu(compiled("cuda=emulated"), "cuda");
  Random random(9);
  // The first runs ask for launches, those after them for graphs.
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<isomer_tensor> inputs = cpu.inputs();
    std::vector<std::vector<std::byte>> content;
    for (isomer_tensor& input : inputs) input.data = content.emplace_back(content_of(input, random)).data();
    const std::vector<isomer_tensor> expected = cpu.run(inputs), found = gpu.run(inputs);
    for (size_t k = 0; k < expected.size(); ++k) {
      SCOPED_TRACE(k);
      ASSERT_NO_FATAL_FAILURE(expect_equal(expected[k], found[k]));
    }
    if (is_long_run()) break;  // emulation is slow
  }
}

TEST(GpuCommandLine, CompilesForSeveralTargets) {
  const ScratchFolder scratch;
  const auto model = fill_model("mlp", scratch.path());
  ASSERT_TRUE(model.ok());
  const std::string path = (scratch.path() / "both.iso").string();
  const auto isomer = [&](std::vector<std::string> arguments, const char* driver) {
    arguments.insert(arguments.begin(),
                     {"env", std::string("ISOMER_CUDA_DRIVER=") + driver, tool_path("isomer").string()});
    return run_program(arguments);
  };
  const Outcome compiled = isomer(
      {"compile", model->string(), "-o", path, "--target", "cuda=emulated,cpu", "--level", "2", "--dim", "batch=1,3"},
      "/nowhere");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_NE(compiled.out.find("a GPU that runs them is not here"), std::string::npos) << compiled.out;
  const Outcome inspected = isomer({"inspect", path}, "/nowhere");
  EXPECT_NE(inspected.out.find("modules    2 of a GPU"), std::string::npos) << inspected.out;
  // Of the CPU and of modules together, as `compile` says.
  const size_t code = compiled.out.rfind(", code ") + 7, end = compiled.out.find(" KB", code);
  EXPECT_NE(inspected.out.find("code       " + compiled.out.substr(code, end - code) + " KB"), std::string::npos)
      << compiled.out << inspected.out;
  // On the GPU where there is one, else on the CPU.
  for (const char* driver : {"/nowhere", ISOMER_FAKE_DRIVER}) {
    const Outcome compared = isomer({"compare", model->string(), path, "--dim", "batch=3"}, driver);
    EXPECT_EQ(compared.exit_code, 0) << compared.err;
  }
  for (const char* wrong : {"cuda=sm_70", "cuda=x", "cuda=", "gpu", "", "cuda=sm_85", "cuda=sm_080", "cuda=sm_80a",
                            "cpu,cpu", "cuda=emulated,cpu,cuda=emulated", "cpu,cuda=sm_85"}) {
    const Outcome refused = isomer({"compile", model->string(), "-o", path, "--target", wrong}, "/nowhere");
    EXPECT_EQ(refused.exit_code, 2) << wrong;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  }
  EXPECT_EQ(isomer({"compile", model->string(), "-o", path, "--target", "cuda", "--level", "2"}, "/nowhere").exit_code,
            2);
  EXPECT_EQ(isomer({"compile", model->string(), "-o", path, "--target", "cuda=emulated", "--level", "3"}, "/nowhere")
                .exit_code,
            2);
}

TEST(GpuCommandLine, RoundsToTf32WhereThatIsGranted) {
  const ScratchFolder scratch;
  const auto model = fill_model("mlp", scratch.path());
  ASSERT_TRUE(model.ok());
  const auto isomer = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"env", std::string("ISOMER_CUDA_DRIVER=") + ISOMER_FAKE_DRIVER, tool_path("isomer").string()});
    return run_program(arguments);
  };
  const auto compiled = [&](const std::string& name, std::vector<std::string> target) {
    const std::string path = (scratch.path() / name).string();
    std::vector<std::string> arguments = {"compile", model->string(), "-o", path, "--level", "2", "--dim", "batch=16"};
    arguments.insert(arguments.end(), target.begin(), target.end());
    const Outcome outcome = isomer(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return path;
  };
  const std::string plain = compiled("plain.iso", {"--target", "cuda=emulated"}),
                    rounding = compiled("tf32.iso", {"--target", "cuda=emulated", "--tf32"}),
                    same = compiled("same.iso", {"--target", "cuda=emulated+tf32"});
  EXPECT_EQ(read_file(rounding), read_file(same));
  EXPECT_THAT(isomer({"inspect", rounding}).out, testing::HasSubstr("tf32"));
  EXPECT_THAT(isomer({"inspect", plain}).out, testing::Not(testing::HasSubstr("tf32")));
  // Not the same numbers, and as near as such numbers are.
  const auto outputs = [&](const std::string& file) {
    const Outcome outcome = isomer({"run", file, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_NE(outputs(plain), outputs(rounding));
  for (const std::string& file : {plain, rounding})
    EXPECT_EQ(isomer({"compare", model->string(), file, "--dim", "batch=16"}).exit_code, 0) << file;
  EXPECT_EQ(isomer({"run", model->string(), "--dim", "batch=16", "--target", "cuda=emulated", "--tf32"}).exit_code, 0);
  EXPECT_EQ(isomer({"run", model->string(), "--tf32"}).exit_code, 0);  // of a CPU, which has no such cores
  EXPECT_EQ(isomer({"run", rounding, "--tf32"}).exit_code, 2);
  EXPECT_EQ(isomer({"compile", model->string(), "-o", plain, "--target", "cuda=emulated+tf16"}).exit_code, 2);
}

TEST(GpuCommandLine, TakesACompilerOfSeveralWords) {
  const ScratchFolder scratch;
  const auto model = fill_model("mlp", scratch.path());
  ASSERT_TRUE(model.ok());
  const Outcome compiled =
      run_program({"env", "CXX=env c++", tool_path("isomer").string(), "compile", model->string(), "-o",
                   (scratch.path() / "m.iso").string(), "--target", "cuda=emulated", "--level", "0", "--no-check"});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
}

INSTANTIATE_TEST_SUITE_P(Models, GpuModels, testing::ValuesIn(chosen_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isomer::test
