#include "substitutions/mutate/mutants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "substitutions/discover/fingerprint.h"
#include "substitutions/library/draw_instances.h"
#include "substitutions/library/rule_names.h"
#include "substitutions/mutate/boxes.h"
#include "substitutions/mutate/by_elements.h"
#include "substitutions/mutate/example_values.h"
#include "substitutions/mutate/moves.h"
#include "util/parallel.h"
#include "util/stable_sort.h"
#include "util/stop.h"
#include "verify/proof/refute/law_instances.h"
#include "verify/prover/bind.h"
#include "verify/prover/operator_count.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

constexpr int kMostCorrecting = 12;  ///< operators of a correction

/// Zeros around the image of a mutant's convolution, along one axis.
enum class Around : uint8_t {
  kNone,
  kOriginal,  ///< as the original has them
  kBehind,    ///< as far as a kernel reaches, behind: the last rows all have a window
  kFull,      ///< as far as a kernel reaches
};

/// x and w moved, a convolution of them, and moves undone.
struct Mutant {
  std::string kind;  ///< which of the moves
  std::vector<Move> data, weights;
  std::vector<Around> around;   ///< by spatial axis
  bool is_tight = false;        ///< folds of data into channels are as large as the result asks for
  bool has_steps = false;       ///< strides and dilations of the original, else ones
  std::optional<Move> undone;   ///< of the weights' moves; those of data that can be are
  std::optional<Move> zeros{};  ///< put around x beforehand
};

/// So many times as many groups: each image has some of its own.
Dim groups_of(const Moves& weights) {
  return !weights.empty() && weights[0].kind == Move::Kind::kTile ? weights[0].by[0] : Dim(1);
}

/// Where no border is near: in the middle third of each axis.
std::vector<uint32_t> positions_inside(const Dims& dims) {
  std::vector<uint32_t> result;
  for (const uint32_t position : all_positions(dims)) {
    bool is_inside = true;
    int64_t rest = position;
    for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
      const int64_t k = rest % dims[axis];
      is_inside = is_inside && 3 * (k + 1) > dims[axis] && 3 * k < 2 * dims[axis];
    }
    if (is_inside) result.push_back(position);
  }
  return result;
}

/// A program that is right everywhere in the example.
struct Right {
  std::string kind;  ///< which moves, and which correction: of these, one is enough
  ShapedTerm program;
  int operators = 0;
  int64_t products = 0;  ///< of its convolution, in the example
};

class Generation {
 public:
  Generation(const Original& original, const MutantOptions& options)
      : original_(original),
        options_(options),
        whole_(original.built()),
        numbers_(original.example()),
        values_(original.image, original.kernel, options.seed),
        inside_(positions_inside(dims())),
        expected_(*values_.of(substitute(whole_.term, numbers_), dims(), all_positions(dims()))) {}

  /// Without a solver nothing is proved for all sizes.
  Result<void> run(Mutants& result, verify::ArithmeticSolver* solver);

 private:
  size_t spatial() const { return original_.convolution.strides.size(); }
  Result<void> try_all(MutantStatistics& statistics);
  /// Of x or w, by what is moved.
  std::vector<Dims> dims_after(const std::vector<Moves>& all, const char* name) const;
  /// All mutants by these moves, after which the weights have so many kernels.
  void try_moves(const std::string& kind, const Moves& data, const Moves& weights, int64_t kernels,
                 MutantStatistics& statistics);
  /// What the result has, before moves of weights are undone.
  int64_t channels_before(const std::optional<Move>& undone) const;

