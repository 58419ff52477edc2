#include "runtime/artifact_file.h"

#include <algorithm>

#include "runtime/artifact_check.h"
#include "runtime/plan_bytes.h"
#include "runtime/plan_fields.h"
#include "util/file.h"
#include "util/output_file.h"

namespace isomer::runtime {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t round_up(uint64_t size, uint64_t unit) { return (size + unit - 1) / unit * unit; }
uint64_t code_start(const Header& header) { return round_up(sizeof(Header) + header.plan_bytes, kAlignment); }
uint64_t weights_start(const Header& header) { return round_up(code_start(header) + header.code_bytes, kPage); }
Hash128 hash_bytes(std::span<const std::byte> bytes) { return Hasher().add(bytes).finish(); }

/// Hashes the section of weights while it passes by, in chunks.
class ChunkHasher {
 public:
  void add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t taken = std::min(bytes.size(), kWeightChunk - chunk_.size());
      chunk_.insert(chunk_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(taken));
      bytes = bytes.subspan(taken);
      if (chunk_.size() == kWeightChunk) close();
    }
  }
  std::vector<Hash128> finish() {
    if (!chunk_.empty()) close();
    return std::move(hashes_);
  }

 private:
  void close() {
    hashes_.push_back(hash_bytes(chunk_));
    chunk_.clear();
  }
  std::vector<std::byte> chunk_;
  std::vector<Hash128> hashes_;
};

struct WeightLayout {
  std::vector<WeightPlace> places;
  std::vector<Hash128> chunks;
  uint64_t bytes = 0;
};
WeightLayout lay_out(const std::vector<std::span<const std::byte>>& weights) {
  WeightLayout layout;
  ChunkHasher hasher;
  const std::vector<std::byte> zeros(kAlignment);
  for (const auto& weight : weights) {
    const uint64_t start = round_up(layout.bytes, kAlignment);
    hasher.add(std::span(zeros).first(start - layout.bytes));
    hasher.add(weight);
    layout.places.push_back({start, weight.size()});
    layout.bytes = start + weight.size();
  }
  layout.chunks = hasher.finish();
  return layout;
}

/// With zeros up to a multiple of `unit` of the place in the file where it ends.
std::string padded(std::string bytes, uint64_t start, uint64_t unit) {
  bytes.resize(round_up(start + bytes.size(), unit) - start);
  return bytes;
}

Error damaged(std::string where, std::string_view found) {
  return invalid(std::move(where), "an undamaged file expected, {} found", found);
}

Result<Header> read_header(std::span<const std::byte> file) {
  Header header;
  if (file.size() < sizeof header)
    return invalid("header", "an artifact of Isomer expected, a file of {} bytes found", file.size());
  std::memcpy(static_cast<void*>(&header), file.data(), sizeof header);
  if (header.magic != kMagic) return invalid("header", "an artifact of Isomer expected, other first bytes found");
  if (header.version != kFormatVersion)
    return unsupported("header", "format version {} expected, {} found", kFormatVersion, header.version);
  if (header.hash != hash_of(header)) return damaged("header", "other bytes than were written");
  if (header.file_bytes != file.size())
    return damaged("header", fmt::format("{} instead of {} bytes", file.size(), header.file_bytes));
  // Each size is held to the file's before they are added.
  const auto fits = [&](uint64_t size) { return size <= file.size(); };
  if (header.header_bytes != sizeof header || !fits(header.plan_bytes) || !fits(header.code_bytes) ||
      !fits(header.weight_bytes) || weights_start(header) + header.weight_bytes != file.size())
    return damaged("header", "sizes that don't add up");
  return header;
}

/// Read once into memory of our own: the file may change under our feet, what is parsed is what was hashed.
Result<std::string> read_hashed(std::span<const std::byte> section, const Hash128& hash, std::string where) {
  std::string copy(reinterpret_cast<const char*>(section.data()), section.size());
  if (hash_bytes(std::as_bytes(std::span(copy))) != hash)
    return damaged(std::move(where), "other bytes than were written");
  return copy;
}

struct OpenedFile {
  std::shared_ptr<const MappedFile> file;
  Plan plan;
  std::string code;
  std::span<const std::byte> weights;
};

