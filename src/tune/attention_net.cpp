#include "tune/attention_net.h"

#include <algorithm>
#include <cmath>

#include "tune/matrix_product.h"
#include "util/check.h"
#include "util/random.h"

namespace isomer::tune {
namespace {

constexpr size_t kWidth = 64, kHeads = 4, kOfAHead = kWidth / kHeads;
/// Of a token's number, so that the sum over a sequence begins small.
constexpr float kOfAToken = 0.125F;
/// Of products of queries and keys.
const float kOfAttention = 1 / std::sqrt(static_cast<float>(kOfAHead));
/// Rows of attention are padded to whole vectors.
constexpr size_t kVector = 16;

struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<float> values;

  Matrix() = default;
  Matrix(size_t row_count, size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}
  float* row(size_t k) { return values.data() + k * columns; }
  const float* row(size_t k) const { return values.data() + k * columns; }
  MatrixView view() const { return {values.data(), columns}; }
  MatrixView transposed_view() const { return {values.data(), 1, columns}; }
};

void operator+=(Matrix& sum, const Matrix& more) {
  for (size_t k = 0; k < sum.values.size(); ++k) sum.values[k] += more.values[k];
}

void rectify(Matrix& matrix) {
  for (float& value : matrix.values) value = std::max(value, 0.0F);
}
/// Of what was rectified, nothing passes back where it is 0.
void pass_rectified(const Matrix& rectified, Matrix& gradient) {
  for (size_t k = 0; k < gradient.values.size(); ++k)
    if (rectified.values[k] <= 0) gradient.values[k] = 0;
}

/// Columns and rows changed; rows of the result are `step` long, zeros behind.
std::vector<float> transposed(const float* matrix, size_t rows, size_t columns, size_t row_step, size_t step) {
  std::vector<float> result(columns * step);
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) result[j * step + i] = matrix[i * row_step + j];
  return result;
}

/// Where a sequence's weights of attention stand among all: heads one behind the other, a row a token.
struct Place {
  size_t begin = 0, length = 0, step = 0, weights = 0;
};

std::vector<Place> places_of(const Sequences& sequences) {
  std::vector<Place> places;
  size_t begin = 0, weights = 0;
  for (const size_t end : sequences.ends) {
    const size_t length = end - begin, step = (length + kVector - 1) / kVector * kVector;
    places.push_back({begin, length, step, weights});
    begin = end;
    weights += kHeads * length * step;
  }
  return places;
}

}  // namespace

void Sequences::add(std::span<const Token> tokens) {
  for (const Token& token : tokens) {
    words.push_back(token.word);
    numbers.insert(numbers.end(), token.numbers.begin(), token.numbers.end());
  }
  ends.push_back(words.size());
}

/// What the layers give.
struct AttentionNet::Pass {
  std::vector<Place> places;
  Matrix numbers, first, second, third;  ///< up
  Matrix queries, keys, values;
  std::vector<float> weights;  ///< of attention
  Matrix attended;
  std::vector<Matrix> inner;  ///< what goes into the residual layers, then what comes out of the last one
  std::vector<Matrix> added;  ///< what they add
  Matrix hidden;
  std::vector<float> scores;
};

class AttentionNet::Forward {
 public:
  explicit Forward(const AttentionNet& net) : net_(net), parameters_(net.parameters_.data()) {}

  Pass run(const Sequences& sequences, size_t target) const {
    Pass pass;
    pass.places = places_of(sequences);
    pass.numbers = Matrix(sequences.tokens(), kNumbers);
    pass.numbers.values = sequences.numbers;
    pass.first = through(net_.numbers_, pass.numbers);
    for (size_t k = 0; k < sequences.tokens(); ++k) {
      const float* const word = parameters_ + net_.words_.weights + sequences.words[k] * kWidth;
      for (size_t j = 0; j < kWidth; ++j) pass.first.row(k)[j] += word[j];
    }
    rectify(pass.first);
    pass.second = rectified(net_.up_, pass.first);
    pass.third = rectified(net_.further_up_, pass.second);
    attend(pass);
    pass.inner.push_back(through(net_.joined_, pass.attended));
    pass.inner.back() += pass.third;
    for (const Layer& layer : net_.residuals_) {
      pass.added.push_back(rectified(layer, pass.inner.back()));
      pass.inner.push_back(pass.inner.back());
      pass.inner.back() += pass.added.back();
    }
    pass.hidden = rectified(net_.hidden_[target], pass.inner.back());
    const Matrix last = through(net_.last_[target], pass.hidden);
    for (const Place& place : pass.places) {
      float sum = 0;
      for (size_t k = 0; k < place.length; ++k) sum += last.values[place.begin + k];
      pass.scores.push_back(kOfAToken * sum);
    }
    return pass;
  }

