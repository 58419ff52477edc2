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
  int (*boost)(Handle, Handle matrix, float* gradients, float* hessians, uint64_t count) = nullptr;
  int (*predict)(Handle, Handle matrix, int mask, unsigned trees, int training, uint64_t* count,
                 const float**) = nullptr;
};

Result<Library> open_library() {
  const std::string file = backends::find(backends::xgboost());
  if (file.empty()) return unsupported("XGBoost", "its shared library expected, none found");
  Library library;
  TRY(auto functions, backends::ForeignFunctions::open(file, "XGBoost"));
  functions(library.last_error, "XGBGetLastError");
  functions(library.matrix_create, "XGDMatrixCreateFromMat");
  functions(library.matrix_free, "XGDMatrixFree");
  functions(library.booster_create, "XGBoosterCreate");
  functions(library.booster_free, "XGBoosterFree");
  functions(library.set_parameter, "XGBoosterSetParam");
  functions(library.boost, "XGBoosterBoostOneIter");
  functions(library.predict, "XGBoosterPredict");
  TRY_VOID(functions.are_all_there());
  return library;
}

/// Rows of packs one after the other, and where each begins.
struct Matrix {
  std::vector<float> numbers;
  std::vector<size_t> begins = {0};

  void add(const Features& rows) {
    for (const FeatureRow& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
    begins.push_back(begins.back() + rows.size());
  }
  size_t rows() const { return begins.back(); }
  double sum(size_t pack, const float* of_rows) const {
    double sum = 0;
    for (size_t row = begins[pack]; row < begins[pack + 1]; ++row) sum += of_rows[row];
    return sum;
  }
};

constexpr int kRounds = 80;
constexpr int kMargin = 1;  ///< predictions as they are summed

}  // namespace

class Trees::State {
 public:
  State(Library library, int threads, uint64_t seed)
      : library_(library),
        parameters_{{"verbosity", "0"},
                    {"max_depth", "7"},
                    {"eta", "0.2"},
                    {"min_child_weight", "0"},
                    {"gamma", "0.001"},
                    {"lambda", "1"},
                    {"base_score", "0"},
                    {"tree_method", "hist"},
                    {"nthread", std::to_string(threads)},
                    {"seed", std::to_string(seed % 1'000'000)}} {}
  ~State() { forget(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> train(std::span<const Sample> samples) {
    forget();
    Matrix matrix;
    for (const Sample& sample : samples) matrix.add(sample.rows);
    Handle rows = nullptr;
    TRY_VOID(create(matrix, rows));
    auto done = boost(samples, matrix, rows);
    library_.matrix_free(rows);
    return done;
  }

  Result<std::vector<double>> predict(std::span<const Features> packs) const {
    Matrix matrix;
    for (const Features& rows : packs) matrix.add(rows);
    Handle rows = nullptr;
    TRY_VOID(create(matrix, rows));
    std::vector<double> sums;
    auto of_rows = predictions(rows);
    for (size_t k = 0; of_rows.ok() && k < packs.size(); ++k) sums.push_back(matrix.sum(k, of_rows->data()));
    library_.matrix_free(rows);
    if (!of_rows.ok()) return std::move(of_rows).error();
    return sums;
  }

 private:
  Result<void> check(int code) const {
    if (code == 0) return {};
    return unsupported("XGBoost", "a call that succeeds expected, '{}' found", library_.last_error());
  }

  Result<void> create(const Matrix& matrix, Handle& rows) const {
    return check(library_.matrix_create(matrix.numbers.data(), matrix.rows(), kColumns,
                                        std::numeric_limits<float>::quiet_NaN(), &rows));
  }

  void forget() {
    if (booster_) library_.booster_free(booster_);
    booster_ = nullptr;
  }

  Result<std::vector<float>> predictions(Handle rows) const {
    uint64_t count = 0;
    const float* numbers = nullptr;
    TRY_VOID(check(library_.predict(booster_, rows, kMargin, 0, 0, &count, &numbers)));
    return std::vector<float>(numbers, numbers + count);
  }

  Result<void> boost(std::span<const Sample> samples, const Matrix& matrix, Handle rows) {
    TRY_VOID(check(library_.booster_create(&rows, 1, &booster_)));
    for (const auto& [name, value] : parameters_)
      TRY_VOID(check(library_.set_parameter(booster_, name, value.c_str())));
    std::vector<float> gradients(matrix.rows()), hessians(matrix.rows());
    for (int round = 0; round < kRounds; ++round) {
      TRY(const std::vector<float> of_rows, predictions(rows));
      for (size_t k = 0; k < samples.size(); ++k) {
        const double off = matrix.sum(k, of_rows.data()) - samples[k].target;
        // All rows of a pack move at once: each goes its share of the way, or packs of many overshoot ever further.
        const auto curvature = 2 * samples[k].weight * static_cast<float>(matrix.begins[k + 1] - matrix.begins[k]);
        for (size_t row = matrix.begins[k]; row < matrix.begins[k + 1]; ++row) {
          gradients[row] = static_cast<float>(2 * off * samples[k].weight);
          hessians[row] = curvature;
        }
      }
      TRY_VOID(check(library_.boost(booster_, rows, gradients.data(), hessians.data(), matrix.rows())));
    }
    return {};
  }

  const Library library_;
  const std::vector<std::pair<const char*, std::string>> parameters_;
  Handle booster_ = nullptr;
};

Trees::Trees(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trees::Trees(Trees&&) noexcept = default;
Trees& Trees::operator=(Trees&&) noexcept = default;
Trees::~Trees() = default;

Result<Trees> Trees::open(int threads, uint64_t seed) {
  TRY(const Library library, open_library());
  return Trees(std::make_unique<State>(library, threads, seed));
}

Result<void> Trees::train(std::span<const Sample> samples) { return state_->train(samples); }
Result<std::vector<double>> Trees::predict(std::span<const Features> packs) const { return state_->predict(packs); }

}  // namespace isomer::tune
