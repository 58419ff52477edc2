#include "substitutions/rewrite/subprogram.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "util/check.h"

namespace isomer::substitutions {
namespace {

constexpr int64_t kWrittenElements = 64;  ///< of placeholders that hold ones

class PartMaker {
 public:
  PartMaker(const Program& whole, const Program::Uses& uses)
      : whole_(whole),
        uses_(uses),
        origin_(std::make_shared<Origin>(Origin{Graph(), &whole.theory(), whole.origin().dequantized})),
        result_{Program(origin_), {}} {}

  Subprogram run(std::span<const int> applications) {
    origin_->graph.share_info(whole_.origin().graph);
    for (const int id : in_order(applications)) add(id);
    std::vector<int> outputs;
    std::vector<ValueId> named;
    for (const int id : applications_) {
      const Program::Application& there = whole_.application(id);
      for (int k = 0; k < there.value_count; ++k) {
        if (!is_read_outside(there.first_value + k)) continue;
        outputs.push_back(values_.at(there.first_value + k));
        named.push_back(graph_value(there.first_value + k, fmt::format("y{}", named.size())));
      }
    }
    result_.program.set_outputs(std::move(outputs));
    origin_->graph.set_inputs(std::move(inputs_));
    origin_->graph.set_outputs(std::move(named));
    return std::move(result_);
  }

 private:
  /// Each behind what it reads, whatever their numbers in the whole are.
  std::vector<int> in_order(std::span<const int> applications) {
    applications_.assign(applications.begin(), applications.end());
    std::sort(applications_.begin(), applications_.end());
    is_inside_.assign(static_cast<size_t>(whole_.application_count()), false);
    for (const int id : applications_) is_inside_[static_cast<size_t>(id)] = true;
    std::vector<int> result;
    std::vector<bool> is_done(is_inside_.size());
    const auto visit = [&](const auto& self, int id) -> void {
      if (id < 0 || !is_inside_[static_cast<size_t>(id)] || is_done[static_cast<size_t>(id)]) return;
      is_done[static_cast<size_t>(id)] = true;
      for (const int argument : whole_.arguments(id)) self(self, whole_.value(argument).producer);
      result.push_back(id);
    };
    for (const int id : applications_) visit(visit, id);
    return applications_ = std::move(result);
  }

  const ValueType& type_of(int value) const { return whole_.theory().signatures().type(whole_.value(value).type); }

  ValueId graph_value(int value, std::string name) {
    Value made;
    made.name = std::move(name);
    made.type = type_of(value);
    return origin_->graph.add_value(std::move(made));
  }

  void add(int id) {
    const Program::Application& there = whole_.application(id);
    CHECK(there.operation >= 0) << "applications that are there and not opaque expected";
    std::vector<int> arguments, types;
    for (const int argument : whole_.arguments(id)) arguments.push_back(value_of(argument));
    for (int k = 0; k < there.value_count; ++k) types.push_back(whole_.value(there.first_value + k).type);
    const int made = result_.program.add_application(there.operation, arguments, types);
    for (int k = 0; k < there.value_count; ++k) {
      values_[there.first_value + k] = result_.program.application(made).first_value + k;
      result_.values.push_back(there.first_value + k);
    }
  }

  int value_of(int value) {
    if (const auto known = values_.find(value); known != values_.end()) return known->second;
    const Program::Value& there = whole_.value(value);
    Leaf leaf{ValueId(), std::nullopt, there.type, there.is_constant};
    if (const te::Number* number = whole_.number(value)) {
      leaf.number = *number;
    } else if (there.is_constant && constants(*type_of(value).shape)) {
      leaf.value = origin_->graph.add_constant(placeholder(type_of(value)), fmt::format("c{}", origin_->leaves.size()));
    } else {
      leaf.value = graph_value(value, fmt::format("x{}", origin_->leaves.size()));
      inputs_.push_back(leaf.value);
    }
    origin_->leaves.push_back(leaf);
    result_.values.push_back(value);
    return values_[value] = result_.program.add_leaf(static_cast<int>(origin_->leaves.size()) - 1);
  }

  bool is_read_outside(int value) const {
    const auto readers = uses_.of(value);
    if (std::any_of(readers.begin(), readers.end(),
                    [&](int reader) { return !is_inside_[static_cast<size_t>(reader)]; }))
      return true;
    return std::find(whole_.outputs().begin(), whole_.outputs().end(), value) != whole_.outputs().end();
  }

  const Program& whole_;
  const Program::Uses& uses_;
  std::shared_ptr<Origin> origin_;
  Subprogram result_;
  std::vector<int> applications_;
  std::vector<bool> is_inside_;
  std::map<int, int> values_;  ///< of the part, by value of the whole
  std::vector<ValueId> inputs_;
};

}  // namespace

Subprogram as_subprogram(const Program& whole) {
  Subprogram result{whole, {}};
  for (int id = 0; id < whole.value_count(); ++id) result.values.push_back(id);
  return result;
}

namespace {

/// So many zeros, always the same ones: who looks at all of them looks once. Pages that are never written take no
/// memory, however many they are.
std::shared_ptr<const void> zeros(size_t bytes) {
  static std::mutex mutex;
  static std::map<size_t, std::weak_ptr<const void>> known;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<const void>& there = known[bytes];
  if (auto memory = there.lock()) return memory;
  void* const pages = mmap(nullptr, std::max<size_t>(bytes, 1), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED) << "addresses for " << bytes << " bytes expected";
  std::shared_ptr<const void> memory(
      pages, [bytes](const void* mapped) { munmap(const_cast<void*>(mapped), std::max<size_t>(bytes, 1)); });
  there = memory;
  return memory;
}

}  // namespace

Tensor placeholder(const ValueType& type) {
  const Dims dims = *constants(*type.shape);
  const int64_t count = element_count(dims);
  if (count <= kWrittenElements && bit_width(type.dtype) != 0)
    return Tensor::from_doubles(type.dtype, dims, std::vector<double>(static_cast<size_t>(count), 1));
  const auto bytes = static_cast<size_t>(byte_size(type.dtype, count));
  const std::shared_ptr<const void> memory = zeros(bytes);
  return Tensor(type.dtype, dims, std::span(static_cast<const std::byte*>(memory.get()), bytes), memory);
}

Subprogram subprogram_of(const Program& whole, std::span<const int> applications, const Program::Uses& uses) {
  return PartMaker(whole, uses).run(applications);
}

Hash128 subprogram_key(const Program& part) {
  const Hash128 structure = part.hash();
  Hasher hasher;
  hasher.add(structure);
  for (int id = 0; id < part.value_count(); ++id) {
    const Program::Value& value = part.value(id);
    if (value.producer < 0)
      hasher.add(static_cast<uint64_t>(value.index)).add(static_cast<uint64_t>(value.type)).add(value.is_constant);
  }
  return hasher.finish();
}

}  // namespace isomer::substitutions
