#include "tune/trees.h"

#include <limits>

#include "backends/find_library.h"
#include "backends/foreign_functions.h"

namespace isomer::tune {
namespace {

using Handle = void*;

/// XGBoost's C interface, as far as it is used.
struct Library {
  const char* (*last_error)() = nullptr;
  int (*matrix_create)(const float*, uint64_t rows, uint64_t columns, float missing, Handle*) = nullptr;
  int (*matrix_free)(Handle) = nullptr;
  int (*booster_create)(const Handle*, uint64_t count, Handle*) = nullptr;
  int (*booster_free)(Handle) = nullptr;
  int (*set_parameter)(Handle, const char* name, const char* value) = nullptr;
  int (*set_numbers)(Handle matrix, const char* what, const float*, uint64_t count) = nullptr;
  int (*update)(Handle, int round, Handle matrix) = nullptr;
  int (*predict)(Handle, Handle matrix, int mask, unsigned trees, int training, uint64_t* count,
                 const float**) = nullptr;
};

Result<Library> open_library() {
  const std::string file = backends::find(backends::xgboost_library());
  if (file.empty()) return unsupported("XGBoost", "its shared library expected, none found");
  Library library;
  TRY(auto functions, backends::ForeignFunctions::open(file, "XGBoost"));
  functions(library.last_error, "XGBGetLastError");
  functions(library.matrix_create, "XGDMatrixCreateFromMat");
  functions(library.matrix_free, "XGDMatrixFree");
  functions(library.booster_create, "XGBoosterCreate");
  functions(library.booster_free, "XGBoosterFree");
  functions(library.set_parameter, "XGBoosterSetParam");
  functions(library.set_numbers, "XGDMatrixSetFloatInfo");
  functions(library.update, "XGBoosterUpdateOneIter");
  functions(library.predict, "XGBoosterPredict");
  TRY_VOID(functions.are_all_there());
  return library;
}

/// Rows as the library has them.
using Matrix = std::unique_ptr<void, int (*)(Handle)>;

constexpr int kRounds = 80;

}  // namespace

class Trees::State {
 public:
  State(Library library, uint64_t seed)
      : library_(library),
        parameters_{{"verbosity", "0"},
                    {"max_depth", "7"},
                    {"eta", "0.2"},
                    {"min_child_weight", "0"},
                    {"gamma", "0.001"},
                    {"lambda", "0.5"},
                    {"objective", "reg:squarederror"},
                    {"base_score", "0.5"},
                    {"tree_method", "hist"},
                    {"nthread", "1"},
                    {"seed", std::to_string(seed % 1'000'000)}} {}
  ~State() { forget(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> train(std::span<const Sample> samples) {
    forget();
    std::vector<const Row*> rows;
    std::vector<float> targets, weights;
    for (const Sample& sample : samples) {
      rows.push_back(&sample.row);
      targets.push_back(sample.target);
      weights.push_back(sample.weight);
    }
    TRY(const Matrix matrix, matrix_of(rows));
    TRY_VOID(check(library_.set_numbers(matrix.get(), "label", targets.data(), targets.size())));
    TRY_VOID(check(library_.set_numbers(matrix.get(), "weight", weights.data(), weights.size())));
    Handle handle = matrix.get();
    TRY_VOID(check(library_.booster_create(&handle, 1, &booster_)));
    for (const auto& [name, value] : parameters_)
      TRY_VOID(check(library_.set_parameter(booster_, name, value.c_str())));
    for (int round = 0; round < kRounds; ++round) TRY_VOID(check(library_.update(booster_, round, handle)));
    return {};
  }

  Result<std::vector<double>> predict(std::span<const Row> rows) const {
    std::vector<const Row*> all;
    for (const Row& row : rows) all.push_back(&row);
    TRY(const Matrix matrix, matrix_of(all));
    uint64_t count = 0;
    const float* numbers = nullptr;
    TRY_VOID(check(library_.predict(booster_, matrix.get(), 0, 0, 0, &count, &numbers)));
    return std::vector<double>(numbers, numbers + count);
  }

 private:
  Result<void> check(int code) const {
    if (code == 0) return {};
    return unsupported("XGBoost", "a call that succeeds expected, '{}' found", library_.last_error());
  }

  Result<Matrix> matrix_of(const std::vector<const Row*>& rows) const {
    std::vector<float> numbers;
    for (const Row* row : rows) numbers.insert(numbers.end(), row->begin(), row->end());
    Handle made = nullptr;
    TRY_VOID(check(library_.matrix_create(numbers.data(), rows.size(), rows.empty() ? 0 : rows[0]->size(),
                                          std::numeric_limits<float>::quiet_NaN(), &made)));
    return Matrix(made, library_.matrix_free);
  }

  void forget() {
    if (booster_) library_.booster_free(booster_);
    booster_ = nullptr;
  }

  const Library library_;
  const std::vector<std::pair<const char*, std::string>> parameters_;
  Handle booster_ = nullptr;
};

Trees::Trees(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trees::Trees(Trees&&) noexcept = default;
Trees& Trees::operator=(Trees&&) noexcept = default;
Trees::~Trees() = default;

Result<Trees> Trees::open(uint64_t seed) {
  TRY(const Library library, open_library());
  return Trees(std::make_unique<State>(library, seed));
}

Result<void> Trees::train(std::span<const Sample> samples) { return state_->train(samples); }
Result<std::vector<double>> Trees::predict(std::span<const Row> rows) const { return state_->predict(rows); }

}  // namespace isomer::tune