  ShapedTerm built(const Mutant& mutant) const;
  /// x as a mutant's convolution reads it. Of its spatial axes, those of the original; along some, pieces hold what it
  /// reads, of taps what each reads.
  struct MovedData {
    ShapedTerm x;
    std::vector<size_t> axes = {};
    std::set<size_t> of_pieces = {}, of_taps = {};
    std::vector<Shape> before = {};  ///< each move
  };
  MovedData moved_data(const Mutant& mutant, const ShapedTerm& w) const;
  Convolution convolution_of(const Mutant& mutant, const MovedData& data, const ShapedTerm& w) const;
  std::vector<Dim> sizes_along(const Move& fold) const;
  ShapedTerm with_channels_unfolded(Move fold, const ShapedTerm& y) const;
  /// There were so many images before the move.
  ShapedTerm with_move_undone(const Move& move, const ShapedTerm& y, const Dim& images) const;
  /// Which positions are right; nothing where it is no program of the original's shape, or is wrong inside. Counts
  /// those of its shape.
  std::optional<std::vector<bool>> compared(const ShapedTerm& program, int64_t& typed) const;
  void take(const Mutant& mutant, MutantStatistics& statistics);
  void correct(const Mutant& mutant, const ShapedTerm& wrong, const std::vector<size_t>& axes,
               MutantStatistics& statistics);
  void add(std::string kind, const ShapedTerm& program);
  ShapedTerm with_borders_of_original(const ShapedTerm& operand, size_t axis) const;
  bool is_right(const ShapedTerm& operand) const;
  Result<std::optional<Rule>> proved(const ShapedTerm& program, verify::ArithmeticSolver* solver) const;
  bool is_late() const { return options_.until && Clock::now() >= *options_.until; }
  Dims dims() const { return *constants(numbers_of(whole_.shape)); }
  Shape numbers_of(Shape shape) const {
    for (Dim& dim : shape) dim = substitute(dim, numbers_);
    return shape;
  }
  void log(std::string line) const {
    if (options_.log) options_.log(line);
  }

  const Original& original_;
  const MutantOptions& options_;
  const std::vector<verify::StatedAxiom> axioms_ = verify::all_axioms();
  ShapedTerm whole_;
  verify::Bindings numbers_;
  ExampleValues values_;
  std::vector<uint32_t> inside_;
  Elements expected_;            ///< the original's, all of them
  std::set<std::string> built_;  ///< what different moves come to is looked at once
  std::vector<Right> right_;
};

ShapedTerm Generation::built(const Mutant& mutant) const {
  ShapedTerm w = variable("w", static_cast<int>(2 + spatial()));
  for (const Move& move : mutant.weights) w = moved(move, w);
  const MovedData data = moved_data(mutant, w);
  ShapedTerm y = convolved(convolution_of(mutant, data, w), data.x, w);
  if (mutant.undone) y = with_channels_unfolded(*mutant.undone, y);
  for (size_t k = mutant.data.size(); k-- > 0;) y = with_move_undone(mutant.data[k], y, data.before[k][0]);
  return cut(y, whole_.shape, std::vector<Dim>(whole_.shape.size(), Dim(0)));
}

Generation::MovedData Generation::moved_data(const Mutant& mutant, const ShapedTerm& w) const {
  MovedData result{variable("x", static_cast<int>(2 + spatial()))};
  ShapedTerm& x = result.x;
  if (mutant.zeros) x = moved(*mutant.zeros, x);
  std::vector<size_t>& axes = result.axes;
  axes.resize(spatial());
  std::iota(axes.begin(), axes.end(), size_t{0});
  for (Move move : mutant.data) {
    result.before.push_back(x.shape);
    for (size_t k = 0; k < move.axes.size() && mutant.is_tight; ++k) {
      const auto axis = static_cast<size_t>(move.axes[k]);
      move.sizes.push_back(whole_.shape[axis] + w.shape[axis] - Dim(1));
    }
    x = moved(move, x);
    for (size_t k = 0; k < axes.size() && move.kind == Move::Kind::kTranspose; ++k)
      axes[k] = static_cast<size_t>(move.axes[2 + k] - 2);
    for (size_t k = move.axes.size(); k-- > 0 && move.kind == Move::Kind::kSqueeze;)
      axes.erase(axes.begin() + (move.axes[k] - 2));
    for (size_t k = 0; k < move.axes.size() && move.kind == Move::Kind::kWindows; ++k) {
      result.of_pieces.insert(static_cast<size_t>(move.axes[k] - 2));
      if (move.whole == 1) result.of_taps.insert(static_cast<size_t>(move.axes[k] - 2));
    }
  }
  return result;
}

