// Tasks are read back as they were: the same kernel, the same machine; and nothing else is.
#include "kernel/task_text.h"

#include <gtest/gtest.h>

#include "graph/te/program_text.h"
#include "kernel/examples.h"
#include "util/random.h"

namespace isomer::kernel::test {
namespace {

std::string meaning(const Example& example, const std::set<int>& constants) {
  std::vector<TaskType> types;
  for (size_t input = 0; input < example.inputs.size(); ++input)
    types.push_back({example.type_of(input), Shape(example.inputs[input].begin(), example.inputs[input].end())});
  return meaning_text(*te::parse_program(example.program), types, constants);
}

Machine odd_machine() {
  Machine machine;
  machine.vectors = kAvx512;
  machine.caches = {48 << 10, 2 << 20, 1.25};
  machine.wide_multiply_adds = 1;
  machine.word_parts = 4;
  machine.threads = 3;
  machine.packing = false;
  return machine;
}

TEST(TaskText, IsReadBack) {
  for (const Example& example : examples()) {
    const Schedule start(lowered(example, {0}));
    const std::string text = task_text(odd_machine(), start, meaning(example, {0}));
    const auto read = parse_task(text);
    ASSERT_TRUE(read.ok()) << example.name << ": " << read.error().message();
    EXPECT_EQ(print(read->start.kernel()), print(start.kernel())) << example.name;
    EXPECT_EQ(task_text(read->machine, read->start, meaning_of(text)), text);
    EXPECT_EQ(read->machine.caches.second, 2 << 20);
    EXPECT_EQ(read->machine.word_parts, 4);
    EXPECT_EQ(read->machine.threads, 3);
    EXPECT_FALSE(read->machine.packing);
  }
}

TEST(TaskText, HasLayouts) {
  const Example& example = examples()[0];
  Schedule start(lowered(example));
  ASSERT_TRUE(start.set_layout("in0", "1:0").ok());
  const std::string row_major = task_text(Machine(), Schedule(lowered(example)), meaning(example, {}));
  const std::string text = task_text(Machine(), start, meaning(example, {}));
  const auto read = parse_task(text);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(print(read->start.kernel()), print(start.kernel()));
  EXPECT_NE(text, row_major);
  EXPECT_EQ(meaning_of(text), meaning_of(row_major));
  EXPECT_EQ(meaning_of("nothing of the kind"), "");
}

TEST(TaskText, IsRefusedWhereItIsDamaged) {
  const std::string good = task_text(Machine(), Schedule(lowered(examples()[1])), meaning(examples()[1], {}));
  ASSERT_TRUE(parse_task(good).ok());
  EXPECT_FALSE(parse_task("").ok());
  Random random(1);
  for (int k = 0; k < 500; ++k) {
    std::string bad = good;
    bad[random.below(bad.size())] ^= static_cast<char>(random.between(1, 127));
    EXPECT_FALSE(parse_task(bad).ok()) << bad;
    EXPECT_FALSE(parse_task(good.substr(0, random.below(good.size()))).ok());
  }
}

}  // namespace
}  // namespace isomer::kernel::test