Result<OpenedFile> open_file(const std::filesystem::path& path) {
  OpenedFile opened;
  TRY(opened.file, MappedFile::open(path));
  const auto bytes = opened.file->bytes();
  TRY(const Header header, read_header(bytes));
  const uint64_t code = code_start(header), weights = weights_start(header);
  TRY(std::string plan, read_hashed(bytes.subspan(sizeof header, code - sizeof header), header.plan_hash, "plan"));
  TRY(opened.code, read_hashed(bytes.subspan(code, weights - code), header.code_hash, "code"));
  opened.code.resize(header.code_bytes);
  opened.weights = bytes.subspan(weights);

  PlanReader reader(std::string_view(plan).substr(0, header.plan_bytes));
  reader(opened.plan);
  if (!reader.is_complete()) return damaged("plan", "bytes that are no plan");
  for (const WeightPlace& place : opened.plan.weights)
    if (place.offset % kAlignment != 0 || place.offset > header.weight_bytes ||
        place.bytes > header.weight_bytes - place.offset)
      return damaged("plan", "a weight outside of its section");
  if (opened.plan.chunks.size() != round_up(header.weight_bytes, kWeightChunk) / kWeightChunk)
    return damaged("plan", "another number of hashes than of chunks");
  return opened;
}

}  // namespace

Hash128 hash_of(const Header& header) {
  return hash_bytes(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, hash)));
}

Result<void> write_artifact(const Artifact& artifact, const std::filesystem::path& path) {
  TRY_VOID(check_artifact(artifact));
  WeightLayout layout = lay_out(artifact.weights);
  PlanWriter writer;
  writer(Plan{artifact.provenance, artifact.modules, artifact.kernels, layout.places, std::move(layout.chunks),
              artifact.variants});

  Header header;
  header.plan_bytes = writer.bytes.size();
  header.code_bytes = artifact.code.size();
  header.weight_bytes = layout.bytes;
  header.file_bytes = weights_start(header) + header.weight_bytes;
  const std::string plan = padded(std::move(writer.bytes), sizeof header, kAlignment);
  const std::string code =
      padded({reinterpret_cast<const char*>(artifact.code.data()), artifact.code.size()}, code_start(header), kPage);
  header.plan_hash = hash_bytes(std::as_bytes(std::span(plan)));
  header.code_hash = hash_bytes(std::as_bytes(std::span(code)));
  header.hash = hash_of(header);

  TRY(OutputFile file, OutputFile::create(path));
  TRY_VOID(file.write(std::as_bytes(std::span(&header, 1))));
  TRY_VOID(file.write(plan));
  TRY_VOID(file.write(code));
  for (const auto& weight : artifact.weights) {
    TRY_VOID(file.align(kAlignment));
    TRY_VOID(file.write(weight));
  }
  CHECK(file.size() == header.file_bytes) << file.size();
  return file.commit();
}

Result<Artifact> read_artifact(const std::filesystem::path& path) {
  TRY(OpenedFile opened, open_file(path));
  Artifact artifact;
  artifact.provenance = std::move(opened.plan.provenance);
  const auto code = std::as_bytes(std::span(opened.code));
  artifact.code.assign(code.begin(), code.end());
  artifact.modules = std::move(opened.plan.modules);
  artifact.kernels = std::move(opened.plan.kernels);
  for (const WeightPlace& place : opened.plan.weights)
    artifact.weights.push_back(opened.weights.subspan(place.offset, place.bytes));
  artifact.owners.push_back(opened.file);
  artifact.variants = std::move(opened.plan.variants);
  TRY_VOID(check_artifact(artifact));
  return artifact;
}

Result<void> verify_weights(const std::filesystem::path& path) {
  TRY(const OpenedFile opened, open_file(path));
  for (size_t k = 0; k < opened.plan.chunks.size(); ++k) {
    const size_t start = k * kWeightChunk;
    const auto chunk = opened.weights.subspan(start, std::min<size_t>(kWeightChunk, opened.weights.size() - start));
    if (hash_bytes(chunk) != opened.plan.chunks[k])
      return damaged("weights", fmt::format("other bytes than were written from byte {} on", start));
  }
  return {};
}

}  // namespace isomer::runtime
