// The names of a graph's values in a file: unique, and as the graph has them wherever that is possible.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace isomer {

class ExportNames {
 public:
  /// Names for the values of `graph`. `captured` are the names of what its captures stand for; nothing else here takes
  /// a name that `outer` uses, because it would hide it.
  ExportNames(const Graph& graph, const std::vector<std::string>& captured, const ExportNames* outer);

  const std::string& of(ValueId id) const { return names_[id.index]; }
  /// A name that neither this graph nor those around it use yet.
  std::string fresh(const std::string& hint);

 private:
  bool is_taken(const std::string& name) const;
  void give(ValueId id, const std::string& wanted);
  const ExportNames* outer_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> last_suffix_;
};

}  // namespace isomer
