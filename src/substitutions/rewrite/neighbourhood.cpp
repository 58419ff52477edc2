#include "substitutions/rewrite/neighbourhood.h"

#include <algorithm>

namespace isomer::substitutions {

Neighbourhood::Neighbourhood(const Program& program, const Program::Uses& uses,
                             const std::function<bool(NodeId)>& is_kept, int application)
    : program_(program),
      uses_(uses),
      is_kept_(is_kept),
      distances_(static_cast<size_t>(program.application_count()), -1),
      places_(distances_) {
  add(application, 0);
  ends_.push_back(order_.size());
}

void Neighbourhood::add(int application, int distance) {
  const auto at = static_cast<size_t>(application);
  if (distances_[at] >= 0) return;
  distances_[at] = distance;
  places_[at] = static_cast<int>(order_.size());
  order_.push_back(application);
}

bool Neighbourhood::grow() {
  const auto distance = static_cast<int>(ends_.size());
  const auto add_readers = [&](int value) {
    if (program_.value(value).is_constant) return;
    for (const int reader : uses_.of(value)) add(reader, distance);
  };
  for (size_t k = ends_.size() > 1 ? ends_[ends_.size() - 2] : 0; k < ends_.back(); ++k) {
    const int application = order_[k];
    for (const int argument : program_.arguments(application)) {
      if (argument < 0) continue;
      const int producer = program_.value(argument).producer;
      if (producer >= 0) add(producer, distance);
      // Inputs of the graph join those that read them.
      if (producer < 0) add_readers(argument);
    }
    const Program::Application& there = program_.application(application);
    for (int value = 0; value < there.value_count; ++value) add_readers(there.first_value + value);
  }
  if (order_.size() == ends_.back()) return false;
  ends_.push_back(order_.size());
  return true;
}

int Neighbourhood::distance(int application) {
  const int& result = distances_[static_cast<size_t>(application)];
  while (result < 0 && grow()) {
  }
  return result;
}

void Neighbourhood::hash_argument(int value, int radius, std::vector<int>& outside, Hasher& hasher) const {
  enum : uint64_t { kOmitted, kInside, kOutside, kNumber };
  if (value < 0) {
    hasher.add(uint64_t{kOmitted});
    return;
  }
  const Program::Value& there = program_.value(value);
  const int distance = there.producer < 0 ? -1 : distances_[static_cast<size_t>(there.producer)];
  if (distance >= 0 && distance <= radius) {
    hasher.add(uint64_t{kInside}).add(static_cast<uint64_t>(places_[static_cast<size_t>(there.producer)]));
    hasher.add(static_cast<uint64_t>(there.index));
    return;
  }
  const auto known = std::find(outside.begin(), outside.end(), value);
  hasher.add(uint64_t{kOutside}).add(static_cast<uint64_t>(known - outside.begin()));
  if (known != outside.end()) return;
  outside.push_back(value);
  hasher.add(static_cast<uint64_t>(there.type)).add(uint64_t{there.is_constant});
  if (const te::Number* number = program_.number(value)) {
    hasher.add(uint64_t{kNumber});
    number->hash_into(hasher);
  }
}

std::optional<Hash128> Neighbourhood::hash(int radius) {
  constexpr size_t kMost = 1000;
  while (static_cast<int>(ends_.size()) <= radius && ends_.back() <= kMost && grow()) {
  }
  const size_t count = ends_[std::min(static_cast<size_t>(radius), ends_.size() - 1)];
  if (count > kMost) return std::nullopt;
  const std::span<const int> inside(order_.data(), count);
  std::vector<int> sorted(inside.begin(), inside.end()), outside;
  std::sort(sorted.begin(), sorted.end());
  Hasher hasher;
  for (const int application : sorted) hasher.add(static_cast<uint64_t>(places_[static_cast<size_t>(application)]));
  for (const int application : inside) {
    const Program::Application& there = program_.application(application);
    hasher.add(static_cast<uint64_t>(there.operation)).add(uint64_t{is_kept_(there.node)});
    for (const int argument : program_.arguments(application)) hash_argument(argument, radius, outside, hasher);
    for (int value = there.first_value; value < there.first_value + there.value_count; ++value) {
      const auto& outputs = program_.outputs();
      hasher.add(static_cast<uint64_t>(program_.value(value).type));
      hasher.add(uint64_t{std::find(outputs.begin(), outputs.end(), value) != outputs.end()});
    }
  }
  return hasher.finish();
}

}  // namespace isomer::substitutions