Convolution Generation::convolution_of(const Mutant& mutant, const MovedData& data, const ShapedTerm& w) const {
  const Convolution& original = original_.convolution;
  const std::vector<size_t>& axes = data.axes;
  Convolution convolution;
  convolution.group = original.group * groups_of(mutant.weights);
  for (size_t k = 0; k < axes.size(); ++k) {
    const bool has_steps = mutant.has_steps && !data.of_taps.contains(axes[k]);
    convolution.dilations.push_back(has_steps ? original.dilations[axes[k]] : Dim(1));
    convolution.strides.push_back(has_steps ? original.strides[axes[k]] : Dim(1));
    const Dim reach = convolution.dilations[k] * (w.shape[2 + k] - Dim(1));
    const Around around = data.of_pieces.contains(axes[k]) ? Around::kNone : mutant.around[axes[k]];
    convolution.before.push_back(around == Around::kOriginal ? original.before[axes[k]]
                                 : around == Around::kFull   ? reach
                                                             : Dim(0));
    convolution.behind.push_back(around == Around::kOriginal ? original.behind[axes[k]]
                                 : around == Around::kNone   ? Dim(0)
                                                             : reach);
  }
  return convolution;
}

std::vector<Dim> Generation::sizes_along(const Move& fold) const {
  std::vector<Dim> sizes;
  for (const int64_t axis : fold.axes) sizes.push_back(whole_.shape[static_cast<size_t>(axis)]);
  return sizes;
}

ShapedTerm Generation::with_channels_unfolded(Move fold, const ShapedTerm& y) const {
  std::vector<Dim> starts;
  for (const int64_t axis : fold.axes) starts.push_back(original_.convolution.before[static_cast<size_t>(axis - 2)]);
  fold.whole = 1;
  return unfolded(fold, y, sizes_along(fold), starts, whole_.shape[1]);
}

ShapedTerm Generation::with_move_undone(const Move& move, const ShapedTerm& y, const Dim& images) const {
  if (move.kind == Move::Kind::kTranspose) return moved(move, y);
  if (move.kind == Move::Kind::kSqueeze) return unsqueezed(move, y);
  if (move.kind == Move::Kind::kWindows) {
    if (move.whole != 0) return y;
    std::vector<Dim> tiles;
    for (size_t k = 0; k < move.axes.size(); ++k)
      tiles.push_back(tile_of(whole_.shape[static_cast<size_t>(move.axes[k])], move.by[k]));
    return unwindowed(move, y, sizes_along(move), tiles, images);
  }
  if (move.whole == 0) return unfolded(move, y, sizes_along(move), std::vector<Dim>(move.axes.size(), Dim(0)), images);
  if (move.axes[0] != 0) return y;
  return unfolded(move, y, {images}, {Dim(0)}, floor_div(y.shape[static_cast<size_t>(move.whole)], move.by[0]));
}

std::optional<std::vector<bool>> Generation::compared(const ShapedTerm& program, int64_t& typed) const {
  const Term term = substitute(program.term, numbers_);
  const auto middle = values_.of(term, dims(), inside_);
  if (!middle) return std::nullopt;
  ++typed;
  for (size_t k = 0; k < inside_.size(); ++k)
    if (!same_elements(middle->data() + k * kSeeds, expected_.data() + inside_[k] * size_t{kSeeds}, 1, false))
      return std::nullopt;
  const auto all = values_.of(term, dims(), all_positions(dims()));
  if (!all) return std::nullopt;
  std::vector<bool> result;
  for (size_t k = 0; k < static_cast<size_t>(element_count(dims())); ++k)
    result.push_back(same_elements(all->data() + k * kSeeds, expected_.data() + k * kSeeds, 1, false));
  return result;
}

/// What speaks against it at places that are drawn, if anything: soon, which the solver is not.
std::optional<std::string_view> objection(const verify::Law& law, std::string_view family, uint64_t seed) {
  constexpr int kPlaces = 40;
  Random random(seed);
  for (int place = 0; place < kPlaces; ++place) {
    const auto instance = verify::draw_instance(law, family, random);
    if (!instance) return "no place to try it at";
    const ExampleValues values(*constants(*instance->types.find("x")->second.shape),
                               *constants(*instance->types.find("w")->second.shape), seed);
    verify::Signatures signatures;
    const auto typed = verify::spelled_out(instance->law.left, instance->types, signatures);
    const Dims dims = typed.ok() ? *constants(*typed->type.shape) : Dims();
    const auto equal = values.equal(instance->law.left, instance->law.right, dims);
    if (equal && !std::ranges::all_of(*equal, std::identity())) return "refuted";
  }
  return std::nullopt;
}