 private:
  Matrix through(const Layer& layer, const Matrix& input) const {
    Matrix output(input.rows, layer.outputs);
    for (size_t k = 0; layer.biases && k < input.rows; ++k)
      std::copy_n(parameters_ + *layer.biases, layer.outputs, output.row(k));
    add_product(input.rows, layer.outputs, layer.inputs, input.view(), {parameters_ + layer.weights, layer.outputs},
                output.values.data(), layer.outputs);
    return output;
  }
  Matrix rectified(const Layer& layer, const Matrix& input) const {
    Matrix output = through(layer, input);
    rectify(output);
    return output;
  }

  void attend(Pass& pass) const {
    pass.queries = through(net_.queries_, pass.third);
    pass.keys = through(net_.keys_, pass.third);
    pass.values = through(net_.values_, pass.third);
    pass.attended = Matrix(pass.third.rows, kWidth);
    const Place& last = pass.places.back();
    pass.weights.resize(last.weights + kHeads * last.length * last.step);
    for (const Place& place : pass.places)
      for (size_t head = 0; head < kHeads; ++head) {
        const size_t column = head * kOfAHead;
        float* const weights = pass.weights.data() + place.weights + head * place.length * place.step;
        const std::vector<float> keys =
            transposed(pass.keys.row(place.begin) + column, place.length, kOfAHead, kWidth, place.step);
        add_product(place.length, place.step, kOfAHead, {pass.queries.row(place.begin) + column, kWidth},
                    {keys.data(), place.step}, weights, place.step);
        for (size_t k = 0; k < place.length; ++k) normalize(weights + k * place.step, place.length, place.step);
        add_product(place.length, kOfAHead, place.length, {weights, place.step},
                    {pass.values.row(place.begin) + column, kWidth}, pass.attended.row(place.begin) + column, kWidth);
      }
  }

  /// Softmax; 0 behind the row.
  static void normalize(float* row, size_t length, size_t step) {
    const float most = *std::max_element(row, row + length);
    float sum = 0;
    for (size_t k = 0; k < length; ++k) sum += row[k] = std::exp(kOfAttention * (row[k] - most));
    for (size_t k = 0; k < length; ++k) row[k] /= sum;
    std::fill(row + length, row + step, 0.0F);
  }

  const AttentionNet& net_;
  const float* const parameters_;
};

class AttentionNet::Backward {
 public:
  Backward(const AttentionNet& net, std::span<float> gradient)
      : net_(net), parameters_(net.parameters_.data()), gradient_(gradient.data()) {}

  void run(const Sequences& sequences, size_t target, const Pass& pass, std::span<const float> by_score) const {
    Matrix by_last(sequences.tokens(), 1);
    for (size_t s = 0; s < pass.places.size(); ++s)
      std::fill_n(by_last.row(pass.places[s].begin), pass.places[s].length, kOfAToken * by_score[s]);
    Matrix by = through(net_.last_[target], pass.hidden, by_last);
    by = through_rectified(net_.hidden_[target], pass.inner.back(), pass.hidden, std::move(by));
    for (size_t k = net_.residuals_.size(); k-- > 0;)
      by += through_rectified(net_.residuals_[k], pass.inner[k], pass.added[k], by);
    by += attention(pass, through(net_.joined_, pass.attended, by));
    by = through_rectified(net_.further_up_, pass.second, pass.third, std::move(by));
    by = through_rectified(net_.up_, pass.first, pass.second, std::move(by));
    pass_rectified(pass.first, by);
    for (size_t k = 0; k < sequences.tokens(); ++k) {
      float* const word = gradient_ + net_.words_.weights + sequences.words[k] * kWidth;
      for (size_t j = 0; j < kWidth; ++j) word[j] += by.row(k)[j];
    }
    through(net_.numbers_, pass.numbers, by);
  }

 private:
  /// Of the layer's input, given that of its output; that of its parameters is added.
  Matrix through(const Layer& layer, const Matrix& input, const Matrix& by_output) const {
    for (size_t k = 0; layer.biases && k < by_output.rows; ++k)
      for (size_t j = 0; j < layer.outputs; ++j) gradient_[*layer.biases + j] += by_output.row(k)[j];
    add_product(layer.inputs, layer.outputs, input.rows, input.transposed_view(), by_output.view(),
                gradient_ + layer.weights, layer.outputs);
    Matrix by_input(input.rows, layer.inputs);
    const std::vector<float> weights =
        transposed(parameters_ + layer.weights, layer.inputs, layer.outputs, layer.outputs, layer.inputs);
    add_product(input.rows, layer.inputs, layer.outputs, by_output.view(), {weights.data(), layer.inputs},
                by_input.values.data(), layer.inputs);
    return by_input;
  }
  Matrix through_rectified(const Layer& layer, const Matrix& input, const Matrix& output, Matrix by_output) const {
    pass_rectified(output, by_output);
    return through(layer, input, by_output);
  }

