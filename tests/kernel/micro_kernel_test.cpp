// Micro-kernels: tensorized by name they keep the meaning, on tiles that they are described for and no others; texts
// that are none are refused in one sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/codegen_llvm.h"
#include "kernel/examples.h"
#include "kernel/micro_kernel.h"
#include "kernel/run_kernel.h"
#include "kernel/schedule.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::is_long_run;
using testing::HasSubstr;

/// Replaces all, or the one at some place.
std::string replaced(std::string text, const std::string& from, const std::string& to, Random* one) {
  std::vector<size_t> places;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + from.size()))
    places.push_back(at);
  if (one && !places.empty()) places = {places[one->below(places.size())]};
  for (; !places.empty(); places.pop_back()) text.replace(places.back(), from.size(), to);
  return text;
}

constexpr std::string_view kHead =
    "define void @tile(ptr %a, i64 %a_i, i64 %a_k, ptr %b, i64 %b_k, i64 %b_j, ptr %c, i64 %c_i, i64 %c_j, i64 %n) {\n";

/// Two rows of eight columns; b's and c's columns are neighbours.
std::string tile_text() {
  return std::string(kHead) + R"(entry:
  %c1p = getelementptr float, ptr %c, i64 %c_i
  %c0 = load <8 x float>, ptr %c, align 4
  %c1 = load <8 x float>, ptr %c1p, align 4
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s0 = phi <8 x float> [ %c0, %entry ], [ %t0, %loop ]
  %s1 = phi <8 x float> [ %c1, %entry ], [ %t1, %loop ]
  %bk = mul i64 %k, %b_k
  %bp = getelementptr float, ptr %b, i64 %bk
  %bv = load <8 x float>, ptr %bp, align 4
  %ak = mul i64 %k, %a_k
  %a0p = getelementptr float, ptr %a, i64 %ak
  %a1p = getelementptr float, ptr %a0p, i64 %a_i
  %a0 = load float, ptr %a0p, align 4
  %a1 = load float, ptr %a1p, align 4
  %v0 = insertelement <8 x float> poison, float %a0, i64 0
  %v1 = insertelement <8 x float> poison, float %a1, i64 0
  %w0 = shufflevector <8 x float> %v0, <8 x float> poison, <8 x i32> zeroinitializer
  %w1 = shufflevector <8 x float> %v1, <8 x float> poison, <8 x i32> zeroinitializer
  %t0 = call <8 x float> @llvm.fmuladd.v8f32(<8 x float> %w0, <8 x float> %bv, <8 x float> %s0)
  %t1 = call <8 x float> @llvm.fmuladd.v8f32(<8 x float> %w1, <8 x float> %bv, <8 x float> %s1)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  store <8 x float> %t0, ptr %c, align 4
  store <8 x float> %t1, ptr %c1p, align 4
  ret void
}
declare <8 x float> @llvm.fmuladd.v8f32(<8 x float>, <8 x float>, <8 x float>)
)";
}

MicroKernel tile() {
  MicroKernel tile;
  tile.name = "rows2x8";
  tile.rows = 2;
  tile.columns = 8;
  tile.b = {std::nullopt, 1};
  tile.c = {std::nullopt, 1};
  tile.text = tile_text();
  return tile;
}

/// c += a · b, a step at a time.
MicroKernel dot() {
  MicroKernel dot;
  dot.name = "dot";
  dot.depth = 4;
  dot.text = std::string(kHead) + R"(entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %ak = mul i64 %k, %a_k
  %ap = getelementptr float, ptr %a, i64 %ak
  %av = load float, ptr %ap, align 4
  %bk = mul i64 %k, %b_k
  %bp = getelementptr float, ptr %b, i64 %bk
  %bv = load float, ptr %bp, align 4
  %p = fmul float %av, %bv
  %old = load float, ptr %c, align 4
  %new = fadd float %old, %p
  store float %new, ptr %c, align 4
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
)";
  return dot;
}

const Example kProduct = {
    "product",
    "s0 = reduce [12, 24] over [20] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\n"
    "s1 = map [12, 24] { max(s0[i0, i1]:float32, 0) }\noutput s1\n",
    {{12, 20}, {20, 24}}};

