#include "graph/te/interpret/packer.h"

#include <algorithm>
#include <cstring>

namespace isomer::te::interpreter {
namespace {

constexpr int64_t kMaxPackedLanes = 256;

Group iterators_in(const std::vector<Level>& levels) {
  Group group;
  for (const Level& level : levels) group.push_back(level.iterator);
  return group;
}

/// The levels that are left after joining; at least one.
std::vector<Level> joined(const Lowered& lowered, const std::vector<Level>& levels) {
  std::vector<Level> result;
  for (const Level& level : levels)
    if (const int64_t extent = lowered.iterators[level.iterator].extent; extent > 1)
      result.push_back({level.iterator, extent});
  return result;
}

/// How many points of the innermost level follow `flat`, itself included.
int64_t points_in_line(const std::vector<Level>& levels, int64_t flat) {
  return levels.empty() ? 1 : levels.back().extent - flat % levels.back().extent;
}

/// A walk through the points of a loop nest in steps of several points of the innermost level.
class Walk {
 public:
  Walk(const std::vector<Level>& levels, Frame& frame, int64_t flat)
      : levels_(levels), frame_(frame), at_(levels.size(), 0) {
    move_to(flat);
  }
  ~Walk() { move_to(0); }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  void move_to(int64_t flat) {
    for (size_t k = levels_.size(); k-- > 0; flat /= levels_[k].extent) set(k, flat % levels_[k].extent);
  }
  void advance(int64_t steps) {
    for (size_t k = levels_.size(); k-- > 0;) {
      if (at_[k] + steps < levels_[k].extent) return set(k, at_[k] + steps);
      set(k, 0);
      steps = 1;
    }
  }

 private:
  void set(size_t level, int64_t value) {
    if (value == at_[level]) return;
    frame_.advance(levels_[level].iterator, value - at_[level]);
    at_[level] = value;
  }
  const std::vector<Level>& levels_;
  Frame& frame_;
  std::vector<int64_t> at_;
};

}  // namespace

Packer::Packer(const Lowered& lowered, const std::vector<Storage>& storages, int root, const std::vector<Level>& rows,
               const std::vector<Level>& depth, int width)
    : lowered_(lowered), width_(width) {
  lowered_.output = {};
  const std::vector<int> roots = {root};
  coalesce(lowered_, roots, false, {iterators_in(rows), iterators_in(depth)});
  rows_ = joined(lowered_, rows);
  depth_ = joined(lowered_, depth);
  // Filling panels from lanes that are rows costs a copy, from lanes that are depths a transposition.
  constexpr double kCopy = 0.2, kTranspose = 0.5;
  const auto cost = [&](const std::vector<Level>& levels) {
    return strip_cost(lowered_, storages, roots, levels.empty() ? -1 : levels.back().iterator, true);
  };
  const double by_rows = cost(rows_) + kCopy, by_depth = cost(depth_) + kTranspose;
  along_depth_ = by_depth < by_rows;
  cost_ = std::min(by_rows, by_depth);
  const std::vector<Level>& line = along_depth_ ? depth_ : rows_;
  const int vector = line.empty() ? -1 : line.back().iterator;
  max_lanes_ = line.empty() ? 1 : std::min(line.back().extent, kMaxPackedLanes);
  program_ = compile_strip(lowered_, storages, roots, vector, Results::kToLanes);
}

Packer::Thread Packer::make_thread() const {
  Thread thread{Frame(program_, max_lanes_), std::vector<double>(along_depth_ ? max_lanes_ * width_ : max_lanes_)};
  thread.frame.sinks.resize(1);
  return thread;
}

bool Packer::pack(Thread& thread, int64_t row, int64_t row_end, int64_t k, int64_t k_end, double* panels) const {
  if (const int64_t rest = (row_end - row) % width_; rest != 0) {
    double* last = panels + (row_end - row) / width_ * width_ * (k_end - k);
    std::memset(last, 0, (k_end - k) * width_ * sizeof(double));
  }
  return along_depth_ ? pack_along_depth(thread, row, row_end, k, k_end, panels)
                      : pack_along_rows(thread, row, row_end, k, k_end, panels);
}

bool Packer::pack_along_rows(Thread& thread, int64_t row, int64_t row_end, int64_t k, int64_t k_end,
                             double* panels) const {
  const int64_t depth = k_end - k;
  thread.frame.sinks[0] = thread.lanes.data();
  Walk rows(rows_, thread.frame, row);
  for (int64_t at = row, count; at < row_end; at += count) {
    count = std::min({points_in_line(rows_, at), row_end - at, max_lanes_});
    Walk depths(depth_, thread.frame, k);
    for (int64_t d = 0; d < depth; ++d) {
      if (!thread.frame.run(count)) return false;
      const double* lanes = thread.lanes.data();
      for (int64_t done = 0, part; done < count; done += part) {
        const int64_t place = at - row + done;
        part = std::min(count - done, width_ - place % width_);
        double* to = panels + place / width_ * width_ * depth + d * width_ + place % width_;
        for (int64_t l = 0; l < part; ++l) to[l] = lanes[done + l];
      }
      depths.advance(1);
    }
    rows.advance(count);
  }
  return true;
}

bool Packer::pack_along_depth(Thread& thread, int64_t row, int64_t row_end, int64_t k, int64_t k_end,
                              double* panels) const {
  const int64_t depth = k_end - k;
  Walk rows(rows_, thread.frame, row);
  for (int64_t first = row; first < row_end; first += width_) {
    const int64_t count = std::min<int64_t>(width_, row_end - first);
    double* panel = panels + (first - row) * depth;
    for (int64_t d = 0, length; d < depth; d += length) {
      length = std::min({points_in_line(depth_, k + d), depth - d, max_lanes_});
      {
        Walk depths(depth_, thread.frame, k + d);
        rows.move_to(first);
        for (int64_t r = 0; r < count; ++r) {
          thread.frame.sinks[0] = thread.lanes.data() + r * max_lanes_;
          if (!thread.frame.run(length)) return false;
          rows.advance(1);
        }
      }
      const double* lanes = thread.lanes.data();
      for (int64_t l = 0; l < length; ++l)
        for (int64_t r = 0; r < count; ++r) panel[(d + l) * width_ + r] = lanes[r * max_lanes_ + l];
    }
  }
  return true;
}

}  // namespace isomer::te::interpreter
