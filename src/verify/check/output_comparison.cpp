#include "verify/check/output_comparison.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/te/integer_algebra.h"

namespace isomer {
namespace {

/// Of what is always allowed, as much as settles an element before the reference's rounding error is known.
constexpr double kClearlyWithin = 0.5;
/// Where rounding moves an output by more than that many units of the last place of its usual values, the function is
/// badly conditioned, or jumps: then each element has only what movements show of it.
constexpr double kBadlyConditioned = 0x1p7;
/// What wide movements move by, as compared with rounding.
constexpr double kWidth = 8;
/// Elements that are this many times larger than all but one in a hundred are outliers: what is usual is not theirs.
constexpr double kOutlier = 16;
constexpr double kOutliers = 0.01;
/// Magnitudes from 2^kLeastMask on, with none in so many powers of two below them, of float32 and of float16, are what
/// masks put in the place of a number: they say nothing of what is usual of the others, and these nothing of them.
constexpr int kLeastMask = 10, kGap = 20, kShortGap = 10;
/// Moved this much further than is usual, an element is either badly conditioned or decided by rounding.
constexpr double kFarBeyond = 32;
/// So many times as far as rounding do wide movements take a smooth function, give or take the luck of the draw; a jump
/// is as long for either.
constexpr double kLeastGrowth = 3, kMostGrowth = 64;
/// A jump explains differences of this many times its size: there may be others. Integers, too, are off by a few times
/// what rounding moves them by, and not by any number, unless they are places.
constexpr double kOtherJumps = 8;
/// Where that share of an output differs by so many times more than any of the least movements took it, more of them
/// are no use.
constexpr double kManyHopeless = 0.01, kHopeless = 64;
/// Behind the first layer of a quantized model rounding decides all elements. Where so many, and most of them, move no
/// further by wide movements than by narrow ones, chance alone says how far one moved in the few that were made: what
/// is usual counts for all of them.
constexpr size_t kManyTogether = 32;
constexpr double kMostOfThem = 0.65;
/// And where no movement took a few others, one in so many, and these differ by no more than what is usual of the rest,
/// rounding decides them, too.
constexpr double kFewOthers = 0.1, kSameJump = 2;
constexpr int kLeastForOthers = 16;
/// Of integers, as they come out of quantized operators, ties alone may move, and do so again and again: others that
/// differ and never moved are more likely wrong, unless nearly as many moved by chance, once (Good 1953: the unseen are
/// as many).
constexpr std::ptrdiff_t kForEachOnce = 2;
/// Movements of sums take a smooth function further than wide ones by what they are wider, and by less than that more.
constexpr double kMoreThanWider = 4;

/// The largest magnitude, or `kOutlier` times what all but one in a hundred stay below, if that is less and not zero.
double usual_of(std::vector<double> magnitudes) {
  std::erase_if(magnitudes, [](double x) { return !std::isfinite(x); });
  if (magnitudes.empty()) return 0;
  const double largest = *std::max_element(magnitudes.begin(), magnitudes.end());
  const auto outliers = static_cast<std::ptrdiff_t>(kOutliers * static_cast<double>(magnitudes.size()));
  const auto last = magnitudes.end() - 1 - outliers;
  std::nth_element(magnitudes.begin(), last, magnitudes.end());
  return *last > 0 ? std::min(largest, kOutlier * *last) : largest;
}

/// The power of two from which on the masks' magnitudes are; infinite where there are none.
double least_of_masks(const std::vector<double>& magnitudes, DataType dtype) {
  constexpr int kLeast = -1074, kPowers = 1024 - kLeast;
  std::array<bool, kPowers> is_met = {};
  for (const double magnitude : magnitudes)
    if (magnitude > 0 && std::isfinite(magnitude)) is_met[static_cast<size_t>(std::ilogb(magnitude) - kLeast)] = true;
  const int gap = dtype == DataType::kFloat16 ? kShortGap : kGap;
  std::optional<int> before;
  for (int power = 0; power < kPowers; ++power) {
    if (!is_met[static_cast<size_t>(power)]) continue;
    if (before && power + kLeast >= kLeastMask && power - *before > gap) return std::ldexp(1, power + kLeast);
    before = power;
  }
  return INFINITY;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// |b - a|, infinite where only one of them is a number.
double distance(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INFINITY;
  return a == b ? 0 : std::fabs(a - b);
}

bool is_integer(DataType dtype) { return is_int(dtype) || dtype == DataType::kBool; }

__int128 integer_at(const te::Array& array, int64_t element) {
  return te::unwrap(array.dtype(), array.integer(element));
}

/// The same of elements of two arrays of one type, of integers without rounding either.
double distance(const te::Array& a, const te::Array& b, int64_t element) {
  if (!is_integer(a.dtype())) return distance(a.as_double(element), b.as_double(element));
  const __int128 between = integer_at(a, element) - integer_at(b, element);
  return static_cast<double>(between < 0 ? -between : between);
}

}  // namespace

std::string Difference::text() const {
  if (!refusal.empty()) return fmt::format("outputs expected, none found: {}", refusal);
  if (!expected_type.empty()) return fmt::format("{}: {} expected, {} found", output, expected_type, found_type);
  const auto number = [](double value, const std::string& integer) {
    return integer.empty() ? fmt::format("{:.9g}", value) : integer;
  };
  return fmt::format("{}[{}]: {} expected, {} found (allowed difference {:.3g})", output, fmt::join(index, ","),
                     number(expected, expected_integer), number(found, found_integer), bound);
}

Difference difference_at(const std::string& output, const te::Array& expected, const te::Array& found, int64_t element,
                         double bound) {
  Difference difference{output, unflatten(element, expected.dims()), expected.as_double(element),
                        found.as_double(element), bound};
  if (is_integer(expected.dtype())) {
    difference.expected_integer = fmt::format("{}", integer_at(expected, element));
    difference.found_integer = fmt::format("{}", integer_at(found, element));
  }
  return difference;
}

Difference difference_of_types(const std::string& output, const te::Array& expected, const te::Array& found) {
  const auto type = [](const te::Array& array) {
    return fmt::format("{}[{}]", name(array.dtype()), fmt::join(array.dims(), ","));
  };
  Difference difference{.output = output};
  difference.expected_type = type(expected);
  difference.found_type = type(found);
  return difference;
}

Dims unflatten(int64_t flat, const Dims& dims) {
  Dims index(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    index[k] = flat % dims[k];
    flat /= dims[k];
  }
  return index;
}

double unit_roundoff(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return 0x1p-11;
    case DataType::kBFloat16: return 0x1p-8;
    case DataType::kFloat64: return 0x1p-44;
    default: return 0x1p-24;
  }
}

double underflow_threshold(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return 0x1p-24;
    case DataType::kFloat64: return 0x1p-1022;
    default: return 0x1p-126;
  }
}

