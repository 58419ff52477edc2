#include "cli/model_inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "cli/load_model.h"
#include "cli/numpy_file.h"
#include "graph/bind.h"
#include "graph/onnx/types.h"
#include "graph/onnx/value_file.h"
#include "graph/te/integer.h"
#include "util/parse_number.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;

Error bad_flag(std::string_view flag, std::string_view expected, std::string_view found) {
  return {ErrorKind::kUsage, std::string(flag), fmt::format("{} expected, '{}' found", expected, found)};
}

Result<void> check_readable(const std::string& path, MemoryLimit memory) {
  // The file is mapped, what is parsed of it a copy, the tensor another.
  constexpr int64_t kCopies = 3;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? Result<void>() : memory.check(te::saturating_mul(static_cast<int64_t>(size), kCopies), "reading it");
}

/// Values read so far, by position among the graph's inputs.
class Loaded {
 public:
  explicit Loaded(const Graph& graph) : graph_(graph), values_(graph.inputs().size()), files_(values_.size()) {}

  Result<size_t> position(const std::string& name) const {
    for (size_t i = 0; i < values_.size(); ++i)
      if (graph_.value(graph_.inputs()[i]).name == name) return i;
    return bad_flag("--load-inputs", "the name of an input", name);
  }

  /// An input has one value: this file gives it.
  Result<void> claim(size_t position, const std::string& path) {
    if (!files_[position].empty())
      return Error{ErrorKind::kUsage, "--load-inputs",
                   fmt::format("one value of {} expected, those of {} and {} found",
                               graph_.value(graph_.inputs()[position]).name, files_[position], path)};
    files_[position] = path;
    return {};
  }

  Result<void> put(size_t position, Tensor tensor) {
    const Value& value = graph_.value(graph_.inputs()[position]);
    const bool is_other = value.type.is_tensor() && value.type.dtype != tensor.dtype();
    const auto was = is_other ? as_it_was(tensor, value.type.dtype) : std::nullopt;
    if (is_other && !was)
      return invalid(value.name, "{} expected, {} found", name(value.type.dtype), name(tensor.dtype()));
    if (!is_computable(tensor.dtype()))
      return unsupported(value.name, "an input of a number type expected, {} found", name(tensor.dtype()));
    values_[position] = te::Array::from(was ? *was : tensor);
    return {};
  }

  /// From a file, which what is wrong with it for the model names.
  Result<void> read(size_t position, const std::string& path, MemoryLimit memory) {
    TRY_VOID(claim(position, path));
    auto done = [&]() -> Result<void> {
      TRY_VOID(check_readable(path, memory));
      const bool is_array = has_ending(path, ".npy");
      const ValueType& type = graph_.value(graph_.inputs()[position]).type;
      if (type.kind == ValueType::Kind::kOther && !is_array) {
        TRY(values_[position], read_value_file(path, type));
        return {};
      }
      TRY(Tensor tensor, is_array ? read_npy(path) : read_tensor_file(path));
      return put(position, std::move(tensor));
    }();
    if (!done.ok() && done.error().where != path) return std::move(done).error().within(path);
    return done;
  }

  /// The n-th input that is not an initializer.
  std::optional<size_t> required_position(size_t n) const {
    for (size_t i = 0; i < values_.size(); ++i)
      if (!graph_.value(graph_.inputs()[i]).constant && n-- == 0) return i;
    return std::nullopt;
  }

  /// The only one that a model asks for: the one that is not an initializer, or the one that there is.
  std::optional<size_t> only_position() const {
    if (values_.size() == 1) return 0;
    return required_position(1) ? std::nullopt : required_position(0);
  }

  const std::vector<std::optional<te::Array>>& values() const { return values_; }

  /// That an input was read from; `otherwise` where it was not.
  const std::string& file_of(std::string_view input, const std::string& otherwise) const {
    for (size_t i = 0; i < files_.size(); ++i)
      if (!files_[i].empty() && graph_.value(graph_.inputs()[i]).name == input) return files_[i];
    return otherwise;
  }

 private:
  const Graph& graph_;
  std::vector<std::optional<te::Array>> values_;
  std::vector<std::string> files_;  ///< that give the values; empty: none does
};

/// The numbers that files of a test_data_set folder have, in order.
std::set<size_t> numbers_of_inputs(const std::string& folder) {
  constexpr std::string_view kStart = "input_", kEnd = ".pb";
  std::set<size_t> numbers;
  std::error_code failed;
  for (fs::directory_iterator file(folder, failed), end; !failed && file != end; file.increment(failed)) {
    const std::string name = file->path().filename().string();
    if (!name.starts_with(kStart) || !name.ends_with(kEnd)) continue;
    const auto number =
        parse_number<size_t>(std::string_view(name).substr(kStart.size(), name.size() - kStart.size() - kEnd.size()));
    if (number) numbers.insert(*number);
  }
  return numbers;
}

