#include "backends/onednn.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "backends/onednn_recipes.h"
#include "runtime/memory.h"

namespace isomer::backends {
namespace {

using namespace dnnl;
using Layout = Operand::Layout;

struct Engine {
  Library library;
  Handle engine, stream;
};

Result<std::shared_ptr<Engine>> open_engine(const std::string& file, int threads) {
  TRY(Library library, Library::open(file));
  TRY_VOID(library.set_threads(threads));
  auto made =
      std::make_shared<Engine>(Engine{library, {library, "dnnl_engine_destroy"}, {library, "dnnl_stream_destroy"}});
  if (library.call("dnnl_engine_create", &made->engine.object, static_cast<int>(kCpu), size_t{0}) != 0 ||
      library.call("dnnl_stream_create", &made->stream.object, made->engine.object, static_cast<unsigned>(kInOrder)) !=
          0)
    return unsupported("onednn", "an engine of this CPU expected, none found");
  return made;
}

/// Of a tensor whose channels are its second axis.
Dims channels_last(const Dims& dims) {
  Dims strides(dims.size(), 1);
  int64_t next = dims[1];
  for (size_t k = dims.size(); k-- > 2;) {
    strides[k] = next;
    next *= dims[k];
  }
  strides[0] = next;
  return strides;
}

/// dnnl_format_tag_t: any, and channels in blocks ("aBc8b" and the like).
int tag_of(size_t rank, Layout layout) {
  if (layout == Layout::kAny) return 1;
  const bool is_8 = layout == Layout::kBlocks8;
  if (rank == 3) return is_8 ? 60 : 47;
  if (rank == 4) return is_8 ? 93 : 69;
  return is_8 ? 133 : 112;
}

class Primitive final : public Peer {
 public:
  explicit Primitive(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  /// Whether the library has it for these operands; they are laid out then.
  Result<bool> make(const Recipe& recipe) {
    std::vector<MemoryDescriptor> wanted(recipe.operands.size());
    std::vector<const MemoryDescriptor*> pointers;
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (!describe(recipe.operands[k], recipe.operands[k].layout, wanted[k])) return false;
      pointers.push_back(&wanted[k]);
    }
    description_ = Handle(library(), "dnnl_primitive_desc_destroy");
    if (!create_description(recipe, pointers)) return false;
    const char* name = nullptr;
    library().call("dnnl_primitive_desc_query", static_cast<const void*>(description_.object),
                   static_cast<int>(kImplementation), 0, static_cast<void*>(&name));
    algorithm_ = name ? name : "";
    primitive_ = Handle(library(), "dnnl_primitive_destroy");
    if (library().call("dnnl_primitive_create", &primitive_.object, static_cast<const void*>(description_.object)) != 0)
      return false;
    for (const Operand& operand : recipe.operands) TRY_VOID(add(operand));
    result_ = recipe.operands.back();
    return true;
  }

  const std::string& version() const override { return library().version(); }
  std::string algorithm() const override { return algorithm_; }
  Result<void> run() override { return execute(primitive_, arguments_); }

  /// The elements of the result in our order.
  Result<std::vector<float>> result() {
    std::vector<float> elements(static_cast<size_t>(element_count(result_.dims)));
    TRY(const Handle plain, plain_memory(result_, elements.data()));
    TRY_VOID(reorder(*layout_of(result_.argument), arguments_.back().memory, plain_layout(result_), plain.object));
    return elements;
  }

 private:
  const Library& library() const { return engine_->library; }

  bool describe(const Operand& operand, Layout layout, MemoryDescriptor& descriptor) const {
    const auto rank = static_cast<int>(operand.dims.size());
    DimArray dims = {}, strides = {};
    std::copy(operand.dims.begin(), operand.dims.end(), dims.begin());
    if (layout != Layout::kPlain && layout != Layout::kChannelsLast)
      return library().call("dnnl_memory_desc_init_by_tag", &descriptor, rank, dims.data(), static_cast<int>(kFloat32),
                            tag_of(operand.dims.size(), layout)) == 0;
    const Dims given = layout == Layout::kPlain ? operand.strides : channels_last(operand.dims);
    std::copy(given.begin(), given.end(), strides.begin());
    return library().call("dnnl_memory_desc_init_by_strides", &descriptor, rank, dims.data(),
                          static_cast<int>(kFloat32), strides.data()) == 0;
  }

  bool create_description(const Recipe& recipe, const std::vector<const MemoryDescriptor*>& operands) {
    const void* const none = nullptr;  // attributes, a primitive to follow
    void* const engine = engine_->engine.object;
    if (!recipe.describe)
      return library().call("dnnl_reorder_primitive_desc_create", &description_.object, operands[0], engine,
                            operands[1], engine, none) == 0;
    const auto descriptor = std::make_unique<Descriptor>();
    if (recipe.describe(library(), *descriptor, operands) != 0) return false;
    return library().call("dnnl_primitive_desc_create", &description_.object,
                          static_cast<const void*>(descriptor.get()), none, engine, none) == 0;
  }

  /// What the primitive wants an argument to look like.
  const MemoryDescriptor* layout_of(int argument) const {
    return library().function<const MemoryDescriptor*, const void*, int, int>("dnnl_primitive_desc_query_md")(
        description_.object, kOfArgument, argument);
  }
  MemoryDescriptor plain_layout(const Operand& operand) const {
    MemoryDescriptor descriptor;
    CHECK(describe(operand, Layout::kPlain, descriptor)) << "a plain layout";
    return descriptor;
  }

