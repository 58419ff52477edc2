#include "cuda/block_of_threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "util/check.h"

namespace isomer::kernel::test {
namespace {

namespace context = boost::context;

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kWarp = 32;

struct Thread {
  EmulatedIndex index;
  context::fiber fiber;  ///< empty when it has ended
  int line = 0;          ///< of what it waits for: a barrier, or an exchange of its warp
  bool is_exchange = false;
  bool goes_on = true;
};

/// Which threads go on, all of which wait or have ended: warps that exchange something, or else all at their barrier.
/// What is wrong where some would wait for ever.
std::string release(std::vector<Thread>& threads) {
  bool has_exchange = false;
  for (size_t first = 0; first < threads.size(); first += kWarp) {
    const std::span<Thread> warp(threads.begin() + static_cast<std::ptrdiff_t>(first),
                                 std::min(kWarp, threads.size() - first));
    const auto waiting = std::ranges::count_if(warp, [](const Thread& t) { return t.fiber && t.is_exchange; });
    if (waiting == 0) continue;
    has_exchange = true;
    if (static_cast<size_t>(waiting) < warp.size())
      return fmt::format("{} of {} lanes wait for the others of their warp", waiting, warp.size());
    if (std::ranges::any_of(warp, [&](const Thread& t) { return t.line != warp[0].line; }))
      return "lanes wait at different exchanges";
    for (Thread& thread : warp) thread.goes_on = true;
  }
  if (has_exchange) return "";
  std::set<int> barriers;
  for (const Thread& thread : threads)
    if (thread.fiber) barriers.insert(thread.line);
  const auto waiting = std::ranges::count_if(threads, [](const Thread& t) { return static_cast<bool>(t.fiber); });
  if (waiting > 0 && static_cast<size_t>(waiting) < threads.size())
    return fmt::format("{} of {} threads wait, the others have ended", waiting, threads.size());
  if (barriers.size() > 1) return "threads wait at different ones";
  for (Thread& thread : threads) thread.goes_on = true;
  return "";
}

}  // namespace

struct BlockOfThreads::State {
  context::pooled_fixedsize_stack stacks{kStackBytes};
  context::fiber scheduler;
  int line = 0;  ///< at which the last thread that stopped waits
  int interval = 0;
  bool is_running = false;
  bool is_exchange = false;  ///< what the last thread that stopped waits for
  struct Brought {
    int times = 0;
    std::array<std::vector<std::byte>, 2> own;  ///< of even and odd times: who is slow still finds the last one
  };
  std::map<int, Brought> brought;  ///< by thread
  struct Copy {
    void* to;
    const void* from;
    int bytes;
  };
  struct Copies {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
  };
  std::map<int, Copies> copies;  ///< by thread
};

BlockOfThreads::BlockOfThreads() : state_(std::make_unique<State>()) {}
BlockOfThreads::~BlockOfThreads() = default;

int BlockOfThreads::interval() const { return state_->interval; }
bool BlockOfThreads::is_running() const { return state_->is_running; }

void BlockOfThreads::wait(int line) {
  CHECK(state_->scheduler) << "a barrier outside of a thread";
  state_->line = line;
  state_->is_exchange = false;
  state_->scheduler = std::move(state_->scheduler).resume();
}

int BlockOfThreads::exchange(int line, int number, const void* own, void* all, int bytes) {
  CHECK(state_->scheduler) << "an exchange outside of a thread";
  State::Brought& mine = state_->brought[number];
  const int turn = mine.times++ % 2;
  const auto* const first = static_cast<const std::byte*>(own);
  mine.own[turn].assign(first, first + bytes);
  state_->line = line;
  state_->is_exchange = true;
  state_->scheduler = std::move(state_->scheduler).resume();
  constexpr int kLanes = kWarp;
  const int from = number / kLanes * kLanes;
  for (int k = 0; k < kLanes; ++k) {
    const auto other = state_->brought.find(from + k);
    CHECK(other != state_->brought.end()) << "a warp of 32 threads";
    std::copy_n(other->second.own[turn].begin(), bytes, static_cast<std::byte*>(all) + k * bytes);
  }
  return number - from;
}

void BlockOfThreads::copy_later(int number, void* to, const void* from, int bytes) {
  state_->copies[number].open.push_back({to, from, bytes});
}

void BlockOfThreads::commit(int number) {
  State::Copies& mine = state_->copies[number];
  mine.groups.push_back(std::exchange(mine.open, {}));
}

void BlockOfThreads::complete(int number, int left, const std::function<void(void* to, int bytes)>& before) {
  State::Copies& mine = state_->copies[number];
  for (; static_cast<int>(mine.groups.size()) > left; mine.groups.pop_front())
    for (const State::Copy& copy : mine.groups.front()) {
      before(copy.to, copy.bytes);
      std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    }
}

std::string BlockOfThreads::run(const std::array<int64_t, 3>& counts, ThreadOrder order,
                                const std::function<void()>& body,
                                const std::function<void(int number, EmulatedIndex index)>& enter,
                                const std::function<void()>& leave) {
  std::vector<Thread> threads;
  for (int64_t z = 0; z < counts[2]; ++z)
    for (int64_t y = 0; y < counts[1]; ++y)
      for (int64_t x = 0; x < counts[0]; ++x) {
        context::fiber fiber(std::allocator_arg, state_->stacks, [this, &body](context::fiber&& scheduler) {
          state_->scheduler = std::move(scheduler);
          body();
          return std::move(state_->scheduler);
        });
        threads.push_back({.index = {unsigned(x), unsigned(y), unsigned(z)}, .fiber = std::move(fiber)});
      }
  state_->interval = 0;
  state_->brought.clear();
  state_->copies.clear();
  const auto is_left = [](const Thread& thread) { return static_cast<bool>(thread.fiber); };
  while (std::ranges::any_of(threads, is_left)) {
    for (size_t k = 0; k < threads.size(); ++k) {
      const size_t number = order == ThreadOrder::kForward ? k : threads.size() - 1 - k;
      Thread& thread = threads[number];
      if (!thread.fiber || !thread.goes_on) continue;
      enter(static_cast<int>(number), thread.index);
      state_->is_running = true;
      thread.fiber = std::move(thread.fiber).resume();
      state_->is_running = false;
      leave();
      thread.goes_on = false;
      thread.line = state_->line;
      thread.is_exchange = state_->is_exchange;
    }
    if (std::string wrong = release(threads); !wrong.empty()) return wrong;
    const bool is_exchange = std::ranges::any_of(threads, [](const Thread& t) { return t.fiber && t.is_exchange; });
    if (!is_exchange) ++state_->interval;
  }
  return "";
}

}  // namespace isomer::kernel::test