void Generation::take(const Mutant& mutant, MutantStatistics& statistics) {
  ++statistics.tried;
  const ShapedTerm program = built(mutant);
  if (verify::operator_count({program.term}) > options_.max_operators || !built_.insert(program.term.text()).second)
    return;
  const auto is_right = compared(program, statistics.typed);
  if (!is_right) return;
  if (std::ranges::all_of(*is_right, std::identity())) {
    ++statistics.equal;
    add(mutant.kind, program);
    log(fmt::format("equal: {}", program.term.text()));
  } else {
    ++statistics.partly;
    std::vector<bool> is_wrong = *is_right;
    is_wrong.flip();
    std::set<size_t> axes;
    std::vector<std::string> texts;
    for (const Box& box : boxes_of(is_wrong, dims())) {
      texts.push_back(text(box, dims()));
      for (size_t k = 0; k < spatial(); ++k)
        if (box.end[2 + k] - box.begin[2 + k] < dims()[2 + k]) axes.insert(k);
    }
    log(fmt::format("partly: {}\n  wrong at {} of {}", program.term.text(), fmt::join(texts, " "),
                    fmt::join(dims(), "x")));
    correct(mutant, program, {axes.begin(), axes.end()}, statistics);
  }
}

/// Along axes where it is wrong: zeros between what the moves bring together, so that more is computed than needed, and
/// cut; else the original at both ends.
void Generation::correct(const Mutant& mutant, const ShapedTerm& wrong, const std::vector<size_t>& axes,
                         MutantStatistics& statistics) {
  bool is_corrected = false;
  const auto try_it = [&](std::string_view how, const ShapedTerm& program) {
    if (verify::operator_count({program.term}) > options_.max_operators + kMostCorrecting || !is_right(program))
      return false;
    log(fmt::format("  corrected by {}: {}", how, program.term.text()));
    add(fmt::format("{} {}", mutant.kind, how), program);
    return is_corrected = true;
  };
  for (const Around around : {Around::kNone, Around::kBehind, Around::kFull}) {
    Mutant padded = mutant;
    padded.zeros = Move{Move::Kind::kPad, {}};
    for (const size_t k : axes) {
      padded.zeros->axes.push_back(static_cast<int64_t>(2 + k));
      padded.zeros->before.push_back(original_.convolution.before[k]);
      padded.zeros->behind.push_back(original_.convolution.behind[k]);
      padded.around[k] = around;
    }
    if (try_it("zeros", built(padded))) break;
  }
  if (!original_.convolution.is_transposed) {
    ShapedTerm bordered = wrong;
    for (const size_t k : axes) bordered = with_borders_of_original(bordered, k);
    try_it("the original", bordered);
  }
  statistics.corrected += is_corrected ? 1 : 0;
}

void Generation::add(std::string kind, const ShapedTerm& program) {
  right_.push_back({std::move(kind), program, verify::operator_count({program.term}),
                    substitute(program.products, numbers_).value()});
}

/// Along an axis: what reads zeros in front, and behind, by the original on the parts of the image that it reads; the
/// operand between.
ShapedTerm Generation::with_borders_of_original(const ShapedTerm& operand, size_t axis) const {
  const Convolution& original = original_.convolution;
  const ShapedTerm x = variable("x", static_cast<int>(2 + spatial())),
                   w = variable("w", static_cast<int>(2 + spatial()));
  const size_t at = 2 + axis;
  const Dim &stride = original.strides[axis], &before = original.before[axis],
            reach = original.dilations[axis] * (w.shape[at] - Dim(1)), size = x.shape[at], zero = Dim(0);
  const Dim low = ceil_div(before, stride), high = floor_div(size + before - reach - Dim(1), stride) + Dim(1);
  const auto part = [&](const ShapedTerm& of, const Dim& begin, const Dim& end) {
    Shape shape = of.shape;
    shape[at] = end - begin;
    std::vector<Dim> starts(shape.size(), zero);
    starts[at] = begin;
    return cut(of, shape, starts);
  };
  Convolution first = original, last = original;
  first.behind[axis] = last.before[axis] = zero;
  const ShapedTerm top = convolved(first, part(x, zero, (low - Dim(1)) * stride - before + reach + Dim(1)), w),
                   bottom = convolved(last, part(x, high * stride - before, size), w);
  return joined(joined(top, part(operand, low, high), at), bottom, at);
}

bool Generation::is_right(const ShapedTerm& operand) const {
  int64_t typed = 0;
  const auto is_right = compared(operand, typed);
  return is_right && std::ranges::all_of(*is_right, std::identity());
}