Result<void> load_folder(const std::string& folder, Loaded& loaded, MemoryLimit memory) {
  const std::set<size_t> numbers = numbers_of_inputs(folder);
  if (numbers.empty()) return invalid(folder, "input_0.pb expected, none found");
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (!numbers.contains(n))
      return invalid(folder, "input_{}.pb expected, as input_{}.pb is there, none found", n, *numbers.rbegin());
    const fs::path file = fs::path(folder) / fmt::format("input_{}.pb", n);
    const auto position = loaded.required_position(n);
    if (!position) return invalid(file.string(), "no input of the model is left for it");
    TRY_VOID(loaded.read(*position, file.string(), memory));
  }
  return {};
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
    TRY(const size_t position, loaded.position(argument.substr(0, colon)));
    return loaded.read(position, argument.substr(colon + 1), memory);
  }
  if (has_ending(argument, ".npz")) {
    TRY(std::vector<NamedTensor> arrays, read_npz(argument, memory));
    for (auto& [name, tensor] : arrays) {
      TRY(const size_t position, loaded.position(name));
      TRY_VOID(loaded.claim(position, argument));
      if (auto done = loaded.put(position, std::move(tensor)); !done.ok())
        return std::move(done).error().within(argument);
    }
    return {};
  }
  const auto only = loaded.only_position();
  if (!only) return bad_flag("--load-inputs", "name:FILE for a model with several inputs", argument);
  return loaded.read(*only, argument, memory);
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

/// Binds what the loaded tensors say of the graph's shapes. An error names their file where it is theirs, else `file`.
Result<void> bind_to(Graph& graph, const std::string& file, const Loaded& loaded) {
  std::map<std::string, Dims> shapes;
  for (size_t i = 0; i < loaded.values().size(); ++i)
    if (const auto& value = loaded.values()[i]; value && value->is_tensor())
      shapes.emplace(graph.value(graph.inputs()[i]).name, value->dims());
  auto bound = bind_inputs(graph, {}, shapes);
  if (bound.ok()) return bound;
  const std::string& place = loaded.file_of(bound.error().where, file);
  return std::move(bound).error().within(place);
}

Result<FillOptions> fill_options(const InputOptions& options, uint64_t seed) {
  FillOptions fill;
  fill.seed = seed;
  fill.masks = options.masks;
  fill.bytes = options.bytes;
  fill.fill = options.fill == "zeros"    ? Fill::kZeros
              : options.fill == "ones"   ? Fill::kOnes
              : options.fill == "arange" ? Fill::kArange
                                         : Fill::kRandom;
  for (const std::string& text : options.ranges) {
    const size_t open = text.rfind('['), comma = text.find(',', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || comma == std::string::npos || text.back() != ']' ||
        (open > 0 && text[open - 1] != ':'))
      return bad_flag("--val-range", "x:[low,high]", text);
    const auto number = [&](size_t from, size_t end) {
      while (from < end && text[from] == ' ') ++from;
      return parse_number<double>(std::string_view(text).substr(from, end - from));
    };
    const auto least = number(open + 1, comma), most = number(comma + 1, text.size() - 1);
    if (!least || !most) return bad_flag("--val-range", "x:[low,high]", text);
    if (!std::isfinite(*least) || !std::isfinite(*most)) return bad_flag("--val-range", "finite numbers", text);
    if (*least > *most) return bad_flag("--val-range", "low <= high", text);
    fill.ranges[open == 0 ? "" : text.substr(0, open - 1)] = {*least, *most};
  }
  return fill;
}

}  // namespace

Result<void> bind_loaded(Graph& graph, const std::string& file, const InputOptions& inputs, MemoryLimit memory) {
  TRY(const Loaded loaded, load_all(graph, inputs, memory));
  return bind_to(graph, file, loaded);
}

Result<std::vector<te::Array>> model_inputs(Graph& graph, const std::string& file, const InputOptions& inputs,
                                            const CommonOptions& options,
                                            const std::map<std::string, Demand>& demands) {
  TRY(const Loaded loaded, load_all(graph, inputs, options.memory_limit()));
  TRY_VOID(bind_to(graph, file, loaded));
  TRY_VOID(bind_free_dims(graph, file, options));
  TRY(FillOptions fill, fill_options(inputs, options.seed));
  TRY_VOID(check_names(graph, fill));
  fill.demands = demands;
  fill.memory = options.memory_limit();
  std::vector<te::Array> values;
  bool all_loaded = true;
  std::vector<ValueId> tensors;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    const bool is_other = value.type.kind == ValueType::Kind::kOther;
    values.push_back(loaded.values()[i].value_or(te::Array()));
    if (is_other && values[i].empty())
      return unsupported(value.name, "{} that --load-inputs gives expected, none found", text_of_other(value.type))
          .within(file);
    if (!is_other) tensors.push_back(graph.inputs()[i]);
    all_loaded &= !values[i].empty();
  }
  if (all_loaded) return values;
  // Only tensors are made.
  Graph rest = graph;
  rest.set_inputs(tensors);
  auto made = generate_inputs(rest, fill);
  if (!made.ok()) return std::move(made).error().within(file);
  for (size_t i = 0, k = 0; i < values.size(); ++i) {
    if (k == tensors.size() || graph.inputs()[i] != tensors[k]) continue;
    if (values[i].empty()) values[i] = te::Array::from((*made)[k]);
    ++k;
  }
  return values;
}

}  // namespace isomer::cli
