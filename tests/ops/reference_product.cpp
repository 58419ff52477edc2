// Products: MatMul, Gemm, Einsum, DFT, STFT.
#include <algorithm>
#include <cctype>
#include <complex>
#include <map>
#include <numbers>

#include "ops/reference.h"

namespace isomer::test {

Plain multiplied(Plain a, Plain b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a.dims.insert(a.dims.begin(), 1);
  if (column) b.dims.push_back(1);
  Dims dims;
  const size_t rank = std::max(a.dims.size(), b.dims.size());
  const auto batch_dim = [&](const Plain& x, size_t k) {
    return k + x.dims.size() >= rank ? x.dims[k + x.dims.size() - rank] : 1;
  };
  for (size_t k = 0; k + 2 < rank; ++k) dims.push_back(batch_dim(a, k) == 1 ? batch_dim(b, k) : batch_dim(a, k));
  dims.push_back(a.dims[a.dims.size() - 2]);
  dims.push_back(b.dims.back());
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    const auto place = [&](const Plain& x, int64_t r, int64_t c) {
      Dims index(at.end() - static_cast<int64_t>(x.dims.size()), at.end());
      for (size_t k = 0; k + 2 < index.size(); ++k) index[k] = x.dims[k] == 1 ? 0 : index[k];
      index[index.size() - 2] = r;
      index.back() = c;
      return x.at(index);
    };
    for (int64_t k = 0; k < a.dims.back(); ++k) y.values[i] += place(a, at[at.size() - 2], k) * place(b, k, at.back());
  }
  if (row) y.dims.erase(y.dims.end() - 2);
  if (column) y.dims.pop_back();
  return y;
}

namespace {

std::vector<Plain> gemm(const Call& call) {
  const Plain a = call.input(0), b = call.input(1);
  const bool ta = call.integer("transA", 0) != 0, tb = call.integer("transB", 0) != 0;
  Plain y({a.dims[ta], b.dims[!tb]});
  for (int64_t i = 0; i < y.dims[0]; ++i)
    for (int64_t j = 0; j < y.dims[1]; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.dims[!ta]; ++k)
        sum += a.at(ta ? Dims{k, i} : Dims{i, k}) * b.at(tb ? Dims{j, k} : Dims{k, j});
      y.at({i, j}) = call.real("alpha", 1) * sum;
      if (!call.has(2)) continue;
      const Plain c = call.input(2);
      Dims at = {i, j};
      at.erase(at.begin(), at.end() - c.rank());
      for (size_t k = 0; k < at.size(); ++k) at[k] = c.dims[k] == 1 ? 0 : at[k];
      y.at({i, j}) += call.real("beta", 1) * c.at(at);
    }
  return {y};
}

/// Every assignment of positions to labels adds one product to one output. Axes of an ellipsis get labels of their own,
/// the digits from the right.
std::vector<Plain> einsum(const Call& call) {
  std::string equation = call.text("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms = {""};
  for (const char c : equation.substr(0, arrow)) c == ',' ? terms.emplace_back() : (terms.back() += c, terms.back());
  std::string ellipsis;
  const auto spread = [](std::string term, int64_t count) {
    const size_t at = term.find("...");
    if (at == std::string::npos) return term;
    std::string labels;
    for (int64_t k = count; k-- > 0;) labels += static_cast<char>('0' + k);
    return term.replace(at, 3, labels);
  };
  std::map<char, int64_t> dims, counts;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Dims shape = call.input(i).dims;
    const auto letters =
        std::count_if(terms[i].begin(), terms[i].end(), [](unsigned char c) { return std::isalpha(c); });
    terms[i] = spread(terms[i], static_cast<int64_t>(shape.size()) - letters);
    for (size_t k = 0; k < shape.size(); ++k) {
      int64_t& dim = dims.emplace(terms[i][k], 1).first->second;
      if (dim == 1) dim = shape[k];
      ++counts[terms[i][k]];
    }
  }
  for (const auto& [label, dim] : dims)
    if (std::isdigit(static_cast<unsigned char>(label))) ellipsis.insert(ellipsis.begin(), label);
  std::string out = ellipsis;
  for (const auto& [label, count] : counts)
    if (std::isalpha(static_cast<unsigned char>(label)) && count == 1) out += label;
  if (arrow != std::string::npos) out = spread(equation.substr(arrow + 2), static_cast<int64_t>(ellipsis.size()));

  Dims all, shape;
  std::string labels;
  for (const auto& [label, dim] : dims) labels += label, all.push_back(dim);
  for (const char label : out) shape.push_back(dims.at(label));
  Plain y(shape);
  const Plain space(all);
  for (int64_t i = 0; i < space.count(); ++i) {
    const Dims at = space.index(i);
    const auto position = [&](char label) { return at[labels.find(label)]; };
    double product = 1;
    for (size_t k = 0; k < terms.size(); ++k) {
      const Plain x = call.input(k);
      Dims index;
      for (const char label : terms[k]) index.push_back(x.dims[index.size()] == 1 ? 0 : position(label));
      product *= x.at(index);
    }
    Dims index;
    for (const char label : out) index.push_back(position(label));
    y.at(index) += product;
  }
  return {y};
}

