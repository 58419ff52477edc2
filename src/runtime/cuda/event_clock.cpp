#include "runtime/cuda/event_clock.h"

namespace isomer::runtime::cuda {

Result<std::unique_ptr<EventClock>> EventClock::create(GpuDevice& device) {
  std::unique_ptr<EventClock> clock(new EventClock(device));
  const Driver& driver = device.gpu().driver();
  for (Event* event : {&clock->first_, &clock->last_})
    TRY_VOID(driver.check(driver.event_create(event, 0), "an event"));
  const int64_t bytes = 2 * device.gpu().facts().second_level_cache;
  auto memory = device.allocate(bytes);
  if (!memory) return unsupported("", "{} bytes of the GPU's memory expected, not found", bytes);
  clock->cold_ = std::move(*memory);
  return clock;
}

EventClock::~EventClock() {
  const Gpu::Current current(device_.gpu());
  for (Event const event : {first_, last_})
    if (event) device_.gpu().driver().event_destroy(event);
}

void EventClock::start() {
  device_.clear(cold_.data(), cold_.bytes());
  device_.ask("an event", [&] { return device_.gpu().driver().event_record(first_, device_.stream()); });
}

void EventClock::stop() {
  device_.ask("an event", [&] { return device_.gpu().driver().event_record(last_, device_.stream()); });
}

Result<double> EventClock::seconds() {
  TRY_VOID(device_.finish());
  float milliseconds = 0;
  const Driver& driver = device_.gpu().driver();
  TRY_VOID(driver.check(driver.event_elapsed(&milliseconds, first_, last_), "a time between events"));
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace isomer::runtime::cuda
