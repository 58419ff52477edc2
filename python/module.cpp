// The extension module behind the package `isomer` (python/isomer): the C++ library's calls, which the package gives
// their Python form, and sessions of artifacts by the C interface. Calls let other threads of Python run.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "driver/load_model.h"
#include "driver/open_records.h"
#include "driver/told.h"
#include "graph/interpret.h"
#include "isomer/backend.h"
#include "isomer/compile.h"
#include "isomer/isomer.h"
#include "isomer/library.h"
#include "isomer/model.h"
#include "isomer/optimize.h"
#include "isomer/rule.h"
#include "isomer/verify.h"
#include "kernel/fingerprint.h"
#include "util/threads.h"
#include "util/version.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// The name of a file, of whatever bytes.
using Path = std::filesystem::path;

/// What the package's exceptions are made of.
struct Refused : std::runtime_error {
  Refused(std::string kind, const std::string& sentence) : std::runtime_error(sentence), kind(std::move(kind)) {}
  std::string kind;
};

/// What may pass is of one kind, whatever it was in the way of.
const char* kind_of(const isomer::Failure& failure) {
  if (failure.may_pass) return "system";
  switch (failure.kind) {
    case isomer::FailureKind::invalid: return "invalid";
    case isomer::FailureKind::unsupported: return "unsupported";
    case isomer::FailureKind::usage: return "usage";
    case isomer::FailureKind::mismatch: return "mismatch";
    case isomer::FailureKind::stopped: return "stopped";
    case isomer::FailureKind::bug: return "bug";
  }
  return "bug";
}

template <class T>
T taken(isomer::Expected<T> result) {
  if (!result) throw Refused(kind_of(result.error()), result.error().sentence);
  return std::move(result).value();
}

/// Text of whatever bytes: broken UTF-8 is replaced.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::list texts(const std::vector<std::string>& all) {
  nb::list result;
  for (const std::string& each : all) result.append(text(each));
  return result;
}

nb::dict by_name(const std::map<std::string, int64_t>& all) {
  nb::dict result;
  for (const auto& [name, number] : all) result[text(name)] = number;
  return result;
}

/// A file's, by which Python finds it.
nb::object file_name(const std::string& bytes) { return nb::steal(PyUnicode_DecodeFSDefault(bytes.c_str())); }

bool says_true(const nb::object& function) {
  const int is_true = PyObject_IsTrue(function().ptr());
  if (is_true < 0) throw nb::python_error();
  return is_true != 0;
}

/// `work` on a thread of its own.
template <class Work>
std::thread started(Work work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error&) {
    throw Refused("system", "a thread more expected, none can be started");
  }
}

/// Lines of a thread that works, for a function of the one that waits: what that raises is of its caller, then.
class Notes {
 public:
  explicit Notes(nb::object function) : function_(std::move(function)) {}
  std::function<void(const std::string&)> taker() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }
  void tell() {
    std::vector<std::string> lines;
    {
      const std::lock_guard lock(mutex_);
      lines.swap(lines_);
    }
    if (function_.is_none()) return;
    for (const std::string& line : lines) function_(text(line));
  }

 private:
  nb::object function_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Whether a result says that no stop has cut it short.
template <class T>
bool is_whole(const T& result) {
  if constexpr (requires { result.is_interrupted; }) return !result.is_interrupted;
  return false;
}

