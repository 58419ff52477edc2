// The numbers of an instance that may be sizes, and the instance with others in their places.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "verify/laws/law_sizes.h"

namespace isomer::verify {

/// A dim of a variable, or an integer that the law leaves open.
struct Place {
  std::string variable;   ///< whose dim it is; empty: an integer
  std::string name = {};  ///< of the integer, or of the parameter behind `rest`
  std::string rest = {};
  size_t index = 0;        ///< of the dim, or of the element of the parameter
  bool is_stated = false;  ///< by an attribute: it must be a number
  int64_t value = 0;
};

/// Law and instance outlive it.
class InstancePlaces {
 public:
  InstancePlaces(const Law& law, std::string_view family, const LawInstance& instance);

  const std::vector<Place>& places() const { return places_; }
  /// The first of them are dims.
  size_t dims() const { return dims_; }
  size_t rank(const Place& dim) const { return instance_.types.find(dim.variable)->second.shape->size(); }
  LawSizes with(const std::vector<Dim>& sizes) const;
  LawSizes with(const std::vector<int64_t>& sizes) const { return with(std::vector<Dim>(sizes.begin(), sizes.end())); }
  /// Whether that is an instance of the law and its family.
  bool is_instance(const std::vector<int64_t>& sizes) const;

 private:
  void add(Place place, const std::set<std::string>& stated);

  const Law& law_;
  std::string_view family_;
  const LawInstance& instance_;
  std::map<std::string, SaidRank> said_;
  std::vector<Place> places_;
  size_t dims_ = 0;
};

}  // namespace isomer::verify
