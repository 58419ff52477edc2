#include "report/pieces.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace isomer::report {
namespace {

/// A changed pair, or a node of one graph.
struct Member {
  NodeId before, after;
};

class Pieces {
 public:
  Pieces(const GraphDiff::Place& place, const Graph& before, const Graph& after, const GraphDiff& diff)
      : before_(before), after_(after), diff_(diff) {
    for (const GraphDiff::Pair& pair : place.changed) members_.push_back({pair.before, pair.after});
    for (const NodeId id : place.removed) members_.push_back({id, {}});
    for (const NodeId id : place.added) members_.push_back({{}, id});
    for (size_t k = 0; k < members_.size(); ++k) add_uses(k);
  }

  std::vector<std::vector<Member>> run() const {
    std::vector<std::vector<Member>> result = {members_};
    constexpr size_t kReaders[] = {8, 4, 2, 1};
    for (const size_t most : kReaders) {
      if (largest(result) <= kMostDrawn) break;
      result = joined_by(most);
    }
    std::vector<std::vector<Member>> small;
    for (const std::vector<Member>& piece : result)
      for (size_t at = 0; at < piece.size(); at += kMostDrawn)
        small.emplace_back(piece.begin() + static_cast<std::ptrdiff_t>(at),
                           piece.begin() + static_cast<std::ptrdiff_t>(std::min(at + kMostDrawn, piece.size())));
    return small;
  }

 private:
  /// One of both graphs' where they are a pair.
  using Key = std::pair<bool, int>;
  Key key(const Graph& graph, ValueId value) const {
    if (&graph == &before_) return {false, value.index};
    const ValueId pair = diff_.paired[static_cast<size_t>(value.index)];
    return pair.valid() ? Key(false, pair.index) : Key(true, value.index);
  }

  void add_uses(size_t member) {
    for (const Graph* graph : {&before_, &after_}) {
      const NodeId id = graph == &before_ ? members_[member].before : members_[member].after;
      if (!id.valid()) continue;
      const Node& node = graph->node(id);
      for (const ValueId output : node.outputs)
        if (output.valid()) makers_[key(*graph, output)].push_back(member);
      for (const auto* list : {&node.inputs, &node.captures})
        for (const ValueId input : *list)
          if (input.valid() && !graph->is_constant(input)) readers_[key(*graph, input)].push_back(member);
    }
  }

  static size_t largest(const std::vector<std::vector<Member>>& pieces) {
    size_t result = 0;
    for (const std::vector<Member>& piece : pieces) result = std::max(result, piece.size());
    return result;
  }

  /// By values that so many members read at most.
  std::vector<std::vector<Member>> joined_by(size_t most) const {
    std::vector<size_t> parent(members_.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t k) {
      while (parent[k] != k) k = parent[k] = parent[parent[k]];
      return k;
    };
    for (const auto& [value, makers] : makers_) {
      for (const size_t maker : makers) parent[root(maker)] = root(makers.front());
      const auto readers = readers_.find(value);
      if (readers == readers_.end() || readers->second.size() > most) continue;
      for (const size_t reader : readers->second) parent[root(reader)] = root(makers.front());
    }
    std::map<size_t, size_t> places;
    std::vector<std::vector<Member>> result;
    for (size_t k = 0; k < members_.size(); ++k) {
      const auto [place, is_new] = places.emplace(root(k), result.size());
      if (is_new) result.emplace_back();
      result[place->second].push_back(members_[k]);
    }
    return result;
  }

  const Graph &before_, &after_;
  const GraphDiff& diff_;
  std::vector<Member> members_;
  std::map<Key, std::vector<size_t>> makers_, readers_;  ///< members
};

}  // namespace

std::vector<GraphDiff::Place> pieces_of(const GraphDiff::Place& place, const Graph& before, const Graph& after,
                                        const GraphDiff& diff) {
  if (place.changed.size() + place.removed.size() + place.added.size() <= kMostDrawn) return {place};
  std::vector<GraphDiff::Place> result;
  for (const std::vector<Member>& piece : Pieces(place, before, after, diff).run()) {
    GraphDiff::Place& made = result.emplace_back();
    for (const Member& member : piece) {
      if (member.before.valid() && member.after.valid())
        made.changed.push_back({member.before, member.after});
      else if (member.before.valid())
        made.removed.push_back(member.before);
      else
        made.added.push_back(member.after);
    }
  }
  return result;
}

}  // namespace isomer::report
