#include "cli/model_inputs.h"

#include <charconv>
#include <filesystem>

#include "cli/load_model.h"
#include "cli/numpy_file.h"
#include "graph/bind.h"
#include "graph/onnx/tensor_file.h"
#include "graph/te/integer.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

Error bad_flag(std::string_view flag, std::string_view expected, std::string_view found) {
  return {ErrorKind::kUsage, std::string(flag), fmt::format("{} expected, '{}' found", expected, found)};
}

/// Tensors read so far, by position among the graph's inputs.
class Loaded {
 public:
  explicit Loaded(const Graph& graph) : graph_(graph), tensors_(graph.inputs().size()) {}

  Result<void> put(const std::string& name, Tensor tensor) {
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (graph_.value(graph_.inputs()[i]).name == name) return put(i, std::move(tensor));
    return bad_flag("--load-inputs", "the name of an input", name);
  }

  Result<void> put(size_t position, Tensor tensor) {
    if (position >= tensors_.size())
      return invalid("--load-inputs", "at most {} inputs expected, more found", tensors_.size());
    const Value& value = graph_.value(graph_.inputs()[position]);
    if (value.type.is_tensor() && value.type.dtype != tensor.dtype())
      return invalid(value.name, "{} expected, {} found", name(value.type.dtype), name(tensor.dtype()));
    tensors_[position] = std::move(tensor);
    return {};
  }

  /// The n-th input that is not an initializer.
  std::optional<size_t> required_position(size_t n) const {
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!graph_.value(graph_.inputs()[i]).constant && n-- == 0) return i;
    return std::nullopt;
  }

  const std::vector<std::optional<Tensor>>& tensors() const { return tensors_; }

 private:
  const Graph& graph_;
  std::vector<std::optional<Tensor>> tensors_;
};

Result<Tensor> load_single(const std::string& path, MemoryLimit memory) {
  // The file is mapped, what is parsed of it a copy, the tensor another.
  constexpr int64_t kCopies = 3;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (!error)
    if (auto fits = memory.check(te::saturating_mul(static_cast<int64_t>(size), kCopies), "reading it"); !fits.ok())
      return std::move(fits).error().within(path);
  return path.ends_with(".npy") ? read_npy(path) : read_tensor_file(path);
}

Result<void> load_folder(const std::string& folder, Loaded& loaded, MemoryLimit memory) {
  for (size_t n = 0;; ++n) {
    const fs::path file = fs::path(folder) / fmt::format("input_{}.pb", n);
    if (!fs::exists(file)) {
      if (n == 0) return invalid(folder, "input_0.pb expected, none found");
      return {};
    }
    TRY(Tensor tensor, load_single(file.string(), memory));
    const auto position = loaded.required_position(n);
    if (!position) return invalid(file.string(), "no input of the model is left for it");
    TRY_VOID(loaded.put(*position, std::move(tensor)));
  }
}

Result<void> load(const std::string& argument, const Graph& graph, Loaded& loaded, MemoryLimit memory) {
  if (fs::is_directory(argument)) return load_folder(argument, loaded, memory);
  const size_t colon = argument.find(':');
  if (!fs::exists(argument) && colon != std::string::npos) {
    TRY(Tensor tensor, load_single(argument.substr(colon + 1), memory));
    return loaded.put(argument.substr(0, colon), std::move(tensor));
  }
  if (argument.ends_with(".npz")) {
    TRY(std::vector<NamedTensor> arrays, read_npz(argument, memory));
    for (auto& [name, tensor] : arrays) TRY_VOID(loaded.put(name, std::move(tensor)));
    return {};
  }
  if (graph.inputs().size() != 1)
    return bad_flag("--load-inputs", "name:FILE for a model with several inputs", argument);
  TRY(Tensor tensor, load_single(argument, memory));
  return loaded.put(0, std::move(tensor));
}

Result<Loaded> load_all(const Graph& graph, const InputOptions& inputs, MemoryLimit memory) {
  Loaded loaded(graph);
  for (const std::string& argument : inputs.files) TRY_VOID(load(argument, graph, loaded, memory));
  return loaded;
}

/// Binds what the loaded tensors say of the graph's shapes.
Result<void> bind_to(Graph& graph, const Loaded& loaded) {
  std::map<std::string, Dims> shapes;
  for (size_t i = 0; i < loaded.tensors().size(); ++i)
    if (const auto& tensor = loaded.tensors()[i]) shapes.emplace(graph.value(graph.inputs()[i]).name, tensor->dims());
  return bind_inputs(graph, {}, shapes);
}

}  // namespace

Result<FillOptions> fill_options(const InputOptions& options, uint64_t seed) {
  FillOptions fill;
  fill.seed = seed;
  fill.fill = options.fill == "zeros"    ? Fill::kZeros
              : options.fill == "ones"   ? Fill::kOnes
              : options.fill == "arange" ? Fill::kArange
                                         : Fill::kRandom;
  for (const std::string& text : options.ranges) {
    const size_t open = text.rfind('['), comma = text.find(',', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || comma == std::string::npos || text.back() != ']')
      return bad_flag("--val-range", "x:[low,high]", text);
    const std::string low = text.substr(open + 1, comma - open - 1),
                      high = text.substr(comma + 1, text.size() - comma - 2);
    double values[2];
    for (const auto& [part, value] : {std::pair(&low, &values[0]), std::pair(&high, &values[1])}) {
      const auto [end, error] = std::from_chars(part->data(), part->data() + part->size(), *value);
      if (error != std::errc() || end != part->data() + part->size())
        return bad_flag("--val-range", "x:[low,high]", text);
    }
    if (!(values[0] <= values[1])) return bad_flag("--val-range", "low <= high", text);
    fill.ranges[open == 0 ? "" : text.substr(0, open - 1)] = {values[0], values[1]};
  }
  return fill;
}

Result<void> bind_loaded(Graph& graph, const InputOptions& inputs, MemoryLimit memory) {
  TRY(const Loaded loaded, load_all(graph, inputs, memory));
  return bind_to(graph, loaded);
}

Result<std::vector<Tensor>> model_inputs(Graph& graph, const std::string& file, const InputOptions& inputs,
                                         const CommonOptions& options, const std::map<std::string, Demand>& demands) {
  TRY(const Loaded loaded, load_all(graph, inputs, options.memory_limit()));
  TRY_VOID(bind_to(graph, loaded));
  TRY_VOID(bind_free_dims(graph, file, options));
  const auto& given = loaded.tensors();
  TRY(FillOptions fill, fill_options(inputs, options.seed));
  fill.demands = demands;
  fill.memory = options.memory_limit();
  std::vector<Tensor> tensors;
  const bool all_loaded = std::all_of(given.begin(), given.end(), [](const auto& t) { return t.has_value(); });
  if (!all_loaded) {
    TRY(tensors, generate_inputs(graph, fill));
  }
  tensors.resize(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) tensors[i] = *given[i];
  return tensors;
}

}  // namespace isomer::cli
