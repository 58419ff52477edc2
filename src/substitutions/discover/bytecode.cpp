#include "substitutions/discover/bytecode.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "graph/te/failure.h"
#include "graph/te/integer.h"

namespace isomer::substitutions {
namespace {

constexpr std::align_val_t kAlignment{64};

uint32_t residue(__int128 value, uint32_t modulus) {
  const auto rest = static_cast<int64_t>(value % modulus);
  return static_cast<uint32_t>(rest < 0 ? rest + modulus : rest);
}

/// By Euclid's algorithm; 0 where there is none.
uint32_t inverse(uint32_t value, uint32_t modulus) {
  int64_t a = value, m = modulus, x = 0, next = 1;
  while (a != 0) {
    const int64_t quotient = m / a;
    m = std::exchange(a, m - quotient * a);
    x = std::exchange(next, x - quotient * next);
  }
  return m == 1 ? residue(x, modulus) : 0;
}

uint32_t residue(const te::Number& number, uint32_t modulus, int bits) {
  uint64_t result = uint64_t{residue(number.numerator(), modulus)} *
                    inverse(residue(number.denominator(), modulus), modulus) % modulus;
  // 2^bits = 1
  result = (result << te::floor_mod(number.exponent(), bits)) % modulus;
  return static_cast<uint32_t>(result);
}

}  // namespace

/// Makes instructions of recorded operations, sums of products in one.
class Compiler {
 public:
  Compiler(const Recording& recording, Bytecode& bytecode)
      : recording_(recording),
        bytecode_(bytecode),
        uses_(recording.operations().size()),
        done_(uses_.size(), kNowhere) {
    for (const Operation& o : recording.operations()) {
      if (o.kind == Operation::Kind::kLiteral || o.kind == Operation::Kind::kElement) continue;
      ++uses_[o.a];
      if (o.kind != Operation::Kind::kUnary) ++uses_[o.b];
    }
    one_ = literal(1);
  }

  Location compile(uint32_t operation) {
    if (done_[operation] != kNowhere) return done_[operation];
    return done_[operation] = emit(operation);
  }

  void finish() {
    auto elements = std::make_shared<Elements>(literals_.size(), bytecode_.wide_);
    for (size_t k = 0; k < literals_.size(); ++k)
      encode(literals_[k], bytecode_.wide_, elements->data() + k * element_words(bytecode_.wide_));
    bytecode_.literals_ = std::move(elements);
  }

 private:
  using Kind = Operation::Kind;
  struct Product {
    Location left, right;
    auto operator<=>(const Product&) const = default;
  };

  Location literal(const te::Number& number) {
    if (!number.is_finite()) te::fail_unsupported("finite numbers expected");
    literals_.push_back(number);
    return location(Space::kLiteral, static_cast<uint32_t>(literals_.size()) - 1);
  }

  Location append(Instruction instruction, std::span<const uint32_t> links) {
    instruction.first = static_cast<uint32_t>(bytecode_.links_.size());
    bytecode_.links_.insert(bytecode_.links_.end(), links.begin(), links.end());
    bytecode_.instructions_.push_back(instruction);
    return location(Space::kRegister, static_cast<uint32_t>(bytecode_.instructions_.size()) - 1);
  }
  Location apply(Code code, std::vector<Location> arguments, int function = 0) {
    return append(
        {.code = code, .function = static_cast<uint8_t>(function), .count = static_cast<uint32_t>(arguments.size())},
        arguments);
  }

  Location emit(uint32_t operation) {
    const Operation& o = recording_.operations()[operation];
    switch (o.kind) {
      case Kind::kLiteral: return literal(recording_.literals()[o.a]);
      case Kind::kElement: return location(o.function == 0 ? Space::kFirst : Space::kSecond, o.a);
      case Kind::kAdd:
      case Kind::kMultiply: return sum_of_products(operation);
      case Kind::kMax:
      case Kind::kMin: {
        std::vector<Location> arguments;
        collect(operation, o.kind, [&](uint32_t part) { arguments.push_back(compile(part)); });
        return apply(o.kind == Kind::kMax ? Code::kMax : Code::kMin, std::move(arguments));
      }
      case Kind::kDivide: return apply(Code::kDivide, {compile(o.a), compile(o.b)});
      case Kind::kUnary:
        if (bytecode_.wide_ && o.function == static_cast<uint8_t>(te::UnaryOp::kExp))
          return apply(Code::kExp, {compile(o.a)});
        return apply(Code::kHash, {compile(o.a)}, 2 + o.function);
      case Kind::kBinary: return apply(Code::kHash, {compile(o.a), compile(o.b)}, 32 + o.function);
    }
    return kNowhere;
  }

  /// The operands of a chain of one operation, whose inner links nobody else uses.
  template <class Visit>
  void collect(uint32_t root, Kind kind, const Visit& visit) {
    std::vector<uint32_t> stack = {root};
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      const Operation& o = recording_.operations()[at];
      if (o.kind != kind || (at != root && uses_[at] > 1)) {
        visit(at);
        continue;
      }
      stack.push_back(o.b);
      stack.push_back(o.a);
    }
  }