double difference_of(const te::Array& expected, const te::Array& found, int64_t element) {
  if (is_integer(expected.dtype())) return distance(expected, found, element);
  const double there = found.as_double(element);
  double wanted = expected.as_double(element);
  if (std::isinf(there) && is_float(expected.dtype())) wanted = round_to(expected.dtype(), wanted);
  return distance(wanted, there);
}

int64_t count_not_finite(const te::Array& expected, const te::Array& found) {
  int64_t count = 0;
  for (int64_t i = 0; is_float(expected.dtype()) && i < expected.count(); ++i)
    count += !std::isfinite(found.as_double(i)) && difference_of(expected, found, i) == 0;
  return count;
}

OutputComparison::OutputComparison(std::string name, te::Array expected, te::Array found, double units,
                                   Strictness strictness, bool are_places)
    : name_(std::move(name)),
      expected_(std::move(expected)),
      found_(std::move(found)),
      units_(units),
      strictness_(strictness),
      are_places_(are_places) {
  if (is_comparable() && is_float(expected_.dtype())) {
    std::vector<double> magnitudes(expected_.count());
    for (int64_t i = 0; i < expected_.count(); ++i) magnitudes[i] = std::fabs(expected_.as_double(i));
    masks_from_ = least_of_masks(magnitudes, expected_.dtype());
    const auto masks = std::ranges::partition(magnitudes, [&](double x) { return !is_mask(x); });
    of_masks_.usual = usual_of({masks.begin(), masks.end()});
    magnitudes.erase(masks.begin(), masks.end());
    of_others_.usual = usual_of(std::move(magnitudes));
  }
  find_suspects(nullptr);
  judge();
}

int64_t OutputComparison::elements() const { return expected_.count(); }

bool OutputComparison::is_mask(double value) const { return std::isfinite(value) && std::fabs(value) >= masks_from_; }

const OutputComparison::Scale& OutputComparison::scale_at(int64_t element) const {
  return is_mask(expected_.as_double(element)) ? of_masks_ : of_others_;
}

double OutputComparison::floor_at(int64_t element) const {
  if (!is_float(expected_.dtype())) return 0;
  const double magnitude = std::fabs(expected_.as_double(element));
  return underflow_threshold(expected_.dtype()) +
         units_ * unit_roundoff(expected_.dtype()) *
             std::max(scale_at(element).usual, std::isfinite(magnitude) ? magnitude : 0);
}