/// Does long work on a thread of its own, while this one looks for signals. At a KeyboardInterrupt the work is asked to
/// stop; its best so far is the result where it `has_best`, else, and at the second one, and where the work was over
/// before it saw the first, the exception is raised in the end, as is at once what other handlers of signals raise.
/// `work(stop)` must not touch Python but with the GIL. Where `until` is given and says true, the work is to stop for
/// good. `notes` are told meanwhile.
template <class Work>
auto interruptible(bool has_best, Work work, const nb::object& until = nb::none(), Notes* notes = nullptr) {
  using Result = decltype(work(std::declval<const isomer::Stop&>()));
  const auto look = std::chrono::milliseconds(until.is_none() ? 50 : 10);
  isomer::Stop stop;
  std::optional<Result> result;
  std::exception_ptr thrown;
  std::optional<nb::python_error> raised;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  int interrupts = 0;
  {
    nb::gil_scoped_release released;
    std::thread worker = started([&] {
      try {
        result.emplace(work(stop));
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      is_done = true;
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, look, [&] { return is_done; })) {
      lock.unlock();
      {
        nb::gil_scoped_acquire acquired;
        try {
          // A handler of signals may raise in until(), too: nothing may pass by the thread that works.
          if (!until.is_none() && stop.requests() == 0 && says_true(until)) {
            stop.request();
            stop.request();
          }
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
          if (notes && !raised) notes->tell();
        } catch (const nb::python_error& signal) {
          ++interrupts;
          stop.request();
          if (!has_best || !signal.matches(PyExc_KeyboardInterrupt)) {
            stop.request();  // nobody waits for the best
            ++interrupts;
          }
          if (!raised) raised.emplace(signal);
        }
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (thrown) std::rethrow_exception(thrown);
  if (notes && !raised) notes->tell();
  if (raised && (interrupts > 1 || !has_best || !result->has_value() || is_whole(result->value())))
    throw nb::python_error(*raised);
  return taken(std::move(*result));
}

/// An exception of a message ends with a note on standard error: the work goes on.
isomer::Progress progress_of(const nb::object& doing, Notes& notes) {
  isomer::Progress progress;
  progress.note = notes.taker();
  if (!doing.is_none())
    progress.doing = [doing = doing.ptr()](const std::string& what, std::optional<double> left) {
      nb::gil_scoped_acquire acquired;
      try {
        const nb::handle callee(doing);
        callee(text(what), left);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("progress");
      }
    };
  return progress;
}

using Sizes = std::map<std::string, int64_t>;
using Shapes = std::map<std::string, std::vector<int64_t>>;

/// What all work on models takes.
template <class Options>
void set_common(Options& options, const Sizes& dims, const Shapes& shapes, int threads, uint64_t seed) {
  options.dims = dims;
  options.shapes = shapes;
  options.threads = threads;
  options.seed = seed;
}

nb::dict optimize(const Path& model, const Path& output, int level, const std::string& fp, const std::string& runtime,
                  std::optional<double> seconds, const Sizes& dims, const Shapes& shapes, const std::string& strategy,
                  const std::vector<Path>& rules, bool mutate, bool check, int check_runs, bool proof,
                  const Path& records, const Path& onnxruntime, int threads, uint64_t seed, int64_t memory,
                  const nb::object& doing, const nb::object& note) {
  isomer::OptimizeOptions options;
  options.level = level;
  options.fp = fp;
  options.runtime = runtime;
  options.seconds = seconds;
  set_common(options, dims, shapes, threads, seed);
  options.strategy = strategy;
  options.rules.assign(rules.begin(), rules.end());
  options.mutate = mutate;
  options.check = check;
  options.check_runs = check_runs;
  options.proof = proof;
  options.records = records;
  options.onnxruntime = onnxruntime;
  options.memory = memory;
  Notes notes(note);
  options.progress = progress_of(doing, notes);
  const isomer::Optimized made = interruptible(
      true,
      [&](const isomer::Stop& stop) {
        options.stop = &stop;
        return isomer::optimize_model(model, output, options);
      },
      nb::none(), &notes);
  nb::dict result;
  result["proof"] = text(made.proof);
  result["report"] = text(made.report);
  result["page"] = text(made.page);
  result["speedup"] = made.speedup;
  result["interrupted"] = made.is_interrupted;
  return result;
}

nb::dict verify(const Path& model, const Path& optimized, const Path& proof, const std::string& fp, const Sizes& dims,
                const Shapes& shapes, int check_runs, int threads, uint64_t seed, int64_t memory) {
  isomer::VerifyModelOptions options;
  options.fp = fp;
  set_common(options, dims, shapes, threads, seed);
  options.check_runs = check_runs;
  options.memory = memory;
  const isomer::VerifiedModel found = interruptible(false, [&](const isomer::Stop& stop) {
    options.stop = &stop;
    return isomer::verify_model(model, optimized, proof, options);
  });
  nb::dict result;
  result["steps"] = found.steps;
  result["rules"] = found.rules;
  result["fp"] = found.fp;
  result["fp_class"] = found.fp_class;
  return result;
}

nb::list library_rules(const std::vector<Path>& files) {
  const std::vector<isomer::LibraryRule> rules =
      interruptible(false, [&](const isomer::Stop&) { return isomer::library_rules({files.begin(), files.end()}); });
  nb::list result;
  for (const isomer::LibraryRule& rule : rules)
    result.append(nb::make_tuple(text(rule.name), text(rule.statement), rule.fp_class, rule.laws));
  return result;
}

nb::list check_equations(const std::string& equations, const std::vector<Path>& rules, int threads, uint64_t seed) {
  isomer::CheckEquationsOptions options;
  options.rules.assign(rules.begin(), rules.end());
  options.threads = threads;
  options.seed = seed;
  const std::vector<isomer::CheckedEquation> checked = interruptible(false, [&](const isomer::Stop& stop) {
    options.stop = &stop;
    return isomer::check_equations(equations, options);
  });
  nb::list result;
  for (const isomer::CheckedEquation& each : checked)
    result.append(nb::make_tuple(each.line, text(each.label), text(each.statement), each.verdict, texts(each.rules),
                                 texts(each.laws), text(each.why)));
  return result;
}

nb::list add_rules(const std::string& equations, const Path& rules, uint64_t seed) {
  isomer::RulesOfEquationsOptions options;
  options.seed = seed;
  const std::vector<isomer::RuleOfEquation> made = interruptible(false, [&](const isomer::Stop& stop) {
    options.stop = &stop;
    return isomer::rules_of_equations(equations, rules, options);
  });
  nb::list result;
  for (const isomer::RuleOfEquation& each : made) result.append(nb::make_tuple(text(each.name), text(each.statement)));
  return result;
}

nb::list found_backends() {
  nb::list result;
  for (const isomer::FoundBackend& each : isomer::found_backends())
    result.append(nb::make_tuple(each.name, file_name(each.library)));
  return result;
}

nb::dict bench(const Path& file, double seconds, const std::vector<std::string>& against,
               const std::map<std::string, Path>& libraries, const Path& model, const std::string& target,
               const Sizes& dims, const Shapes& shapes, int threads, uint64_t seed, const nb::object& note) {
  isomer::BenchModelOptions options;
  options.seconds = seconds;
  options.against = against;
  options.libraries.insert(libraries.begin(), libraries.end());
  options.model = model;
  options.target = target;
  set_common(options, dims, shapes, threads, seed);
  Notes notes(note);
  options.progress = progress_of(nb::none(), notes);
  const isomer::ModelTimes times = interruptible(
      false,
      [&](const isomer::Stop& stop) {
        options.stop = &stop;
        return isomer::bench_model(file, options);
      },
      nb::none(), &notes);
  nb::list others;
  for (const isomer::BackendTimes& each : times.against)
    others.append(
        nb::make_tuple(each.name, text(each.version), each.median_ms, each.ratio, each.ratio_p25, each.ratio_p75));
  nb::dict result;
  result["runs"] = times.runs;
  result["min_ms"] = times.min_ms;
  result["median_ms"] = times.median_ms;
  result["p90_ms"] = times.p90_ms;
  result["p99_ms"] = times.p99_ms;
  result["against"] = others;
  result["report"] = text(times.report);
  return result;
}

nb::dict compare(const Path& reference, const Path& candidate, const Sizes& dims, const Shapes& shapes, int runs,
                 int threads, uint64_t seed) {
  isomer::CompareModelsOptions options;
  set_common(options, dims, shapes, threads, seed);
  options.runs = runs;
  const isomer::ModelComparison found = interruptible(false, [&](const isomer::Stop& stop) {
    options.stop = &stop;
    return isomer::compare_models(reference, candidate, options);
  });
  nb::dict result;
  result["equal"] = found.are_equal;
  result["max_abs_error"] = found.max_abs_error;
  result["max_error_over_bound"] = found.max_error_over_bound;
  result["runs"] = found.runs;
  result["text"] = text(found.text);
  return result;
}

nb::dict compile(const Path& model, const Path& artifact, const std::string& target, int level,
                 std::optional<double> seconds, const Sizes& dims, const Shapes& shapes,
                 const std::vector<Sizes>& variants, bool tune, bool check, const Path& records, int threads,
                 uint64_t seed, const nb::object& doing, const nb::object& note, const nb::object& until) {
  isomer::CompileModelOptions options;
  options.target = target;
  options.level = level;
  options.seconds = seconds;
  set_common(options, dims, shapes, threads, seed);
  options.variants = variants;
  options.tune = tune;
  options.check = check;
  options.records = records;
  Notes notes(note);
  options.progress = progress_of(doing, notes);
  const isomer::CompileModelReport made = interruptible(
      true,
      [&](const isomer::Stop& stop) {
        options.stop = &stop;
        return isomer::compile_model(model, artifact, options);
      },
      until, &notes);
  nb::dict result;
  result["check"] = text(made.check);
  result["report"] = text(made.report);
  result["interrupted"] = made.is_interrupted;
  return result;
}

nb::list tune(const Path& model, const Path& records, int64_t trials, std::optional<double> seconds, bool continues,
              const Sizes& dims, const Shapes& shapes, int threads, uint64_t seed) {
  isomer::CompileModelOptions how;
  how.records = records;
  set_common(how, dims, shapes, threads, seed);
  const auto tuned = interruptible(true, [&](const isomer::Stop& stop) {
    how.stop = &stop;
    return isomer::tune_model(model, how, {.trials = trials, .seconds = seconds, .continues = continues});
  });
  nb::list result;
  for (const isomer::TunedTaskReport& task : tuned)
    result.append(nb::make_tuple(text(task.name), task.first_us, task.best_us, task.trials));
  return result;
}

nb::list ports_of(const std::vector<isomer::ModelPort>& ports) {
  nb::list result;
  for (const isomer::ModelPort& port : ports) {
    nb::object shape = nb::none();
    if (port.has_shape) {
      nb::list dims;
      for (const isomer::ModelDim& dim : port.shape)
        dims.append(dim.index() == 0 ? nb::object(nb::int_(std::get<0>(dim))) : text(std::get<1>(dim)));
      shape = dims;
    }
    result.append(nb::make_tuple(text(port.name), port.type, shape));
  }
  return result;
}

nb::dict describe(const Path& model) {
  isomer::Expected<isomer::ModelDescription> described = [&] {
    nb::gil_scoped_release released;
    return isomer::describe_model(model);
  }();
  const isomer::ModelDescription found = taken(std::move(described));
  nb::dict result, metadata;
  result["inputs"] = ports_of(found.inputs);
  result["outputs"] = ports_of(found.outputs);
  result["overridable"] = ports_of(found.overridable);
  result["free_dims"] = texts(found.free_dims);
  result["operators"] = by_name(found.operators);
  result["nodes"] = found.nodes;
  result["weight_bytes"] = found.weight_bytes;
  nb::list external_files;
  for (const std::string& file : found.external_files) external_files.append(file_name(file));
  result["external_files"] = external_files;
  result["graph_name"] = text(found.graph_name);
  result["producer_name"] = text(found.producer_name);
  result["producer_version"] = text(found.producer_version);
  result["domain"] = text(found.domain);
  result["description"] = text(found.doc_string);
  result["graph_description"] = text(found.graph_doc_string);
  result["version"] = found.model_version;
  result["ir_version"] = found.ir_version;
  result["opsets"] = by_name(found.opsets);
  for (const auto& [key, value] : found.metadata) metadata[text(key)] = text(value);
  result["metadata"] = metadata;
  return result;
}

// Sessions of artifacts

[[noreturn]] void refuse(isomer_status status, const std::string& sentence) {
  static constexpr const char* kKinds[] = {"", "usage", "invalid", "unsupported", "run", "bug"};
  throw Refused(kKinds[status], sentence);
}

void check(isomer_status status) {
  if (status != ISOMER_OK) refuse(status, isomer_last_error());
}

/// Elements as arrays have them; bfloat16 and other types that NumPy has not are numbers of as many bits.
nb::dlpack::dtype array_type(int32_t dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto type = [](Code code, int bits) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  };
  switch (dtype) {
    case ISOMER_FLOAT32: return type(Code::Float, 32);
    case ISOMER_FLOAT64: return type(Code::Float, 64);
    case ISOMER_FLOAT16: return type(Code::Float, 16);
    case ISOMER_INT8: return type(Code::Int, 8);
    case ISOMER_INT16: return type(Code::Int, 16);
    case ISOMER_INT32: return type(Code::Int, 32);
    case ISOMER_INT64: return type(Code::Int, 64);
    case ISOMER_UINT8: return type(Code::UInt, 8);
    case ISOMER_UINT16:
    case ISOMER_BFLOAT16: return type(Code::UInt, 16);
    case ISOMER_UINT32: return type(Code::UInt, 32);
    case ISOMER_UINT64: return type(Code::UInt, 64);
    case ISOMER_BOOL: return type(Code::Bool, 8);
    case ISOMER_COMPLEX64: return type(Code::Complex, 64);
    case ISOMER_COMPLEX128: return type(Code::Complex, 128);
    default:
      if (isomer::is_computable(static_cast<isomer::DataType>(dtype))) return type(Code::UInt, 8);
      throw Refused("unsupported", "tensors of numbers expected at the model's interface");
  }
}

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::numpy>;

template <class Array>
bool fits(const Array& array, const isomer_tensor& tensor) {
  if (array.ndim() != static_cast<size_t>(tensor.rank) || array.dtype() != array_type(tensor.dtype)) return false;
  for (size_t d = 0; d < array.ndim(); ++d)
    if (static_cast<int64_t>(array.shape(d)) != tensor.dims[d]) return false;
  return true;
}

/// Another library's array of elements of this DLPack code, as numbers of as many bits. None where it is another, or
/// none of the CPU's.
nb::object bits_of(const nb::object& value, uint8_t code, uint8_t bits) {
  using Array = nb::ndarray<nb::ro, nb::device::cpu>;
  auto array = std::make_unique<Array>();
  if (!nb::try_cast(value, *array)) return nb::none();
  if (array->dtype() != nb::dlpack::dtype{code, bits, 1}) return nb::none();
  const std::vector<size_t> shape(array->shape_ptr(), array->shape_ptr() + array->ndim());
  const auto* const strides = array->stride_ptr();
  const void* const data = array->data();
  const nb::capsule owner(array.release(), [](void* kept) noexcept { delete static_cast<Array*>(kept); });
  const nb::dlpack::dtype numbers = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), bits, 1};
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, strides, numbers));
}