  Location sum_of_products(uint32_t root) {
    std::vector<Product> products;
    std::vector<Location> plain;
    collect(root, Kind::kAdd, [&](uint32_t part) {
      const Operation& o = recording_.operations()[part];
      if (o.kind != Kind::kMultiply || (part != root && uses_[part] > 1)) {
        plain.push_back(compile(part));
        return;
      }
      Product product = {compile(o.a), compile(o.b)};
      if (product.left > product.right) std::swap(product.left, product.right);
      products.push_back(product);
    });
    if (products.empty()) return apply(Code::kSum, std::move(plain));
    for (const Location each : plain) products.push_back({one_, each});
    const auto spaces = [](const Product& p) { return std::pair(p.left >> kSpaceShift, p.right >> kSpaceShift); };
    std::sort(products.begin(), products.end(),
              [&](const Product& a, const Product& b) { return std::pair(spaces(a), a) < std::pair(spaces(b), b); });
    Location sum = kNowhere;
    for (size_t begin = 0; begin < products.size();) {
      std::vector<uint32_t> links;
      size_t end = begin;
      for (; end < products.size() && spaces(products[end]) == spaces(products[begin]); ++end) {
        links.push_back(index_of(products[end].left));
        links.push_back(index_of(products[end].right));
      }
      const auto [left, right] = spaces(products[begin]);
      sum = append({.code = Code::kDot,
                    .left = static_cast<Space>(left),
                    .right = static_cast<Space>(right),
                    .count = static_cast<uint32_t>(end - begin),
                    .start = sum},
                   links);
      begin = end;
    }
    return sum;
  }

  const Recording& recording_;
  Bytecode& bytecode_;
  std::vector<uint32_t> uses_;
  std::vector<Location> done_;
  std::vector<te::Number> literals_;
  Location one_ = kNowhere;
};

Elements::Elements(size_t count, bool wide)
    : words_(static_cast<uint32_t*>(::operator new[](
          std::max<size_t>(count, 1) * static_cast<size_t>(element_words(wide)) * sizeof(uint32_t), kAlignment))) {}
void Elements::Free::operator()(uint32_t* words) const { ::operator delete[](words, kAlignment); }

void encode(const te::Number& number, bool wide, uint32_t* element) {
  std::fill(element, element + kSeeds, residue(number, kPrime, 31));
  if (wide) std::fill(element + kSeeds, element + 2 * kSeeds, residue(number, kExponents, 30));
}

Result<Bytecode> Bytecode::record(TermRecorder& recorder, size_t terms, bool wide) {
  Bytecode bytecode;
  bytecode.wide_ = wide;
  std::vector<size_t> all(terms);
  for (size_t k = 0; k < terms; ++k) all[k] = k;
  TRY_VOID(bytecode.compile(recorder, all, {}));
  return bytecode;
}

Result<Bytecode> Bytecode::record(TermRecorder& recorder, size_t term, std::span<const uint32_t> positions, bool wide) {
  Bytecode bytecode;
  bytecode.wide_ = wide;
  TRY_VOID(bytecode.compile(recorder, {&term, 1}, positions));
  bytecode.outputs_[0].dims = {static_cast<int64_t>(positions.size())};
  return bytecode;
}

Result<void> Bytecode::compile(TermRecorder& recorder, std::span<const size_t> terms,
                               std::span<const uint32_t> positions) {
  std::vector<std::vector<uint32_t>> roots;
  try {
    for (const size_t term : terms) {
      const auto count = positions.empty() ? static_cast<size_t>(element_count(recorder.dims(term))) : positions.size();
      auto& elements = roots.emplace_back();
      for (size_t k = 0; k < count; ++k)
        elements.push_back(recorder.element(term, positions.empty() ? static_cast<uint32_t>(k) : positions[k]));
    }
    Compiler compiler(recorder.recording(), *this);
    for (size_t k = 0; k < terms.size(); ++k) {
      Output& out = outputs_.emplace_back(Output{recorder.dims(terms[k]), {}});
      for (const uint32_t root : roots[k]) out.elements.push_back(compiler.compile(root));
    }
    compiler.finish();
  } catch (te::Failure& failure) {
    return std::move(failure.error);
  }
  return {};
}

Operands Bytecode::run(const uint32_t* first, const uint32_t* second, uint32_t* registers, const Arithmetic& arithmetic,
                       const ElementLoops& kernels) const {
  const Operands operands = {{literals_->data(), first, second, registers}};
  kernels.run(instructions_.data(), this->registers(), links_.data(), arithmetic, operands);
  return operands;
}

void Bytecode::copy_output(int output, const Operands& operands, uint32_t* to) const {
  const auto words = static_cast<size_t>(element_words(wide_));
  for (const Location at : outputs_[output].elements) {
    std::memcpy(to, operands.space[at >> kSpaceShift] + index_of(at) * words, words * sizeof(uint32_t));
    to += words;
  }
}

uint64_t Bytecode::hash_output(const Operands& operands, const uint32_t* keys) const {
  const auto& elements = outputs_[0].elements;
  return element_loops(wide_).hash(elements.data(), static_cast<uint32_t>(elements.size()), operands, keys);
}

}  // namespace isomer::substitutions