  Matrix attention(const Pass& pass, const Matrix& by_attended) const {
    Matrix by_queries(by_attended.rows, kWidth), by_keys = by_queries, by_values = by_queries;
    for (const Place& place : pass.places)
      for (size_t head = 0; head < kHeads; ++head) {
        const size_t column = head * kOfAHead, length = place.length, step = place.step;
        const auto part = [&](const Matrix& matrix) { return MatrixView{matrix.row(place.begin) + column, kWidth}; };
        const auto into = [&](Matrix& matrix) { return matrix.row(place.begin) + column; };
        const float* const weights = pass.weights.data() + place.weights + head * length * step;
        add_product(length, kOfAHead, length, {weights, 1, step}, part(by_attended), into(by_values), kWidth);
        const std::vector<float> values =
            transposed(pass.values.row(place.begin) + column, length, kOfAHead, kWidth, step);
        std::vector<float> by_weights(length * step);
        add_product(length, step, kOfAHead, part(by_attended), {values.data(), step}, by_weights.data(), step);
        for (size_t k = 0; k < length; ++k) denormalize(weights + k * step, by_weights.data() + k * step, length);
        add_product(length, kOfAHead, length, {by_weights.data(), step}, part(pass.keys), into(by_queries), kWidth);
        add_product(length, kOfAHead, length, {by_weights.data(), 1, step}, part(pass.queries), into(by_keys), kWidth);
      }
    Matrix by_input = through(net_.queries_, pass.third, by_queries);
    by_input += through(net_.keys_, pass.third, by_keys);
    by_input += through(net_.values_, pass.third, by_values);
    return by_input;
  }

  /// Of a softmax's row, from that of its results to that of its arguments.
  static void denormalize(const float* row, float* by, size_t length) {
    float mean = 0;
    for (size_t k = 0; k < length; ++k) mean += row[k] * by[k];
    for (size_t k = 0; k < length; ++k) by[k] = kOfAttention * row[k] * (by[k] - mean);
  }

  const AttentionNet& net_;
  const float* const parameters_;
  float* const gradient_;
};

AttentionNet::AttentionNet(size_t targets, uint64_t seed) {
  Random random(seed);
  /// Of the variance that keeps that of what passes through (He et al. 2015).
  const auto layer = [&](size_t inputs, size_t outputs, bool has_biases, double deviation) {
    Layer made{parameters_.size(), inputs, outputs};
    for (size_t k = 0; k < inputs * outputs; ++k)
      parameters_.push_back(static_cast<float>(random.normal() * deviation));
    if (!has_biases) return made;
    made.biases = parameters_.size();
    parameters_.resize(parameters_.size() + outputs);
    return made;
  };
  const auto rectified = [&](size_t inputs, size_t outputs) {
    return layer(inputs, outputs, true, std::sqrt(2.0 / static_cast<double>(inputs)));
  };
  const auto linear = [&](size_t inputs, size_t outputs, bool has_biases) {
    return layer(inputs, outputs, has_biases, std::sqrt(1.0 / static_cast<double>(inputs)));
  };
  words_ = layer(kWords, kWidth, false, 1);
  numbers_ = rectified(kNumbers, kWidth);
  up_ = rectified(kWidth, kWidth);
  further_up_ = rectified(kWidth, kWidth);
  for (Layer* each : {&queries_, &keys_, &values_, &joined_}) *each = linear(kWidth, kWidth, false);
  for (int k = 0; k < 2; ++k) residuals_.push_back(rectified(kWidth, kWidth));
  for (size_t k = 0; k < targets; ++k) {
    hidden_.push_back(rectified(kWidth, kWidth));
    last_.push_back(linear(kWidth, 1, false));
  }
}

std::vector<float> AttentionNet::scores(const Sequences& sequences, size_t target) const {
  if (sequences.ends.empty()) return {};
  return Forward(*this).run(sequences, target).scores;
}

void AttentionNet::add_gradient(const Sequences& sequences, size_t target, const Loss& loss,
                                std::span<float> gradient) const {
  CHECK(gradient.size() == parameters_.size() && !sequences.ends.empty()) << gradient.size();
  const Pass pass = Forward(*this).run(sequences, target);
  Backward(*this, gradient).run(sequences, target, pass, loss(pass.scores));
}

}  // namespace isomer::tune
