#include "substitutions/discover/hashed_terms.h"

#include <fstream>

#include "util/output_file.h"

namespace isomer::substitutions {
namespace {

namespace fs = std::filesystem;

template <class T>
Result<void> append(const fs::path& path, const std::vector<T>& items) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(items.data()), static_cast<std::streamsize>(items.size() * sizeof(T)));
  file.close();
  if (!file) return unsupported(path.string(), "room for {} bytes expected", items.size() * sizeof(T));
  return {};
}

template <class T>
Result<void> read(const fs::path& path, uint64_t bytes, std::vector<T>& out) {
  const size_t known = out.size();
  out.resize(known + bytes / sizeof(T));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(out.data() + known), static_cast<std::streamsize>(bytes));
  if (!file) return invalid(path.string(), "{} bytes expected, fewer found", bytes);
  return {};
}

}  // namespace

fs::path HashedTerms::file(int number) const {
  return place_.folder / fmt::format("{}-{}of{}-{:02}", place_.name, place_.part, place_.parts, number);
}
fs::path HashedTerms::state_file() const {
  return place_.folder / fmt::format("{}-{}of{}-state", place_.name, place_.part, place_.parts);
}

Result<HashedTerms> HashedTerms::open(HashedTermsPlace place, uint64_t memory) {
  HashedTerms result(std::move(place));
  result.memory_ = memory;
  result.is_resumable_ = !result.place_.folder.empty();
  if (result.is_resumable_) {
    std::error_code failure;
    fs::create_directories(result.place_.folder, failure);
    if (failure)
      return unsupported(result.place_.folder.string(), "a folder to write to expected: {}", failure.message());
    TRY_VOID(result.take_up());
  }
  return result;
}

Result<std::vector<HashedTerms>> HashedTerms::open_parts(const HashedTermsPlace& place, uint32_t drivers) {
  std::vector<HashedTerms> result;
  for (int part = 0; part < place.parts; ++part) {
    HashedTermsPlace each = place;
    each.part = part;
    HashedTerms records(std::move(each));
    TRY_VOID(records.take_up());
    if (records.drivers_done_ != drivers)
      return Error{ErrorKind::kUsage, records.state_file().string(),
                   fmt::format("part {} of {} of the enumeration expected to be complete, {} of {} drivers found", part,
                               place.parts, records.drivers_done_, drivers)};
    result.push_back(std::move(records));
  }
  return result;
}

Result<void> HashedTerms::take_up() {
  std::ifstream state(state_file());
  std::error_code failure;
  if (!state) {
    remove_files();
    return {};
  }
  state >> drivers_done_ >> terms_;
  for (int k = 0; k <= kShards; ++k) {
    auto& bytes = written_[static_cast<size_t>(k)];
    state >> bytes;
    const bool is_there = bytes == 0 || (fs::file_size(file(k), failure) >= bytes && !failure);
    // What came after the state was written is made again.
    if (is_there && bytes > 0) fs::resize_file(file(k), bytes, failure);
    if (!state || !is_there || failure)
      return Error{ErrorKind::kMismatch, state_file().string(),
                   "the files of an interrupted run expected, others found"};
  }
  return {};
}

Result<void> HashedTerms::add(std::vector<Found>& found, uint32_t drivers) {
  for (Found& each : found) {
    for (const Record& record : each.records) shards_[record.hash >> 58].push_back(record);
    hits_.insert(hits_.end(), each.hits.begin(), each.hits.end());
    held_ += each.records.size() * sizeof(Record) + each.hits.size() * sizeof(Hit);
    terms_ += each.terms;
    each = {};
  }
  drivers_done_ = drivers;
  if (!is_resumable_ && held_ <= memory_) return {};
  return spill();
}

Result<void> HashedTerms::spill() {
  if (place_.folder.empty()) {
    TRY(TemporaryFolder made, TemporaryFolder::in_system_folder());
    temporary_.emplace(std::move(made));
    place_.folder = temporary_->path();
  }
  for (int k = 0; k < kShards; ++k) {
    auto& shard = shards_[static_cast<size_t>(k)];
    if (shard.empty()) continue;
    TRY_VOID(append(file(k), shard));
    written_[static_cast<size_t>(k)] += shard.size() * sizeof(Record);
    shard = {};
  }
  TRY_VOID(append(file(kHits), hits_));
  written_[kHits] += hits_.size() * sizeof(Hit);
  hits_ = {};
  held_ = 0;
  return is_resumable_ ? write_state() : Result<void>();
}

Result<void> HashedTerms::write_state() {
  TRY(OutputFile state, OutputFile::create(state_file()));
  std::string text = fmt::format("{} {}\n", drivers_done_, terms_);
  for (const uint64_t bytes : written_) text += fmt::format("{}\n", bytes);
  TRY_VOID(state.write(std::string_view(text)));
  return state.commit();
}

Result<void> HashedTerms::read_shard(int shard, std::vector<Record>& out) const {
  const auto k = static_cast<size_t>(shard);
  out.insert(out.end(), shards_[k].begin(), shards_[k].end());
  return written_[k] == 0 ? Result<void>() : read(file(shard), written_[k], out);
}

Result<void> HashedTerms::read_hits(std::vector<Hit>& out) const {
  out.insert(out.end(), hits_.begin(), hits_.end());
  return written_[kHits] == 0 ? Result<void>() : read(file(kHits), written_[kHits], out);
}

void HashedTerms::remove_files() {
  std::error_code ignored;
  for (int k = 0; k <= kShards; ++k) fs::remove(file(k), ignored);
  fs::remove(state_file(), ignored);
}

}  // namespace isomer::substitutions
