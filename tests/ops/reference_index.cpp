// Operators that read and write at places which data say, and those that sort and select.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/reference.h"

namespace isomer::test {
namespace {

int64_t wrapped(double index, int64_t dim) { return static_cast<int64_t>(index) + (index < 0 ? dim : 0); }

Dims joined(Dims head, Dims::const_iterator from, Dims::const_iterator to) {
  head.insert(head.end(), from, to);
  return head;
}

std::vector<Plain> gather_nd(const Call& call) {
  const Plain x = call.input(0), indices = call.input(1);
  const int64_t batch = call.integer("batch_dims", 0), depth = indices.dims.back();
  const Dims outer(indices.dims.begin(), indices.dims.end() - 1);
  Plain y(joined(outer, x.dims.begin() + batch + depth, x.dims.end()));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    Dims place(at.begin(), at.begin() + static_cast<int64_t>(outer.size())), from(at.begin(), at.begin() + batch);
    for (int64_t k = 0; k < depth; ++k) {
      place.push_back(k);
      from.push_back(wrapped(indices.at(place), x.dims[batch + k]));
      place.pop_back();
    }
    y.values[i] = x.at(joined(from, at.begin() + static_cast<int64_t>(outer.size()), at.end()));
  }
  return {y};
}

void combine(double& into, double value, const std::string& reduction) {
  if (reduction == "add")
    into += value;
  else if (reduction == "mul")
    into *= value;
  else if (reduction == "max")
    into = std::max(into, value);
  else if (reduction == "min")
    into = std::min(into, value);
  else
    into = value;
}

std::vector<Plain> scatter_elements(const Call& call) {
  Plain y = call.input(0);
  const Plain indices = call.input(1), updates = call.input(2);
  const int64_t axis = call.axis(0, y.rank());
  for (int64_t i = 0; i < indices.count(); ++i) {
    Dims to = indices.index(i);
    to[axis] = wrapped(indices.values[i], y.dims[axis]);
    combine(y.at(to), updates.values[i], call.text("reduction", "none"));
  }
  return {y};
}

std::vector<Plain> scatter_nd(const Call& call) {
  Plain y = call.input(0);
  const Plain indices = call.input(1), updates = call.input(2);
  const int64_t depth = indices.dims.back();
  const auto outer = static_cast<int64_t>(indices.dims.size()) - 1;
  for (int64_t i = 0; i < updates.count(); ++i) {
    const Dims at = updates.index(i);
    Dims place(at.begin(), at.begin() + outer), to;
    for (int64_t k = 0; k < depth; ++k) {
      place.push_back(k);
      to.push_back(wrapped(indices.at(place), y.dims[k]));
      place.pop_back();
    }
    combine(y.at(joined(to, at.begin() + outer, at.end())), updates.values[i], call.text("reduction", "none"));
  }
  return {y};
}

std::vector<Plain> reverse_sequence(const Call& call) {
  const Plain x = call.input(0), lengths = call.input(1);
  const int64_t time = call.integer("time_axis", 0), batch = call.integer("batch_axis", 1);
  Plain y(x.dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = y.index(i);
    const auto length = static_cast<int64_t>(lengths.values[from[batch]]);
    if (from[time] < length) from[time] = length - 1 - from[time];
    y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> one_hot(const Call& call) {
  const Plain indices = call.input(0), values = call.input(2);
  const auto depth = static_cast<int64_t>(call.input(1).values[0]);
  const int64_t axis = call.axis(-1, indices.rank() + 1);
  Dims dims = indices.dims;
  dims.insert(dims.begin() + axis, depth);
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims at = y.index(i);
    const int64_t position = at[axis];
    at.erase(at.begin() + axis);
    const double index = std::trunc(indices.at(at));
    y.values[i] =
        values.values[(index < 0 ? index + static_cast<double>(depth) : index) == static_cast<double>(position)];
  }
  return {y};
}

std::vector<Plain> compress(const Call& call) {
  Plain x = call.input(0);
  const Plain condition = call.input(1);
  if (!call.instance.attributes.contains("axis")) x.dims = {x.count()};
  const int64_t axis = call.axis(0, x.rank());
  std::vector<int64_t> kept;
  for (int64_t k = 0; k < std::min(condition.count(), x.dims[axis]); ++k)
    if (condition.values[k] != 0) kept.push_back(k);
  Dims dims = x.dims;
  dims[axis] = static_cast<int64_t>(kept.size());
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = y.index(i);
    from[axis] = kept[from[axis]];
    y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> nonzero(const Call& call) {
  const Plain x = call.input(0);
  std::vector<Dims> found;
  for (int64_t i = 0; i < x.count(); ++i)
    if (x.values[i] != 0) found.push_back(x.index(i));
  Plain y({x.rank(), static_cast<int64_t>(found.size())});
  for (int64_t i = 0; i < y.count(); ++i) y.values[i] = static_cast<double>(found[y.index(i)[1]][y.index(i)[0]]);
  return {y};
}

std::vector<Plain> top_k(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(-1, x.rank());
  Dims dims = x.dims, lines = x.dims;
  dims[axis] = static_cast<int64_t>(call.input(1).values[0]);
  lines[axis] = 1;
  Plain values(dims), indices(dims);
  for (int64_t i = 0; i < element_count(lines); ++i) {
    Dims at = Plain(lines).index(i);
    const auto element = [&](int64_t k) {
      at[axis] = k;
      return x.at(at);
    };
    std::vector<int64_t> order(x.dims[axis]);
    std::iota(order.begin(), order.end(), 0);
    const bool largest = call.integer("largest", 1) != 0;
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const double left = element(a), right = element(b);
      return left == right ? a < b : (left > right) == largest;
    });
    for (int64_t k = 0; k < dims[axis]; ++k) {
      const double value = element(order[k]);
      at[axis] = k;
      values.at(at) = value;
      indices.at(at) = static_cast<double>(order[k]);
    }
  }
  return {values, indices};
}

std::vector<Plain> hardmax(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(-1, x.rank());
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    Dims at = x.index(i);
    const int64_t own = at[axis];
    bool first = true;
    for (at[axis] = 0; at[axis] < x.dims[axis]; ++at[axis])
      first = first && (at[axis] < own ? x.at(at) < x.values[i] : x.at(at) <= x.values[i]);
    y.values[i] = first;
  }
  return {y};
}

}  // namespace

void add_index_references(References& references) {
  references["GatherND"] = gather_nd;
  references["ScatterElements"] = scatter_elements;
  references["Scatter"] = scatter_elements;
  references["ScatterND"] = scatter_nd;
  references["ReverseSequence"] = reverse_sequence;
  references["OneHot"] = one_hot;
  references["Compress"] = compress;
  references["NonZero"] = nonzero;
  references["TopK"] = top_k;
  references["Hardmax"] = hardmax;
}

}  // namespace isomer::test
