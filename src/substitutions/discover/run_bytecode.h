// Running bytecode (bytecode.h) over exact elements. An element is kSeeds residues modulo kPrime, one a seed; where
// exponentials occur it is `wide`: as many residues modulo kExponents stand behind them, for exp to be a homomorphism
// from Z_q to Z_p. Here q is no prime but (p - 1)/2 = 2^30 - 1: a ring is enough for sums and products, and q divides p
// - 1, which no large prime does.
#pragma once

#include <cstdint>

namespace isomer::substitutions {

inline constexpr int kSeeds = 4;
inline constexpr uint32_t kPrime = (uint32_t{1} << 31) - 1;
inline constexpr uint32_t kExponents = (uint32_t{1} << 30) - 1;
inline constexpr uint32_t kGenerator = 49;  ///< of the subgroup of order kExponents: 7 generates Z_p*
inline constexpr int kFunctions = 64;

/// Words that an element takes.
constexpr int element_words(bool wide) { return wide ? 2 * kSeeds : kSeeds; }

/// Integers below this are positive in the order.
inline constexpr uint32_t kSmallNumber = 1 << 16;

/// What is no field operation is a seeded function of its arguments: a function a key. Numbers are compared by a seeded
/// order in which -b < -a where a < b, and 0 separates a number from its negative.
struct Arithmetic {
  explicit Arithmetic(uint64_t seed);
  alignas(32) uint32_t order[2][kSeeds];  ///< odd
  alignas(32) uint32_t functions[kFunctions][kSeeds];
};

/// Where an operand of an instruction stands: two bits say which array, the others which element of it.
using Location = uint32_t;
enum class Space : uint8_t { kLiteral, kFirst, kSecond, kRegister };
inline constexpr int kSpaceShift = 30;
constexpr Location location(Space space, uint32_t index) { return static_cast<uint32_t>(space) << kSpaceShift | index; }
constexpr uint32_t index_of(Location at) { return at & ((uint32_t{1} << kSpaceShift) - 1); }
inline constexpr Location kNowhere = ~Location{0};

enum class Code : uint8_t {
  kDot,  ///< start + Σ links[2i] * links[2i+1], element numbers of the spaces `left` and `right`
  kSum,  ///< Σ of locations
  kMax,
  kMin,
  kDivide,  ///< of two locations; by 0 it is a function of the dividend
  kExp,     ///< of one location, of wide elements only
  kHash,    ///< the function of one or two locations
};

/// Writes the register of its own number.
struct Instruction {
  Code code;
  uint8_t function = 0;
  Space left = Space::kLiteral, right = Space::kLiteral;
  uint32_t first = 0, count = 0;  ///< in the links
  Location start = kNowhere;
};

/// Elements of the four spaces, one array each; registers are written.
struct Operands {
  const uint32_t* space[4] = {};
  uint32_t* registers() const { return const_cast<uint32_t*>(space[static_cast<int>(Space::kRegister)]); }
};

struct ElementLoops {
  void (*run)(const Instruction* instructions, uint32_t count, const uint32_t* links, const Arithmetic&,
              const Operands&);
  /// Mixes the first kSeeds words of each element with a key.
  uint64_t (*hash)(const Location* elements, uint32_t count, const Operands&, const uint32_t* keys);
};

/// The fastest ones for this machine, and those for any; they give the same results.
const ElementLoops& element_loops(bool wide);
const ElementLoops& portable_element_loops(bool wide);

}  // namespace isomer::substitutions
