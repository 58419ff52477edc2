// The loops of run_bytecode.h, compiled once for each instruction set. Nothing of the standard library may be
// instantiated here: the linker would keep one instance for all.
#pragma once

#include "substitutions/discover/run_bytecode.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace isomer::substitutions {
namespace {

#define ISOMER_INLINE inline __attribute__((always_inline))

typedef uint64_t Lanes __attribute__((vector_size(32)));
typedef int64_t SignedLanes __attribute__((vector_size(32)));
typedef uint32_t Words __attribute__((vector_size(16)));

ISOMER_INLINE Lanes all(uint64_t value) { return Lanes{value, value, value, value}; }
ISOMER_INLINE Lanes select(Lanes mask, Lanes yes, Lanes no) { return (mask & yes) | (~mask & no); }
ISOMER_INLINE Lanes at_least(Lanes a, Lanes b) {
  return ~reinterpret_cast<Lanes>(reinterpret_cast<SignedLanes>(a) < reinterpret_cast<SignedLanes>(b));
}

ISOMER_INLINE Lanes load(const uint32_t* words) {
#if defined(__AVX2__)
  return reinterpret_cast<Lanes>(_mm256_cvtepu32_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(words))));
#else
  return Lanes{words[0], words[1], words[2], words[3]};
#endif
}
ISOMER_INLINE void store(uint32_t* words, Lanes value) {
  *reinterpret_cast<Words*>(words) = __builtin_convertvector(value, Words);
}

/// Of the low halves.
ISOMER_INLINE Lanes product(Lanes a, Lanes b) {
#if defined(__AVX2__)
  return reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return a * b;
#endif
}

template <int bits>
struct Modulus {
  static constexpr uint64_t value = (uint64_t{1} << bits) - 1;
  /// Congruent, below 2^(64 - bits) + 2^bits.
  static ISOMER_INLINE Lanes fold(Lanes x) { return (x & all(value)) + (x >> bits); }
  static ISOMER_INLINE Lanes reduce(Lanes x) {
    x = fold(fold(fold(x)));
    return select(at_least(x, all(value)), x - all(value), x);
  }
  static ISOMER_INLINE Lanes multiply(Lanes a, Lanes b) { return reduce(product(a, b)); }
};
using P = Modulus<31>;
using Q = Modulus<30>;

/// A bijection of 32 bits that keeps 0.
ISOMER_INLINE Lanes scramble(Lanes x, Lanes first, Lanes second) {
  x = product(x, first) & all(0xffffffff);
  x ^= x >> 15;
  x = product(x, second) & all(0xffffffff);
  return x ^ (x >> 16);
}

ISOMER_INLINE Lanes function_of(Lanes x, Lanes key) {
  const Lanes mixed = scramble((x + key) & all(0xffffffff), all(0x7feb352d), all(0x846ca68b));
  return P::reduce(scramble(mixed, all(0x9e3779b1), all(0x85ebca6b)));
}

ISOMER_INLINE Lanes power(Lanes base, uint32_t exponent) {
  Lanes result = all(1);
  for (; exponent > 0; exponent >>= 1, base = P::multiply(base, base))
    if (exponent & 1) result = P::multiply(result, base);
  return result;
}

template <bool wide>
class Machine {
 public:
  ISOMER_INLINE Machine(const uint32_t* links, const Arithmetic& arithmetic, const Operands& operands)
      : links_(links), arithmetic_(arithmetic), operands_(operands) {}

