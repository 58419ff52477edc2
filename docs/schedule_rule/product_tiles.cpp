#include <regex>

#include "examples.h"

using isomer::Block;
using isomer::Integers;
using isomer::Loop;
using isomer::Loops;

namespace {

/// The lines for each row, with '#' for its number.
std::string for_each_row(int64_t rows, const std::string& lines) {
  std::string all;
  for (int64_t row = 0; row < rows; ++row)
    for (const char c : lines) all += c == '#' ? std::to_string(row) : std::string(1, c);
  return all;
}

/// Sums of all rows stay in registers, a vector of `columns` each.
std::string text(int64_t rows, int64_t columns) {
  const std::string lines =
      "define void @tile(ptr %a, i64 %a_i, i64 %a_k, ptr %b, i64 %b_k, i64 %b_j, ptr %c, i64 %c_i, i64 %c_j, "
      "i64 %depth) {\n"
      "entry:\n" +
      for_each_row(rows,
                   "  %a_row# = mul i64 %a_i, #\n"
                   "  %a# = getelementptr float, ptr %a, i64 %a_row#\n"
                   "  %c_row# = mul i64 %c_i, #\n"
                   "  %c# = getelementptr float, ptr %c, i64 %c_row#\n"
                   "  %start# = load VECTOR, ptr %c#, align 4\n") +
      "  br label %step\n"
      "step:\n"
      "  %k = phi i64 [ 0, %entry ], [ %next, %step ]\n" +
      for_each_row(rows, "  %sum# = phi VECTOR [ %start#, %entry ], [ %new#, %step ]\n") +
      "  %b_place = mul i64 %k, %b_k\n"
      "  %b_row = getelementptr float, ptr %b, i64 %b_place\n"
      "  %columns = load VECTOR, ptr %b_row, align 4\n"
      "  %a_place = mul i64 %k, %a_k\n" +
      for_each_row(rows,
                   "  %p# = getelementptr float, ptr %a#, i64 %a_place\n"
                   "  %x# = load float, ptr %p#, align 4\n"
                   "  %lane# = insertelement VECTOR poison, float %x#, i64 0\n"
                   "  %row# = shufflevector VECTOR %lane#, VECTOR poison, <COUNT x i32> zeroinitializer\n"
                   "  %new# = call VECTOR @llvm.fmuladd.vCOUNTf32(VECTOR %row#, VECTOR %columns, VECTOR %sum#)\n") +
      "  %next = add i64 %k, 1\n"
      "  %more = icmp slt i64 %next, %depth\n"
      "  br i1 %more, label %step, label %done\n"
      "done:\n" +
      for_each_row(rows, "  store VECTOR %new#, ptr %c#, align 4\n") +
      "  ret void\n"
      "}\n"
      "declare VECTOR @llvm.fmuladd.vCOUNTf32(VECTOR, VECTOR, VECTOR)\n";
  return std::regex_replace(std::regex_replace(lines, std::regex("VECTOR"), "<COUNT x float>"), std::regex("COUNT"),
                            std::to_string(columns));
}

}  // namespace

isomer::MicroKernel product_tile(int64_t rows, int64_t columns, std::vector<std::string> needs) {
  isomer::MicroKernel tile;
  tile.name = "tile" + std::to_string(rows) + "x" + std::to_string(columns);
  tile.rows = rows;
  tile.columns = columns;      // of any depth
  tile.b = {columns, 1};       // a panel of columns, row after row
  tile.c = {std::nullopt, 1};  // rows lie wherever they lie
  tile.needs = std::move(needs);
  tile.text = text(rows, columns);
  return tile;
}

isomer::ScheduleModule products_in_tiles() {
  isomer::ScheduleModule module;
  module.name = "products_in_tiles";
  module.before = "tiles";
  module.applies = [](const isomer::Nest& nest, const Block& block) {
    const int64_t rows = nest.machine().has("avx512f") ? 14 : 6, columns = nest.machine().has("avx512f") ? 32 : 16;
    return block.is_alone && block.combines == "sum" && block.loads.size() == 2 && block.axes.size() == 2 &&
           block.reduction.size() == 1 && block.axes[0] % rows == 0 && block.axes[1] % columns == 0 &&
           block.loads[0].axes[1] == 0 && block.loads[1].axes[0] == 0;
  };
  module.apply = [](isomer::Schedule& schedule, const Block& block) -> isomer::Expected<void> {
    const bool is_wide = schedule.nest().machine().has("avx512f");
    // The weights, in panels as the text wants them: they are constant, so that costs nothing when the model runs.
    const std::string panels = schedule.apply("cache_read", {block.name, block.loads[1].buffer, 0}).value().name();
    schedule.apply("transform_layout", {panels, is_wide ? "1/32:0:1%32" : "1/16:0:1%16"}).value();
    const auto rows = schedule.apply("split", {block.loops[0], Integers{-1, is_wide ? 14 : 6}}).value();
    const auto columns = schedule.apply("split", {block.loops[1], Integers{-1, is_wide ? 32 : 16}}).value();
    const Loop depth = block.loops[2], tile = rows.loop(1);
    schedule.apply("reorder", {Loops{columns.loop(0), rows.loop(0), tile, columns.loop(1), depth}}).value();
    // A tile of sums of its own, which is stored in the end.
    const std::string sums = schedule.apply("cache_write", {block.name}).value().name();
    schedule.apply("reverse_compute_at", {block.name, rows.loop(0)}).value();
    schedule.apply("set_scope", {schedule.nest().block(sums).writes[0], "registers"}).value();
    const std::string zeros = schedule.apply("decompose_reduction", {sums, tile}).value().name();
    for (const std::string& rowwise : {zeros, block.name}) {
      schedule.apply("unroll", {schedule.nest().block(rowwise).loops.end()[-2]}).value();
      schedule.apply("vectorize", {schedule.nest().block(rowwise).loops.back()}).value();
    }
    schedule.apply("tensorize", {tile, is_wide ? "tile14x32" : "tile6x16"}).value();
    schedule.apply("annotate", {columns.loop(0), "ahead", 1}).value();
    schedule.apply("parallel", {columns.loop(0)}).value();
    return {};
  };
  return module;
}
