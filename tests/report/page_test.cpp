// Pages: what is in them, and that whatever a model holds they are HTML.
#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/text.h"

namespace isomer::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Graph parsed(const std::string& text) {
  auto graph = parse_graph(text);
  CHECK(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

Graph layers(const char* last, int count) {
  std::string text = "opset 17\ngraph g(x0: float32[4,4]) -> (y: float32[4,4]) {\n";
  for (int k = 0; k < count; ++k)
    text += fmt::format("  a{0} = {1}(x{0})\n  b{0} = Neg(a{0})\n  x{2} = Tanh(b{0})\n", k, last, k + 1);
  return parsed(text + fmt::format("  y = Identity(x{})\n}}\n", count));
}

/// The first tag that is not closed, or closed without being open; empty where there is none.
std::string unbalanced(std::string_view html) {
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
    const size_t end = html.find('>', at);
    if (end == std::string_view::npos) return "<";
    const std::string_view tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("!") || tag.ends_with("/")) continue;
    const std::string name(tag.substr(tag.starts_with("/"), tag.find(' ') - tag.starts_with("/")));
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != name) return "/" + name;
      open.pop_back();
      continue;
    }
    open.push_back(name);
    if (name == "script" || name == "style") at = html.find("</" + name, at);
  }
  return open.empty() ? "" : open.back();
}

const json kFacts = json::parse(R"json({
  "model": "m.onnx", "for": "isomer", "nodes_before": 10, "nodes_after": 7, "weights_mb_before": 1.5,
  "weights_mb_after": 1.25,
  "steps": [{"rule": "fuse", "where": "a0 (Relu)", "gain_us": 12.5, "fp_class": "exact"
},
            {"rule": "fuse", "where": "a1 (Relu)", "gain_us": 2.5, "fp_class": "exact"},
            {"rule": "remove dead", "where": "z", "gain_us": null, "fp_class": "exact"}],
  "search": {"outcome": "faster", "costed": 100, "measured": 5, "stop_reason": "time limit",
             "by_region": [{"where": "a0", "applications": 8, "places": 2, "cost_us": 80.5, "saved_us": 1.5,
                            "rules": ["fuse ->"], "taken": false, "why_not": "in turns 0.99 <times> as fast"}],
             "race": {"before_us": 1200.0, "after_us": 800.0, "ratio": 1.5, "low": 1.4, "high": 1.6, "rounds": 40,
                      "in": "Isomer's kernels"}},
  "check": {"runs": 2, "passed": true, "max_abs_error": 1e-6},
  "seconds": {"optimize": 3.0, "check": 1.0}
})json");

TEST(Page, HasWhatThereIsToLookAt) {
  const Graph before = layers("Relu", 3), after = layers("Sigmoid", 3);
  const std::string html = page({"m.onnx", &before, &after, {{"fuse", "Relu(x) = Sigmoid(x)", "exact"}}}, kFacts);
  EXPECT_EQ(unbalanced(html), "");
  for (const char* part : {"10 → 7", "1.5 → 1.25 MB", "1.500 times as fast", "1.20&nbsp;ms → 800.0&nbsp;µs", "passed",
                           "class=\"node gone\"", "class=\"node new\"", "Relu(x) = Sigmoid(x)", "15.0&nbsp;µs",
                           "in turns 0.99 &lt;times&gt; as fast", "3.00 s"})
    EXPECT_THAT(html, HasSubstr(part));
  // The JSON inside is the report.
  const size_t begin = html.find("id=\"report\">") + 12;
  EXPECT_EQ(json::parse(html.substr(begin, html.find("</script>", begin) - begin)), kFacts);
}

TEST(Page, DrawsEqualPlacesOnce) {
  const Graph before = layers("Relu", 6), after = layers("Sigmoid", 6);
  const std::string html = page({"m.onnx", &before, &after, {}}, kFacts);
  size_t drawn = 0;
  for (size_t at = html.find("<details class=\"change\""); at != std::string::npos;
       at = html.find("<details class=\"change\"", at + 1))
    ++drawn;
  EXPECT_EQ(drawn, 1U);
  EXPECT_THAT(html, HasSubstr("and 3 more"));
}

TEST(Page, OfTwoModelsThatAreTheSameSaysSo) {
  const Graph graph = layers("Relu", 2);
  const std::string html = page({"a and b", &graph, &graph, {}}, json{{"nodes_before", 7}, {"nodes_after", 7}});
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_THAT(html, HasSubstr("0 places differ"));
}

