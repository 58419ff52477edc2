// The loops over lanes behind the instructions of strip.h. Compiled with -O3: they are what the compiler vectorizes.
#include <cstring>
#include <type_traits>
#include <utility>

#include "graph/te/interpret/arithmetic.h"
#include "graph/te/interpret/strip.h"

// Lanes are independent: where an operand is the destination, it is so lane by lane.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // where a library function is called for each lane
#define ISOMER_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define ISOMER_LANES _Pragma("GCC ivdep")
#endif

namespace isomer::te::interpreter::kernels {
namespace {

/// A lane whose type does not matter.
typedef uint64_t __attribute__((may_alias)) Bits;

int64_t lane_count(const Instruction& i, const Frame& f) { return i.uniform ? 1 : f.lanes; }

template <class T>
const T* in(const Frame& f, int reg) {
  return static_cast<const T*>(f.at[reg]);
}
template <class T>
T* out(const Instruction& i, Frame& f) {
  f.at[i.dst] = f.own[i.dst];
  return static_cast<T*>(f.own[i.dst]);
}

template <class T, class R, class F>
[[gnu::always_inline]] inline void map_one(const Instruction& i, Frame& f, F&& apply) {
  const T* a = in<T>(f, i.a);
  R* d = out<R>(i, f);
  const int64_t n = lane_count(i, f);
  ISOMER_LANES
  for (int64_t l = 0; l < n; ++l) d[l] = apply(a[l]);
}

template <class T, class R, Form form, class F>
[[gnu::always_inline]] inline void map_two(const Instruction& i, Frame& f, F&& apply) {
  const T* a = in<T>(f, i.a);
  const T* b = in<T>(f, i.b);
  R* d = out<R>(i, f);
  const int64_t n = lane_count(i, f);
  const T a0 = a[0], b0 = b[0];
  ISOMER_LANES
  for (int64_t l = 0; l < n; ++l) d[l] = apply(form == Form::kRight ? a0 : a[l], form == Form::kLeft ? b0 : b[l]);
}

template <UnaryOp op>
void run_unary_real(const Instruction& i, Frame& f) {
  if constexpr (op == UnaryOp::kIsNan || op == UnaryOp::kNot)
    map_one<double, int64_t>(i, f, [](double x) { return static_cast<int64_t>(apply(op, x)); });
  else
    map_one<double, double>(i, f, [](double x) { return apply(op, x); });
}
template <UnaryOp op, bool is_bool>
void run_unary_integer(const Instruction& i, Frame& f) {
  map_one<int64_t, int64_t>(i, f, [](int64_t x) { return apply(op, x, is_bool); });
}
template <BinaryOp op, Form form>
void run_binary_real(const Instruction& i, Frame& f) {
  if constexpr (is_comparison(op))
    map_two<double, int64_t, form>(i, f, [](double a, double b) { return int64_t{compare(op, a, b)}; });
  else
    map_two<double, double, form>(i, f, [](double a, double b) { return apply(op, a, b); });
}
template <BinaryOp op, Form form, bool unsigned64>
void run_binary_integer(const Instruction& i, Frame& f) {
  map_two<int64_t, int64_t, form>(i, f, [](int64_t a, int64_t b) { return apply(op, a, b, unsigned64); });
}

constexpr size_t kUnaryOps = static_cast<size_t>(UnaryOp::kIsNan) + 1;
constexpr size_t kBinaryOps = static_cast<size_t>(BinaryOp::kLessEqual) + 1;

/// table[k] = make(integral_constant<k>), for k below n.
template <size_t n, class Make>
constexpr auto table(Make make) {
  return [&]<size_t... k>(std::index_sequence<k...>) {
    return std::array<Run, n>{make(std::integral_constant<size_t, k>())...};
  }(std::make_index_sequence<n>());
}

template <Form form>
Run find_binary_real(BinaryOp op) {
  static constexpr auto runs =
      table<kBinaryOps>([](auto k) -> Run { return run_binary_real<static_cast<BinaryOp>(k()), form>; });
  return runs[static_cast<size_t>(op)];
}
template <Form form, bool unsigned64>
Run find_binary_integer(BinaryOp op) {
  static constexpr auto runs =
      table<kBinaryOps>([](auto k) -> Run { return run_binary_integer<static_cast<BinaryOp>(k()), form, unsigned64>; });
  return runs[static_cast<size_t>(op)];
}
template <bool is_bool>
Run find_unary_integer(UnaryOp op) {
  static constexpr auto runs =
      table<kUnaryOps>([](auto k) -> Run { return run_unary_integer<static_cast<UnaryOp>(k()), is_bool>; });
  return runs[static_cast<size_t>(op)];
}

}  // namespace

Run unary_real(UnaryOp op) {
  static constexpr auto runs =
      table<kUnaryOps>([](auto k) -> Run { return run_unary_real<static_cast<UnaryOp>(k())>; });
  return runs[static_cast<size_t>(op)];
}
Run unary_integer(UnaryOp op, bool is_bool) {
  return is_bool ? find_unary_integer<true>(op) : find_unary_integer<false>(op);
}
Run binary_real(BinaryOp op, Form form) {
  switch (form) {
    case Form::kBoth: return find_binary_real<Form::kBoth>(op);
    case Form::kLeft: return find_binary_real<Form::kLeft>(op);
    case Form::kRight: return find_binary_real<Form::kRight>(op);
  }
  return nullptr;
}
Run binary_integer(BinaryOp op, Form form, bool unsigned64) {
  switch (form) {
    case Form::kBoth:
      return unsigned64 ? find_binary_integer<Form::kBoth, true>(op) : find_binary_integer<Form::kBoth, false>(op);
    case Form::kLeft:
      return unsigned64 ? find_binary_integer<Form::kLeft, true>(op) : find_binary_integer<Form::kLeft, false>(op);
    case Form::kRight:
      return unsigned64 ? find_binary_integer<Form::kRight, true>(op) : find_binary_integer<Form::kRight, false>(op);
  }
  return nullptr;
}

namespace {

template <bool a_varies, bool b_varies>
void run_blend(const Instruction& i, Frame& f) {
  const Bits* a = in<Bits>(f, i.a);
  const Bits* b = in<Bits>(f, i.b);
  const int64_t* c = in<int64_t>(f, i.c);
  Bits* d = out<Bits>(i, f);
  const int64_t n = lane_count(i, f);
  const Bits a0 = a[0], b0 = b[0];
  ISOMER_LANES
  for (int64_t l = 0; l < n; ++l) {
    const Bits mask = static_cast<Bits>(-c[l]);
    d[l] = ((a_varies ? a[l] : a0) & mask) | ((b_varies ? b[l] : b0) & ~mask);
  }
}

void run_fill(const Instruction& i, Frame& f) {
  const Bits a = *in<Bits>(f, i.a);
  Bits* d = out<Bits>(i, f);
  const int64_t n = lane_count(i, f);
  for (int64_t l = 0; l < n; ++l) d[l] = a;
}

void run_copy(const Instruction& i, Frame& f) {
  const void* a = f.at[i.a];
  void* d = out<void>(i, f);
  if (a != d) std::memmove(d, a, lane_count(i, f) * 8);
}

template <bool varies>
void run_store(const Instruction& i, Frame& f) {
  const Bits* a = in<Bits>(f, i.a);
  Bits* d = static_cast<Bits*>(f.sinks[i.buffer]) + f.slots[i.slot];
  const int64_t stride = f.program->strides[i.slot];
  const Bits a0 = a[0];
  ISOMER_LANES
  for (int64_t l = 0; l < f.lanes; ++l) d[l * stride] = varies ? a[l] : a0;
}

template <DataType to>
void run_to_integer(const Instruction& i, Frame& f) {
  map_one<double, int64_t>(i, f, [](double x) { return real_to_integer(x, IntegerType(to)); });
}
template <DataType to, bool unsigned64>
void run_to_real(const Instruction& i, Frame& f) {
  map_one<int64_t, double>(i, f, [](int64_t x) { return integer_to_real(x, unsigned64, to); });
}
template <DataType to>
void run_round(const Instruction& i, Frame& f) {
  map_one<double, double>(i, f, [](double x) { return round_real(to, x); });
}
template <int bits, bool is_signed>
void run_wrap(const Instruction& i, Frame& f) {
  map_one<int64_t, int64_t>(i, f, [](int64_t x) {
    const auto high = static_cast<uint64_t>(x) << (64 - bits);
    return is_signed ? static_cast<int64_t>(high) >> (64 - bits) : static_cast<int64_t>(high >> (64 - bits));
  });
}
void run_wrap_bool(const Instruction& i, Frame& f) {
  map_one<int64_t, int64_t>(i, f, [](int64_t x) { return int64_t{x != 0}; });
}

void run_iota(const Instruction& i, Frame& f) {
  const auto first = static_cast<uint64_t>(f.slots[i.slot]), stride = static_cast<uint64_t>(f.program->strides[i.slot]);
  int64_t* d = out<int64_t>(i, f);
  const int64_t n = lane_count(i, f);
  for (int64_t l = 0; l < n; ++l) d[l] = static_cast<int64_t>(first + stride * static_cast<uint64_t>(l));
}
template <Form form>
void run_add_scaled(const Instruction& i, Frame& f) {
  const auto factor = static_cast<uint64_t>(i.immediate);
  map_two<int64_t, int64_t, form>(i, f, [&](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + factor * static_cast<uint64_t>(b));
  });
}
void run_floor_divide(const Instruction& i, Frame& f) {
  const int64_t divisor = i.immediate;
  if ((divisor & (divisor - 1)) == 0) {
    const int shift = __builtin_ctzll(static_cast<uint64_t>(divisor));
    map_one<int64_t, int64_t>(i, f, [&](int64_t a) { return a >> shift; });
  } else {
    map_one<int64_t, int64_t>(i, f, [&](int64_t a) { return a / divisor - (a % divisor < 0); });
  }
}
void run_is_negative(const Instruction& i, Frame& f) {
  map_one<int64_t, int64_t>(i, f, [](int64_t x) { return int64_t{x < 0}; });
}
void run_is_zero(const Instruction& i, Frame& f) {
  map_one<int64_t, int64_t>(i, f, [](int64_t x) { return int64_t{x == 0}; });
}
template <Form form>
void run_and_not(const Instruction& i, Frame& f) {
  map_two<int64_t, int64_t, form>(i, f, [](int64_t a, int64_t b) { return a & (b ^ 1); });
}

template <Storage storage>
struct Element;
#define ISOMER_ELEMENT(STORAGE, STORED, LANE, CONVERT)                       \
  template <>                                                                \
  struct Element<Storage::STORAGE> {                                         \
    typedef STORED __attribute__((aligned(1), may_alias)) Stored;            \
    using Lane = LANE;                                                       \
    [[gnu::always_inline]] static Lane convert(STORED x) { return CONVERT; } \
  };
ISOMER_ELEMENT(kDouble, double, double, x)
ISOMER_ELEMENT(kInt64, int64_t, int64_t, x)
ISOMER_ELEMENT(kFloat32, float, double, x)
ISOMER_ELEMENT(kFloat16, uint16_t, double, half_to_real(x))
ISOMER_ELEMENT(kBFloat16, uint16_t, double, brain_to_real(x))
ISOMER_ELEMENT(kInt8, int8_t, int64_t, x)
ISOMER_ELEMENT(kUInt8, uint8_t, int64_t, x)
ISOMER_ELEMENT(kInt16, int16_t, int64_t, x)
ISOMER_ELEMENT(kUInt16, uint16_t, int64_t, x)
ISOMER_ELEMENT(kInt32, int32_t, int64_t, x)
ISOMER_ELEMENT(kUInt32, uint32_t, int64_t, x)
ISOMER_ELEMENT(kBool, uint8_t, int64_t, x != 0)
#undef ISOMER_ELEMENT
constexpr size_t kStorages = static_cast<size_t>(Storage::kBool) + 1;

int64_t first_element(const Instruction& i, const Frame& f) {
  return i.a < 0 ? f.slots[i.slot] : wrapping::add(f.slots[i.slot], *in<int64_t>(f, i.a));
}

void run_point(const Instruction& i, Frame& f) {
  f.at[i.dst] = const_cast<Bits*>(static_cast<const Bits*>(f.buffers[i.buffer]) + first_element(i, f));
}

template <Storage storage>
void run_load(const Instruction& i, Frame& f) {
  using E = Element<storage>;
  const auto* from = static_cast<const typename E::Stored*>(f.buffers[i.buffer]) + first_element(i, f);
  auto* d = out<typename E::Lane>(i, f);
  const int64_t n = lane_count(i, f);
  const int64_t stride = f.program->strides[i.slot];
  if (stride == 1) {
    ISOMER_LANES
    for (int64_t l = 0; l < n; ++l) d[l] = E::convert(from[l]);
  } else {
    for (int64_t l = 0; l < n; ++l) d[l] = E::convert(from[l * stride]);
  }
}

template <Storage storage, bool masked>
void run_gather(const Instruction& i, Frame& f) {
  using E = Element<storage>;
  const auto* from = static_cast<const typename E::Stored*>(f.buffers[i.buffer]);
  const int64_t* address = in<int64_t>(f, i.a);
  const int64_t* mask = masked ? in<int64_t>(f, i.c) : nullptr;
  auto* d = out<typename E::Lane>(i, f);
  const int64_t n = lane_count(i, f);
  for (int64_t l = 0; l < n; ++l) {
    if constexpr (masked)
      d[l] = mask[l] ? E::convert(from[address[l]]) : typename E::Lane{};
    else
      d[l] = E::convert(from[address[l]]);
  }
}

void fail_range(const Instruction& i, Frame& f, int64_t index) {
  f.failure = out_of_range(f.program->buffers[i.buffer], i.axis, index, i.immediate);
}

void run_check_slot(const Instruction& i, Frame& f) {
  const int64_t first = f.slots[i.slot];
  const int64_t last = first + f.program->strides[i.slot] * (lane_count(i, f) - 1);
  if (first < 0 || first >= i.immediate) return fail_range(i, f, first);
  if (last < 0 || last >= i.immediate) fail_range(i, f, last < 0 ? -1 : i.immediate);
}
template <bool masked>
void run_check_lanes(const Instruction& i, Frame& f) {
  const int64_t* index = in<int64_t>(f, i.a);
  const int64_t* mask = masked ? in<int64_t>(f, i.c) : nullptr;
  const int64_t n = lane_count(i, f);
  for (int64_t l = 0; l < n; ++l) {
    const bool outside = static_cast<uint64_t>(index[l]) >= static_cast<uint64_t>(i.immediate);
    if (outside && (!masked || mask[l])) return fail_range(i, f, index[l]);
  }
}
template <bool masked>
void run_check_divisor(const Instruction& i, Frame& f) {
  const int64_t* divisor = in<int64_t>(f, i.a);
  const int64_t* mask = masked ? in<int64_t>(f, i.c) : nullptr;
  const int64_t n = lane_count(i, f);
  for (int64_t l = 0; l < n; ++l)
    if (divisor[l] == 0 && (!masked || mask[l])) f.failure = kDivisionByZero;
}

void run_bind_lanes(const Instruction& i, Frame& f) {
  f.own[i.dst] = f.at[i.dst] = static_cast<Bits*>(f.sinks[i.buffer]) + f.lane;
}
void run_bind_output(const Instruction& i, Frame& f) {
  f.own[i.dst] = f.at[i.dst] = static_cast<Bits*>(f.sinks[i.buffer]) + f.slots[i.slot];
}

}  // namespace