/// Nothing where it is refuted, or not proved.
Result<std::optional<Rule>> Generation::proved(const ShapedTerm& program, verify::ArithmeticSolver* solver) const {
  Rule rule;
  rule.outputs = {{whole_.term, program.term}};
  rule.float_class = FloatClass::kReassociated;
  rule.proof = proof_by_elements(rule.outputs);
  for (const auto& [name, dims] : {std::pair("x", &original_.image), std::pair("w", &original_.kernel)})
    rule.example.types.emplace(name, ValueType::tensor(DataType::kFloat32, Shape(dims->begin(), dims->end())));
  for (const auto& [name, number] : original_.numbers) rule.example.names.integers.emplace(name, Dim(number));
  verify::Signatures signatures;
  if (solver)
    if (const auto found = objection(law_by_elements(rule.proof.uses[0], rule.example.types),
                                     family_by_elements(rule.example.types), options_.seed)) {
      log(fmt::format("{}: {}", *found, program.term.text()));
      return std::optional<Rule>();
    }
  if (const auto held = holds_at(rule, rule.example, axioms_, signatures); !held.ok()) {
    log(fmt::format("open without a solver: {}", program.term.text()));
    return std::optional<Rule>();
  }
  if (!solver) return std::optional(std::move(rule));
  const auto start = Clock::now();
  TRY(const std::string open, open_elements(rule, options_.trials, options_.seed, *solver));
  if (open.empty()) {
    log(fmt::format("proved in {:.1f} s: {}", seconds_since(start), program.term.text()));
    return std::optional(std::move(rule));
  }
  log(fmt::format("open: {}\n  {}", program.term.text(), open));
  return std::optional<Rule>();
}

Result<void> Generation::run(Mutants& result, verify::ArithmeticSolver* solver) {
  TRY_VOID(try_all(result.statistics));
  stable_sort(right_, [](const Right& a, const Right& b) {
    return std::pair(a.operators, a.products) < std::pair(b.operators, b.products);
  });
  std::set<std::string> known;
  for (const Right& right : right_) {
    if (known.contains(right.kind)) continue;
    if (is_late()) {
      result.statistics.is_complete = false;
      break;
    }
    TRY_VOID(check_stop());
    TRY(std::optional<Rule> rule, proved(right.program, solver));
    if (!rule) continue;
    known.insert(right.kind);
    result.rules.push_back(*std::move(rule));
  }
  return {};
}

Result<void> Generation::try_all(MutantStatistics& statistics) {
  std::vector<Moves> of_data = data_moves(original_.convolution, whole_.shape);
  const std::vector<Moves> of_weights = weight_moves(original_.convolution);
  // Half of one image is none.
  if (original_.image[0] == 1)
    std::erase_if(of_data, [](const Moves& moves) {
      return !moves.empty() && moves[0].kind == Move::Kind::kFold && moves[0].axes[0] == 0;
    });
  const std::vector<Dims> image_dims = dims_after(of_data, "x"), kernel_dims = dims_after(of_weights, "w");
  for (size_t d = 0; d < of_data.size(); ++d) {
    if (is_late()) {
      statistics.is_complete = false;
      break;
    }
    TRY_VOID(check_stop());
    for (size_t w = 0; w < of_weights.size(); ++w) {
      const Moves &data = of_data[d], &weights = of_weights[w];
      if (data.empty() && weights.empty()) continue;
      const Dims &image = image_dims[d], &kernel = kernel_dims[w];
      const int64_t groups = groups_of(weights).value();
      if (image.size() == kernel.size() &&
          image[1] == kernel[1] * groups * substitute(original_.convolution.group, numbers_).value())
        try_moves(fmt::format("{} {}", d, w), data, weights, kernel[0], statistics);
    }
  }
  return {};
}

std::vector<Dims> Generation::dims_after(const std::vector<Moves>& all, const char* name) const {
  std::vector<Dims> result;
  for (const Moves& moves : all) {
    ShapedTerm term = variable(name, static_cast<int>(2 + spatial()));
    for (const Move& move : moves) term = moved(move, term);
    result.push_back(*constants(numbers_of(term.shape)));
  }
  return result;
}

