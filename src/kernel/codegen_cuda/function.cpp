#include "kernel/codegen_cuda/function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernel/access.h"
#include "kernel/bound_block.h"
#include "kernel/codegen_cuda/copies_ahead.h"
#include "kernel/codegen_cuda/expressions.h"
#include "kernel/codegen_cuda/types.h"
#include "kernel/mma.h"
#include "kernel/tree.h"
#include "kernel/unsupported.h"

namespace isomer::kernel::cuda {
namespace {

constexpr std::array kAxes = {"x", "y", "z"};
/// Of arguments and shared memory: what lies side by side is loaded and stored as vectors of so many bytes.
constexpr int64_t kAlignment = 16;
/// Of a thread.
constexpr int64_t kMostPrivateBytes = 64 << 10;

class FunctionPrinter {
 public:
  FunctionPrinter(const Kernel& kernel, const Statement& statement)
      : kernel_(kernel),
        launch_(launch_of(statement)),
        plans_(kernel, ranges_),
        expressions_(
            kernel, ranges_, plans_, [this](int buffer) { return name_of(buffer); },
            [this](std::string text) { line(text); }) {
    for_each_block(statement, [&](const Block& block, const auto&) { written_.merge(stores(block)); });
    used_ = touched(statement);
    find_stages(statement, statement);
  }

  Function run(const Statement& statement, const Loop* turns, const std::string& name) {
    Function function;
    std::string parameters = "int* __restrict__ outcome";
    std::string private_lines, declared, asked;  // of shared memory: in the function, or by the launch
    for (const int b : used_) {
      const Buffer& buffer = buffer_at(b);
      if (!has_static_shape(buffer)) fail_unsupported("'{}' has a size that data decide", buffer.name);
      const std::string_view type = memory_type(buffer.dtype);
      if (buffer.scope == Scope::kArgument) {
        const bool is_constant = !written_.contains(b);
        const std::string pointer = fmt::format("{}{}*", is_constant ? "const " : "", type);
        parameters += fmt::format(", {} __restrict__ p{}", pointer, name_of(b).substr(1));
        private_lines += fmt::format("  {0} const {1} = ({0})__builtin_assume_aligned(p{2}, {3});\n", pointer,
                                     name_of(b), name_of(b).substr(1), kAlignment);
        function.buffers.push_back(b);
        continue;
      }
      const int64_t count = element_count(buffer.shape).value(), bytes = count * bit_width(buffer.dtype) / 8;
      const bool is_shared = buffer.scope == Scope::kShared;
      const auto places = places_.find(b);
      const int64_t times = places == places_.end() ? 1 : places->second;
      const std::string name_here = times == 1 ? name_of(b) : name_of_places(b);
      const std::string array = fmt::format("{} {}[{}];\n", type, name_here, std::max<int64_t>(times * count, 1));
      if (!is_shared) {
        private_lines += fmt::format("  __align__({}) {}", kAlignment, array);
        private_bytes_ += bytes;
        continue;
      }
      declared += fmt::format("  __shared__ __align__({}) {}", kAlignment, array);
      asked += fmt::format("  {0}* const {1} = ({0}*)(asked + {2});\n", type, name_here, function.shared_bytes);
      function.shared_bytes += (times * bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (private_bytes_ > kMostPrivateBytes)
      fail_unsupported("a thread would need {} bytes of memory of its own", private_bytes_);
    if (function.shared_bytes > kMostSharedBytes)
      fail_unsupported("a block of threads would need {} bytes of shared memory", function.shared_bytes);
    if (function.shared_bytes > kSharedBytes) {
      private_lines += fmt::format("  ISOMER_ASKED_MEMORY(asked, {}, {});\n", kAlignment, function.shared_bytes);
      private_lines += asked;
    } else {
      private_lines += declared;
    }
    if (turns) {
      parameters += fmt::format(", int k{}", turns->variable);
      ranges_.enter(*turns);
    }
    print(statement);
    function.text = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n{}{}}}\n",
                                launch_.threads_of_block(), name, parameters, private_lines, text_);
    return function;
  }

 private:
  const Buffer& buffer_at(int number) const { return kernel_.buffers[static_cast<size_t>(number)]; }

  /// A C++ name that is like the buffer's.
  std::string name_of(int buffer) {
    std::string& known = names_[buffer];
    if (!known.empty()) return known;
    std::string name = buffer_at(buffer).name;
    std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    name = "m_" + name;  // of no keyword, loop or temporary
    while (!taken_.insert(name).second) name += "_";
    return known = name;
  }