Kernel with(const Example& example, const std::vector<MicroKernel>& micro_kernels) {
  Kernel kernel = lowered(example);
  for (const MicroKernel& each : micro_kernels) kernel.micro_kernels.push_back(std::make_shared<MicroKernel>(each));
  return kernel;
}

/// The product in tiles of 2 x 8, whose loops stand in this order behind those over the tiles: 0 rows, 1 columns, 2 the
/// sum. The outermost of them.
Result<LoopId> lay_out(Schedule& schedule, std::vector<size_t> order = {0, 1, 2}) {
  const LoopIds loops = *schedule.loops("s0");
  TRY(const LoopIds rows, schedule.split(loops[0], {-1, 2}));
  TRY(const LoopIds columns, schedule.split(loops[1], {-1, 8}));
  const LoopIds inner = {rows[1], columns[1], loops[2]};
  LoopIds all = {rows[0], columns[0]};
  for (const size_t k : order) all.push_back(inner[k]);
  TRY_VOID(schedule.reorder(all));
  TRY_VOID(schedule.decompose_reduction("s0", all[2]));
  return all[2];
}

TEST(MicroKernels, ComputeTilesWhateverTheOrderOfTheirLoops) {
  const Kernel kernel = with(kProduct, {tile()});
  std::vector<size_t> order = {0, 1, 2};
  do {
    Schedule schedule(kernel);
    const auto outermost = lay_out(schedule, order);
    ASSERT_TRUE(outermost.ok()) << outermost.error().message();
    const auto done = schedule.tensorize(*outermost, "rows2x8");
    ASSERT_TRUE(done.ok()) << done.error().message();
    expect_replays(schedule, kernel);
    expect_same_meaning(kProduct, schedule, kernel);
    EXPECT_THAT(print(schedule.finish()), HasSubstr("by rows2x8"));
    EXPECT_THAT(*emit_ir(schedule.finish(), host_target()), HasSubstr("call void @micro_kernel.rows2x8("));
    const auto assembly = emit_assembly(schedule.finish(), host_target());
    ASSERT_TRUE(assembly.ok());
    EXPECT_THAT(*assembly, testing::Not(HasSubstr("call"))) << "it is inlined";
  } while (std::next_permutation(order.begin(), order.end()));
}

/// Of packed weights, sums in registers.
Schedule packed_schedule(const Kernel& kernel) {
  Schedule schedule(kernel);
  const auto packed = schedule.cache_read("s0", "in1");
  EXPECT_TRUE(packed.ok() && schedule.transform_layout(*packed, "1/8:0:1%8").ok());
  const auto outermost = lay_out(schedule);
  EXPECT_TRUE(outermost.ok()) << outermost.error().message();
  EXPECT_TRUE(schedule.reverse_compute_at("s1", schedule.loops("s0")->at(1)).ok());
  EXPECT_TRUE(schedule.set_scope("s0", "registers").ok());
  const auto done = schedule.tensorize(*outermost, "rows2x8");
  EXPECT_TRUE(done.ok()) << done.error().message();
  return schedule;
}

TEST(MicroKernels, ComputeTilesInRegistersAndOfPackedOperands) {
  MicroKernel exact = tile();
  exact.b = exact.c = {8, 1};
  const Kernel kernel = with(kProduct, {exact});
  expect_same_meaning(kProduct, packed_schedule(kernel), kernel);
}

/// Where a thread's own buffers lie is decided last.
TEST(MicroKernels, AreRefusedByCodeWhereSumsLieOtherwise) {
  MicroKernel other = tile();
  other.c = {48, 1};
  const auto code = emit_assembly(packed_schedule(with(kProduct, {other})).finish(), host_target());
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().message(), "rows2x8: c with steps of [48, 1] expected, those in 's0' are [8, 1]");
}

