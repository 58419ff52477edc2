// One output of two models on the same inputs. What may differ is judged element by element from how the reference
// itself moves when its numbers are rounded otherwise (graph/move_values.h): where that moves an element smoothly, the
// bound is a few times as much; where the element jumps (behind Sign, Floor, a cast to an integer, ArgMax, an
// overflow), rounding decides it, and it is set aside. Tests: tests/verify/equivalence_test.cpp
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "graph/te/array.h"

namespace isomer {

/// Where two outputs differ most, relative to what they may.
struct Difference {
  std::string output = {};
  Dims index = {};
  double expected = 0;
  double found = 0;
  double bound = 0;
  /// All their digits, where they are integers.
  std::string expected_integer = {}, found_integer = {};
  /// Why the other model does not run on inputs that the reference runs on; then that is all.
  std::string refusal = {};
  /// "float32[4]", where the outputs' types or shapes differ; then that is all.
  std::string expected_type = {}, found_type = {};
  /// "y[0,3]: 1.5 expected, 1.25 found (allowed difference 1e-06)", "outputs expected, none found: …", "y: float32[4]
  /// expected, float64[4] found"
  std::string text() const;
};

/// Of one element.
Difference difference_at(const std::string& output, const te::Array& expected, const te::Array& found, int64_t element,
                         double bound);
/// Of outputs whose types or shapes differ.
Difference difference_of_types(const std::string& output, const te::Array& expected, const te::Array& found);

/// How far rounding may have moved a value beyond the reference's own rounding error (P4: max-norm ratio).
inline constexpr double kErrorRatio = 8;

/// The index of an element that has this place in row-major order.
Dims unflatten(int64_t flat, const Dims& dims);

/// Elements that are no number or infinite, of both outputs alike.
int64_t count_not_finite(const te::Array& expected, const te::Array& found);

/// Half the distance between 1 and the next value of a float type; of float64, in which we evaluate, with room for
/// sums in another order.
double unit_roundoff(DataType dtype);

/// What is smaller may become zero or the next number of the type: the least normal one where runtimes flush what is
/// below, else the least one.
double underflow_threshold(DataType dtype);

/// |found - expected|, infinite where only one of them is a number; what the type has no number for is infinite.
/// Integers count to their last bit.
double difference_of(const te::Array& expected, const te::Array& found, int64_t element);

/// Half places of the two kinds of movement: what rounding is, and more, for other orders of sums and for finding
/// decisions that are close.
inline constexpr double kNarrow = 1, kWide = 16;

/// Movements before anything is judged by them, however late it is: of both kinds, both ways.
inline constexpr int kLeastMovements = 4;
/// The same where sums are rounded term by term, and values are moved as far as that may be, too.
inline constexpr int kLeastWithSums = 16;

/// For those who want to know beforehand, with few movements, that a check on other inputs will pass, too.
struct Strictness {
  double within = 1;  ///< the share of what is allowed by which elements may differ
  double reach = 1;   ///< many movements take an element so many times further than those that are made
};

class OutputComparison {
 public:
  /// `units` of the last place, of the element and of the output's usual values, are always allowed. Where integers
  /// are places (places.h), one that rounding moves may be any other.
  OutputComparison(std::string name, te::Array expected, te::Array found, double units, Strictness strictness = {},
                   bool are_places = false);

  /// The reference with each value rounded to the nearest. To be called before the next one, once.
  void use_rounded(const te::Array& rounded);
  /// The reference moved by kNarrow or kWide half places.
  void use_moved(const te::Array& moved, double half_ulps);
  /// The reference moved by so many half places as sums may be off: what jumps then, and does not move by less, as a
  /// quantized number does, is decided by the order in which terms are added.
  void use_moved_as_sums(const te::Array& moved, double half_ulps);
  /// Whether the two models differ by no more than is usual where each value is rounded to its type as it is made.
  bool agrees_rounded(const te::Array& expected, const te::Array& found) const;
  /// All outputs do: what differs without rounding, the fraction of a number that has none in its type, it decides.
  void set_rest_aside();

  /// All elements agree or were set aside, and no further run of the reference is needed to say by how much.
  bool is_settled() const { return settled_; }
  /// Many elements differ so much more than movements ever moved them that no more of these will excuse them.
  bool is_hopeless() const;

  const std::string& name() const { return name_; }
  int64_t elements() const;
  int64_t set_aside() const { return set_aside_; }
  int64_t not_finite() const { return is_comparable() ? count_not_finite(expected_, found_) : 0; }
  double max_abs_error() const { return max_abs_error_; }  ///< of the others
  double max_error_over_bound() const { return max_error_over_bound_; }
  const std::optional<Difference>& difference() const { return difference_; }

 private:
  /// An element that differs by more than what was known before the first movement allows.
  struct Suspect {
    int64_t element = 0;
    double difference = 0;
    double narrow = 0, wide = 0;  ///< how far rounding, and how far wide movements took it
    double sums = 0;              ///< how far movements of sums did
    int times = 0;                ///< movements that took it anywhere
    double furthest() const { return std::max({narrow, wide, sums}); }
    void take(double& furthest, double distance);
  };
  enum class Verdict { kAgrees, kSetAside, kDiffers };
  /// But for outliers.
  struct Scale {
    double usual = 0;   ///< magnitude of elements
    double smooth = 0;  ///< what rounding moves them by
  };

  bool is_comparable() const { return expected_.dtype() == found_.dtype() && expected_.dims() == found_.dims(); }
  /// Far beyond all that is no mask: what stands for no number.
  bool is_mask(double value) const;
  const Scale& scale_at(int64_t element) const;
  double floor_at(int64_t element) const;
  double bound_at(int64_t element, double moved) const;
  double bound_of(const Suspect& suspect) const;
  Verdict verdict(const Suspect& suspect) const;
  bool jumps_as_sums(const Suspect& suspect) const;
  /// How far an element may differ whatever movements did to it, where they took nearly all the others that differ, or
  /// where all of them together are noise; else 0.
  double jump_of_others() const;
  /// Whether that holds of integers that no movement took anywhere, too.
  bool excuses_unmoved() const;
  void find_suspects(const te::Array* rounded);
  void judge();

  std::string name_;
  te::Array expected_, found_;
  double units_;
  Strictness strictness_;
  bool are_places_;
  Scale of_others_, of_masks_;
  double masks_from_ = INFINITY;  ///< magnitude; none where it is infinite
  bool knows_rounding_ = false;
  int movements_ = 0;
  double sums_ = 0;  ///< half places that sums were moved by; none were yet where it is 0
  bool dims_move_ = false;
  bool rest_set_aside_ = false;
  std::vector<Suspect> suspects_;
  double worst_unsuspected_ = 0, largest_unsuspected_ = 0;

  bool settled_ = false;
  int64_t set_aside_ = 0;
  double max_abs_error_ = 0, max_error_over_bound_ = 0;
  std::optional<Difference> difference_;
};

}  // namespace isomer