  void line(const std::string& text) {
    text_.append(2 * depth_, ' ');
    text_ += text;
    text_ += '\n';
  }
  void open(const std::string& text) {
    line(text.empty() ? "{" : text + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }

  void print(const Statements& statements) {
    for (const Statement& statement : statements) print(statement);
  }
  void print(const Statement& statement) {
    std::visit([&](const auto& s) { print(s); }, statement.node);
  }

  void print(const Loop& loop) {
    if (loop.annotations.contains(kMma)) return print_mma(loop);
    if (const auto moved = moved_vector(loop)) return line(*moved);
    if (const Expr whole = holds_throughout(loop)) return print_whole_or_cut(loop, whole);
    expressions_.use_loaded(load_vectors(loop));
    if (const auto stored = stored_vectors(loop)) {
      print_stored(loop, *stored);
    } else {
      print_other(loop);
    }
    expressions_.use_loaded({});
  }

  void print_other(const Loop& loop) {
    if (const auto ahead = copies_ahead(kernel_, launch_, written_, loop); !ahead.copies.empty()) {
      const auto places = places_.find(ahead.copies.front().target);
      return places == places_.end() ? print_ahead(loop, ahead) : print_stages(loop, ahead, places->second);
    }
    print_whole(loop);
  }

  void print_whole(const Loop& loop) {
    expressions_.begin({loop.extent});
    const std::string extent = expressions_.index(loop.extent);
    const auto known = te::as_constant(loop.extent);
    const std::string variable = fmt::format("k{}", loop.variable);
    const bool is_wide = !known || *known >= (int64_t{1} << 31);
    bool is_open = true;
    if (is_bound(loop.kind)) {
      const size_t axis = axis_of(loop.kind);
      const std::string place = fmt::format("{}.{}", is_block(loop.kind) ? "blockIdx" : "threadIdx", kAxes[axis]);
      is_open = *known != (is_block(loop.kind) ? launch_.blocks : launch_.threads)[axis];
      if (is_open) open(fmt::format("if ({} < {})", place, extent));
      line(fmt::format("const int {} = {};", variable, place));
    } else if (known == 1) {
      is_open = false;
      line(fmt::format("const int {} = 0;", variable));
    } else {
      if (is_written_out(loop.kind)) line("#pragma unroll");
      if (!is_written_out(loop.kind) && is_long(loop)) line("#pragma unroll 1");
      open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1})", is_wide ? "i64" : "int", variable, extent));
    }
    ranges_.enter(loop);
    around_.push_back(&loop);
    print(loop.body);
    around_.pop_back();
    ranges_.leave(loop);
    if (is_open) close();
  }

  // What an iteration reads into shared memory, loaded into registers while the one before is computed
  // (copies_ahead.h).

  enum class Fetch : uint8_t { kWhole, kLoad, kStore, kAsync };

  /// One copy, or that part of it. `array`: of registers.
  void print_copy(const CopyAhead& copy, Fetch fetch, const std::string& array) {
    fetch_ = fetch;
    fetched_ = &copy;
    array_ = array;
    print(*copy.statement);
    fetch_ = Fetch::kWhole;
    fetched_ = nullptr;
  }

  std::string print_registers(const CopyAhead& copy) {
    const std::string array = expressions_.fresh("ahead");
    line(fmt::format("__align__({}) {} {}[{}];", kAlignment, memory_type(copy.dtype), array, copy.count));
    return array;
  }

