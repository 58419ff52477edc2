// Names for the files of models' weights. Test: tests/driver/staging_folder_test.cpp
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isomer {

/// Beside the place that a model gets, whatever stands there. A model that is replaced reads its weights until the new
/// one has its name, and two names don't change at once: so weights get a name that nothing there has, and what the
/// model that is replaced had under such a name goes afterwards. Written again and again they have two names in turns.
class WeightsPlace {
 public:
  explicit WeightsPlace(std::filesystem::path model) : model_(std::move(model)) {}

  /// What weights of the model are called, which `original` were made of: "out.weights" where that is "in.weights",
  /// "out.onnx.data" for "in.onnx.data", or the like with a number. None of `others` is replaced either.
  std::string free_name(const std::string& original, const std::vector<std::filesystem::path>& others = {});

  /// When the new model and its weights have their names. What something else in the folder may need stays: a copy of
  /// the model, or another one that shares its weights.
  void remove_replaced() const;

 private:
  std::filesystem::path model_;
  std::vector<std::filesystem::path> replaced_;  ///< of the model that is there
};

}  // namespace isomer
