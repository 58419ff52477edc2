#include "backends/cublaslt.h"

#include <array>
#include <optional>

#include "backends/cublaslt_library.h"
#include "backends/gpu_operation.h"
#include "backends/gpu_ways.h"

namespace isomer::backends {
namespace cublaslt {
namespace {

using gpu::Activation;
using gpu::Layout;
using gpu::Operation;

using Descriptor = std::shared_ptr<void>;

constexpr int64_t kWorkspace = int64_t{32} << 20;
constexpr int kMostProposals = 16;

/// What all ways share; the device outlives it.
struct Session {
  Session(std::shared_ptr<const Library> opened, runtime::cuda::GpuDevice& on)
      : library(std::move(opened)), device(on), operands(on) {}
  ~Session() {
    const runtime::cuda::Gpu::Current current(device.gpu());
    if (handle) library->destroy(handle);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::shared_ptr<const Library> library;
  Object handle = nullptr;
  runtime::cuda::GpuDevice& device;
  runtime::DeviceMemory workspace;
  gpu::Operands operands;
};

Result<std::shared_ptr<Session>> open_session(std::shared_ptr<const Library> library,
                                              runtime::cuda::GpuDevice& device) {
  const auto made = std::make_shared<Session>(std::move(library), device);
  TRY_VOID(made->library->check(made->library->create(&made->handle), "a handle"));
  auto workspace = device.allocate(kWorkspace);
  if (!workspace) return unsupported("cublaslt", "{} bytes of workspace expected", kWorkspace);
  made->workspace = std::move(*workspace);
  return made;
}

/// Nothing where no epilogue is the same.
std::optional<unsigned> epilogue_of(const Operation& operation) {
  const unsigned bias = operation.bias ? unsigned{kBias} : 0;
  switch (operation.activation) {
    case Activation::kNone: return bias ? bias : kNothing;
    case Activation::kRelu: return kRelu | bias;
    case Activation::kGeluTanh: return kGelu | bias;  // it has the approximation alone
    case Activation::kGelu:
    case Activation::kRelu6: return std::nullopt;
  }
  CHECK(false) << "an activation";
  return std::nullopt;
}

/// A matrix [rows, columns] of ours, in row-major order, is one [columns, rows] of the library, in column-major order.
struct Side {
  const Tensor* tensor = nullptr;
  Layout layout = Layout::kPlain;
  bool is_transposed = false;
  int64_t rows = 1, columns = 1, batch = 1;
};

/// `rows` and `columns` are those of the factor; its elements may be of its transpose.
Side side_of(const Tensor& tensor, bool is_transposed, int64_t rows, int64_t columns, int64_t batch) {
  if (is_transposed) std::swap(rows, columns);
  return {&tensor, Layout::kPlain, is_transposed, rows, columns, batch};
}

/// The same factor with its elements in the other order.
Side turned(Side side) {
  side.layout = Layout::kTransposed;
  side.is_transposed = !side.is_transposed;
  std::swap(side.rows, side.columns);
  return side;
}

Result<Descriptor> matrix(const Library& library, DataType dtype, const Side& side, int64_t batch) {
  Object object = nullptr;
  TRY_VOID(library.check(library.create_matrix(&object, type_of(dtype), static_cast<uint64_t>(side.columns),
                                               static_cast<uint64_t>(side.rows), side.columns),
                         "a matrix"));
  Descriptor made(object, library.destroy_matrix);
  if (batch == 1) return made;
  const auto count = static_cast<int32_t>(batch);
  const int64_t stride = side.batch == 1 ? 0 : side.rows * side.columns;
  TRY_VOID(library.check(library.set_matrix(object, static_cast<int>(Matrix::kBatchCount), &count, sizeof(count)),
                         "batches"));
  TRY_VOID(library.check(library.set_matrix(object, static_cast<int>(Matrix::kBatchStride), &stride, sizeof(stride)),
                         "batches"));
  return made;
}

/// The library's first factor is our right side, its second our left one: its result is the transpose of ours.
Result<Descriptor> product(const Library& library, Compute compute, const Side& left, const Side& right,
                           unsigned epilogue, const void* bias) {
  Object object = nullptr;
  TRY_VOID(library.check(library.create_product(&object, compute, kFloat), "a product"));
  Descriptor made(object, library.destroy_product);
  const auto set = [&](Product attribute, const auto& value) {
    return library.check(
        library.set_product(object, static_cast<int>(attribute), static_cast<const void*>(&value), sizeof(value)),
        "an attribute of a product");
  };
  TRY_VOID(set(Product::kTransposeA, static_cast<int32_t>(right.is_transposed)));
  TRY_VOID(set(Product::kTransposeB, static_cast<int32_t>(left.is_transposed)));
  TRY_VOID(set(Product::kEpilogue, static_cast<uint32_t>(epilogue)));
  if (bias) TRY_VOID(set(Product::kBiasPointer, bias));
  return made;
}

Result<Descriptor> preference(const Library& library) {
  Object object = nullptr;
  TRY_VOID(library.check(library.create_preference(&object), "a preference"));
  Descriptor made(object, library.destroy_preference);
  const auto bytes = static_cast<uint64_t>(kWorkspace);
  TRY_VOID(
      library.check(library.set_preference(object, static_cast<int>(Preference::kMostWorkspace), &bytes, sizeof(bytes)),
                    "a preference"));
  return made;
}

/// "algorithm 66, tile 20, stages 35, split 1".
std::string name_of(const Library& library, const Algorithm& algorithm) {
  const auto number = [&](Configuration attribute) {
    int32_t value = 0;
    size_t written = 0;
    const Status status =
        library.get_configuration(&algorithm, static_cast<int>(attribute), &value, sizeof(value), &written);
    return status == 0 ? std::to_string(value) : "?";
  };
  return fmt::format("algorithm {}, tile {}, stages {}, split {}", number(Configuration::kId),
                     number(Configuration::kTile), number(Configuration::kStages), number(Configuration::kSplits));
}

/// All that a call needs besides the algorithm.
struct Call {
  Descriptor product, right, left, output;
  const void *right_data = nullptr, *left_data = nullptr;
  float factor = 1;
};

gpu::Enqueue call(const std::shared_ptr<Session>& session, const Call& with, void* output, const Proposal& proposal) {
  return [session, with, output, proposal](runtime::cuda::Stream stream) {
    const float zero = 0;
    return session->library->check(
        session->library->multiply(session->handle, with.product.get(), &with.factor, with.right_data, with.right.get(),
                                   with.left_data, with.left.get(), &zero, output, with.output.get(), output,
                                   with.output.get(), &proposal.algorithm, session->workspace.data(),
                                   proposal.workspace, stream),
        "a product that runs");
  };
}

Result<void> add_products(const std::shared_ptr<Session>& session, const Operation& operation, const Side& left,
                          const Side& right, bool tf32, gpu::Ways& ways) {
  const Library& library = *session->library;
  const auto& core = std::get<gpu::Product>(operation.core);
  const auto epilogue = epilogue_of(operation);
  if (!epilogue) return unsupported("cublaslt", "an activation that an epilogue computes expected");
  const bool rounds = tf32 && operation.dtype == DataType::kFloat32;
  const Side result{nullptr, Layout::kPlain, false, core.m, core.n, core.batch};
  void* bias = nullptr;
  if (operation.bias) {
    TRY(bias, session->operands.upload(*operation.bias));
  }
  Call with;
  with.factor = core.factor;
  TRY(with.product, product(library, rounds ? kComputeTf32 : kComputeFloat, left, right, *epilogue, bias));
  TRY(with.right, matrix(library, operation.dtype, right, core.batch));
  TRY(with.left, matrix(library, operation.dtype, left, core.batch));
  TRY(with.output, matrix(library, operation.dtype, result, core.batch));
  TRY(with.right_data, session->operands.upload(*right.tensor, right.layout));
  TRY(with.left_data, session->operands.upload(*left.tensor, left.layout));
  TRY(const Descriptor wishes, preference(library));
  std::array<Proposal, kMostProposals> proposals = {};
  int count = 0;
  TRY_VOID(library.check(
      library.propose(session->handle, with.product.get(), with.right.get(), with.left.get(), with.output.get(),
                      with.output.get(), wishes.get(), kMostProposals, proposals.data(), &count),
      "algorithms"));
  for (int k = 0; k < count; ++k) {
    const Proposal& proposal = proposals[static_cast<size_t>(k)];
    if (proposal.state != 0) continue;
    const std::string name = fmt::format("{}{}{}", name_of(library, proposal.algorithm),
                                         right.is_transposed ? ", right side transposed" : "",
                                         left.is_transposed ? ", left side transposed" : "");
    auto output = gpu::Output::allocate(session->device, operation.dtype, operation.output, Layout::kPlain);
    if (!output.ok()) return output.error();
    void* const place = output->data();
    ways.add(name, call(session, with, place, proposal), std::move(*output));
  }
  return {};
}

Result<GpuPeers> open_with(const std::shared_ptr<const Library>& library, const GpuPeerRequest& request) {
  gpu::Ways ways(request.device);
  const auto operation = gpu::operation_of(request.graph, request.inputs);
  const auto* const core = operation ? std::get_if<gpu::Product>(&operation->core) : nullptr;
  if (!core) return std::move(ways).take(library->version);
  TRY(const auto session, open_session(library, request.device));
  const Side left = side_of(core->left, core->is_left_transposed, core->m, core->k, core->left_batch);
  const Side right = side_of(core->right, core->is_right_transposed, core->k, core->n, core->right_batch);
  // Which order of the right side's elements is the better one, that of weights often, only measuring tells.
  for (const Side& side : {right, turned(right)}) {
    const auto done = add_products(session, *operation, left, side, request.tf32, ways);
    if (!done.ok()) ways.leave_out("products", done.error());
  }
  return std::move(ways).take(library->version);
}

}  // namespace
}  // namespace cublaslt

Result<GpuPeers> open_cublaslt(const std::string& library, const GpuPeerRequest& request) {
  TRY(const auto opened, cublaslt::Library::open(library));
  return cublaslt::open_with(opened, request);
}

}  // namespace isomer::backends
