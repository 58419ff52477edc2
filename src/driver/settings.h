// What all long work takes, and what it tells while it goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "graph/op_def.h"
#include "graph/tensor.h"
#include "util/memory_limit.h"
#include "util/threads.h"

namespace isomer {

/// Each may be empty. Text from a model is escaped where it is shown. They are called by the thread that works.
struct Messages {
  std::function<void(std::string_view what, std::optional<double> seconds_left)> doing;  ///< from now on
  std::function<void(std::string_view line)> note;                                       ///< what users should know
  std::function<void(std::string_view line)> detail;  ///< for those who want to know more

  void tell(std::string_view what) const {
    if (doing) doing(what, std::nullopt);
  }
  void say(std::string_view line) const {
    if (note) note(line);
  }
};

struct Settings {
  uint64_t seed = 0;  ///< decides everything random
  int threads = available_threads();
  MemoryLimit memory = default_memory_limit();
  std::map<std::string, int64_t> dims;                 ///< of the inputs' symbolic dims
  std::map<std::string, Dims> shapes;                  ///< of inputs
  std::shared_ptr<const OpTable> operators = nullptr;  ///< of users
  Messages messages;
};

}  // namespace isomer