Run blend(bool a_varies, bool b_varies) {
  if (a_varies) return b_varies ? run_blend<true, true> : run_blend<true, false>;
  return b_varies ? run_blend<false, true> : run_blend<false, false>;
}
Run fill() { return run_fill; }
Run copy() { return run_copy; }
Run store(bool varies) { return varies ? run_store<true> : run_store<false>; }

Run to_integer(DataType to) {
  switch (to) {
    case DataType::kInt8: return run_to_integer<DataType::kInt8>;
    case DataType::kInt16: return run_to_integer<DataType::kInt16>;
    case DataType::kInt32: return run_to_integer<DataType::kInt32>;
    case DataType::kInt64: return run_to_integer<DataType::kInt64>;
    case DataType::kInt4: return run_to_integer<DataType::kInt4>;
    case DataType::kInt2: return run_to_integer<DataType::kInt2>;
    case DataType::kFloat4E2M1:
    case DataType::kUInt4: return run_to_integer<DataType::kUInt4>;
    case DataType::kUInt2: return run_to_integer<DataType::kUInt2>;
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat8E8M0:
    case DataType::kUInt8: return run_to_integer<DataType::kUInt8>;
    case DataType::kUInt16: return run_to_integer<DataType::kUInt16>;
    case DataType::kUInt32: return run_to_integer<DataType::kUInt32>;
    case DataType::kUInt64: return run_to_integer<DataType::kUInt64>;
    default: return run_to_integer<DataType::kBool>;
  }
}
Run to_real(DataType to, bool unsigned64) {
  switch (to) {
    case DataType::kFloat32:
      return unsigned64 ? run_to_real<DataType::kFloat32, true> : run_to_real<DataType::kFloat32, false>;
    case DataType::kFloat16:
      return unsigned64 ? run_to_real<DataType::kFloat16, true> : run_to_real<DataType::kFloat16, false>;
    case DataType::kBFloat16:
      return unsigned64 ? run_to_real<DataType::kBFloat16, true> : run_to_real<DataType::kBFloat16, false>;
    default: return unsigned64 ? run_to_real<DataType::kFloat64, true> : run_to_real<DataType::kFloat64, false>;
  }
}
Run round(DataType to) {
  switch (to) {
    case DataType::kFloat32: return run_round<DataType::kFloat32>;
    case DataType::kFloat16: return run_round<DataType::kFloat16>;
    default: return run_round<DataType::kBFloat16>;
  }
}
Run wrap(DataType to) {
  switch (to) {
    case DataType::kInt8: return run_wrap<8, true>;
    case DataType::kInt16: return run_wrap<16, true>;
    case DataType::kInt32: return run_wrap<32, true>;
    case DataType::kInt4: return run_wrap<4, true>;
    case DataType::kInt2: return run_wrap<2, true>;
    case DataType::kFloat4E2M1:
    case DataType::kUInt4: return run_wrap<4, false>;
    case DataType::kUInt2: return run_wrap<2, false>;
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat8E8M0:
    case DataType::kUInt8: return run_wrap<8, false>;
    case DataType::kUInt16: return run_wrap<16, false>;
    case DataType::kUInt32: return run_wrap<32, false>;
    default: return run_wrap_bool;
  }
}

