// Files that belong together get their names together. Test: tests/driver/staging_folder_test.cpp
#pragma once

#include <filesystem>
#include <span>

#include "graph/graph.h"
#include "graph/onnx/weights_place.h"
#include "util/temporary_folder.h"

namespace isomer {

/// A folder beside the final place, so that files can be renamed into it; gone with everything left in it at the end.
class StagingFolder {
 public:
  /// For a file of this name (output_place); `others`: what else is written, and must not be replaced by what comes
  /// with it.
  static Result<StagingFolder> beside(const std::filesystem::path& place,
                                      std::vector<std::filesystem::path> others = {});
  /// For files in a folder, which `release` makes if it is not there.
  static Result<StagingFolder> in(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return folder_.path(); }
  /// Where the one of the place's name is to be written.
  std::filesystem::path file() const { return path() / place_.filename(); }
  /// That of `beside`, and the others.
  std::vector<std::filesystem::path> places() const;
  /// It must not be replaced either.
  void keep(std::filesystem::path other) { others_.push_back(std::move(other)); }

  /// Writes a model as `file`, and beside it its weights, where they don't stand in it, under a name that no file has
  /// at the place (WeightsPlace).
  Result<void> write_model(const Graph& graph);

  /// The same error, of the file at its place where it names one in the folder.
  Error at_place(Error error) const;

  /// Moves every file to the folder of the place, once it is seen that each can go there, the one of its name last:
  /// until then an old model stands, with its weights, which go then. Files that are replaced leave them their
  /// permissions.
  Result<void> release() const;

 private:
  StagingFolder(TemporaryFolder folder, std::filesystem::path place, std::vector<std::filesystem::path> others)
      : folder_(std::move(folder)), place_(std::move(place)), weights_(place_), others_(std::move(others)) {}

  TemporaryFolder folder_;
  std::filesystem::path place_;
  WeightsPlace weights_;
  std::vector<std::filesystem::path> others_;
};

}  // namespace isomer
