#include "graph/te/integer.h"
#include "kernel/codegen_cuda/function_printer.h"
#include "kernel/codegen_cuda/types.h"

namespace isomer::kernel::cuda {

std::string FunctionPrinter::packed(const Expr& load, const Expr& inside, std::map<int, Expr> values, int steps,
                                    const Expr& first) {
  std::string both = load.dtype() == DataType::kFloat32
                         ? fmt::format("op::tf32({})", read_at(load, values, steps, first).place)
                         : pair(load, values, steps, first);
  if (!inside) return both;
  return fmt::format("({} ? {} : 0u)", condition(te::simplify_index(substitute(inside, values), ranges_.ranges())),
                     both);
}

FunctionPrinter::ReadAt FunctionPrinter::read_at(const Expr& load, std::map<int, Expr> values, int steps,
                                                 const Expr& step) {
  const int buffer = te::as<te::Load>(load)->buffer.index;
  ReadAt read;
  values[steps] = step;
  for (const Expr& e : te::as<te::Load>(load)->index)
    read.index.push_back(te::simplify_index(substitute(e, values), ranges_.ranges()));
  expressions_.begin(read.index);
  read.place = expressions_.element(plans_.plan(buffer, read.index));
  return read;
}

std::string FunctionPrinter::pair(const Expr& load, const std::map<int, Expr>& values, int steps, const Expr& first) {
  const Buffer& buffer = buffer_at(te::as<te::Load>(load)->buffer.index);
  const bool is_wide = is_kept_wide(buffer);
  std::array<std::string, 2> places;
  std::array<std::vector<Expr>, 2> indices;
  for (int k = 0; k < 2; ++k) {
    ReadAt read = read_at(load, values, steps, first + k);
    indices[k] = std::move(read.index);
    places[k] = is_wide ? to_memory(buffer.dtype, read.place, true) : std::move(read.place);
  }
  bool are_together =
      !is_wide && buffer.shape.back().value() % 2 == 0 &&
      te::as_constant(te::simplify_index(indices[1].back() - indices[0].back())) == 1 &&
      te::as_constant(te::simplify_index(te::floor_mod(indices[0].back(), te::index(2)), ranges_.ranges())) == 0;
  for (size_t k = 0; k + 1 < indices[0].size(); ++k) are_together &= indices[0][k] == indices[1][k];
  return are_together ? fmt::format("op::pair(&{})", places[0]) : fmt::format("op::pair({}, {})", places[0], places[1]);
}

/// Of a matrix (op::load_matrices).
constexpr int64_t kBytesOfRow = 16;

std::optional<FunctionPrinter::MatrixRow> FunctionPrinter::row_of_matrix(const Expr& load, const Expr& inside,
                                                                         std::map<int, Expr> values, int steps,
                                                                         const Expr& first) {
  const int number = te::as<te::Load>(load)->buffer.index;
  const Buffer& buffer = buffer_at(number);
  const int64_t elements = kBytesOfRow * 8 / bit_width(buffer.dtype);
  if (buffer.scope != Scope::kShared) return std::nullopt;
  std::vector<Expr> at;
  for (const Expr& e : te::as<te::Load>(load)->index) {
    values[steps] = first;
    at.push_back(te::simplify_index(substitute(e, values), ranges_.ranges()));
    const bool is_last = at.size() == buffer.shape.size();
    for (int64_t k = 1; k < elements; ++k) {
      values[steps] = first + k;
      const Expr next = te::simplify_index(substitute(e, values), ranges_.ranges());
      if (te::as_constant(te::simplify_index(next - at.back(), ranges_.ranges())) != (is_last ? k : 0))
        return std::nullopt;
    }
  }
  AccessPlan plan = plans_.plan(number, at);
  const Expr rest = te::floor_mod(te::to_expr(plan.offset), te::index(elements));
  if (!plan.axes.empty() || te::as_constant(te::simplify_index(rest, ranges_.ranges())) != 0) return std::nullopt;
  MatrixRow row;
  const int64_t turn = expressions_.turn_of(number);
  row.offset = plan.offset.constant - te::floor_mod(plan.offset.constant, turn);
  plan.offset.constant -= row.offset;
  expressions_.begin(at);
  row.place = "&" + expressions_.element(plan);
  if (!inside) return row;
  values.erase(steps);
  row.place = fmt::format("{} ? {} : {}", condition(te::simplify_index(substitute(inside, values), ranges_.ranges())),
                          row.place, name_of(number));
  return row;
}

/// Lane 4 * g + t has rows g and g + 8 of one operand, column g of the other, and of the sums rows g and g + 8, columns
/// 2 * t and 2 * t + 1. Of both operands it has the t-th four bytes of a row of 16 and of the next one: of halves,
/// steps 2 * t, 2 * t + 1 and 8 more.
class FunctionPrinter::MmaPrinter {
 public:
  MmaPrinter(FunctionPrinter& printer, const MmaCall& call)
      : printer_(printer),
        call_(call),
        x_(loop_variable(call.thread_x->variable)),
        y_(loop_variable(call.thread_y->variable)),
        row_of_lane_(4 * bit(1) + x_) {
    for (const Loop* single : call.single) fixed_[single->variable] = te::index(0);
  }

  void print() {
    const int64_t rows = *te::as_constant(call_.rows->extent), columns = *te::as_constant(call_.columns->extent);
    std::vector<std::vector<std::string>> of_rows;
    for (int64_t row = 0; row < rows; row += 2) of_rows.push_back(fetched_rows(row));
    std::vector<std::string> of_columns;
    for (int64_t column = 0; column < columns; column += 2) {
      if (column % 4 == 0) of_columns = fetched_columns(column, column + 2 < columns);
      const auto second = of_columns.begin() + column % 4;
      for (int64_t row = 0; row < rows; row += 2) {
        const std::vector<std::string> sums = places_of_sums(row, column);
        printer_.line(fmt::format("op::mma_{}({}, {}, {});", name_of_operands(), fmt::join(sums, ", "),
                                  fmt::join(of_rows[static_cast<size_t>(row / 2)], ", "),
                                  fmt::join(second, second + 2, ", ")));
      }
    }
  }