  ISOMER_INLINE void run(const Instruction* instructions, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
      const Instruction& i = instructions[k];
      uint32_t* out = operands_.registers() + uint64_t{k} * kWords;
      switch (i.code) {
        case Code::kDot: put(out, dot(i)); break;
        case Code::kSum: put(out, sum(i)); break;
        case Code::kMax: put(out, extreme(i, all(0))); break;
        case Code::kMin: put(out, extreme(i, ~all(0))); break;
        case Code::kDivide: put(out, quotient(i)); break;
        case Code::kExp: put(out, exponential(i)); break;
        case Code::kHash: put(out, hashed(i)); break;
      }
    }
  }

 private:
  static constexpr int kWords = element_words(wide);
  struct Element {
    Lanes p, q;
  };

  ISOMER_INLINE const uint32_t* words(Location at) const {
    return operands_.space[at >> kSpaceShift] + uint64_t{index_of(at)} * kWords;
  }
  ISOMER_INLINE Element get(Location at) const {
    const uint32_t* from = words(at);
    return {load(from), wide ? load(from + kSeeds) : all(0)};
  }
  static ISOMER_INLINE void put(uint32_t* out, Element x) {
    store(out, x.p);
    if (wide) store(out + kSeeds, x.q);
  }
  /// What stands modulo q behind a value that no sum or product gives: a function of it.
  ISOMER_INLINE Element with_exponent(Lanes p) const {
    return {p, wide ? Q::reduce(function_of(p, load(arithmetic_.functions[0]))) : all(0)};
  }

  // Three products and what a fold leaves are below 2^64.
  ISOMER_INLINE Element dot(const Instruction& i) const {
    const uint32_t* link = links_ + i.first;
    const uint32_t *left = operands_.space[static_cast<int>(i.left)],
                   *right = operands_.space[static_cast<int>(i.right)];
    Element sum = i.start == kNowhere ? Element{all(0), all(0)} : get(i.start);
    uint32_t k = 0;
    const auto add = [&](uint32_t at) __attribute__((always_inline)) {
      const uint32_t *a = left + uint64_t{link[2 * at]} * kWords, *b = right + uint64_t{link[2 * at + 1]} * kWords;
      sum.p += product(load(a), load(b));
      if (wide) sum.q += product(load(a + kSeeds), load(b + kSeeds));
    };
    for (; k + 3 <= i.count; k += 3) {
      sum.p = P::fold(sum.p);
      if (wide) sum.q = Q::fold(sum.q);
      add(k);
      add(k + 1);
      add(k + 2);
    }
    sum.p = P::fold(sum.p);
    if (wide) sum.q = Q::fold(sum.q);
    for (; k < i.count; ++k) add(k);
    return {P::reduce(sum.p), wide ? Q::reduce(sum.q) : all(0)};
  }

  ISOMER_INLINE Element sum(const Instruction& i) const {
    Element result = {all(0), all(0)};
    for (uint32_t k = 0; k < i.count; ++k) {
      const Element x = get(links_[i.first + k]);
      result.p += x.p;
      if (wide) result.q += x.q;
    }
    return {P::reduce(result.p), wide ? Q::reduce(result.q) : all(0)};
  }

  /// The place of a number in the order: a sign, which is random for large numbers, that of -x the other one, and a
  /// random number of both.
  ISOMER_INLINE Lanes rank(Lanes x) const {
    const Lanes negative = all(kPrime) - x;
    const Lanes is_upper = at_least(x, negative);
    const Lanes magnitude = select(is_upper, negative, x);
    const Lanes key = scramble(magnitude, load(arithmetic_.order[0]), load(arithmetic_.order[1]));
    const Lanes flip = is_upper ^ (at_least(magnitude, all(kSmallNumber)) & (all(0) - (key & all(1))));
    return select(reinterpret_cast<Lanes>(x == all(0)), x, select(flip, all(0) - key, key));
  }

  ISOMER_INLINE Element extreme(const Instruction& i, Lanes least) const {
    Element best = get(links_[i.first]);
    Lanes best_rank = rank(best.p);
    for (uint32_t k = 1; k < i.count; ++k) {
      const Element x = get(links_[i.first + k]);
      const Lanes x_rank = rank(x.p);
      const Lanes replace = at_least(x_rank, best_rank) ^ least;
      best = {select(replace, x.p, best.p), wide ? select(replace, x.q, best.q) : all(0)};
      best_rank = select(replace, x_rank, best_rank);
    }
    return best;
  }

  ISOMER_INLINE Element quotient(const Instruction& i) const {
    const Element a = get(links_[i.first]), b = get(links_[i.first + 1]);
    const Lanes undefined = function_of(a.p, load(arithmetic_.functions[1]));
    return with_exponent(
        select(reinterpret_cast<Lanes>(b.p == all(0)), undefined, P::multiply(a.p, power(b.p, kPrime - 2))));
  }

  ISOMER_INLINE Element exponential(const Instruction& i) const {
    const Lanes x = get(links_[i.first]).q;
    Lanes result = all(1), factor = all(kGenerator);
    for (int bit = 0; bit < 30; ++bit, factor = P::multiply(factor, factor))
      result = select(all(0) - ((x >> bit) & all(1)), P::multiply(result, factor), result);
    return with_exponent(result);
  }

  ISOMER_INLINE Element hashed(const Instruction& i) const {
    const Lanes key = load(arithmetic_.functions[i.function]);
    Lanes x = function_of(get(links_[i.first]).p, key);
    if (i.count > 1) x = function_of(x + get(links_[i.first + 1]).p, key);
    return with_exponent(x);
  }

  const uint32_t* links_;
  const Arithmetic& arithmetic_;
  const Operands& operands_;
};

template <bool wide>
void run_bytecode(const Instruction* instructions, uint32_t count, const uint32_t* links, const Arithmetic& arithmetic,
                  const Operands& operands) {
  Machine<wide>(links, arithmetic, operands).run(instructions, count);
}

/// Multilinear in the words; the lanes' sums are mixed by the finalizer of SplitMix64.
template <bool wide>
uint64_t hash_elements(const Location* elements, uint32_t count, const Operands& operands, const uint32_t* keys) {
  Lanes sum = all(0);
  for (uint32_t k = 0; k < count; ++k) {
    const Location at = elements[k];
    sum += product(load(operands.space[at >> kSpaceShift] + uint64_t{index_of(at)} * element_words(wide)),
                   load(keys + uint64_t{k} * kSeeds));
  }
  uint64_t result = 0;
  for (int lane = 0; lane < kSeeds; ++lane) {
    result += sum[lane];
    result = (result ^ (result >> 30)) * 0xBF58476D1CE4E5B9ULL;
    result = (result ^ (result >> 27)) * 0x94D049BB133111EBULL;
    result ^= result >> 31;
  }
  return result;
}

#undef ISOMER_INLINE

}  // namespace
}  // namespace isomer::substitutions
