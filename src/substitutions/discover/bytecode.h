// What terms compute, as flat lists of exact operations on elements: recorded once from the rows' tensor expressions
// for given shapes of the operands, then run for every pair of operands. What a shape decides (padding, indices) is
// decided when recorded; padding of a maximum takes no part in it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/tensor.h"
#include "substitutions/discover/recording.h"
#include "substitutions/discover/run_bytecode.h"

namespace isomer::substitutions {

/// Elements, words in a row, aligned for the bytecode's loops.
class Elements {
 public:
  Elements() = default;
  Elements(size_t count, bool wide);
  uint32_t* data() { return words_.get(); }
  const uint32_t* data() const { return words_.get(); }

 private:
  struct Free {
    void operator()(uint32_t* words) const;
  };
  std::unique_ptr<uint32_t[], Free> words_;
};

class Bytecode {
 public:
  struct Output {
    Dims dims;
    std::vector<Location> elements;
  };

  /// Of all that the recorder's terms give. Errors: what has no exact meaning (comparisons of data, infinite results).
  static Result<Bytecode> record(TermRecorder& recorder, size_t terms, bool wide);
  /// Of some elements of one term, as output 0, of one axis.
  static Result<Bytecode> record(TermRecorder& recorder, size_t term, std::span<const uint32_t> positions, bool wide);

  bool wide() const { return wide_; }
  const std::vector<Output>& outputs() const { return outputs_; }
  uint32_t registers() const { return static_cast<uint32_t>(instructions_.size()); }

  /// Elements of the operands; absent ones may be nullptr. `registers` has room for as many elements. What is given
  /// back serves to read the outputs' elements.
  Operands run(const uint32_t* first, const uint32_t* second, uint32_t* registers, const Arithmetic& arithmetic) const {
    return run(first, second, registers, arithmetic, element_loops(wide_));
  }
  Operands run(const uint32_t* first, const uint32_t* second, uint32_t* registers, const Arithmetic& arithmetic,
               const ElementLoops& kernels) const;
  void copy_output(int output, const Operands& operands, uint32_t* to) const;
  /// Of output 0; a key of kSeeds words an element.
  uint64_t hash_output(const Operands& operands, const uint32_t* keys) const;

 private:
  friend class Compiler;
  Result<void> compile(TermRecorder& recorder, std::span<const size_t> terms, std::span<const uint32_t> positions);
  bool wide_ = false;
  std::vector<Instruction> instructions_;
  std::vector<uint32_t> links_;
  std::shared_ptr<const Elements> literals_;
  std::vector<Output> outputs_;
};

/// The element that stands for a rational number. Where a denominator has no inverse modulo kExponents, 0 stands behind
/// it.
void encode(const te::Number& number, bool wide, uint32_t* element);

}  // namespace isomer::substitutions