double OutputComparison::bound_at(int64_t element, double moved) const {
  if (!is_float(expected_.dtype())) return 0;
  return floor_at(element) + kErrorRatio * std::max(scale_at(element).smooth, moved);
}

double OutputComparison::bound_of(const Suspect& suspect) const {
  return bound_at(suspect.element, strictness_.reach * std::max(suspect.narrow, suspect.wide / kWidth));
}

void OutputComparison::find_suspects(const te::Array* rounded) {
  suspects_.clear();
  worst_unsuspected_ = largest_unsuspected_ = 0;
  if (!is_comparable()) return;
  for (int64_t i = 0; i < expected_.count(); ++i) {
    const double difference = difference_of(expected_, found_, i);
    if (difference == 0) continue;
    const double moved = rounded ? distance(expected_, *rounded, i) : 0;
    const bool is_far = moved > kFarBeyond * std::max(scale_at(i).smooth, floor_at(i) / kErrorRatio);
    const double bound = bound_at(i, is_far ? 0 : moved);
    if (difference <= strictness_.within * bound) {
      worst_unsuspected_ = std::max(worst_unsuspected_, difference / bound);
      largest_unsuspected_ = std::max(largest_unsuspected_, difference);
    } else {
      suspects_.push_back({i, difference, moved, 0});
    }
  }
}

void OutputComparison::use_rounded(const te::Array& rounded) {
  knows_rounding_ = true;
  dims_move_ = rounded.dims() != expected_.dims();
  if (is_comparable() && !dims_move_) {
    if (is_float(expected_.dtype())) {
      std::vector<double> of_masks, of_others;
      for (int64_t i = 0; i < expected_.count(); ++i) {
        const double value = expected_.as_double(i);
        (is_mask(value) ? of_masks : of_others).push_back(distance(value, rounded.as_double(i)));
      }
      for (const auto& [errors, scale] : {std::pair(&of_masks, &of_masks_), {&of_others, &of_others_}})
        scale->smooth =
            std::min(usual_of(std::move(*errors)), kBadlyConditioned * unit_roundoff(expected_.dtype()) * scale->usual);
    }
    find_suspects(&rounded);
  }
  judge();
}

void OutputComparison::Suspect::take(double& furthest, double distance) {
  times += distance > 0 ? 1 : 0;
  furthest = std::max(furthest, distance);
}

void OutputComparison::use_moved(const te::Array& moved, double half_ulps) {
  ++movements_;
  if (moved.dims() != expected_.dims()) dims_move_ = true;
  if (is_comparable() && !dims_move_)
    for (Suspect& suspect : suspects_) {
      double& furthest = half_ulps >= kWide ? suspect.wide : suspect.narrow;
      suspect.take(furthest, distance(expected_, moved, suspect.element));
    }
  judge();
}

void OutputComparison::use_moved_as_sums(const te::Array& moved, double half_ulps) {
  ++movements_;
  sums_ = half_ulps;
  if (moved.dims() != expected_.dims()) dims_move_ = true;
  if (is_comparable() && !dims_move_)
    for (Suspect& suspect : suspects_) suspect.take(suspect.sums, distance(expected_, moved, suspect.element));
  judge();
}

bool OutputComparison::jumps_as_sums(const Suspect& suspect) const {
  const double usual = std::max(scale_at(suspect.element).smooth, floor_at(suspect.element) / kErrorRatio);
  const double smooth = sums_ / kWide * std::max(suspect.wide, kWide * usual);
  return suspect.sums > kMoreThanWider * smooth && suspect.difference <= kOtherJumps * suspect.sums;
}

bool OutputComparison::agrees_rounded(const te::Array& expected, const te::Array& found) const {
  if (!is_comparable() || expected.dtype() != expected_.dtype() || found.dtype() != expected_.dtype() ||
      expected.dims() != expected_.dims() || found.dims() != expected_.dims())
    return false;
  for (int64_t i = 0; i < expected.count(); ++i)
    // Each of them was rounded.
    if (difference_of(expected, found, i) > strictness_.within * (floor_at(i) + 2 * scale_at(i).smooth)) return false;
  return true;
}

void OutputComparison::set_rest_aside() {
  rest_set_aside_ = true;
  judge();
}