void Generation::try_moves(const std::string& kind, const Moves& data, const Moves& weights, int64_t kernels,
                           MutantStatistics& statistics) {
  const auto is_step = [](const Dim& d) { return !d.is(1); };
  const bool may_have_steps = std::ranges::any_of(original_.convolution.strides, is_step) ||
                              std::ranges::any_of(original_.convolution.dilations, is_step);
  const bool may_be_tight = !data.empty() && data[0].kind == Move::Kind::kFold && data[0].whole == 1;
  std::vector<std::optional<Move>> undone = {std::nullopt};
  // The result of a convolution along fewer axes lacks some that weights were folded along.
  const bool has_axes = std::ranges::none_of(data, [](const Move& move) { return move.kind == Move::Kind::kSqueeze; });
  if (has_axes && !weights.empty() && weights[0].kind == Move::Kind::kFold) undone.emplace_back(weights[0]);
  const int64_t groups = groups_of(weights).value();
  for (const Around around : {Around::kNone, Around::kOriginal, Around::kFull})
    for (const bool has_steps : {false, true})
      for (const std::optional<Move>& move : undone)
        for (const bool is_tight : {false, true})
          if (has_steps <= may_have_steps && is_tight <= may_be_tight && kernels == groups * channels_before(move))
            take({fmt::format("{} {} {}", kind, has_steps, move.has_value()), data, weights,
                  std::vector<Around>(spatial(), around), is_tight, has_steps, move},
                 statistics);
}

int64_t Generation::channels_before(const std::optional<Move>& undone) const {
  int64_t result = dims()[1];
  for (size_t k = 0; undone && k < undone->by.size(); ++k) result *= substitute(undone->by[k], numbers_).value();
  return result;
}

/// Small sizes may be none.
bool has_values(const Original& original) {
  const ShapedTerm whole = original.built();
  const verify::Bindings numbers = original.example();
  Dims dims;
  for (const Dim& dim : whole.shape) dims.push_back(substitute(dim, numbers).value());
  if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 1; })) return false;
  constexpr std::array<uint32_t, 1> kFirst = {0};
  return ExampleValues(original.image, original.kernel, 0)
      .of(substitute(whole.term, numbers), dims, kFirst)
      .has_value();
}

/// Whether a rule says of the other's example what that says.
bool covers(const Rule& rule, const Rule& other) {
  const Output there = equations_at(other, other.example)[0];
  RuleInstance instance{other.example.types, {}};
  if (!verify::bind(rule.outputs[0].left, there.left, instance.names)) return false;
  instance.names.tensors.clear();
  return equations_at(rule, instance)[0] == there;
}

}  // namespace

Result<Mutants> mutants(const std::vector<Original>& originals, const MutantOptions& options) {
  const auto start = Clock::now();
  std::vector<Mutants> parts(originals.size());
  std::vector<std::optional<Error>> errors(originals.size());
  ThreadPool pool(options.threads);
  pool.run(static_cast<int64_t>(originals.size()), [&](int64_t k, int) {
    const auto at = static_cast<size_t>(k);
    const auto generate = [&]() -> Result<void> {
      if (!has_values(originals[at])) return {};
      Generation generation(originals[at], options);
      if (options.trials == 0) return generation.run(parts[at], nullptr);
      TRY(auto solver, verify::ArithmeticSolver::start());
      return generation.run(parts[at], &solver);
    };
    if (auto done = generate(); !done.ok()) errors[at] = std::move(done).error();
  });
  Mutants result;
  for (size_t k = 0; k < originals.size(); ++k) {
    if (errors[k]) return *std::move(errors[k]);
    std::ranges::move(parts[k].rules, std::back_inserter(result.rules));
    const MutantStatistics& part = parts[k].statistics;
    MutantStatistics& sum = result.statistics;
    sum.tried += part.tried;
    sum.typed += part.typed;
    sum.equal += part.equal;
    sum.partly += part.partly;
    sum.corrected += part.corrected;
    sum.is_complete = sum.is_complete && part.is_complete;
  }
  for (size_t k = result.rules.size(); k-- > 0;) {
    const auto says_it = [&](const Rule& rule) { return &rule != &result.rules[k] && covers(rule, result.rules[k]); };
    if (std::ranges::any_of(result.rules, says_it) || std::ranges::any_of(options.known, says_it))
      result.rules.erase(result.rules.begin() + static_cast<std::ptrdiff_t>(k));
  }
  name_rules(result.rules);
  result.statistics.seconds = seconds_since(start);
  return result;
}

}  // namespace isomer::substitutions