/// Of the tensor's type and dims.
Output new_array(const isomer_tensor& tensor) {
  constexpr size_t kAlignment = 64;
  const auto bytes = static_cast<size_t>(std::max<int64_t>(isomer_tensor_bytes(&tensor), 0));
  void* const data = ::operator new(std::max<size_t>(bytes, 1), std::align_val_t(kAlignment));
  const nb::capsule owner(data, [](void* memory) noexcept { ::operator delete(memory, std::align_val_t(kAlignment)); });
  const std::vector<size_t> shape(tensor.dims, tensor.dims + tensor.rank);
  return Output(data, shape.size(), shape.data(), owner, nullptr, array_type(tensor.dtype));
}

class Artifact {
 public:
  explicit Artifact(const Path& path) {
    nb::gil_scoped_release released;
    check(isomer_model_open(path.c_str(), &model_));
  }
  ~Artifact() { isomer_model_close(model_); }
  Artifact(const Artifact&) = delete;
  Artifact& operator=(const Artifact&) = delete;
  isomer_model* get() const { return model_; }

  /// The sizes of each: pairs of a symbolic dim's name, as bytes, and its value.
  nb::list variants() const {
    size_t count = 0;
    check(isomer_model_variant_count(model_, &count));
    nb::list result;
    for (size_t variant = 0; variant < count; ++variant) {
      nb::list sizes;
      for (const isomer_binding& each : bindings(variant))
        sizes.append(nb::make_tuple(nb::bytes(each.name), each.value));
      result.append(sizes);
    }
    return result;
  }
  std::vector<isomer_binding> bindings(size_t variant) const {
    size_t count = 0;
    check(isomer_model_binding_count(model_, variant, &count));
    std::vector<isomer_binding> result(count);
    for (size_t k = 0; k < count; ++k) check(isomer_model_binding(model_, variant, k, &result[k]));
    return result;
  }

