#include "ops/reference.h"

namespace isomer::test {
namespace {

template <class T>
T attribute_or(const Instance& instance, std::string_view name, T fallback) {
  const auto found = instance.attributes.find(name);
  return found == instance.attributes.end() ? fallback : std::get<T>(found->second);
}

}  // namespace

Plain::Plain(const Tensor& tensor) : dims(tensor.dims()) {
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.real(i));
}

int64_t Plain::offset(const Dims& index) const {
  int64_t result = 0;
  for (size_t k = 0; k < dims.size(); ++k) result = result * dims[k] + index[k];
  return result;
}

Dims Plain::index(int64_t i) const {
  Dims result(dims.size());
  for (size_t k = dims.size(); k-- > 0; i /= dims[k]) result[k] = i % dims[k];
  return result;
}

int64_t Call::integer(std::string_view name, int64_t fallback) const { return attribute_or(instance, name, fallback); }
double Call::real(std::string_view name, double fallback) const {
  return attribute_or(instance, name, static_cast<float>(fallback));
}
std::string Call::text(std::string_view name, std::string fallback) const {
  return attribute_or(instance, name, std::move(fallback));
}
std::vector<int64_t> Call::integers(std::string_view name, std::vector<int64_t> fallback) const {
  return attribute_or(instance, name, std::move(fallback));
}
std::vector<float> Call::reals(std::string_view name) const {
  return attribute_or(instance, name, std::vector<float>());
}
std::vector<std::string> Call::texts(std::string_view name) const {
  return attribute_or(instance, name, std::vector<std::string>());
}
int64_t Call::axis(int64_t fallback, int64_t rank) const {
  const int64_t axis = integer("axis", fallback);
  return axis < 0 ? axis + rank : axis;
}

const Reference* reference_for(std::string_view op) {
  static const References references = [] {
    References all;
    add_pointwise_references(all);
    add_movement_references(all);
    add_shape_references(all);
    add_index_references(all);
    add_quantized_references(all);
    add_axis_references(all);
    add_window_references(all);
    add_product_references(all);
    add_recurrent_references(all);
    add_attention_references(all);
    return all;
  }();
  const auto found = references.find(op);
  return found == references.end() ? nullptr : &found->second;
}

}  // namespace isomer::test
