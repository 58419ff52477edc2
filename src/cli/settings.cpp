#include "cli/settings.h"

namespace isomer::cli {
namespace {

/// Without messages.
Result<Settings> silent_settings(const CommonOptions& options) {
  Settings settings;
  settings.seed = options.seed;
  settings.threads = options.thread_count();
  settings.memory = options.memory_limit();
  TRY(settings.dims, options.bound_dims());
  TRY(settings.shapes, options.bound_shapes());
  return settings;
}

}  // namespace

Result<Settings> settings_of(const CommonOptions& options) {
  TRY(Settings settings, silent_settings(options));
  if (!options.quiet)
    settings.messages.note = [](std::string_view line) { print_error("{}\n", printable(line, kMostOfLine)); };
  if (options.verbosity > 0) settings.messages.detail = settings.messages.note;
  if (options.verbosity > 1)
    settings.messages.doing = [note = settings.messages.note](std::string_view what, auto) {
      if (note) note(fmt::format("isomer: {}", what));
    };
  return settings;
}

Result<Settings> settings_of(const CommonOptions& options, ProgressLine& progress) {
  TRY(Settings settings, silent_settings(options));
  settings.messages.doing = [&](std::string_view what, auto seconds_left) { progress.tell(what, seconds_left); };
  settings.messages.note = [&](std::string_view line) { progress.note(line); };
  if (options.verbosity > 0) settings.messages.detail = settings.messages.note;
  return settings;
}

}  // namespace isomer::cli