 private:
  isomer_model* model_ = nullptr;
};

class Session {
 public:
  /// Of the first variant that has that one's sizes.
  Session(const Artifact& artifact, size_t variant, int threads) {
    const std::vector<isomer_binding> bindings = artifact.bindings(variant);
    const isomer_options options = {threads, bindings.data(), bindings.size()};
    check(isomer_session_create(artifact.get(), &options, &session_));
    size_t count = 0;
    check(isomer_session_input_count(session_, &count));
    inputs_.resize(count);
    for (size_t k = 0; k < count; ++k) check(isomer_session_input(session_, k, &inputs_[k].name, &inputs_[k].tensor));
    check(isomer_session_output_count(session_, &count));
    outputs_.resize(count);
    for (size_t k = 0; k < count; ++k)
      check(isomer_session_output(session_, k, &outputs_[k].name, &outputs_[k].tensor));
  }
  ~Session() { isomer_session_close(session_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// (name, isomer_dtype, dims), -1 where data decide.
  nb::list ports(bool inputs) const {
    nb::list result;
    for (const Port& port : inputs ? inputs_ : outputs_) {
      nb::list dims;
      for (int32_t k = 0; k < port.tensor.rank; ++k) dims.append(port.tensor.dims[k]);
      result.append(nb::make_tuple(text(port.name), port.tensor.dtype, dims));
    }
    return result;
  }

  /// Arrays in the order of the ports, of their types and dims. Those given for outputs are written to.
  nb::list run(const std::vector<Input>& inputs, const nb::object& given) {
    if (inputs.size() != inputs_.size())
      throw Refused("usage",
                    std::to_string(inputs_.size()) + " inputs expected, " + std::to_string(inputs.size()) + " found");
    std::vector<isomer_tensor> from(inputs.size()), to(outputs_.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
      const Port& port = inputs_[k];
      const Input& array = inputs[k];
      if (!fits(array, port.tensor))
        throw Refused("usage", std::string(port.name) + ": an array of the input's type and shape expected");
      from[k] = port.tensor;
      from[k].data = const_cast<void*>(array.data());
    }
    std::vector<Output> arrays(outputs_.size());
    std::vector<bool> is_made(outputs_.size());
    for (size_t k = 0; k < outputs_.size(); ++k) {
      const Port& port = outputs_[k];
      to[k] = port.tensor;
      is_made[k] = std::all_of(port.tensor.dims, port.tensor.dims + port.tensor.rank, [](int64_t d) { return d >= 0; });
      if (!is_made[k]) continue;
      if (nb::object own = given.is_none() ? nb::object(nb::none()) : nb::object(given[k]); !own.is_none()) {
        nb::ndarray<nb::c_contig, nb::device::cpu> writable;
        if (!nb::try_cast(own, writable))
          throw Refused("usage", std::string(port.name) + ": an array that can be written to, row by row, expected");
        arrays[k] = Output(writable);
        if (!fits(arrays[k], port.tensor))
          throw Refused("usage", std::string(port.name) + ": an array of the output's type and shape expected");
      } else {
        arrays[k] = new_array(port.tensor);
      }
      to[k].data = arrays[k].data();
    }
    isomer_status status;
    std::string sentence;
    std::vector<std::vector<std::byte>> copies(outputs_.size());
    std::vector<std::vector<int64_t>> dims(outputs_.size());
    {
      // What the session supplies for outputs whose sizes data decide stays until its next run.
      nb::gil_scoped_release released;
      const std::lock_guard lock(mutex_);
      status = isomer_session_run(session_, from.data(), from.size(), to.data(), to.size());
      if (status != ISOMER_OK) sentence = isomer_last_error();
      for (size_t k = 0; k < outputs_.size() && status == ISOMER_OK; ++k) {
        if (is_made[k]) continue;
        const auto* bytes = static_cast<const std::byte*>(to[k].data);
        copies[k].assign(bytes, bytes + isomer_tensor_bytes(&to[k]));
        dims[k].assign(to[k].dims, to[k].dims + to[k].rank);
        to[k].dims = dims[k].data();
      }
    }
    if (status != ISOMER_OK) refuse(status, sentence);
    nb::list result;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (!is_made[k]) {
        arrays[k] = new_array(to[k]);
        if (!copies[k].empty()) std::memcpy(arrays[k].data(), copies[k].data(), copies[k].size());
      }
      result.append(nb::cast(arrays[k]));
    }
    return result;
  }

 private:
  struct Port {
    const char* name = nullptr;
    isomer_tensor tensor = {};
  };

  isomer_session* session_ = nullptr;
  std::vector<Port> inputs_, outputs_;
  std::mutex mutex_;
};

/// A model run node by node, in double precision: for what can't be compiled.
class Interpreter {
 public:
  explicit Interpreter(const Path& path) {
    auto loaded = [&] {
      nb::gil_scoped_release released;
      return isomer::told<isomer::Graph>(nullptr, [&]() -> isomer::Result<isomer::Graph> {
        TRY(isomer::LoadedModel model, isomer::load_model(path, {}));
        for (const isomer::NodeId id : model.graph.nodes())
          if (const isomer::Node& node = model.graph.node(id); node.is_opaque())
            return isomer::unsupported(isomer::label(model.graph, id), "{}", node.opaque_reason);
        return std::move(model.graph);
      });
    }();
    graph_ = taken(std::move(loaded));
  }

