// Templates: they print and parse back, what is wrong with one is told with its line, their knobs are choices like any
// other, and whatever is chosen keeps the meaning.
#include "kernel/space/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/default_schedule.h"
#include "kernel/examples.h"

namespace isomer::kernel::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Of the example "product".
constexpr std::string_view kTiles = R"(rows := 4 in [2, 4, 6]
columns := 8 in [8, 16]
packs := 1 in [0, 1]
in1.cache = cache_read(s0, in1, 0) if ?packs = 1
transform_layout(in1.cache, 1/?columns:0:1%?columns) if ?packs = 1
k100, k101 = split(k0, [-1, ?rows])
k102, k103 = split(k1, [-1, ?columns])
reorder({k100, k102, k2, k101, k103})
vectorize(k103)
)";

Template parsed(std::string_view text) {
  auto made = parse_template(text);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return made.ok() ? *std::move(made) : Template();
}

const Example& product() { return examples().front(); }

Scheduled made(std::string_view text, std::map<std::string, int64_t> values = {}) {
  Preferring preferring;
  Given decider(std::move(values), preferring);
  return scheduled(Schedule(lowered(product())), space_of(parsed(text), default_space()), {}, decider);
}

TEST(Templates, ArePrintedAsTheyAreRead) {
  const Template tiles = parsed(kTiles);
  EXPECT_EQ(print(tiles), kTiles);
  EXPECT_EQ(parsed(print(tiles)), tiles);
  EXPECT_EQ(tiles.knobs.size(), 3U);
  EXPECT_TRUE(tiles.is_open());
  const Template other = parsed(std::string(kTiles) + "s1.inline := 0\ndefaults()\n");
  EXPECT_EQ(parsed(print(other)), other);
  EXPECT_TRUE(other.has_defaults);
  EXPECT_NE(hash(other), hash(tiles));
  // Comments and blanks make no difference.
  EXPECT_EQ(hash(parsed("  rows := 4  in [2,4, 6]  # of a tile\nsplit(k0, [-1,?rows])   if ?rows=4\n")),
            hash(parsed("rows := 4 in [2, 4, 6]\nsplit(k0, [-1,?rows]) if ?rows = 4\n")));
}

TEST(Templates, TracesAreSuchWithoutKnobs) {
  const std::string trace = print(default_schedule(Schedule(lowered(product())), {}).trace());
  const Template schedule = parsed(trace);
  EXPECT_FALSE(schedule.is_open());
  EXPECT_EQ(print(schedule), trace);
  EXPECT_EQ(*instance(schedule, {}), *parse_trace(trace));
}

TEST(Templates, WhatIsWrongIsToldWithItsLine) {
  const auto refused = [](std::string_view text, std::string_view part) {
    SCOPED_TRACE(text);
    const auto read = parse_template(text);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message(), testing::StartsWith(std::string(part)));
  };
  refused("\nrows := 4 in 2, 4\n", "line 2: rows: candidates like [4, 8] expected, '2, 4' found");
  refused("rows := 4 in []\n", "line 1: rows: candidates like [4, 8] expected, '[]' found");
  refused("rows := 4 in [4, 4]\n", "line 1: rows: candidates that differ expected, [4, 4] found");
  refused("rows := 5 in [4, 8]\n", "line 1: rows: what is preferred among the candidates [4, 8] expected, 5 found");
  refused("rows := few in [4, 8]\n", "line 1: an integer behind ':=' expected, 'few in [4, 8]' found");
  refused("s0.rows := 4 in [4, 8]\n", "line 1: a knob's name of letters, digits and '_' expected, 's0.rows' found");
  refused("rows := 4 in [4, 8]\nrows := 8 in [4, 8]\n", "line 2: rows: a name that no other knob has expected");
  refused("rows := 4 in [4, 8]\nparallel(k0)\n", "line 1: a line that uses '?rows' expected");
  refused("rows := 4 in [4, 8]\n\nsplit(k0, [-1, ?row])\n", "line 3: a knob expected behind '?', of rows, 'row' found");
  refused("split(k0, [-1, ?rows])\n", "line 1: a knob expected behind '?', of which there is none, 'rows' found");
  refused("rows := 4 in [4, 8]\nunroll(k0) if ?rows = 5\n", "line 2: rows: one of its candidates [4, 8] expected");
  refused("rows := 4 in [4, 8]\nunroll(k0) if rows = 4\n",
          "line 2: a condition like '?knob = 1' behind 'if' expected, 'rows = 4' found");
  // Of a line that stands aside, too.
  refused("rows := 4 in [4, 8]\nunrol(k0) if ?rows = 8\n", "line 2: unrol: the name of a primitive expected");
  refused("rows := 4 in [4, 8]\nunroll(k0 if ?rows = 8\n", "line 2: ");
  refused("rows := 4 in [4, 8]\nsplit(k0, [-1, ?rows])\nrows := 6\n",
          "line 3: rows: one of its candidates [4, 8] expected, 6 found");
  refused("defaults()\nparallel(k0)\n", "line 2: defaults() as the last line expected, 'parallel(k0)' found behind it");
}