TEST(MicroKernels, ComputeDotProductsAndStepsOfSums) {
  const Kernel kernel = with(kProduct, {dot()});
  Schedule schedule(kernel);
  const LoopIds loops = *schedule.loops("s0");
  const auto parts = schedule.split(loops[2], {-1, 4});
  ASSERT_TRUE(parts.ok() && schedule.decompose_reduction("s0", (*parts)[0]).ok());
  const auto done = schedule.tensorize((*parts)[1], "dot");
  ASSERT_TRUE(done.ok()) << done.error().message();
  expect_same_meaning(kProduct, schedule, kernel);
}

/// clang -O2 -S -emit-llvm says more than the function; that is left aside.
TEST(MicroKernels, MayBeWhatClangWrites) {
  MicroKernel other = tile();
  std::string& text = other.text;
  text.replace(
      0, text.find('\n'),
      "; ModuleID = 'tile.c'\nsource_filename = \"tile.c\"\n"
      "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n"
      "target triple = \"x86_64-pc-linux-gnu\"\n"
      "define dso_local void @tile(ptr nocapture noundef readonly %a, i64 noundef %a_i, i64 noundef %a_k, ptr "
      "nocapture noundef readonly %b, i64 noundef %b_k, i64 noundef %b_j, ptr nocapture noundef %c, i64 noundef "
      "%c_i, i64 noundef %c_j, i64 noundef %n) local_unnamed_addr #0 {");
  text = replaced(text, "%loop, label %done\n", "%loop, label %done, !llvm.loop !4\n", nullptr);
  text = replaced(text, "load float, ptr %a0p, align 4", "load float, ptr %a0p, align 4, !tbaa !1", nullptr);
  text +=
      "attributes #0 = { nofree noinline norecurse nounwind uwtable \"min-legal-vector-width\"=\"0\" "
      "\"target-cpu\"=\"haswell\" \"target-features\"=\"+avx,+avx2\" }\n"
      "!llvm.module.flags = !{!0}\n!0 = !{i32 7, !\"PIE Level\", i32 2}\n"
      "!1 = !{!2, !2, i64 0}\n!2 = !{!\"float\", !3, i64 0}\n!3 = !{!\"Simple C/C++ TBAA\"}\n"
      "!4 = distinct !{!4, !5}\n!5 = !{!\"llvm.loop.unroll.disable\"}\n";
  const Kernel kernel = with(kProduct, {other});
  Schedule schedule(kernel);
  const auto outermost = lay_out(schedule);
  ASSERT_TRUE(outermost.ok() && schedule.tensorize(*outermost, "rows2x8").ok());
  expect_same_meaning(kProduct, schedule, kernel);
  EXPECT_THAT(*emit_assembly(schedule.finish(), host_target()), testing::Not(HasSubstr("call")));
}

struct Refused {
  std::string name;
  std::function<void(MicroKernel&)> change;
  std::string sentence;
};

/// Descriptions that the loops of a tile of 2 x 8 don't fit.
TEST(MicroKernels, AreRefusedWhereSomethingElseStands) {
  const Refused cases[] = {
      {"rows", [](MicroKernel& m) { m.rows = 4; },
       "a sum of products over 4 rows, 8 columns and any depth expected, loops of 2 x 8 x 20 around s0 found"},
      {"turned", [](MicroKernel& m) { std::swap(m.rows, m.columns); },
       "b with steps of [any, 1] expected, those in 'in0' are [1, 20]"},
      {"depth", [](MicroKernel& m) { m.depth = 16; }, "and a depth of 16 expected, loops of 2 x 8 x 20"},
      {"steps", [](MicroKernel& m) { m.b.first = 8; }, "b with steps of [8, 1] expected, those in 'in1' are [24, 1]"},
      {"steps of c", [](MicroKernel& m) { m.c.second = 2; },
       "c with steps of [any, 2] expected, those in 's0' are [24, 1]"},
  };
  for (const Refused& each : cases) {
    SCOPED_TRACE(each.name);
    MicroKernel other = tile();
    each.change(other);
    Schedule schedule(with(kProduct, {other}));
    const auto outermost = lay_out(schedule);
    ASSERT_TRUE(outermost.ok());
    const Trace before = schedule.trace();
    const auto done = schedule.tensorize(*outermost, "rows2x8");
    ASSERT_FALSE(done.ok());
    EXPECT_THAT(done.error().message(), HasSubstr(each.sentence));
    EXPECT_EQ(schedule.trace(), before);
  }
}