  void print_ahead(const Loop& loop, const CopiesAhead& ahead) {
    const std::string variable = fmt::format("k{}", loop.variable), next = expressions_.fresh("next");
    std::vector<std::string> arrays;
    const auto print_copies = [&](Fetch fetch) {
      for (size_t k = 0; k < ahead.copies.size(); ++k) print_copy(ahead.copies[k], fetch, arrays[k]);
    };
    for (const CopyAhead& copy : ahead.copies) arrays.push_back(print_registers(copy));
    ranges_.enter(loop);
    around_.push_back(&loop);
    open("");
    line(fmt::format("const int {} = 0;", variable));
    print_copies(Fetch::kLoad);
    close();
    line("#pragma unroll 1");
    open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, *te::as_constant(loop.extent)));
    for (size_t k = 0; k < ahead.begin; ++k) print(loop.body[k]);
    print_copies(Fetch::kStore);
    print(loop.body[ahead.end]);
    open(fmt::format("if ({} < {})", variable, *te::as_constant(loop.extent) - 1));
    line(fmt::format("const int {} = {} + 1;", next, variable));
    open("");
    line(fmt::format("const int {} = {};", variable, next));
    print_copies(Fetch::kLoad);
    close();
    close();
    for (size_t k = ahead.end + 1; k < loop.body.size(); ++k) print(loop.body[k]);
    close();
    around_.pop_back();
    ranges_.leave(loop);
  }

  // The same with several places for it, so that the copies of some iterations are under way (software pipelining):
  // while one is computed, what comes some iterations later is copied to the place that the one before has left. Then
  // one barrier an iteration does. Vectors go past the registers.

  void find_stages(const Statement& launched, const Statement& statement) {
    if (const auto* loop = std::get_if<Loop>(&statement.node)) {
      const CopiesAhead ahead = copies_ahead(kernel_, launch_, written_, *loop);
      if (const int64_t stages = stages_of(launched, *loop, ahead); stages > 1)
        for (const CopyAhead& copy : ahead.copies) places_[copy.target] = stages;
      for (const Statement& inner : loop->body) find_stages(launched, inner);
    }
    if (const auto* branch = std::get_if<Branch>(&statement.node))
      for (const Statements* body : {&branch->then, &branch->otherwise})
        for (const Statement& inner : *body) find_stages(launched, inner);
  }

  std::string name_of_places(int buffer) { return name_of(buffer) + "_places"; }

  /// The places that an iteration has, under the buffers' names.
  void print_places(const std::vector<const CopyAhead*>& copies, const Loop& loop) {
    for (const CopyAhead* copy : copies)
      line(fmt::format("{}* const {} = &{}[{} * (k{} % {})];", memory_type(copy->dtype), name_of(copy->target),
                       name_of_places(copy->target), *element_count(buffer_at(copy->target).shape).constant(),
                       loop.variable, places_.at(copy->target)));
  }

  /// Whether all that the copy does can be left to itself.
  bool is_async(const CopyAhead& copy) {
    const std::string before = text_;
    is_async_ = true;
    print_copy(copy, Fetch::kAsync, "");
    text_ = before;
    return is_async_;
  }

  void print_stages(const Loop& loop, const CopiesAhead& ahead, int64_t stages) {
    const std::string variable = fmt::format("k{}", loop.variable);
    const int64_t extent = *te::as_constant(loop.extent), early = stages - 1;
    ranges_.enter(loop);
    around_.push_back(&loop);
    std::vector<const CopyAhead*> all, alone, by_registers;
    std::vector<std::string> arrays;
    for (const CopyAhead& copy : ahead.copies) {
      all.push_back(&copy);
      (is_async(copy) ? alone : by_registers).push_back(&copy);
    }
    for (const CopyAhead* copy : by_registers) arrays.push_back(print_registers(*copy));
    const auto print_alone = [&] {
      for (const CopyAhead* copy : alone) print_copy(*copy, Fetch::kAsync, "");
    };
    const auto print_by_registers = [&](Fetch fetch) {
      for (size_t k = 0; k < by_registers.size(); ++k) print_copy(*by_registers[k], fetch, arrays[k]);
    };
    const auto commit = [&] {
      if (!alone.empty()) line("op::commit();");
    };
    // An iteration that is to come, under the name of this one.
    const auto print_later = [&](const std::vector<const CopyAhead*>& placed, const auto& print_it) {
      if (early >= extent) return;
      const std::string next = expressions_.fresh("next");
      open(fmt::format("if ({} + {} < {})", variable, early, extent));
      line(fmt::format("const int {} = {} + {};", next, variable, early));
      open("");
      line(fmt::format("const int {} = {};", variable, next));
      print_places(placed, loop);
      print_it();
      close();
      close();
    };
    // What the loop has copied last time is in use until all threads are done with it.
    const bool is_repeated = std::ranges::any_of(around_, [&](const Loop* each) {
      return each != &loop && !is_bound(each->kind) && te::as_constant(each->extent) != 1;
    });
    for (size_t k = 0; is_repeated && k < ahead.begin; ++k) print(loop.body[k]);
    for (int64_t first = 0; first < early; ++first) {
      if (first < extent) {
        open("");
        line(fmt::format("const int {} = {};", variable, first));
        print_places(all, loop);
        print_alone();
        for (const Fetch fetch : {Fetch::kLoad, Fetch::kStore}) {
          open("");
          print_by_registers(fetch);
          close();
        }
        close();
      }
      commit();
    }
    line("#pragma unroll 1");
    open(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, extent));
    if (!alone.empty()) line(fmt::format("op::complete<{}>();", early - 1));
    print(loop.body[ahead.end]);
    print_later(alone, [&] {
      print_alone();
      print_by_registers(Fetch::kLoad);
    });
    commit();
    open("");
    print_places(all, loop);
    for (size_t k = ahead.end + 1; k < loop.body.size(); ++k) print(loop.body[k]);
    close();
    if (!by_registers.empty()) print_later(by_registers, [&] { print_by_registers(Fetch::kStore); });
    close();
    around_.pop_back();
    ranges_.leave(loop);
  }

  /// The place of what is fetched, in its array; loops other than `without` count.
  std::string place_ahead(int without = -1) const {
    std::string index;
    for (const auto& [variable, stride] : fetched_->strides)
      if (variable != without) index += fmt::format("{}{} * k{}", index.empty() ? "" : " + ", stride, variable);
    return fmt::format("{}[{}]", array_, index.empty() ? "0" : index);
  }

  /// Whether copies of the body, which compilers make of short loops, would be long.
  static bool is_long(const Loop& loop) {
    constexpr int kLong = 64;
    int operations = 0;
    for_each_block(loop.body, [&](const Block& block, const auto&) {
      for (const Expr& body : block.bodies) operations += count_operations(body);
    });
    return operations >= kLong;
  }

  /// The line that moves elements side by side as one vector, where that is what the loop does; nothing: it isn't, or
  /// they are not known to begin at a multiple of the vector.
  std::optional<std::string> moved_vector(const Loop& loop) {
    const auto extent = te::as_constant(loop.extent);
    if (loop.kind != LoopKind::kUnrolled || !extent || loop.body.size() != 1) return std::nullopt;
    const auto* block = std::get_if<Block>(&loop.body.front().node);
    if (!block || block->is_reduction() || block->writes.size() != 1 || !of_one_thread(*block).empty())
      return std::nullopt;
    const int to = block->writes[0].buffer;
    const DataType type = buffer_at(to).dtype;
    const int64_t bytes = *extent * bit_width(type) / 8;
    if (block->bodies[0].dtype() != type || (bytes != 4 && bytes != 8 && bytes != kAlignment)) return std::nullopt;
    ranges_.enter(loop);
    const Expr predicate = bind(kernel_, *block, ranges_, plans_).predicate;
    ranges_.leave(loop);
    if (predicate && variables(predicate).contains(loop.variable)) return std::nullopt;
    const auto first = [&](int buffer, const std::vector<Expr>& index) -> std::optional<std::string> {
      const auto place = first_of(loop, *block, buffer, index, *extent);
      return place ? std::optional("&" + *place + "]") : std::nullopt;
    };
    // What is fetched ahead lies in an array in between: from there on it is a vector, however it came there.
    const auto* load = te::as<te::Load>(block->bodies[0]);
    const bool is_between = fetch_ == Fetch::kLoad || fetch_ == Fetch::kStore;
    const std::string between = is_between ? "&" + place_ahead(loop.variable) : "";
    const auto from = fetch_ == Fetch::kStore ? between : load ? first(load->buffer.index, load->index) : std::nullopt;
    const auto target = fetch_ == Fetch::kLoad ? std::optional(between) : first(to, block->writes[0].index);
    if (!from || !target) return std::nullopt;
    if (fetch_ == Fetch::kAsync && (bytes != kAlignment || buffer_at(load->buffer.index).scope != Scope::kArgument))
      return std::nullopt;
    const bool is_always = !predicate || predicate == te::truth(true);
    return fmt::format("{}op::{}<{}>({}, {});", is_always ? "" : fmt::format("if ({}) ", condition(predicate)),
                       fetch_ == Fetch::kAsync ? "copy" : "move", bytes, *target, *from);
  }

  /// "buffer[position" of the first of the elements that lie side by side along the loop, at a multiple of `elements`;
  /// nothing: they don't.
  std::optional<std::string> first_of(const Loop& loop, const Block& block, int buffer, const std::vector<Expr>& index,
                                      int64_t elements) {
    std::vector<Expr> at;
    for (const Expr& e : index) at.push_back(bind_iterators(block, e));
    if (at.empty()) return std::nullopt;
    for (Expr& e : at) {
      const Expr begin = te::simplify_index(substitute(e, {{loop.variable, te::index(0)}}), ranges_.ranges());
      const auto step = te::as_constant(te::simplify_index(e - begin - loop_variable(loop.variable)));
      const bool stays = !variables(e).contains(loop.variable);
      if (!loads(e).empty() || (&e == &at.back() ? step != 0 : !stays)) return std::nullopt;
      e = begin;
    }
    const AccessPlan plan = plans_.plan(buffer, at);
    const Expr rest = te::floor_mod(te::to_expr(plan.offset), te::index(elements));
    if (!plan.axes.empty() || te::as_constant(te::simplify_index(rest, ranges_.ranges())) != 0) return std::nullopt;
    expressions_.begin(at);
    return fmt::format("{}[{}", name_of(buffer), expressions_.position(plan));
  }

  /// When the predicate of the only block in an unrolled loop holds in all iterations: at both ends, as each part of it
  /// compares what grows evenly. Empty: it always does, or nothing simpler than itself says so.
  Expr holds_throughout(const Loop& loop) {
    const auto extent = te::as_constant(loop.extent);
    if (is_inside_ || fetch_ != Fetch::kWhole || loop.kind != LoopKind::kUnrolled || extent.value_or(1) < 2 ||
        loop.body.size() != 1)
      return {};
    const auto* block = std::get_if<Block>(&loop.body.front().node);
    if (!block || block->is_reduction()) return {};
    ranges_.enter(loop);
    const Expr predicate = bind(kernel_, *block, ranges_, plans_).predicate;
    ranges_.leave(loop);
    if (!predicate || !variables(predicate).contains(loop.variable) || te::has_load(predicate)) return {};
    const Expr k = loop_variable(loop.variable);
    Expr whole;
    for (const Expr& part : conjuncts(predicate)) {
      const auto* e = te::as<te::Binary>(part);
      if (!e || (e->op != te::BinaryOp::kLess && e->op != te::BinaryOp::kLessEqual)) return {};
      const Expr difference = e->right - e->left;
      const Expr next = substitute(difference, {{loop.variable, k + 1}});
      if (!te::as_constant(te::simplify_index(next - difference))) return {};
      for (const int64_t end : {int64_t{0}, *extent - 1}) {
        const Expr there = te::simplify_index(substitute(part, {{loop.variable, te::index(end)}}), ranges_.ranges());
        whole = whole ? whole && there : there;
      }
    }
    return whole;
  }

  void print_whole_or_cut(const Loop& loop, const Expr& whole) {
    is_inside_ = true;
    open(fmt::format("if ({})", condition(whole)));
    print(loop);
    --depth_;
    is_inside_ = false;
    line("} else {");
    ++depth_;
    print_whole(loop);
    close();
  }

  /// Of which a whole number makes `count` elements: up to 16 bytes; 1: there is no vector.
  static int64_t elements_of_vector(DataType dtype, int64_t count) {
    const int64_t bits = bit_width(dtype);
    for (int64_t bytes = kAlignment; bytes >= 4 && 8 * bytes > bits; bytes /= 2)
      if (count * bits % (8 * bytes) == 0) return 8 * bytes / bits;
    return 1;
  }

  /// Prints loads of what the only block in an unrolled loop reads side by side of the kernel's arguments, and says
  /// where it lies then, by the bound loads.
  std::vector<std::pair<Expr, std::string>> load_vectors(const Loop& loop) {
    std::vector<std::pair<Expr, std::string>> loaded;
    const auto extent = te::as_constant(loop.extent);
    if (fetch_ != Fetch::kWhole || loop.kind != LoopKind::kUnrolled || !extent || loop.body.size() != 1) return loaded;
    const auto* block = std::get_if<Block>(&loop.body.front().node);
    if (!block) return loaded;
    ranges_.enter(loop);
    const BoundBlock bound = bind(kernel_, *block, ranges_, plans_);
    std::vector<Expr> proved;
    for (const Expr& body : bound.bodies)
      te::for_each_node(body, [&](const Expr& e) {
        if (te::as<te::Load>(e) && plans_.of_load(e).is_proved) proved.push_back(e);
      });
    ranges_.leave(loop);
    if (!is_inside_ && bound.predicate && bound.predicate != te::truth(true)) return loaded;
    for (const Expr& e : proved) {
      const auto* load = te::as<te::Load>(e);
      const Buffer& buffer = buffer_at(load->buffer.index);
      const int64_t elements = elements_of_vector(buffer.dtype, *extent);
      const bool is_known = std::ranges::any_of(loaded, [&](const auto& each) { return each.first == e; });
      if (is_known || buffer.scope != Scope::kArgument || written_.contains(load->buffer.index) || elements == 1)
        continue;
      const auto first = first_of(loop, *block, load->buffer.index, load->index, elements);
      if (!first) continue;
      const std::string array = expressions_.fresh("loaded");
      line(fmt::format("__align__({}) {} {}[{}];", kAlignment, memory_type(buffer.dtype), array, *extent));
      for (int64_t k = 0; k < *extent; k += elements)
        line(fmt::format("op::move<{}>(&{}[{}], &{} + {}]);", elements * bit_width(buffer.dtype) / 8, array, k, *first,
                         k));
      loaded.emplace_back(e, fmt::format("{}[k{}]", array, loop.variable));
    }
    return loaded;
  }

  /// What a loop computes and stores side by side.
  struct Stored {
    std::string first;     ///< as `first_of` gives it
    int64_t elements = 0;  ///< of a vector
  };
  std::optional<Stored> stored_vectors(const Loop& loop) {
    const auto extent = te::as_constant(loop.extent);
    if (fetch_ != Fetch::kWhole || loop.kind != LoopKind::kUnrolled || !extent || loop.body.size() != 1)
      return std::nullopt;
    const auto* block = std::get_if<Block>(&loop.body.front().node);
    if (!block || block->is_reduction() || block->writes.size() != 1 || !of_one_thread(*block).empty())
      return std::nullopt;
    const Buffer& target = buffer_at(block->writes[0].buffer);
    const int64_t elements = elements_of_vector(target.dtype, *extent);
    if (target.scope != Scope::kArgument || elements == 1) return std::nullopt;
    ranges_.enter(loop);
    const Expr predicate = bind(kernel_, *block, ranges_, plans_).predicate;
    ranges_.leave(loop);
    if (!is_inside_ && predicate && predicate != te::truth(true)) return std::nullopt;
    auto first = first_of(loop, *block, block->writes[0].buffer, block->writes[0].index, elements);
    return first ? std::optional(Stored{*std::move(first), elements}) : std::nullopt;
  }

  void print_stored(const Loop& loop, const Stored& stored) {
    const auto& block = std::get<Block>(loop.body.front().node);
    const DataType type = buffer_at(block.writes[0].buffer).dtype;
    const int64_t extent = *te::as_constant(loop.extent);
    const std::string array = expressions_.fresh("values");
    line(fmt::format("__align__({}) {} {}[{}];", kAlignment, memory_type(type), array, extent));
    stored_ = fmt::format("{}[k{}]", array, loop.variable);
    print_whole(loop);
    stored_.clear();
    for (int64_t k = 0; k < extent; k += stored.elements)
      line(fmt::format("op::move<{}>(&{} + {}], &{}[{}]);", stored.elements * bit_width(type) / 8, stored.first, k,
                       array, k));
  }

  // mma.h

  /// The element at two steps from an even one on, as the halves of a register; 0 where `inside` does not hold.
  std::string pair(const Expr& load, const Expr& inside, std::map<int, Expr> values, int steps, const Expr& first) {
    const int buffer = te::as<te::Load>(load)->buffer.index;
    std::array<std::string, 2> places;
    std::array<std::vector<Expr>, 2> indices;
    for (int k = 0; k < 2; ++k) {
      values[steps] = first + k;
      for (const Expr& e : te::as<te::Load>(load)->index)
        indices[k].push_back(te::simplify_index(substitute(e, values), ranges_.ranges()));
      expressions_.begin(indices[k]);
      places[k] = fmt::format("{}[{}]", name_of(buffer), expressions_.position(plans_.plan(buffer, indices[k])));
    }
    bool are_together =
        buffer_at(buffer).shape.back().value() % 2 == 0 &&
        te::as_constant(te::simplify_index(indices[1].back() - indices[0].back())) == 1 &&
        te::as_constant(te::simplify_index(te::floor_mod(indices[0].back(), te::index(2)), ranges_.ranges())) == 0;
    for (size_t k = 0; k + 1 < indices[0].size(); ++k) are_together &= indices[0][k] == indices[1][k];
    const std::string both =
        are_together ? fmt::format("op::pair(&{})", places[0]) : fmt::format("op::pair({}, {})", places[0], places[1]);
    if (!inside) return both;
    values.erase(steps);
    return fmt::format("({} ? {} : 0u)", condition(te::simplify_index(substitute(inside, values), ranges_.ranges())),
                       both);
  }

  /// Where eight elements begin that lie side by side in shared memory, at a multiple of 16 bytes: those at eight steps
  /// from `first` on. Where `inside` does not hold it is somewhere else there. Nothing: they don't lie so.
  std::optional<std::string> row_of_matrix(const Expr& load, const Expr& inside, std::map<int, Expr> values, int steps,
                                           const Expr& first) {
    constexpr int64_t kElements = 8;
    const int number = te::as<te::Load>(load)->buffer.index;
    const Buffer& buffer = buffer_at(number);
    if (buffer.scope != Scope::kShared) return std::nullopt;
    std::vector<Expr> at;
    for (const Expr& e : te::as<te::Load>(load)->index) {
      values[steps] = first;
      at.push_back(te::simplify_index(substitute(e, values), ranges_.ranges()));
      const bool is_last = at.size() == buffer.shape.size();
      for (int64_t k = 1; k < kElements; ++k) {
        values[steps] = first + k;
        const Expr next = te::simplify_index(substitute(e, values), ranges_.ranges());
        if (te::as_constant(te::simplify_index(next - at.back(), ranges_.ranges())) != (is_last ? k : 0))
          return std::nullopt;
      }
    }
    const AccessPlan plan = plans_.plan(number, at);
    const Expr rest = te::floor_mod(te::to_expr(plan.offset), te::index(kElements));
    if (!plan.axes.empty() || te::as_constant(te::simplify_index(rest, ranges_.ranges())) != 0) return std::nullopt;
    expressions_.begin(at);
    const std::string place = fmt::format("&{}[{}]", name_of(number), expressions_.position(plan));
    if (!inside) return place;
    values.erase(steps);
    return fmt::format("{} ? {} : {}", condition(te::simplify_index(substitute(inside, values), ranges_.ranges())),
                       place, name_of(number));
  }

  void print_mma(const Loop& loop) {
    const auto made = mma_call(kernel_, loop, {around_.begin(), around_.end()});
    if (!made.ok()) fail_unsupported("{}", made.error().message());
    const MmaCall& call = *made;
    if (branches_ > 0 || launch_.threads[0] != kMmaWide || launch_.threads[2] != 1 ||
        te::as_constant(call.thread_y->extent) != launch_.threads[1])
      fail_unsupported("whole warps expected where {} stands", kMmaName);
    const Expr x = loop_variable(call.thread_x->variable), y = loop_variable(call.thread_y->variable);
    const Expr high = te::floor_mod(y, te::index(kMmaHigh));
    std::map<int, Expr> fixed;
    for (const Loop* single : call.single) fixed[single->variable] = te::index(0);
    const int64_t rows = *te::as_constant(call.rows->extent), columns = *te::as_constant(call.columns->extent);
    // Lane 4 * g + t has rows g and g + 8 of one operand, column g of the other, steps 2 * t, 2 * t + 1 and 8 more of
    // both, and of the sums rows g and g + 8, columns 2 * t and 2 * t + 1.
    const auto of_row = [&](int64_t row) {
      std::map<int, Expr> values = fixed;
      values[call.rows->variable] = te::index(row);
      return values;
    };
    const auto of_column = [&](int64_t column) {
      std::map<int, Expr> values = fixed;
      values[call.thread_x->variable] = te::floor_div(high, te::index(2));
      values[call.columns->variable] = te::floor_mod(high, te::index(2)) + column;
      return values;
    };
    // A lane's number in eights says for which matrix it gives a row, what is left for which row.
    const auto bit = [&](int k) { return te::floor_mod(te::floor_div(y, te::index(k)), te::index(2)); };
    const Expr row_of_lane = 4 * bit(1) + x;
    const auto fetched_rows = [&](int64_t row) {
      std::map<int, Expr> values = of_row(row);
      values[call.rows->variable] = bit(2) + row;
      values[call.thread_y->variable] = te::index(kMmaHigh) * te::floor_div(y, te::index(kMmaHigh)) + row_of_lane;
      const auto place = row_of_matrix(call.rows_element, call.rows_inside, values, loop.variable, 8 * bit(4));
      std::vector<std::map<int, Expr>> mine;
      for (int64_t k = 0; k < 4; ++k) mine.push_back(of_row(row + k % 2));
      return registers(place, call.rows_element, call.rows_inside, mine, {0, 0, 8, 8}, loop.variable, 2 * x);
    };
    const auto fetched_columns = [&](int64_t column, bool are_two) {
      std::map<int, Expr> values = fixed;
      values[call.thread_x->variable] = te::floor_div(row_of_lane, te::index(2));
      values[call.columns->variable] = te::floor_mod(x, te::index(2)) + column + 2 * bit(4);
      const auto place =
          are_two ? row_of_matrix(call.columns_element, call.columns_inside, values, loop.variable, 8 * bit(2))
                  : std::nullopt;
      std::vector<std::map<int, Expr>> mine;
      for (int64_t k = 0; k < (are_two ? 4 : 2); ++k) mine.push_back(of_column(column + k / 2 * 2));
      return registers(place, call.columns_element, call.columns_inside, mine, {0, 8, 0, 8}, loop.variable, 2 * x);
    };
    std::vector<std::vector<std::string>> of_rows;
    for (int64_t row = 0; row < rows; row += 2) of_rows.push_back(fetched_rows(row));
    std::vector<std::string> of_columns;
    for (int64_t column = 0; column < columns; column += 2) {
      if (column % 4 == 0) of_columns = fetched_columns(column, column + 2 < columns);
      const auto second = of_columns.begin() + column % 4;
      for (int64_t row = 0; row < rows; row += 2) {
        std::vector<std::string> sums;
        for (int64_t k = 0; k < 4; ++k) {
          std::map<int, Expr> values = fixed;
          values[call.rows->variable] = te::index(row + k / 2);
          values[call.columns->variable] = te::index(column + k % 2);
          std::vector<Expr> index;
          for (const Expr& e : call.block->writes[0].index)
            index.push_back(te::simplify_index(substitute(bind_iterators(*call.block, e), values), ranges_.ranges()));
          expressions_.begin(index);
          const int buffer = call.block->writes[0].buffer;
          sums.push_back(fmt::format("{}[{}]", name_of(buffer), expressions_.position(plans_.plan(buffer, index))));
        }
        line(fmt::format("op::mma_{}({}, {}, {});", call.is_bfloat ? "bf16" : "f16", fmt::join(sums, ", "),
                         fmt::join(of_rows[static_cast<size_t>(row / 2)], ", "), fmt::join(second, second + 2, ", ")));
      }
    }
  }

  /// Names of the registers that hold this lane's halves: of `mine` each a pair of steps, from `first` plus one of
  /// `steps` on. At once as rows of four matrices, of which `place` is one, or else pair by pair.
  std::vector<std::string> registers(const std::optional<std::string>& place, const Expr& load, const Expr& inside,
                                     const std::vector<std::map<int, Expr>>& mine, const std::array<int64_t, 4>& steps,
                                     int variable, const Expr& first) {
    std::vector<std::string> names;
    for (size_t k = 0; k < mine.size(); ++k) names.push_back(expressions_.fresh("h"));
    if (!place) {
      for (size_t k = 0; k < mine.size(); ++k)
        line(fmt::format("const u32 {} = {};", names[k], pair(load, inside, mine[k], variable, first + steps[k])));
      return names;
    }
    line(fmt::format("u32 {};", fmt::join(names, ", ")));
    line(fmt::format("op::load_matrices({}, {});", fmt::join(names, ", "), *place));
    for (size_t k = 0; inside && k < mine.size(); ++k)
      line(fmt::format("if (!({})) {} = 0u;",
                       condition(te::simplify_index(substitute(inside, mine[k]), ranges_.ranges())), names[k]));
    return names;
  }

  void print(const Branch& branch) {
    ++branches_;
    print_branch(branch);
    --branches_;
  }
  void print_branch(const Branch& branch) {
    open(fmt::format("if ({})", condition(branch.condition)));
    print(branch.then);
    if (!branch.otherwise.empty()) {
      --depth_;
      line("} else {");
      ++depth_;
      print(branch.otherwise);
    }
    close();
  }

  void print(const While& loop) {
    open("while (true)");
    line(fmt::format("if (!({})) break;", condition(loop.condition)));
    print(loop.body);
    close();
  }

  void print(const Resize& resize) {
    fail_unsupported("'{}' has a size that data decide", buffer_at(resize.buffer).name);
  }

  void print(const Barrier&) { line("__syncthreads();"); }

  /// In the lines before and this text.
  std::string condition(const Expr& expr) {
    expressions_.begin({expr});
    return expressions_.value(expr);
  }

  void print(const Block& block) {
    const BoundBlock plan = bind(kernel_, block, ranges_, plans_);
    std::vector<std::string> conditions = of_one_thread(block);
    if (!is_inside_ && plan.predicate && plan.predicate != te::truth(true))
      conditions.push_back(condition(plan.predicate));
    if (!conditions.empty()) open(fmt::format("if ({})", fmt::join(conditions, " && ")));
    compute(block, plan);
    if (!conditions.empty()) close();
  }

  /// What several threads would write alike one of them writes.
  std::vector<std::string> of_one_thread(const Block& block) const {
    std::vector<std::string> conditions;
    const bool is_common = std::any_of(block.writes.begin(), block.writes.end(), [&](const Write& write) {
      const Scope scope = buffer_at(write.buffer).scope;
      return scope == Scope::kArgument || scope == Scope::kShared;
    });
    const auto threads = threads_around({around_.begin(), around_.end()});
    for (size_t axis = 0; is_common && axis < 3; ++axis)
      if (launch_.threads[axis] > 1 && (!threads[axis] || !reads_any(block.axes, threads[axis]->variable)))
        conditions.push_back(fmt::format("threadIdx.{} == 0", kAxes[axis]));
    return conditions;
  }

  void compute(const Block& block, const BoundBlock& plan) {
    std::vector<Expr> together = plan.bodies;
    for (const AccessPlan& write : plan.writes)
      for (const AccessPlan::Axis& axis : write.axes) together.push_back(te::to_expr(axis.index));
    expressions_.begin(together, loads_inside(block));
    std::vector<std::string> values, places;
    for (const AccessPlan& write : plan.writes)
      places.push_back(fmt::format("{}[{}]", name_of(write.buffer), expressions_.position(write)));
    if (fetch_ == Fetch::kStore) return line(fmt::format("{} = {};", places[0], place_ahead()));
    if (fetch_ == Fetch::kLoad) places[0] = place_ahead();
    if (!stored_.empty()) places[0] = stored_;
    is_async_ &= fetch_ != Fetch::kAsync;
    if (const auto moved = moved_half(block, plan)) return line(fmt::format("{} = {};", places[0], *moved));
    for (const Expr& body : plan.bodies) values.push_back(expressions_.value(body));
    if (block.is_reduction()) values = combined(block, plan, values, places);
    for (size_t c = 0; c < values.size(); ++c)
      line(fmt::format("{} = {};", places[c], to_memory(buffer_at(plan.writes[c].buffer).dtype, values[c])));
  }

  /// A half that is moved, or where a padding has it a zero, as it lies in memory; nothing: the block does something
  /// else.
  std::optional<std::string> moved_half(const Block& block, const BoundBlock& plan) {
    if (block.is_reduction() || plan.bodies.size() != 1) return std::nullopt;
    const Expr& body = plan.bodies[0];
    const auto* select = te::as<te::Select>(body);
    const Expr element = select ? select->then : body;
    if (!te::as<te::Load>(element) || bit_width(element.dtype()) != 16 || !is_float(element.dtype()) ||
        buffer_at(plan.writes[0].buffer).dtype != element.dtype())
      return std::nullopt;
    const AccessPlan& from = plans_.of_load(element);
    const auto* otherwise = select ? te::as<te::Literal>(select->otherwise) : nullptr;
    if (!from.axes.empty() || (select && (!otherwise || otherwise->value.to_double() != 0))) return std::nullopt;
    std::string value = fmt::format("{}[{}]", name_of(from.buffer), expressions_.position(from));
    if (select) value = fmt::format("{} ? {} : u16(0)", expressions_.value(select->condition), value);
    return value;
  }

  /// Loads whose indices are in range at every point of the block, and so wherever its predicate holds; as they are
  /// bound.
  std::vector<Expr> loads_inside(const Block& block) const {
    const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
      const auto* variable = te::as<te::Var>(leaf);
      if (!variable || (variable->kind != te::VarKind::kSpatial && variable->kind != te::VarKind::kReduce)) return {};
      const auto& iterators = variable->kind == te::VarKind::kSpatial ? block.axes : block.reduce;
      const auto extent = te::as_constant(iterators[static_cast<size_t>(variable->index)].extent);
      return {0, extent ? std::optional(*extent - 1) : std::nullopt};
    };
    std::vector<Expr> result;
    for (const Expr& body : block.bodies)
      te::for_each_node(body, [&](const Expr& e) {
        const auto* load = te::as<te::Load>(e);
        if (!load) return;
        const Shape& shape = buffer_at(load->buffer.index).shape;
        bool is_inside = true;
        for (size_t k = 0; k < shape.size(); ++k) {
          const te::Interval range = te::bounds(load->index[k], ranges);
          is_inside &= loads(load->index[k]).empty() && range.low.value_or(-1) >= 0 && range.high &&
                       *range.high < shape[k].value();
        }
        if (is_inside) result.push_back(bind_iterators(block, e));
      });
    return result;
  }

  std::vector<std::string> combined(const Block& block, const BoundBlock& plan, const std::vector<std::string>& values,
                                    const std::vector<std::string>& places) {
    std::vector<std::string> left, right;
    const bool is_always = plan.is_first == te::truth(true), is_never = plan.is_first == te::truth(false);
    const std::string is_first = is_always || is_never ? "" : expressions_.index(plan.is_first);
    for (size_t c = 0; c < values.size(); ++c) {
      const std::string_view type = register_type(plan.bodies[c].dtype());
      const std::string initial = expressions_.value(block.combine.identity[c]);
      const std::string old = from_memory(buffer_at(plan.writes[c].buffer).dtype, places[c]);
      left.push_back(expressions_.fresh("a"));
      right.push_back(expressions_.fresh("b"));
      line(fmt::format("const {} {} = {};", type, right.back(), values[c]));
      line(fmt::format("const {} {} = {};", type, left.back(),
                       is_always  ? initial
                       : is_never ? old
                                  : fmt::format("{} ? {} : {}", is_first, initial, old)));
    }
    expressions_.operands(left, right);
    expressions_.begin(block.combine.combine);
    std::vector<std::string> result;
    for (size_t c = 0; c < values.size(); ++c) {
      // All components are known before the first is written.
      result.push_back(expressions_.fresh("c"));
      line(fmt::format("const {} {} = {};", register_type(plan.bodies[c].dtype()), result.back(),
                       expressions_.value(block.combine.combine[c])));
    }
    return result;
  }

  const Kernel& kernel_;
  const Launch launch_;
  LoopRanges ranges_;
  AccessPlans plans_;
  Expressions expressions_;
  std::set<int> used_, written_;
  std::map<int, std::string> names_;
  std::set<std::string> taken_;
  std::vector<const Loop*> around_;
  std::string text_;
  size_t depth_ = 1;
  int branches_ = 0;  ///< around
  Fetch fetch_ = Fetch::kWhole;
  const CopyAhead* fetched_ = nullptr;
  std::string array_;              ///< of what is fetched
  bool is_inside_ = false;         ///< the block's predicate is known to hold
  std::string stored_;             ///< where a value goes that is stored as part of a vector
  bool is_async_ = true;           ///< nothing but vectors has been printed of a copy
  std::map<int, int64_t> places_;  ///< of buffers that have several
  int64_t private_bytes_ = 0;
};

}  // namespace

Function print_function(const Kernel& kernel, const Statement& statement, const Loop* turns, const std::string& name) {
  return FunctionPrinter(kernel, statement).run(statement, turns, name);
}

}  // namespace isomer::kernel::cuda