TEST(Templates, KnobsAreChoices) {
  const Scheduled preferred = made(kTiles);
  std::vector<std::string> names;
  for (const Builder::Made& each : preferred.choices) names.push_back(each.choice.name);
  EXPECT_THAT(names, ElementsAre("rows", "columns", "packs"));
  EXPECT_THAT(print(preferred.schedule.trace()), HasSubstr("[-1, 4])"));
  EXPECT_THAT(print(preferred.schedule.trace()), HasSubstr("1/8:0:1%8"));
  EXPECT_THAT(print(preferred.schedule.trace()), HasSubstr("rows := 4\ncolumns := 8\npacks := 1\n"));

  const Scheduled other = made(kTiles, {{"columns", 16}, {"packs", 0}});
  EXPECT_THAT(print(other.schedule.trace()), HasSubstr("[-1, 16])"));
  EXPECT_THAT(print(other.schedule.trace()), Not(HasSubstr("cache_read")));
  EXPECT_THAT(print(other.schedule.trace()), HasSubstr("rows := 4\ncolumns := 16\npacks := 0\n"));
  expect_replays(other.schedule, lowered(product()));
}

TEST(Templates, AllThatTheyStandForKeepTheMeaning) {
  std::set<Hash128> different;
  for (const int64_t rows : {2, 4, 6})
    for (const int64_t columns : {8, 16})
      for (const int64_t packs : {0, 1}) {
        const Scheduled one =
            made(std::string(kTiles) + "defaults()\n", {{"rows", rows}, {"columns", columns}, {"packs", packs}});
        SCOPED_TRACE(print(one.schedule.trace()));
        expect_same_meaning(product(), one.schedule, lowered(product()));
        different.insert(hash(one.schedule.trace()));
      }
  EXPECT_EQ(different.size(), 12U);
}

TEST(Templates, ADecisionLeavesAKnobOneValue) {
  const Scheduled fixed = made(std::string(kTiles) + "columns := 16\n");
  EXPECT_THAT(fixed.choices[1].choice.candidates, ElementsAre(16));
  EXPECT_EQ(made(std::string(kTiles) + "columns := 16\n", {{"columns", 8}}).choices[1].value, 16);
}

TEST(Templates, ValuesThatDoNotApplyAreTakenBack) {
  // The loop is there only where the block is split so.
  const std::string text = std::string("parts := 1 in [1, 0]\n") + "k100, k101 = split(k0, [-1, 4]) if ?parts = 1\n" +
                           "order := 0 in [0, 1]\nreorder({k1, k101}) if ?order = 1\n";
  EXPECT_THAT(print(made(text, {{"order", 1}}).schedule.trace()), HasSubstr("reorder({k1, k6})"));
  const Scheduled back = made(text, {{"parts", 0}, {"order", 1}});
  EXPECT_EQ(hash(back.schedule.trace()), hash(made(text).schedule.trace()));
  for (const Builder::Made& each : back.choices) EXPECT_TRUE(each.is_preferred()) << each.choice.name;
  // A graph's layouts are none of theirs.
  const std::string layouts = "lays := 0 in [0, 1]\nset_layout(in0, 1:0) if ?lays = 1\nparallel(k0)\n";
  EXPECT_EQ(hash(made(layouts, {{"lays", 1}}).schedule.trace()), hash(made(layouts).schedule.trace()));
}

TEST(Templates, DefaultsDoWhatIsLeft) {
  const std::string without =
      print(made("width := 8 in [8, 16]\nk100, k101 = split(k1, [-1, ?width])\n").schedule.trace());
  EXPECT_THAT(without, Not(HasSubstr("s1")));
  const Scheduled with = made("width := 8 in [8, 16]\nk100, k101 = split(k1, [-1, ?width])\ndefaults()\n");
  const std::string trace = print(with.schedule.trace());
  EXPECT_THAT(trace, HasSubstr("vectorize(")) << "of s1";
  EXPECT_THAT(trace, Not(HasSubstr("s0.tiles"))) << "the template had s0";
  EXPECT_THAT(trace, HasSubstr("width := 8\n"));
  // Of nothing that it did the defaults are the default schedule.
  EXPECT_EQ(hash(made("defaults()\n").schedule.trace()),
            hash(default_schedule(Schedule(lowered(product())), {}).trace()));
}

}  // namespace
}  // namespace isomer::kernel::test