/// Term n of the transform of that many numbers, for output k.
std::complex<double> turned(std::complex<double> x, int64_t k, int64_t n, int64_t count) {
  return x * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * n) / static_cast<double>(count));
}

std::complex<double> complex_at(const Plain& x, Dims index) {
  index.push_back(0);
  const double real = x.at(index);
  index.back() = 1;
  return {real, x.dims.back() == 2 ? x.at(index) : 0};
}

void set_complex(Plain& y, Dims index, std::complex<double> value) {
  index.push_back(0);
  y.at(index) = value.real();
  index.back() = 1;
  if (y.dims.back() == 2) y.at(index) = value.imag();
}

std::vector<Plain> dft(const Call& call) {
  const Plain x = call.input(0);
  int64_t axis = call.has(2) ? static_cast<int64_t>(call.input(2).values[0]) : -2;
  if (axis < 0) axis += x.rank();
  const bool onesided = call.integer("onesided", 0) != 0, inverse = call.integer("inverse", 0) != 0;
  const int64_t given = onesided && inverse ? 2 * (x.dims[axis] - 1) : x.dims[axis];
  const int64_t count = call.has(1) ? static_cast<int64_t>(call.input(1).values[0]) : given;
  Dims space(x.dims.begin(), x.dims.end() - 1);
  space[axis] = onesided && !inverse ? count / 2 + 1 : count;
  Dims out = space;
  out.push_back(onesided && inverse ? 1 : 2);
  Plain y(out);
  const Plain positions(space);
  for (int64_t i = 0; i < positions.count(); ++i) {
    Dims at = positions.index(i);
    const Dims place = at;
    std::complex<double> sum = 0;
    for (int64_t n = 0; n < count; ++n) {
      // The second half of the spectrum of real numbers mirrors the first.
      const bool mirrored = onesided && inverse && n > count / 2;
      at[axis] = mirrored ? count - n : n;
      if (at[axis] >= x.dims[axis]) continue;
      const std::complex<double> term = complex_at(x, at);
      sum += turned(mirrored ? std::conj(term) : term, inverse ? -place[axis] : place[axis], n, count);
    }
    if (inverse) sum /= static_cast<double>(count);
    set_complex(y, place, sum);
  }
  return {y};
}

std::vector<Plain> stft(const Call& call) {
  const Plain x = call.input(0);
  const int64_t step = static_cast<int64_t>(call.input(1).values[0]);
  const int64_t count = call.has(2)   ? call.input(2).count()
                        : call.has(3) ? static_cast<int64_t>(call.input(3).values[0])
                                      : x.dims[1];
  const Plain window = call.has(2) ? call.input(2) : Plain({count}, 1);
  const int64_t frames = (x.dims[1] - count) / step + 1, bins = call.integer("onesided", 1) ? count / 2 + 1 : count;
  Plain y({x.dims[0], frames, bins, 2});
  for (int64_t b = 0; b < x.dims[0]; ++b)
    for (int64_t f = 0; f < frames; ++f)
      for (int64_t k = 0; k < bins; ++k) {
        std::complex<double> sum = 0;
        for (int64_t n = 0; n < count; ++n)
          sum += turned(complex_at(x, {b, f * step + n}) * window.values[n], k, n, count);
        set_complex(y, {b, f, k}, sum);
      }
  return {y};
}

}  // namespace

void add_product_references(References& references) {
  references["MatMul"] = [](const Call& call) { return std::vector{multiplied(call.input(0), call.input(1))}; };
  references["Gemm"] = gemm;
  references["Einsum"] = einsum;
  references["DFT"] = dft;
  references["STFT"] = stft;
}

}  // namespace isomer::test
