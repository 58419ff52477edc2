#include "util/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace isomer {
namespace {

TEST(ParseNumber, TakesOneNumberAndNothingElse) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<int>("-42"), -42);
  EXPECT_EQ(parse_number<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_number<uint64_t>("00ff", 16), 255u);
  EXPECT_EQ(parse_number<double>("-1.5e3"), -1500);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1x", "x1", "1.5", "0x1", "2147483648"})
    EXPECT_FALSE(parse_number<int>(text)) << text;
  for (const char* text : {"-1", "18446744073709551616", "1,0"}) EXPECT_FALSE(parse_number<uint64_t>(text)) << text;
  for (const char* text : {"", "1.5s", " 1", "1e999", "e"}) EXPECT_FALSE(parse_number<double>(text)) << text;
  EXPECT_FALSE(parse_number<uint16_t>("65536"));
}

}  // namespace
}  // namespace isomer
