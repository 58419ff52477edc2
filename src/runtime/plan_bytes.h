// Between plain data and bytes: numbers of 8 bytes (enumerations and flags of 1), counts before what they count.
#pragma once

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace isomer::runtime {

static_assert(std::endian::native == std::endian::little, "the file format is that of the memory");

/// Both archives call `fields(archive, object)` for structs: one description of a struct serves writing and reading.
class PlanWriter {
 public:
  static constexpr bool kReads = false;
  std::string bytes;

  template <class... T>
  void operator()(const T&... fields_of_a_struct) {
    (put(fields_of_a_struct), ...);
  }

 private:
  void put_raw(const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); }
  void put_count(size_t count) { put(static_cast<uint64_t>(count)); }
  template <class T>
  void put(const T& item) {
    if constexpr (std::is_enum_v<T>) {
      static_assert(sizeof(T) == 1);
      put_raw(&item, 1);
    } else if constexpr (std::is_integral_v<T>) {
      const auto wide = static_cast<int64_t>(item);
      put_raw(&wide, sizeof wide);
    } else {
      // The description is written for reading; here nothing is changed.
      fields(*this, const_cast<T&>(item));
    }
  }
  void put(const std::string& text) {
    put_count(text.size());
    put_raw(text.data(), text.size());
  }
  void put(const std::vector<std::byte>& bytes) {
    put_count(bytes.size());
    put_raw(bytes.data(), bytes.size());
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put_count(items.size());
    for (const T& item : items) put(item);
  }
  template <class Key, class T>
  void put(const std::map<Key, T>& items) {
    put_count(items.size());
    for (const auto& [key, item] : items) {
      put(key);
      put(item);
    }
  }
  template <class... T>
  void put(const std::variant<T...>& item) {
    put_count(item.index());
    std::visit([&](const auto& alternative) { put(alternative); }, item);
  }
};

/// Reads what PlanWriter wrote. After bytes that don't fit, `failed` stays true and what is read has no meaning.
class PlanReader {
 public:
  static constexpr bool kReads = true;
  explicit PlanReader(std::string_view bytes) : bytes_(bytes) {}

  /// All bytes were read, and they fit.
  bool is_complete() const { return !failed_ && bytes_.empty(); }

  template <class... T>
  void operator()(T&... fields_of_a_struct) {
    (get(fields_of_a_struct), ...);
  }

 private:
  static constexpr int kMostDepth = 200;  ///< of structs in each other: hostile bytes must not overflow the stack

  void get_raw(void* data, size_t size) {
    if (failed_ || size > bytes_.size()) return fail();
    std::memcpy(data, bytes_.data(), size);
    bytes_.remove_prefix(size);
  }
  void fail() {
    failed_ = true;
    bytes_ = {};
  }
  /// 0 where there can't be so many: each takes at least a byte.
  size_t get_count() {
    uint64_t count = 0;
    get(count);
    if (count > bytes_.size()) fail();
    return failed_ ? 0 : count;
  }
  template <class T>
  void get(T& item) {
    if constexpr (std::is_enum_v<T>) {
      static_assert(sizeof(T) == 1);
      get_raw(&item, 1);
    } else if constexpr (std::is_integral_v<T>) {
      int64_t wide = 0;
      get_raw(&wide, sizeof wide);
      item = static_cast<T>(wide);
      if (static_cast<int64_t>(item) != wide) fail();
    } else {
      if (depth_ == kMostDepth) return fail();
      ++depth_;
      fields(*this, item);
      --depth_;
    }
  }
  void get(std::string& text) {
    text.resize(get_count());
    if (!text.empty()) get_raw(text.data(), text.size());
  }
  void get(std::vector<std::byte>& bytes) {
    bytes.resize(get_count());
    if (!bytes.empty()) get_raw(bytes.data(), bytes.size());
  }
  template <class T>
  void get(std::vector<T>& items) {
    // Grown as bytes come: a count alone must not take memory.
    for (size_t left = get_count(); left > 0 && !failed_; --left) get(items.emplace_back());
  }
  template <class Key, class T>
  void get(std::map<Key, T>& items) {
    for (size_t left = get_count(); left > 0 && !failed_; --left) {
      Key key;
      get(key);
      get(items[key]);
    }
  }
  template <class... T>
  void get(std::variant<T...>& item) {
    uint64_t index = 0;
    get(index);
    uint64_t alternative = 0;
    const bool known = ((alternative++ == index && (get(item.template emplace<T>()), true)) || ...);
    if (!known) fail();
  }

  std::string_view bytes_;
  bool failed_ = false;
  int depth_ = 0;
};

template <class T>
std::string to_bytes(const T& item) {
  PlanWriter writer;
  writer(item);
  return std::move(writer.bytes);
}

/// Nothing where the bytes are no such item, or more.
template <class T>
std::optional<T> from_bytes(std::string_view bytes) {
  T item;
  PlanReader reader(bytes);
  reader(item);
  return reader.is_complete() ? std::optional(std::move(item)) : std::nullopt;
}

}  // namespace isomer::runtime
