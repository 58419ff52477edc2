// What the last level leaves to compare, in shards by hash: in memory up to a limit, else in files of a folder, from
// which an interrupted run goes on.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <vector>

#include "substitutions/discover/largest_terms.h"
#include "util/temporary_folder.h"

namespace isomer::substitutions {

/// Where the work of one part of an enumeration is kept.
struct HashedTermsPlace {
  std::filesystem::path folder;  ///< empty: nothing is left of an interrupted run
  std::string name;              ///< of the enumeration; different ones may share a folder
  int part = 0, parts = 1;
};

class HashedTerms {
 public:
  static constexpr int kShards = 64;

  /// Takes up what an interrupted run left there. Beyond `memory` bytes records are kept in files, of a temporary
  /// folder where no other is given. Errors: of files, and kMismatch where what is there is not what was written.
  static Result<HashedTerms> open(HashedTermsPlace place, uint64_t memory);
  /// The parts that other processes made, for reading. kUsage where one has not come to its end, `drivers`.
  static Result<std::vector<HashedTerms>> open_parts(const HashedTermsPlace& place, uint32_t drivers);

  /// All terms of the drivers of this part below this one are here.
  uint32_t drivers_done() const { return drivers_done_; }
  int64_t terms() const { return terms_; }
  /// Those of the drivers from `drivers_done()` on and below `drivers`.
  Result<void> add(std::vector<Found>& found, uint32_t drivers);

  /// Appends what is here, in no order.
  Result<void> read_shard(int shard, std::vector<Record>& out) const;
  Result<void> read_hits(std::vector<Hit>& out) const;
  void remove_files();

 private:
  static constexpr int kHits = kShards;  ///< the file behind those of the shards
  explicit HashedTerms(HashedTermsPlace place) : place_(std::move(place)) {}
  std::filesystem::path file(int number) const;
  std::filesystem::path state_file() const;
  Result<void> take_up();
  Result<void> spill();
  Result<void> write_state();

  HashedTermsPlace place_;
  bool is_resumable_ = false;
  std::optional<TemporaryFolder> temporary_;  ///< the folder of `place_` where no other was given
  uint64_t memory_ = 0, held_ = 0;
  uint32_t drivers_done_ = 0;
  int64_t terms_ = 0;
  std::array<uint64_t, kShards + 1> written_ = {};  ///< bytes
  std::vector<std::vector<Record>> shards_ = std::vector<std::vector<Record>>(kShards);
  std::vector<Hit> hits_;
};

}  // namespace isomer::substitutions