OutputComparison::Verdict OutputComparison::verdict(const Suspect& suspect) const {
  const double furthest = std::max(suspect.narrow, suspect.wide);
  if (dims_move_ || rest_set_aside_ || std::isinf(furthest)) return Verdict::kSetAside;
  if (!is_float(expected_.dtype())) {
    const bool is_jump = are_places_ || suspect.difference <= kOtherJumps * suspect.furthest();
    return is_jump && suspect.furthest() > 0 ? Verdict::kSetAside : Verdict::kDiffers;
  }
  const bool is_within = suspect.difference <= strictness_.within * bound_of(suspect);
  const double usual = std::max(scale_at(suspect.element).smooth, floor_at(suspect.element) / kErrorRatio);
  const bool is_far = std::max(suspect.narrow, suspect.wide / kWidth) > kFarBeyond * usual;
  if (is_within && !is_far) return Verdict::kAgrees;
  if (movements_ < kLeastMovements) return Verdict::kDiffers;
  const bool is_smooth = suspect.wide >= kLeastGrowth * suspect.narrow && suspect.wide <= kMostGrowth * suspect.narrow;
  if (is_smooth && is_within) return Verdict::kAgrees;
  if (!is_smooth && suspect.difference <= kOtherJumps * furthest) return Verdict::kSetAside;
  return jumps_as_sums(suspect) ? Verdict::kSetAside : Verdict::kDiffers;
}

bool OutputComparison::is_hopeless() const {
  if (movements_ < kLeastMovements || settled_ || !is_comparable() || !is_float(expected_.dtype())) return false;
  const auto hopeless = std::count_if(suspects_.begin(), suspects_.end(), [&](const Suspect& suspect) {
    return suspect.difference > kHopeless * std::max(suspect.furthest(), floor_at(suspect.element));
  });
  return static_cast<double>(hopeless) > kManyHopeless * static_cast<double>(elements());
}

double OutputComparison::jump_of_others() const {
  std::vector<double> moves, jumps;
  size_t unexplained = 0, noisy = 0;
  for (const Suspect& suspect : suspects_) {
    const double furthest = suspect.furthest();
    if (!std::isfinite(furthest)) continue;
    const Verdict judged = verdict(suspect);
    moves.push_back(furthest);
    noisy += suspect.narrow > 0 && suspect.wide < kLeastGrowth * suspect.narrow;
    unexplained += judged == Verdict::kDiffers;
    if (judged == Verdict::kSetAside) jumps.push_back(furthest);
  }
  const auto is_share = [](size_t part, double share, size_t whole) {
    return static_cast<double>(part) >= share * static_cast<double>(whole);
  };
  if (movements_ >= kLeastMovements && moves.size() >= kManyTogether && is_share(noisy, kMostOfThem, moves.size()))
    return kOtherJumps * median(std::move(moves));
  const bool are_few = !jumps.empty() && is_share(jumps.size(), 1 / kFewOthers, unexplained);
  return movements_ >= kLeastForOthers && are_few ? kSameJump * median(std::move(jumps)) : 0;
}

bool OutputComparison::excuses_unmoved() const {
  if (is_float(expected_.dtype())) return true;
  const auto unmoved = std::ranges::count(suspects_, 0, &Suspect::furthest);
  const auto once = std::ranges::count(suspects_, 1, &Suspect::times);
  return movements_ >= kLeastForOthers && unmoved <= kForEachOnce * once;
}

void OutputComparison::judge() {
  difference_.reset();
  set_aside_ = 0;
  max_abs_error_ = largest_unsuspected_;
  max_error_over_bound_ = worst_unsuspected_;
  if (!is_comparable()) {
    settled_ = dims_move_ && expected_.dtype() == found_.dtype();
    if (settled_) {
      set_aside_ = elements();
      return;
    }
    max_error_over_bound_ = INFINITY;
    difference_ = difference_of_types(name_, expected_, found_);
    return;
  }
  double worst = 0;
  const double like_others = jump_of_others();
  const bool unmoved_too = excuses_unmoved();
  for (const Suspect& suspect : suspects_) {
    const Verdict judged = verdict(suspect);
    const bool is_one_more =
        judged == Verdict::kDiffers && suspect.difference <= like_others && (unmoved_too || suspect.furthest() > 0);
    if (judged == Verdict::kSetAside || is_one_more) {
      ++set_aside_;
      continue;
    }
    const double bound = bound_of(suspect);
    const double share = bound > 0 ? suspect.difference / bound : INFINITY;
    max_abs_error_ = std::max(max_abs_error_, suspect.difference);
    max_error_over_bound_ = std::max(max_error_over_bound_, share);
    if (judged == Verdict::kAgrees || (difference_ && share <= worst)) continue;
    worst = share;
    difference_ = difference_at(name_, expected_, found_, suspect.element, bound);
  }
  settled_ = !difference_ && (knows_rounding_ || max_error_over_bound_ <= kClearlyWithin);
}

}  // namespace isomer