namespace {

template <BinaryOp op, class T>
void fold(T* values, int64_t count) {
  for (; count > 1; count -= count / 2) {
    const int64_t half = count / 2;
    const T* right = values + (count - half);
    ISOMER_LANES
    for (int64_t l = 0; l < half; ++l) {
      if constexpr (std::is_same_v<T, double>)
        values[l] = apply(op, values[l], right[l]);
      else
        values[l] = apply(op, values[l], right[l], false);
    }
  }
}
template <class T>
void fold_by(BinaryOp op, T* values, int64_t count) {
  switch (op) {
    case BinaryOp::kAdd: return fold<BinaryOp::kAdd>(values, count);
    case BinaryOp::kMul: return fold<BinaryOp::kMul>(values, count);
    case BinaryOp::kMin: return fold<BinaryOp::kMin>(values, count);
    case BinaryOp::kMax: return fold<BinaryOp::kMax>(values, count);
    case BinaryOp::kAnd: return fold<BinaryOp::kAnd>(values, count);
    case BinaryOp::kOr: return fold<BinaryOp::kOr>(values, count);
    default: return fold<BinaryOp::kXor>(values, count);
  }
}

}  // namespace

void fold_real(BinaryOp op, double* values, int64_t count) { fold_by(op, values, count); }
void fold_integer(BinaryOp op, int64_t* values, int64_t count) { fold_by(op, values, count); }

