#include <algorithm>
#include <optional>

#include "graph/te/interpret/arithmetic.h"
#include "graph/te/interpret/axes.h"
#include "graph/te/interpret/loops.h"
#include "graph/te/interpret/stages.h"
#include "graph/te/interpret/strip_compile.h"

namespace isomer::te::interpreter {
namespace {

constexpr int64_t kMaxUpdateLanes = 256;

/// What the monoid makes of an element and an update.
class Combine {
 public:
  explicit Combine(const Monoid& monoid) {
    if (monoid.combine.empty()) return;
    code_.emplace();
    left_ = code_->variable(VarKind::kLeft, 0);
    right_ = code_->variable(VarKind::kRight, 0);
    section_ = code_->compile(monoid.combine[0]);
    machine_.emplace(*code_);
  }
  void apply(Cell& element, Cell update) {
    if (!machine_) {
      element = update;
      return;
    }
    (*machine_)[left_] = element;
    (*machine_)[right_] = update;
    machine_->run(section_);
    element = (*machine_)[section_.result];
  }

 private:
  std::optional<ScalarCode> code_;
  std::optional<ScalarMachine> machine_;
  int left_ = -1, right_ = -1;
  Section section_;
};

/// Indices and values are computed in strips along the innermost iterator; the elements are updated one by one, in
/// order.
class PlannedUpdate : public PlannedStage {
 public:
  explicit PlannedUpdate(const Update& update)
      : update_(update), init_{update.shape, {}, {}, {update.init}}, planned_init_(init_), combine_(update.combine) {}

  Result<std::vector<Array>> run(const RunContext& context) override {
    TRY(std::vector<Array> arrays, planned_init_.run(context));
    TRY(const Dims updates, evaluate_dims(update_.updates, context));
    TRY(const int64_t count, checked_count(updates));
    if (count == 0) return arrays;
    std::vector<Expr> bodies = update_.index;
    bodies.push_back(update_.value);
    TRY(Lowered lowered, lower(bodies, {}, {{}, updates, 1}, *context.buffers));
    coalesce(lowered, lowered.results, false, {iterators_of(lowered, Role::kReduce)});

    std::vector<Level> levels;
    int vector = -1;
    for (int k = 0; k < static_cast<int>(lowered.iterators.size()); ++k)
      if (lowered.iterators[k].role == Role::kReduce && lowered.iterators[k].extent > 1) {
        levels.push_back({k, lowered.iterators[k].extent});
        vector = k;
      }
    const int strip = static_cast<int>(levels.size()) - 1;
    if (vector >= 0) levels.back().step = std::min(kMaxUpdateLanes, levels.back().extent);

    std::vector<Storage> storages;
    for (const BufferRef& ref : lowered.buffers) storages.push_back((*context.buffers)(ref).storage());
    const StripProgram program = compile_strip(lowered, storages, lowered.results, vector, Results::kToLanes);
    Frame frame(program, kMaxUpdateLanes);
    for (size_t k = 0; k < lowered.buffers.size(); ++k)
      frame.buffers[k] = (*context.buffers)(lowered.buffers[k]).data();
    std::vector<std::vector<Cell>> results(bodies.size(), std::vector<Cell>(kMaxUpdateLanes));
    for (auto& result : results) frame.sinks.push_back(result.data());

    auto* elements = static_cast<Cell*>(arrays[0].mutable_data());
    Position position(levels, frame);
    do {
      const int64_t lanes = position.length(strip);
      if (!frame.run(lanes)) return invalid("", "{}", frame.failure);
      for (int64_t l = 0; l < lanes; ++l) {
        TRY(const int64_t element, address(arrays[0].dims(), results, l));
        combine_.apply(elements[element], results.back()[l]);
      }
    } while (position.next());
    return arrays;
  }

 private:
  static Result<int64_t> address(const Dims& dims, const std::vector<std::vector<Cell>>& indices, int64_t lane) {
    int64_t element = 0;
    for (size_t k = 0; k < dims.size(); ++k) {
      const int64_t index = indices[k][lane].integer;
      if (index < 0 || index >= dims[k])
        return invalid("", "index {} is out of range on axis {} of the value that is updated, which has {} elements",
                       index, k, dims[k]);
      element = element * dims[k] + index;
    }
    return element;
  }

  const Update& update_;
  const MapReduce init_;
  PlannedMapReduce planned_init_;
  Combine combine_;
};

}  // namespace

std::unique_ptr<PlannedStage> make_stage(const Update& update) { return std::make_unique<PlannedUpdate>(update); }

}  // namespace isomer::te::interpreter
