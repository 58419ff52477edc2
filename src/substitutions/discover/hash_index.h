// A map of hashes to words, for many millions of them: 16 bytes an entry at most two thirds full.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace isomer::substitutions {

class HashIndex {
 public:
  std::optional<uint64_t> find(uint64_t hash) const {
    for (size_t at = hash >> shift_;; at = (at + 1) & (entries_.size() - 1)) {
      if (entries_[at].word == kFree) return std::nullopt;
      if (entries_[at].hash == hash) return entries_[at].word;
    }
  }
  /// Keeps what is there; false then.
  bool insert(uint64_t hash, uint64_t word) {
    if (3 * (size_ + 1) > 2 * entries_.size()) grow();
    return place(hash, word);
  }
  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Entry {
    uint64_t hash = 0, word = kFree;
  };

  bool place(uint64_t hash, uint64_t word) {
    size_t at = hash >> shift_;
    for (; entries_[at].word != kFree; at = (at + 1) & (entries_.size() - 1))
      if (entries_[at].hash == hash) return false;
    entries_[at] = {hash, word};
    ++size_;
    return true;
  }
  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    --shift_;
    size_ = 0;
    for (const Entry& entry : old)
      if (entry.word != kFree) place(entry.hash, entry.word);
  }

  int shift_ = 54;
  std::vector<Entry> entries_ = std::vector<Entry>(1024);
  size_t size_ = 0;
};

}  // namespace isomer::substitutions
