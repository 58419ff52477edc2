// The network of TLP (Zhai et al. 2023, section 4.3): each token up to a vector, self-attention among those of a
// sequence, two residual layers, a number for each token, their sum. Several targets share all but the last two layers
// (MTL-TLP, section 5). Derivatives are ours, products of matrices plain loops (matrix_product.h): libraries that do
// both are a hundred times as large as what they would train here. Sequences stand one behind the other, so nothing is
// padded or masked. Test: tests/tune/attention_net_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tune/tokens.h"

namespace isomer::tune {

/// Sequences that are looked at together; none is empty.
struct Sequences {
  std::vector<uint32_t> words;  ///< of all tokens
  std::vector<float> numbers;   ///< kNumbers each
  std::vector<size_t> ends;     ///< of sequences

  void add(std::span<const Token> tokens);
  size_t tokens() const { return words.size(); }
};

class AttentionNet {
 public:
  AttentionNet(size_t targets, uint64_t seed);

  /// A number for each sequence.
  std::vector<float> scores(const Sequences& sequences, size_t target) const;
  /// The derivative of a loss by each score, given these.
  using Loss = std::function<std::vector<float>(std::span<const float> scores)>;
  /// Adds the loss's derivative by each parameter. For several threads at once, with gradients of their own.
  void add_gradient(const Sequences& sequences, size_t target, const Loss& loss, std::span<float> gradient) const;

  std::vector<float>& parameters() { return parameters_; }
  const std::vector<float>& parameters() const { return parameters_; }

 private:
  /// Where a layer's weights stand among the parameters, a row an input, and its biases, if it has any.
  struct Layer {
    size_t weights = 0, inputs = 0, outputs = 0;
    std::optional<size_t> biases = std::nullopt;
  };
  struct Pass;
  class Forward;
  class Backward;

  std::vector<float> parameters_;
  Layer words_, numbers_, up_, further_up_, queries_, keys_, values_, joined_;
  std::vector<Layer> residuals_, hidden_, last_;  ///< the latter two by target
};

}  // namespace isomer::tune