Run iota() { return run_iota; }
Run add_scaled(Form form) {
  switch (form) {
    case Form::kBoth: return run_add_scaled<Form::kBoth>;
    case Form::kLeft: return run_add_scaled<Form::kLeft>;
    case Form::kRight: return run_add_scaled<Form::kRight>;
  }
  return nullptr;
}
Run floor_divide() { return run_floor_divide; }
Run is_negative() { return run_is_negative; }
Run is_zero() { return run_is_zero; }
Run and_not(Form form) {
  switch (form) {
    case Form::kBoth: return run_and_not<Form::kBoth>;
    case Form::kLeft: return run_and_not<Form::kLeft>;
    case Form::kRight: return run_and_not<Form::kRight>;
  }
  return nullptr;
}

Run point() { return run_point; }
Run load(Storage storage) {
  static constexpr auto runs = table<kStorages>([](auto k) -> Run { return run_load<static_cast<Storage>(k())>; });
  return runs[static_cast<size_t>(storage)];
}
Run gather(Storage storage, bool masked) {
  static constexpr auto plain =
      table<kStorages>([](auto k) -> Run { return run_gather<static_cast<Storage>(k()), false>; });
  static constexpr auto under_mask =
      table<kStorages>([](auto k) -> Run { return run_gather<static_cast<Storage>(k()), true>; });
  return (masked ? under_mask : plain)[static_cast<size_t>(storage)];
}
Run check_slot() { return run_check_slot; }
Run check_lanes(bool masked) { return masked ? run_check_lanes<true> : run_check_lanes<false>; }
Run check_divisor(bool masked) { return masked ? run_check_divisor<true> : run_check_divisor<false>; }
Run bind_lanes() { return run_bind_lanes; }
Run bind_output() { return run_bind_output; }

}  // namespace isomer::te::interpreter::kernels