TEST(MicroKernels, AreRefusedWhereABlockIsNoPlainTile) {
  const auto refused = [](const Schedule& schedule, LoopId loop, const std::string& sentence) {
    Schedule copy = schedule;
    const auto done = copy.tensorize(loop, "rows2x8");
    ASSERT_FALSE(done.ok());
    EXPECT_THAT(done.error().message(), HasSubstr(sentence));
  };
  Schedule schedule(with(kProduct, {tile()}));
  refused(schedule, schedule.loops("s1")->at(0), "a sum of products of two float32 elements expected, s1 is another");
  refused(schedule, schedule.loops("s0")->at(0), "a sum that starts elsewhere expected (decompose_reduction), s0");
  Schedule ragged(with(kProduct, {tile()}));
  const auto parts = ragged.split(ragged.loops("s0")->at(1), {-1, 16});
  ASSERT_TRUE(parts.ok() && ragged.decompose_reduction("s0", ragged.loops("s0")->at(0)).ok());
  refused(ragged, (*parts)[1], "whole tiles expected, s0 has a condition");
  const auto unknown = schedule.tensorize(schedule.loops("s0")->at(0), "rows4x8");
  EXPECT_THAT(unknown.error().message(), HasSubstr("or a micro-kernel that was given expected"));
}

/// What a primitive would make of the loops is no longer what the micro-kernel computes.
TEST(MicroKernels, HoldTheirLoops) {
  Schedule schedule(with(kProduct, {tile()}));
  const auto outermost = lay_out(schedule);
  ASSERT_TRUE(outermost.ok() && schedule.tensorize(*outermost, "rows2x8").ok());
  const LoopIds loops = *schedule.loops("s0");
  EXPECT_THAT(schedule.unroll(loops[2]).error().message(), HasSubstr("a loop expected that no micro-kernel computes"));
  EXPECT_THAT(schedule.split(loops[4], {4, 5}).error().message(), HasSubstr("up to three loops around one block"));
  EXPECT_THAT(schedule.vectorize(loops[3]).error().message(), HasSubstr("serial loops of constant extents"));
  EXPECT_TRUE(schedule.unroll(loops[1]).ok());
}

Result<std::string> code_with(const MicroKernel& micro_kernel, const CpuTarget& target) {
  Schedule schedule(with(kProduct, {micro_kernel}));
  TRY(const LoopId outermost, lay_out(schedule));
  TRY_VOID(schedule.tensorize(outermost, micro_kernel.name));
  return emit_assembly(schedule.finish(), target);
}