TEST(Page, CountsAreWhole) {
  json facts = kFacts;
  facts["nodes_before"] = 12'345;
  facts["nodes_after"] = 9'999;
  facts["weights_mb_before"] = 13'500.4;
  const std::string html = page({"m.onnx", nullptr, nullptr, {}}, facts);
  EXPECT_THAT(html, HasSubstr("12345 → 9999"));
  EXPECT_THAT(html, HasSubstr("13500 → 1.25 MB"));
}

TEST(Page, SaysWhatTheCheckLeftOut) {
  json facts = kFacts;
  facts["check"].update(json::parse(R"json({
    "not_checked": [{"node": "a <b> (NonZero)", "reason": "it ran on no input"}], "left_out": [],
    "sizes": [{"n": 1}, {"n": 3}]
  })json"));
  const std::string html = page({"m.onnx", nullptr, nullptr, {}}, facts);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_THAT(html, HasSubstr("node: a &lt;b&gt; (NonZero), reason: it ran on no input"));
  EXPECT_THAT(html, HasSubstr("<div>n: 1</div><div>n: 3</div>"));
  EXPECT_EQ(html.find("<td>left_out"), std::string::npos);
}

TEST(Page, OfABenchHasRunsPeersAndTasks) {
  const json facts = json::parse(R"json({
    "model": "m.onnx", "threads": 2, "times_ms": [2.5, 1.5, 2.0, 9.0], "min_ms": 1.5, "median_ms": 2.0, "gflop": 0.25,
    "gflops": 125.0, "fma_peak_gflops": 200.0, "peak_memory_mb": 64.0,
    "tasks": [{"name": "Add", "depth": 0, "share": 0.25, "median_us": 500.0, "gflops": 0.5},
              {"name": "Conv<Relu>", "depth": 0, "share": 0.75, "median_us": 1500.0, "gflops": 150.0}],
    "against": {"onnxruntime": {"version": "1.0", "times_ms": [3.0, 4.0], "ratio": 1.75, "ratio_p25": 1.5,
                                "ratio_p75": 2.0}}
  })json");
  const std::string html = page({"m.onnx", nullptr, nullptr, {}}, facts);
  EXPECT_EQ(unbalanced(html), "");
  for (const char* part : {"2 ms", "125 GFLOP/s", "of 200", "64 MB", "onnxruntime 1.0", "1.75 times our time",
                           "from 1.5 to 3 ms", "75.0 %", "75 %</td>", "1.50&nbsp;ms", "Conv&lt;Relu&gt;"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_LT(html.find("Conv&lt;Relu"), html.find("<code>Add"));
  EXPECT_EQ(html.find("nodes"), std::string::npos);
}

TEST(Page, OfABenchOnAGpuSaysNothingOfTheCpu) {
  const json facts = json::parse(R"json({
    "model": "m.onnx", "threads": 3, "times_ms": [2.5, 1.5], "min_ms": 1.5, "median_ms": 2.0, "gflop": 0.25,
    "gflops": 125.0, "fma_peak_gflops": null, "device": "Some <GPU>",
    "tasks": [{"name": "Add", "depth": 0, "share": 1.0, "median_us": 500.0, "gflops": 0.5}]
  })json");
  const std::string html = page({"m.onnx", nullptr, nullptr, {}}, facts);
  EXPECT_EQ(unbalanced(html), "");
  for (const char* part : {"125 GFLOP/s", "0.25 GFLOP a run", "1.5 ms at least; Some &lt;GPU&gt;"})
    EXPECT_THAT(html, HasSubstr(part));
  for (const char* part : {"3 threads", "was seen to do"}) EXPECT_EQ(html.find(part), std::string::npos) << part;
}

