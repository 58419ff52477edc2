// Costs that are the same on every machine, for the tests of searching.
#pragma once

#include <string_view>

#include "search/cost/estimate.h"
#include "search/optimize_model.h"

namespace isomer::test {

/// Costs by operator, as a table says them: of what depends on constants alone nothing. Runs take as long as they say,
/// by `clock`: on a busy machine too.
class TableBackend final : public search::Backend, private search::GraphCost {
 public:
  using Table = std::map<std::string, double, std::less<>>;
  /// Microseconds by operator; others take one. `runs`: what runs of whole graphs take, where that differs.
  explicit TableBackend(Table table, std::optional<Table> runs = std::nullopt)
      : table_(std::move(table)), runs_(runs.value_or(table_)) {}
  std::string name() const override { return "a table"; }
  bool simplifies() const override { return true; }
  double settle_seconds() const override { return 0; }
  search::GraphCost& costs() override { return *this; }
  Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor>) override {
    return std::unique_ptr<search::Runner>(std::make_unique<Waiting>(sum(model, runs_)));
  }
  /// For RaceOptions.
  static double clock() { return microseconds_passed_ * 1e-6; }
  int asked = 0;  ///< how often a cost was

 private:
  class Waiting final : public search::Runner {
   public:
    explicit Waiting(double microseconds) : microseconds_(microseconds) {}
    Result<void> run() override {
      microseconds_passed_ += microseconds_;
      return {};
    }

   private:
    double microseconds_;
  };

  static double sum(Graph graph, const Table& table) {
    CHECK(search::assume_folded(graph, search::Folded::kAll).ok());
    double result = 0;
    for (const NodeId id : graph.nodes()) {
      const auto found = table.find(graph.node(id).op_type);
      result += found == table.end() ? 1 : found->second;
    }
    return result;
  }
  Result<search::Cost> cost(const Graph& part, search::Effort) override {
    ++asked;
    return search::Cost{sum(part, table_), true};
  }

  static inline double microseconds_passed_ = 0;
  Table table_, runs_;
};

}  // namespace isomer::test