TEST(MicroKernels, NeedATextOfOneFunctionThatCallsNothing) {
  const auto body = [](const std::string& text) {
    return [=](MicroKernel& m) { m.text = std::string(kHead) + text + "\n  ret void\n}\n"; };
  };
  const Refused cases[] = {
      {"nothing", [](MicroKernel& m) { m.text.clear(); }, "one function of type void (ptr, i64, i64, ptr"},
      {"no assembly", [](MicroKernel& m) { m.text = "int main() {}"; }, "LLVM's assembly expected, line 1: "},
      {"an undefined value", body("store float %x, ptr %c"), "line 2: use of undefined value '%x'"},
      {"another signature", [](MicroKernel& m) { m.text = "define void @f(ptr %c) {\n  ret void\n}\n"; },
       "i64, i64, i64) expected, f is a void (ptr)"},
      {"two functions", [](MicroKernel& m) { m.text += "define void @g() {\n  ret void\n}\n"; },
       "one function expected, tile and g found"},
      {"a call", [&](MicroKernel& m) { body("call void @exit(i32 0)")(m), m.text += "declare void @exit(i32)\n"; },
       "calls of intrinsics alone expected, another one found"},
      {"itself", body("call void @tile(ptr %a, i64 0, i64 0, ptr %b, i64 0, i64 0, ptr %c, i64 0, i64 0, i64 0)"),
       "calls of intrinsics alone expected"},
      {"inline assembly", body("call void asm sideeffect \"syscall\", \"\"()"), "calls of intrinsics alone expected"},
      {"a function's address", body("store ptr @tile, ptr %c"),
       "their pointers and vectors expected, store has others"},
      {"a variable", [](MicroKernel& m) { m.text = "@g = global i32 0\n" + m.text; }, "without global variables"},
      {"the target's intrinsic",
       [&](MicroKernel& m) {
         body("call void @llvm.x86.avx512.vpdpbusd.512()")(m);
         m.text = std::string(kHead) +
                  "  %v = call <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float> zeroinitializer, "
                  "<16 x float> zeroinitializer, i16 -1)\n  ret void\n}\ndeclare <16 x float> "
                  "@llvm.x86.avx512.rcp14.ps.512(<16 x float>, <16 x float>, i16)\n";
       },
       "an intrinsic that every CPU has code for expected, llvm.x86.avx512.rcp14.ps.512 found"},
      {"scalable vectors", body("store <vscale x 4 x float> zeroinitializer, ptr %c"), "store has others"},
      {"a wide float", body("store fp128 0xL00000000000000000000000000000000, ptr %c"), "store has others"},
      {"a variable of any size", body("%v = alloca float, i64 %n"), "variables of fixed size expected"},
      {"a remainder", body("%x = load float, ptr %a\n  %y = frem float %x, %x\n  store float %y, ptr %c"),
       "it would have to call fmodf"},
  };
  for (const Refused& each : cases) {
    SCOPED_TRACE(each.name);
    MicroKernel other = tile();
    each.change(other);
    const auto code = code_with(other, host_target());
    ASSERT_FALSE(code.ok());
    EXPECT_THAT(code.error().message(), HasSubstr("rows2x8: "));
    EXPECT_THAT(code.error().message(), HasSubstr(each.sentence));
    EXPECT_EQ(code.error().message().find('\n'), std::string::npos);
  }
}

/// Another text: other types throughout, other operations and operands somewhere, or a word of another kind.
std::string mutated(std::string text, Random& random) {
  const std::vector<std::vector<std::pair<std::string, std::string>>> types = {
      {{"float", "double"}, {"f32", "f64"}},
      {{"float", "half"}, {"f32", "f16"}},
      {{"float", "fp128"}, {"f32", "f128"}},
      {{"8 x", "7 x"}, {"v8", "v7"}},
      {{"8 x", "500 x"}, {"v8", "v500"}},
      {{"8 x", "vscale x 4 x"}, {"v8", "nxv4"}},
      {{"fmuladd", "fma"}},
      {{"i64", "i128"}}};
  const std::vector<std::string> integers = {"add", "mul", "udiv", "srem", "shl", "ashr", "xor"},
                                 values = {"%a_i",  "%a_k", "%b_k", "%c_i", "%n",    "%k",
                                           "%next", "%ak",  "%bk",  "-1",   "poison"},
                                 pointers = {"%a0p", "%a1p", "%bp", "%c1p", "%a", "%b", "%c", "null", "@tile"},
                                 vectors = {"%bv", "%w0", "%w1", "%s0", "%t1", "%v0", "zeroinitializer", "undef"},
                                 words = {"ptr",
                                          "i1",
                                          "void",
                                          "unreachable",
                                          "fence seq_cst",
                                          "alloca i8, i64 %n",
                                          "volatile",
                                          "blockaddress(@tile, %loop)",
                                          "align 4294967296",
                                          "x86_amx",
                                          "fast",
                                          "!dbg !0",
                                          "#0",
                                          ",",
                                          "(",
                                          "\n",
                                          "ptr addrspace(1)",
                                          "musttail",
                                          "freeze i64",
                                          "atomic"};
  const auto any = [&](const std::vector<std::string>& list) { return list[random.below(list.size())]; };
  switch (random.below(6)) {
    case 0:
      for (const auto& [from, to] : types[random.below(types.size())]) text = replaced(text, from, to, nullptr);
      return text;
    case 1: return replaced(text, any({" mul ", " add "}), " " + any(integers) + " ", &random);
    case 2: return replaced(text, any(values), any(values), &random);
    case 3: return replaced(text, any(pointers), any(pointers), &random);
    case 4: return replaced(text, any(vectors), any(vectors), &random);
    default:
      return replaced(text, any({" ", "i64 ", "ptr ", "load ", "store ", "\n"}), " " + any(words) + " ", &random);
  }
}