  /// Of the inputs without initializers, and by name of those that have one; outputs as Session::run gives them.
  nb::list run(const std::vector<Input>& given, int threads, const nb::object& until,
               const std::map<std::string, Input>& others) const {
    std::vector<isomer::te::Array> inputs;
    size_t next = 0;
    for (const isomer::ValueId id : graph_.inputs()) {
      const isomer::Value& value = graph_.value(id);
      inputs.emplace_back();
      const auto other = others.find(value.name);
      if (value.constant && other == others.end()) continue;
      if (!value.constant && next == given.size())
        throw Refused("usage", value.name + ": an array expected, none given");
      const Input& array = value.constant ? other->second : given[next++];
      const auto* bytes = static_cast<const std::byte*>(array.data());
      isomer::Dims dims;
      for (size_t k = 0; k < array.ndim(); ++k) dims.push_back(static_cast<int64_t>(array.shape(k)));
      const isomer::Tensor tensor(value.type.dtype, dims, std::vector(bytes, bytes + array.nbytes()));
      inputs.back() = isomer::te::to_arrays({&tensor, 1})[0];
    }
    using Tensors = std::vector<isomer::Tensor>;
    const Tensors results = interruptible(
        false,
        [&](const isomer::Stop& stop) {
          auto result = isomer::told<Tensors>(&stop, [&]() -> isomer::Result<Tensors> {
            auto made =
                isomer::interpret(graph_, inputs, {.threads = threads, .memory = isomer::default_memory_limit()});
            if (!made.ok()) return std::move(made).error();
            Tensors tensors;
            for (const isomer::te::Array& array : *made) tensors.push_back(isomer::te::to_tensor(array));
            return tensors;
          });
          // The model was valid when it was opened: these are its data.
          if (!result && result.error().kind == isomer::FailureKind::invalid && !result.error().may_pass)
            throw Refused("run", result.error().sentence);
          return result;
        },
        until);
    nb::list list;
    for (const isomer::Tensor& tensor : results) {
      const isomer_tensor described = {static_cast<int32_t>(tensor.dtype()),
                                       static_cast<int32_t>(tensor.dims().size()),
                                       tensor.dims().data(),
                                       nullptr,
                                       ISOMER_CPU,
                                       nullptr};
      const Output array = new_array(described);
      std::memcpy(array.data(), tensor.bytes().data(), tensor.bytes().size());
      list.append(nb::cast(array));
    }
    return list;
  }