  /// Memory of an argument, with our elements.
  Result<void> add(const Operand& operand) {
    const MemoryDescriptor* const layout = layout_of(operand.argument);
    if (!layout) return unsupported("onednn", "a layout of argument {} expected, none found", operand.argument);
    const auto bytes = library().function<size_t, const MemoryDescriptor*>("dnnl_memory_desc_get_size")(layout);
    auto memory = runtime::Memory::allocate(static_cast<int64_t>(bytes));
    if (!memory) return unsupported("onednn", "{} bytes of memory expected", bytes);
    memory_.push_back(std::move(*memory));
    TRY(Handle made, memory_object(*layout, memory_.back().data()));
    if (operand.tensor) {
      // Elements are only read.
      TRY(const Handle ours, plain_memory(operand, const_cast<std::byte*>(operand.tensor->bytes().data())));
      TRY_VOID(reorder(plain_layout(operand), ours.object, *layout, made.object));
    }
    arguments_.push_back({operand.argument, made.object});
    objects_.push_back(std::move(made));
    return {};
  }

  Result<Handle> memory_object(const MemoryDescriptor& layout, void* elements) const {
    Handle made(library(), "dnnl_memory_destroy");
    if (library().call("dnnl_memory_create", &made.object, &layout, engine_->engine.object, elements) != 0)
      return unsupported("onednn", "an object for memory expected, none made");
    return made;
  }
  Result<Handle> plain_memory(const Operand& operand, void* elements) const {
    return memory_object(plain_layout(operand), elements);
  }

  Result<void> reorder(const MemoryDescriptor& from_layout, void* from, const MemoryDescriptor& to_layout,
                       void* to) const {
    Handle description(library(), "dnnl_primitive_desc_destroy"), primitive(library(), "dnnl_primitive_destroy");
    void* const engine = engine_->engine.object;
    if (library().call("dnnl_reorder_primitive_desc_create", &description.object, &from_layout, engine, &to_layout,
                       engine, static_cast<const void*>(nullptr)) != 0 ||
        library().call("dnnl_primitive_create", &primitive.object, static_cast<const void*>(description.object)) != 0)
      return unsupported("onednn", "a reorder of an operand expected, none found");
    return execute(primitive, {{kSource, from}, {kDestination, to}});
  }

  Result<void> execute(const Handle& primitive, const std::vector<ExecutionArgument>& arguments) const {
    int status = library().execute(primitive.object, engine_->stream.object, static_cast<int>(arguments.size()),
                                   arguments.data());
    if (status == 0) status = library().wait(engine_->stream.object);
    if (status != 0) return unsupported("onednn", "a primitive that runs expected, status {} found", status);
    return {};
  }

  std::shared_ptr<Engine> engine_;
  std::string algorithm_;
  std::vector<runtime::Memory> memory_;
  // Released in the opposite order.
  Handle description_, primitive_;
  std::vector<Handle> objects_;
  std::vector<ExecutionArgument> arguments_;
  Operand result_;
};

/// The best of some runs, in seconds.
Result<double> best_time(Peer& peer) {
  using Clock = std::chrono::steady_clock;
  double best = INFINITY;
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    TRY_VOID(peer.run());
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

/// Rounding of another order, or of Winograd's transforms, is far below a thousandth.
Result<void> check_result(const std::vector<float>& found, const std::vector<float>& expected) {
  float largest = 0;
  for (const float value : expected)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    if (found.size() != expected.size() ||
        !(std::abs(found[i] - expected[i]) <= 1e-3F * largest || found[i] == expected[i] || std::isnan(expected[i])))
      return Error{ErrorKind::kMismatch, "onednn",
                   fmt::format("our result expected, {} elements, {} of them {}; {} elements, {} found",
                               expected.size(), i, expected[i], found.size(), found[i])};
  return {};
}

}  // namespace

Result<std::unique_ptr<Peer>> open_onednn(const std::string& library, const Graph& graph,
                                          const std::vector<Tensor>& inputs, const std::vector<float>& expected,
                                          int threads) {
  const std::vector<NodeId> nodes = graph.nodes();
  if (nodes.size() != 1 || graph.outputs().size() != 1) return std::unique_ptr<Peer>();
  const Node& node = graph.node(nodes[0]);
  const ValueType& type = graph.value(graph.outputs()[0]).type;
  const auto output = type.has_shape() ? constants(*type.shape) : std::nullopt;
  if (!output || type.dtype != DataType::kFloat32) return std::unique_ptr<Peer>();
  std::vector<const Tensor*> operands;
  for (const ValueId id : node.inputs) {
    const auto given = std::find(graph.inputs().begin(), graph.inputs().end(), id);
    const bool is_input = given != graph.inputs().end();
    operands.push_back(!id.valid() ? nullptr
                       : is_input  ? &inputs[static_cast<size_t>(given - graph.inputs().begin())]
                                   : &*graph.value(id).constant);
  }
  TRY(const auto engine, open_engine(library, threads));
  std::unique_ptr<Primitive> best;
  double best_seconds = INFINITY;
  for (const Recipe& recipe : recipes(node, operands, *output)) {
    auto primitive = std::make_unique<Primitive>(engine);
    TRY(const bool is_there, primitive->make(recipe));
    if (!is_there) continue;
    TRY(const double seconds, best_time(*primitive));
    TRY(const std::vector<float> result, primitive->result());
    TRY_VOID(check_result(result, expected));
    if (seconds >= best_seconds) continue;
    best_seconds = seconds;
    best = std::move(primitive);
  }
  return std::unique_ptr<Peer>(std::move(best));
}

}  // namespace isomer::backends