 private:
  using Values = std::map<int, Expr>;  ///< by loop variable

  const char* name_of_operands() const {
    if (call_.operands == DataType::kFloat32) return "tf32";
    return call_.operands == DataType::kBFloat16 ? "bf16" : "f16";
  }
  /// Steps of a matrix.
  int64_t half() const { return call_.shape->steps / 2; }
  /// The first one of this lane's.
  Expr own_step() const { return call_.shape->elements * x_; }

  Values of_row(int64_t row) const {
    Values values = fixed_;
    values[call_.rows->variable] = te::index(row);
    return values;
  }

  Values of_column(int64_t column) const {
    const Expr high = te::floor_mod(y_, te::index(kMmaHigh));
    Values values = fixed_;
    values[call_.thread_x->variable] = te::floor_div(high, te::index(2));
    values[call_.columns->variable] = te::floor_mod(high, te::index(2)) + column;
    return values;
  }

  /// A lane's number in eights says for which matrix it gives a row, what is left for which row.
  Expr bit(int k) const { return te::floor_mod(te::floor_div(y_, te::index(k)), te::index(2)); }

  /// Registers of two rows from this one on.
  std::vector<std::string> fetched_rows(int64_t row) {
    Values values = of_row(row);
    values[call_.rows->variable] = bit(2) + row;
    values[call_.thread_y->variable] = te::index(kMmaHigh) * te::floor_div(y_, te::index(kMmaHigh)) + row_of_lane_;
    const int steps = call_.steps->variable;
    const auto at = printer_.row_of_matrix(call_.rows_element, call_.rows_inside, values, steps, half() * bit(4));
    std::vector<Values> mine;
    for (int64_t k = 0; k < 4; ++k) mine.push_back(of_row(row + k % 2));
    return printer_.registers(at, call_.rows_element, call_.rows_inside, mine, {0, 0, half(), half()}, steps,
                              own_step());
  }

  /// Of two columns, and the next two where there are such.
  std::vector<std::string> fetched_columns(int64_t column, bool are_two) {
    Values values = fixed_;
    values[call_.thread_x->variable] = te::floor_div(row_of_lane_, te::index(2));
    values[call_.columns->variable] = te::floor_mod(x_, te::index(2)) + column + 2 * bit(4);
    const int steps = call_.steps->variable;
    const auto at =
        are_two ? printer_.row_of_matrix(call_.columns_element, call_.columns_inside, values, steps, half() * bit(2))
                : std::nullopt;
    std::vector<Values> mine;
    for (int64_t k = 0; k < (are_two ? 4 : 2); ++k) mine.push_back(of_column(column + k / 2 * 2));
    return printer_.registers(at, call_.columns_element, call_.columns_inside, mine, {0, half(), 0, half()}, steps,
                              own_step());
  }

  /// Of two rows and two columns.
  std::vector<std::string> places_of_sums(int64_t row, int64_t column) {
    std::vector<std::string> places;
    for (int64_t k = 0; k < 4; ++k) {
      Values values = of_row(row + k / 2);
      values[call_.columns->variable] = te::index(column + k % 2);
      const Write& sums = call_.block->writes[0];
      std::vector<Expr> index;
      for (const Expr& e : sums.index)
        index.push_back(
            te::simplify_index(substitute(bind_iterators(*call_.block, e), values), printer_.ranges_.ranges()));
      printer_.expressions_.begin(index);
      places.push_back(printer_.expressions_.element(printer_.plans_.plan(sums.buffer, index)));
    }
    return places;
  }

  FunctionPrinter& printer_;
  const MmaCall& call_;
  const Expr x_, y_;  ///< of the thread
  const Expr row_of_lane_;
  Values fixed_;
};

void FunctionPrinter::print_mma(const Loop& loop) {
  const auto call = mma_call(kernel_, loop, {around_.begin(), around_.end()});
  if (!call.ok()) fail_unsupported("{}", call.error().message());
  if (branches_ > 0 || launch_.threads[0] != kMmaWide || launch_.threads[2] != 1 ||
      te::as_constant(call->thread_y->extent) != launch_.threads[1])
    fail_unsupported("whole warps expected where {} stands", call->shape->name);
  MmaPrinter(*this, *call).print();
}

std::vector<std::string> FunctionPrinter::registers(const std::optional<MatrixRow>& row, const Expr& load,
                                                    const Expr& inside, const std::vector<std::map<int, Expr>>& mine,
                                                    const std::array<int64_t, 4>& steps, int variable,
                                                    const Expr& first) {
  std::vector<std::string> names;
  for (size_t k = 0; k < mine.size(); ++k) names.push_back(expressions_.fresh("h"));
  if (!row) {
    for (size_t k = 0; k < mine.size(); ++k)
      line(fmt::format("const u32 {} = {};", names[k], packed(load, inside, mine[k], variable, first + steps[k])));
    return names;
  }
  line(fmt::format("u32 {};", fmt::join(names, ", ")));
  line(fmt::format("op::load_matrices<{}>({}, {});", row->offset, fmt::join(names, ", "), row->place));
  for (size_t k = 0; inside && k < mine.size(); ++k)
    line(fmt::format("if (!({})) {} = 0u;",
                     condition(te::simplify_index(substitute(inside, mine[k]), ranges_.ranges())), names[k]));
  return names;
}

}  // namespace isomer::kernel::cuda
