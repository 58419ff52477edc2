#include "runtime/value_table.h"

#include <algorithm>

#include "runtime/artifact_check.h"
#include "runtime/overloaded.h"

namespace isomer::runtime {
namespace {

/// Where values without bytes lie, and a scalar that views a value which nothing has written.
alignas(kAlignment) std::byte nowhere[kAlignment];

const ViewOf* view(const Value& value) { return std::get_if<ViewOf>(&value.place); }

}  // namespace

ValueTable::ValueTable(const Variant& variant, std::span<const std::byte* const> weights, Device& device)
    : variant_(&variant),
      device_(&device),
      data_(variant.values.size(), nowhere),
      dynamic_(variant.values.size()),
      slots_(variant.values.size()),
      views_(variant.values.size()) {
  for (const Value& value : variant.values) dims_.push_back(value.dims);
  for (size_t k = 0; k < variant.values.size(); ++k) {
    const auto* viewed = view(variant.values[k]);
    if (viewed == nullptr) continue;
    views_[viewed->value].push_back(static_cast<int32_t>(k));
  }
  for (size_t k = 0; k < variant.values.size(); ++k)
    if (std::holds_alternative<Dynamic>(variant.values[k].place)) empty(static_cast<int32_t>(k));
  for (size_t k = 0; k < variant.values.size(); ++k)
    if (const auto* in = std::get_if<InWeights>(&variant.values[k].place))
      data_[k] = const_cast<std::byte*>(weights[static_cast<size_t>(in->number)]);
}

Result<ValueTable> ValueTable::create(const Variant& variant, std::span<const std::byte* const> weights, Device& device,
                                      MemoryLimit limit) {
  ValueTable table(variant, weights, device);
  table.limit_ = limit;
  auto arena = device.allocate(variant.arena_bytes);
  if (!arena) return unsupported("arena", "{} bytes of memory expected, less found", variant.arena_bytes);
  table.arena_ = std::move(*arena);
  for (size_t k = 0; k < variant.values.size(); ++k)
    if (const auto* in = std::get_if<InArena>(&variant.values[k].place))
      table.data_[k] = table.arena_.data() + in->offset;
  for (size_t k = 0; k < variant.values.size(); ++k)
    if (const auto* viewed = view(variant.values[k])) table.data_[k] = table.data_[viewed->value] + viewed->offset;
  return table;
}

bool ValueTable::is_open(int32_t number) const {
  return std::holds_alternative<Dynamic>(base_of(*variant_, value(number)).place);
}

int64_t ValueTable::bytes(int32_t number) const {
  return is_open(number) ? byte_size(value(number).type, dims(number)).value_or(0) : value(number).bytes;
}

bool ValueTable::holds(int32_t number, const void* data) const {
  const auto* viewed = view(value(number));
  return dynamic_[viewed == nullptr ? number : viewed->value].holds(data);
}

void ValueTable::watch(int32_t number, void** slot) {
  const auto* viewed = view(value(number));
  slots_[viewed == nullptr ? number : viewed->value].push_back({slot, viewed == nullptr ? 0 : viewed->offset});
  *slot = data_[number];
}

void ValueTable::place(int32_t number, void* data) {
  if (data_[number] == data) return;
  ++moves_;
  data_[number] = static_cast<std::byte*>(data);
  for (const int32_t other : views_[number]) data_[other] = data_[number] + view(value(other))->offset;
  for (const Slot& slot : slots_[number]) *slot.where = data_[number] + slot.offset;
}

bool ValueTable::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

bool ValueTable::take_memory(int32_t number, int64_t bytes, Content content) {
  DeviceMemory& memory = dynamic_[number];
  if (memory.data() != nullptr && memory.bytes() >= bytes) return true;
  const bool keep = content == Content::kKept;
  const auto taken = [&](int64_t size) {
    return limit_.allows(size) ? device_->allocate(size) : std::optional<DeviceMemory>();
  };
  // Twice as much where it grows step by step, as long as there is so much.
  std::optional<DeviceMemory> larger;
  if (keep && bytes < 2 * memory.bytes()) larger = taken(2 * memory.bytes());
  if (!larger) larger = taken(bytes);
  if (!larger) return false;
  if (keep && memory.data() != nullptr) device_->copy(larger->data(), memory.data(), memory.bytes());
  std::swap(memory, *larger);
  return true;
}

/// A dynamic value and its views have no elements.
void ValueTable::empty(int32_t number) {
  std::ranges::transform(value(number).dims, dims_[number].begin(),
                         [](int64_t dim) { return std::max<int64_t>(dim, 0); });
  for (const int32_t other : views_[number]) std::ranges::fill(dims_[other], 0);
}

bool ValueTable::fit_views(int32_t base, int64_t bytes) {
  for (const int32_t number : views_[base]) {
    std::vector<int64_t>& dims = dims_[number];
    const std::vector<int64_t>& declared = value(number).dims;
    const auto open = std::ranges::find(declared, -1) - declared.begin();
    dims = declared;
    if (open < std::ssize(dims)) {
      dims[open] = 1;
      const int64_t unit = byte_size(value(number).type, dims).value_or(0);
      dims[open] = unit == 0 ? 0 : bytes / unit;
    }
    if (byte_size(value(number).type, dims) != bytes)
      return fail(fmt::format("{} expected of '{}', {} bytes found", describe(value(number).type, declared),
                              value(number).name, bytes));
  }
  return true;
}

bool ValueTable::set_dims(int32_t number, std::span<const int64_t> dims) {
  const auto bytes = byte_size(value(number).type, dims);
  if (!bytes || dims.size() != dims_[number].size())
    return fail(
        fmt::format("a size expected of '{}', {} found", value(number).name, describe(value(number).type, dims)));
  if (dims.data() != dims_[number].data()) std::ranges::copy(dims, dims_[number].begin());
  return fit_views(number, *bytes);
}

bool ValueTable::resize(int32_t number, std::span<const int64_t> dims, int64_t least_bytes, Content content) {
  // What fails leaves no dims of memory that isn't there, which a later run could read.
  if (!set_dims(number, dims)) {
    empty(number);
    return false;
  }
  const int64_t needed = std::max(least_bytes, bytes(number));
  if (!take_memory(number, needed, content)) {
    empty(number);
    return fail(fmt::format("{} bytes of memory expected for '{}', less found", needed, value(number).name));
  }
  place(number, dynamic_[number].data());
  return true;
}

bool ValueTable::resize(int32_t number, std::span<const int64_t> dims) {
  return resize(number, dims, 0, Content::kAny);
}
bool ValueTable::grow(int32_t number, std::span<const int64_t> dims) { return resize(number, dims, 0, Content::kKept); }

bool ValueTable::resize_cleared(int32_t number, int64_t bytes) {
  const std::lock_guard lock(*mutex_);
  if (!std::holds_alternative<Dynamic>(value(number).place))
    return fail(fmt::format("a dynamic value expected, '{}' found", value(number).name));
  if (!resize(number, dims(number), bytes, Content::kAny)) return false;
  device_->clear(data(number), std::max(bytes, this->bytes(number)));
  return true;
}

int64_t ValueTable::memory_bytes() const {
  int64_t bytes = arena_.bytes();
  for (const DeviceMemory& memory : dynamic_) bytes += memory.bytes();
  return bytes;
}

}  // namespace isomer::runtime