  /// isomer_dtypes of the outputs, in their order.
  std::vector<int> output_types() const {
    std::vector<int> types;
    for (const isomer::ValueId id : graph_.outputs()) types.push_back(static_cast<int>(graph_.value(id).type.dtype));
    return types;
  }

 private:
  isomer::Graph graph_;
};

}  // namespace

NB_MODULE(_isomer, module) {
  // The package makes its own exceptions of (kind, sentence).
  static nb::exception<Refused> refused(module, "Refused");
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void*) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Refused& error) {
          const nb::object pair = nb::make_tuple(error.kind, text(error.what()));
          PyErr_SetObject(refused.ptr(), pair.ptr());
        }
      },
      nullptr);

  module.def("version", [] { return std::string(isomer_version()); });
  // Of which artifacts are made: this build, and its kernels.
  module.def("build", [] { return isomer::version_text() + " " + isomer::kernel::generator_version(); });
  // Code for "cpu" is made for this one.
  module.def("processor", [] { return isomer::kernel::fingerprint(isomer::kernel::host_target(), 1); });
  // What it has learned of this machine.
  module.def("tuned", &isomer::tuned_here, nb::call_guard<nb::gil_scoped_release>());
  module.def("available_threads", &isomer::available_threads);
  module.def("verify_weights", [](const Path& artifact) {
    nb::gil_scoped_release released;
    check(isomer_artifact_verify(artifact.c_str()));
  });
  module.def("save_model", [](const Path& model, const Path& place) {
    auto saved = [&] {
      nb::gil_scoped_release released;
      return isomer::save_model(model, place);
    }();
    if (!saved) throw Refused(kind_of(saved.error()), saved.error().sentence);
  });
  module.def("optimize", &optimize, "model"_a, "output"_a, "level"_a, "fp"_a, "runtime"_a, "seconds"_a.none(), "dims"_a,
             "shapes"_a, "strategy"_a, "rules"_a, "mutate"_a, "check"_a, "check_runs"_a, "proof"_a, "records"_a,
             "onnxruntime"_a, "threads"_a, "seed"_a, "memory"_a, "doing"_a.none(), "note"_a.none());
  module.def("verify", &verify, "model"_a, "optimized"_a, "proof"_a, "fp"_a, "dims"_a, "shapes"_a, "check_runs"_a,
             "threads"_a, "seed"_a, "memory"_a);
  module.def("library_rules", &library_rules, "files"_a);
  module.def("check_equations", &check_equations, "equations"_a, "rules"_a, "threads"_a, "seed"_a);
  module.def("add_rules", &add_rules, "equations"_a, "rules"_a, "seed"_a);
  module.def("found_backends", &found_backends);
  module.def("bench", &bench, "file"_a, "seconds"_a, "against"_a, "libraries"_a, "model"_a, "target"_a, "dims"_a,
             "shapes"_a, "threads"_a, "seed"_a, "note"_a.none());
  module.def("compare", &compare, "reference"_a, "candidate"_a, "dims"_a, "shapes"_a, "runs"_a, "threads"_a, "seed"_a);
  module.def("compile", &compile, "model"_a, "artifact"_a, "target"_a, "level"_a, "seconds"_a.none(), "dims"_a,
             "shapes"_a, "variants"_a, "tune"_a, "check"_a, "records"_a, "threads"_a, "seed"_a, "doing"_a.none(),
             "note"_a.none(), "until"_a.none());
  module.def("tune", &tune, "model"_a, "records"_a, "trials"_a, "seconds"_a.none(), "continues"_a, "dims"_a, "shapes"_a,
             "threads"_a, "seed"_a);
  module.def("describe", &describe, "model"_a);
  module.def("bits_of", &bits_of, "value"_a, "code"_a, "bits"_a);

  nb::class_<Artifact>(module, "Artifact")
      .def(nb::init<const Path&>(), "path"_a)
      .def_prop_ro("variants", &Artifact::variants);
  nb::class_<Session>(module, "Session")
      .def(nb::init<const Artifact&, size_t, int>(), "artifact"_a, "variant"_a, "threads"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("inputs", [](const Session& session) { return session.ports(true); })
      .def_prop_ro("outputs", [](const Session& session) { return session.ports(false); })
      .def("run", &Session::run, "inputs"_a, "outputs"_a.none());
  nb::class_<Interpreter>(module, "Interpreter")
      .def(nb::init<const Path&>(), "path"_a)
      .def_prop_ro("output_types", &Interpreter::output_types)
      .def("run", &Interpreter::run, "inputs"_a, "threads"_a, "until"_a.none(),
           "others"_a = std::map<std::string, Input>());
}