TEST(Page, OfATuningHasTasksByWhatTheyMayGain) {
  const json facts = json::parse(R"json({
    "models": [{"model": "a.onnx", "start_ms": 3.0, "best_ms": 1.0}, {"model": "b.onnx", "start_ms": 1.0, "best_ms": 1.0}],
    "threads": 1, "cpu": "znver3", "trials": 64, "seconds": 12.5, "task": null,
    "tasks": [{"task": 0, "hash": "00", "name": "Softmax", "types": "float32[8]", "places": 1.0, "start_us": 10.0,
               "best_us": 10.0, "roofline_us": 9.0, "speedup": 1.0, "trials": 0, "failed": {}, "found": false,
               "why_not": "it can't be measured"},
              {"task": 1, "hash": "01", "name": "MatMul", "types": "float32[8,8]", "places": 4.0, "start_us": 800.0,
               "best_us": 400.0, "roofline_us": 100.0, "speedup": 2.0, "trials": 64, "failed": {"crash": 2, "time": 1},
               "found": true, "why_not": null}]
  })json");
  const std::string html = page({"a.onnx, b.onnx", nullptr, nullptr, {}}, facts);
  EXPECT_EQ(unbalanced(html), "");
  for (const char* part : {"4 → 2 ms", "2.000 times as fast", "3 failed", "12.5 s", "znver3", "b.onnx", "25 %",
                           "failed: 2 crash, 1 time", "it can&#39;t be measured"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_LT(html.find("MatMul"), html.find("Softmax"));
}

/// Names are the model's: they may be anything.
TEST(Page, IsHtmlWhateverNamesAre) {
  Graph before = layers("Relu", 2), after = layers("Sigmoid", 2);
  for (Graph* graph : {&before, &after})
    for (const ValueId id : graph->values()) graph->edit(id).name += "</script><img src=x onerror=alert(1)>\xff\"'&";
  json facts = kFacts;
  facts["model"] = "</script><b>";
  facts["steps"][0]["where"] = "</details><script>\xff";
  const std::string html = page({"<i>&", &before, &after, {}}, facts);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_EQ(html.find("<img"), std::string::npos);
  const size_t begin = html.find("id=\"report\">") + 12;
  EXPECT_EQ(json::parse(html.substr(begin, html.find("</script>", begin) - begin))["model"], "</script><b>");
}

/// Behind "<!--<script" a script goes on beyond its end.
TEST(Page, ItsScriptsEndWhateverNamesAre) {
  json facts = kFacts;
  facts["model"] = "<!--<script>";
  const std::string html = page({"m.onnx", nullptr, nullptr, {}}, facts);
  const size_t begin = html.find("id=\"report\">") + 12;
  const std::string inside = html.substr(begin, html.find("</script>", begin) - begin);
  EXPECT_EQ(inside.find('<'), std::string::npos);
  EXPECT_EQ(json::parse(inside), facts);
}

/// A small model runs millions of times a second.
TEST(Page, HasNoMoreRunsThanCanBeSeen) {
  json facts = {
      {"times_ms", json::array()},
      {"median_ms", 0.5},
      {"min_ms", 0.25},
      {"threads", 1},
      {"tasks", json::array()},
      {"against", {{"onnxruntime", {{"version", "1"}, {"ratio", 1.0}, {"ratio_p25", 1.0}, {"ratio_p75", 1.0}}}}}};
  for (int k = 0; k < 100'000; ++k) facts["times_ms"].push_back(0.25 + 1e-6 * k);
  facts["against"]["onnxruntime"]["times_ms"] = facts["times_ms"];
  const std::string html = page({"m.iso", nullptr, nullptr, {}}, facts);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_LT(html.size(), 1'000'000U);
  EXPECT_THAT(html, HasSubstr("<td>Isomer</td><td>100000</td>"));
  const size_t begin = html.find("id=\"report\">") + 12;
  const json inside = json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  EXPECT_EQ(inside["times_ms"].size(), kMostRuns);
  EXPECT_EQ(inside["times_ms_count"], 100'000);
  EXPECT_EQ(inside["times_ms"][kMostRuns / 2], facts["times_ms"][50'000]);
  EXPECT_EQ(inside["against"]["onnxruntime"]["times_ms"].size(), kMostRuns);
}

TEST(Page, SaysWhichInputsAndOutputsDiffer) {
  const Graph before = parsed("opset 17\ngraph g(x: float32[4]) -> (a: float32[4]) {\n  a = Relu(x)\n}\n"),
              after = parsed("opset 17\ngraph g(x: float32[4]) -> (b: float32[4]) {\n  b = Relu(x)\n}\n");
  const std::string html = page({"m.onnx", &before, &after, {}}, kFacts);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_THAT(html, HasSubstr("<li>gone: output a float32[4]</li><li>new: output b float32[4]</li>"));
  EXPECT_EQ(page({"m.onnx", &before, &before, {}}, kFacts).find("<h3>Inputs"), std::string::npos);
}

}  // namespace
}  // namespace isomer::report