/// Whatever stands in a text, it is code or a sentence.
TEST(MicroKernels, WithTextsOfAnyKindEndInASentenceAtWorst) {
  const int count = is_long_run() ? 5'000 : 300;
  int codes = 0;
  for (int seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<uint64_t>(seed));
    MicroKernel other = tile();
    for (uint64_t changes = 1 + random.below(3); changes > 0; --changes) other.text = mutated(other.text, random);
    const auto code = code_with(other, random.chance(0.5) ? host_target() : *parse_cpu_target("cpu=x86-64"));
    codes += code.ok();
    if (!code.ok()) {
      EXPECT_THAT(code.error().message(), HasSubstr("rows2x8: "));
    }
  }
  EXPECT_GE(6 * codes, count);
  EXPECT_LE(2 * codes, count);
  RecordProperty("codes", codes);
}

TEST(MicroKernels, NeedACpuThatHasWhatTheyNeed) {
  MicroKernel wide = tile();
  wide.needs = {"avx2", "fma"};
  EXPECT_TRUE(code_with(wide, *parse_cpu_target("cpu=haswell")).ok());
  const auto older = code_with(wide, *parse_cpu_target("cpu=sandybridge"));
  ASSERT_FALSE(older.ok());
  EXPECT_THAT(older.error().message(), HasSubstr("rows2x8: a CPU with avx2 expected, sandybridge has none"));
  // What it does not say is seen where LLVM would call a library.
  MicroKernel silent = tile();
  for (size_t at; (at = silent.text.find("fmuladd")) != std::string::npos;) silent.text.replace(at, 7, "fma");
  EXPECT_TRUE(code_with(silent, *parse_cpu_target("cpu=haswell")).ok());
  const auto called = code_with(silent, *parse_cpu_target("cpu=sandybridge"));
  ASSERT_FALSE(called.ok());
  EXPECT_THAT(called.error().message(),
              HasSubstr("instructions of sandybridge alone expected, it would have to call fma"));
  // One that is not used asks for nothing.
  EXPECT_TRUE(emit_assembly(Schedule(with(kProduct, {wide})).finish(), *parse_cpu_target("cpu=sandybridge")).ok());
}

TEST(MicroKernels, HaveNamesThatTracesCanSay) {
  for (const char* name : {"", "k4", "8rows", "rows 8", "rows=8"}) {
    MicroKernel other = tile();
    other.name = name;
    EXPECT_THAT(check_names({std::make_shared<MicroKernel>(other)}).error().message(), HasSubstr("a name of letters"))
        << name;
  }
  const auto twice = check_names({std::make_shared<MicroKernel>(tile()), std::make_shared<MicroKernel>(tile())});
  EXPECT_THAT(twice.error().message(), HasSubstr("one micro-kernel of a name expected, two found"));
  EXPECT_TRUE(check_names({std::make_shared<MicroKernel>(tile()), std::make_shared<MicroKernel>(dot())}).ok());
}

TEST(Targets, AreCalledAfterACpuThatHasWhatTheyHave) {
  CpuTarget target = *parse_cpu_target("cpu=sapphirerapids");
  EXPECT_EQ(name_by_extensions(target, "Intel"), "sapphirerapids");
  target.cpu = "rocketlake";
  EXPECT_EQ(name_by_extensions(target, "Intel"), "sapphirerapids");
  EXPECT_EQ(name_by_extensions(target, ""), "rocketlake");
  // No name says all of it: the one that says most.
  target.cpu = "x86-64";
  target.extensions.pop_back();
  EXPECT_EQ(name_by_extensions(target, "Intel"), "icelake-client");
  EXPECT_EQ(name_by_extensions(*parse_cpu_target("cpu=haswell"), "AMD"), "haswell");
}

}  // namespace
}  // namespace isomer::kernel::test
