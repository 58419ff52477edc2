// What check-axioms says of floating point: the class that each row declares, and whether it is that.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "verify/laws/check_axioms.h"
#include "verify/laws/check_float_class.h"

namespace isomer::cli {

class FloatClasses {
 public:
  /// Checks them; `all` outlives it.
  FloatClasses(const std::vector<verify::CheckedAxiom>& all, int trials, uint64_t seed, int threads);

  bool all_hold() const { return refuted_ + unchecked_ == 0; }
  nlohmann::json facts() const;
  nlohmann::json facts(size_t axiom) const;
  /// The closing line: laws of each class.
  std::string text() const;
  /// Lines beneath an axiom's; none where all is as declared, unless it is to tell more.
  std::string text(size_t axiom, bool is_verbose) const;

 private:
  FloatClass declared(size_t axiom) const { return all_[axiom].stated.axiom->float_class; }

  const std::vector<verify::CheckedAxiom>& all_;
  std::vector<verify::FloatClassCheck> checks_;
  std::array<int, 5> by_class_{};  ///< those that hold
  int refuted_ = 0, unchecked_ = 0;
};

}  // namespace isomer::cli
