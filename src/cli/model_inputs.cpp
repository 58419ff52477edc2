#include "cli/model_inputs.h"

#include <algorithm>
#include <filesystem>

#include "cli/load_model.h"
#include "cli/numpy_file.h"
#include "graph/bind.h"
#include "graph/onnx/tensor_file.h"
#include "graph/te/integer.h"
#include "util/parse_number.h"

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
    const bool is_other = value.type.is_tensor() && value.type.dtype != tensor.dtype();
    const auto was = is_other ? as_it_was(tensor, value.type.dtype) : std::nullopt;
    if (is_other && !was)
      return invalid(value.name, "{} expected, {} found", name(value.type.dtype), name(tensor.dtype()));
    if (!is_computable(tensor.dtype()))
      return unsupported(value.name, "an input of a number type expected, {} found", name(tensor.dtype()));
    if (was) tensor = *was;
    tensors_[position] = std::move(tensor);
    return {};
  }

  /// The n-th input that is not an initializer.
  std::optional<size_t> required_position(size_t n) const {
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!graph_.value(graph_.inputs()[i]).constant && n-- == 0) return i;
    return std::nullopt;
  }

  /// The only one that a model asks for: the one that is not an initializer, or the one that there is.
  std::optional<size_t> only_position() const {
    if (tensors_.size() == 1) return 0;
    return required_position(1) ? std::nullopt : required_position(0);
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
  if (has_ending(path, ".npy")) return read_npy(path);
  auto tensor = read_tensor_file(path);
  if (!tensor.ok()) return std::move(tensor).error().within(path);
  return tensor;
}

/// Of a file, which what is wrong with it for the model names.
template <class Place>
Result<void> put_from(const std::string& path, const Place& place, Tensor tensor, Loaded& loaded) {
  auto done = loaded.put(place, std::move(tensor));
  if (!done.ok() && done.error().kind != ErrorKind::kUsage) return std::move(done).error().within(path);
  return done;
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
    TRY_VOID(put_from(file.string(), *position, std::move(tensor), loaded));
  }
}

/// Where the name of an input ends in "name:FILE". Names may have colons: it is the longest that an input has, or what
/// stands before the first one.
size_t end_of_name(const std::string& argument, const Graph& graph) {
  size_t end = argument.find(':');
  for (const ValueId input : graph.inputs()) {
    const std::string& name = graph.value(input).name;
    if (name.size() > end && argument.starts_with(name + ":")) end = name.size();
  }
  return end;
}

Result<void> load(const std::string& argument, const Graph& graph, Loaded& loaded, MemoryLimit memory) {
  std::error_code error;
  if (fs::is_directory(argument, error)) return load_folder(argument, loaded, memory);
  const size_t colon = end_of_name(argument, graph);
  if (!fs::exists(argument, error) && colon != std::string::npos) {
    const std::string path = argument.substr(colon + 1);
    TRY(Tensor tensor, load_single(path, memory));
    return put_from(path, argument.substr(0, colon), std::move(tensor), loaded);
  }
  if (has_ending(argument, ".npz")) {
    TRY(std::vector<NamedTensor> arrays, read_npz(argument, memory));
    for (auto& [name, tensor] : arrays) TRY_VOID(put_from(argument, name, std::move(tensor), loaded));
    return {};
  }
  const auto only = loaded.only_position();
  if (!only) return bad_flag("--load-inputs", "name:FILE for a model with several inputs", argument);
  TRY(Tensor tensor, load_single(argument, memory));
  return put_from(argument, *only, std::move(tensor), loaded);
}

Result<void> check_names(const Graph& graph, const FillOptions& fill) {
  for (const auto& [name, range] : fill.ranges) {
    const auto has_name = [&](ValueId input) { return graph.value(input).name == name; };
    if (!name.empty() && std::ranges::none_of(graph.inputs(), has_name))
      return bad_flag("--val-range", "the name of an input", name);
  }
  return {};
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
    const auto least = parse_number<double>(low), most = parse_number<double>(high);
    if (!least || !most) return bad_flag("--val-range", "x:[low,high]", text);
    if (!(*least <= *most)) return bad_flag("--val-range", "low <= high", text);
    fill.ranges[open == 0 ? "" : text.substr(0, open - 1)] = {*least, *most};
  }
  return fill;
}

}  // namespace

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
  TRY_VOID(check_names(graph, fill));
  fill.demands = demands;
  fill.memory = options.memory_limit();
  std::vector<Tensor> tensors;
  const bool all_loaded = std::all_of(given.begin(), given.end(), [](const auto& t) { return t.has_value(); });
  if (!all_loaded) {
    auto made = generate_inputs(graph, fill);
    if (!made.ok()) return std::move(made).error().within(file);
    tensors = *std::move(made);
  }
  tensors.resize(given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) tensors[i] = *given[i];
  return tensors;
}

}  // namespace isomer::cli
