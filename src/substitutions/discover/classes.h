// The values that small terms have, up to renaming: for each the first term that has it, its skeleton, whose operands
// are such terms again. Terms are made from these only; what else they would give follows by congruence from smaller
// equations.
//
// Two names: a skeleton stands for all namings of its term; a member is the value of one naming. The smaller skeletons'
// members are kept as tensors, the largest ones' are told by hashes of samples (Sample) alone, and made again where
// they are needed.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "substitutions/discover/applications.h"
#include "substitutions/discover/hash_index.h"
#include "substitutions/discover/naming.h"

namespace isomer::substitutions {

using Member = uint32_t;
inline constexpr uint32_t kNone = ~uint32_t{0};

/// Operators of a term, as numbers of the applications of operands.
struct Operators {
  static constexpr int kMax = 4;
  uint8_t count = 0;
  std::array<uint32_t, kMax> node = {};
  const uint32_t* begin() const { return node.data(); }
  const uint32_t* end() const { return node.data() + count; }
};

struct Skeleton {
  int16_t instance = -1;  ///< -1: a variable
  uint8_t output = 0;
  uint8_t size = 0;  ///< operators, shared ones counted once
  TypeId type = kNoType;
  std::array<Member, 2> operands = {kNone, kNone};  ///< in the canonical naming of the whole
  Leaves leaves;                                    ///< canonical; without variables that the value does not depend on
  uint32_t members = kNone;                         ///< where its namings' members are listed; kNone: they are not kept
  uint32_t first_output = kNone;                    ///< the first skeleton that is an output of the same application
};

/// A term one operator larger than its operands, of which the larger, or the first of equally large ones, is the
/// driver, a skeleton in its canonical naming. The partner is a member, or another output of the driver's application.
struct Item {
  const Application* application = nullptr;
  uint32_t driver = kNone;
  uint32_t partner = kNone;  ///< kNone: one operand
  bool is_swapped = false;   ///< the driver is the second operand
};
inline constexpr uint32_t kSibling = uint32_t{1} << 31;  ///< with the number of a skeleton

/// What a thread computes in.
struct Scratch {
  Elements registers, operands[2], result;
  uint32_t capacity[4] = {};
  uint32_t* room(int slot, uint32_t count, bool wide);
};

/// One term equal to another: both as an output of an item, in some naming, or as a skeleton's term.
struct Side {
  Item item;  ///< without an application: the skeleton `driver`
  int output = 0;
  Renaming renaming;
};
struct ClassEquation {
  Side left, right;  ///< the one that stands for the class, the other
};

struct LevelCounts {
  int64_t terms = 0, classes = 0, equations = 0, false_hits = 0;
};

class Classes {
 public:
  /// Terms of up to `levels` operators; tensors are kept of those of fewer.
  Classes(const OperatorSet& set, int levels, uint64_t seed);

  /// All terms of one size, after all smaller ones. Equations are given as they are found.
  /// `progress` is told the share that is done and the terms so far. Error: kStopped.
  Result<LevelCounts> add_level(int size, const std::function<void(const ClassEquation&)>& report,
                                const std::function<void(double share, int64_t terms)>& progress);

  const OperatorSet& set() const { return applications_.set(); }
  const Names& names() const { return names_; }
  Applications& applications() { return applications_; }
  const Universe& universe(int which) const { return universes_[which]; }
  const std::vector<Skeleton>& skeletons() const { return skeletons_; }
  uint32_t skeleton_index(Member member) const { return values_[member].skeleton; }
  const Skeleton& skeleton_of(Member member) const { return skeletons_[values_[member].skeleton]; }
  const Leaves& leaves_of(Member member) const { return values_[member].leaves; }
  Member renamed(Member member, const Renaming& renaming) const;
  Member member(const Skeleton& skeleton, const Leaves& leaves) const {
    return members_[skeleton.members + names_.number(leaves)];
  }
  const uint32_t* tensor(Member member, int universe) const { return tensors_[universe][member].data(); }
  /// The renamings of a skeleton's variables to each other that keep its value, but for the identity.
  const std::vector<Renaming>& symmetries(uint32_t skeleton) const;

  /// The items of `size` operators with this driver, in an order that is always the same.
  template <class Visit>
  void for_each_item(uint32_t driver, int size, const Visit& visit) {
    const auto add = [&](uint32_t partner, TypeId first, TypeId second, bool is_swapped) {
      for (const auto& application : applications_.of(first, second))
        if (const Item item{application.get(), driver, partner, is_swapped}; is_allowed(item)) visit(item);
    };
    // By value: what is visited may add skeletons.
    const auto [type, own_size] = std::pair(skeletons_[driver].type, skeletons_[driver].size);
    if (own_size + 1 == size) add(kNone, type, kNoType, false);
    for (const uint32_t partner : partners(driver, size)) {
      const auto [other_type, other_size] = std::pair(partner_skeleton(partner).type, partner_skeleton(partner).size);
      add(partner, type, other_type, false);
      if (other_size < own_size) add(partner, other_type, type, true);
    }
  }
  Leaves leaves_of(const Item& item) const;

  /// All outputs of the application that a skeleton is an output of.
  const Application& application_of(const Skeleton& skeleton);
  /// The elements of a skeleton's term, or an item's, renamed.
  const uint32_t* evaluate(uint32_t skeleton, const Renaming& renaming, int universe, int slot, Scratch& scratch);
  const uint32_t* evaluate(const Side& side, int universe, Scratch& scratch);
  /// Of the sample of an output, in universe 0.
  uint64_t hash(const Application& application, int output, const uint32_t* first, const uint32_t* second,
                Scratch& scratch) const;
  /// Whether all elements are the same, in a universe that no hash was made from.
  bool are_equal(const ClassEquation& equation, Scratch& left, Scratch& right);
  /// Of the symmetries of an item's value those that don't follow from its operands' or from each other.
  std::vector<ClassEquation> generating_equations(const Item& item, int output,
                                                  const std::vector<Renaming>& symmetries) const;
  /// Of all elements, in that universe.
  Hash128 fingerprint(const Side& side, Scratch& scratch);
  bool knows(uint64_t hash) const { return index_.find(hash).has_value(); }
  /// The skeleton's term that is equal to a side with that hash; false hits are counted.
  std::optional<Side> find(uint64_t hash, const Side& side, Scratch& left, Scratch& right, int64_t& false_hits);
  /// The skeleton and the names of its leaves that an item's output is equal to, of the levels that are here.
  std::optional<std::pair<uint32_t, Leaves>> find(const Item& item, int output) const;
  /// Whether an item that is named as they are is among those of a size.
  bool is_item(const Item& item, int size) const;
  Elements copy(uint32_t skeleton, const Renaming& renaming, Scratch& scratch);

  /// Variables that a part's value does not depend on have names that nothing else in the equation has, where there are
  /// some.
  std::pair<verify::Term, verify::Term> terms(const ClassEquation& equation) const;

 private:
  struct Value {
    uint32_t skeleton = 0;
    Leaves leaves;
    Operators operators;
  };
  struct ItemKey {
    uint32_t driver, partner;
    uint32_t application;  ///< instance, output and order
    bool operator==(const ItemKey&) const = default;
  };
  struct ItemHash {
    size_t operator()(const ItemKey& key) const;
  };
  static ItemKey key_of(const Item& item, int output);
  struct Node {
    int16_t instance;
    std::array<Member, 2> operands;
    bool operator==(const Node&) const = default;
  };
  struct NodeHash {
    size_t operator()(const Node& node) const;
  };

  Side known(uint64_t word) const;
  /// Where a value is looked for whose hash another one has.
  static uint64_t next_hash(uint64_t hash) { return mix64(hash + 0x9e3779b97f4a7c15ULL); }
  bool keeps(int size) const { return size < levels_; }
  const uint32_t* tensor_or_null(Member member, int universe) const {
    return member == kNone ? nullptr : tensor(member, universe);
  }
  Operators joined(const Operators& a, const Operators& b) const;
  const Skeleton& partner_skeleton(uint32_t partner) const {
    return partner & kSibling ? skeletons_[partner & ~kSibling] : skeleton_of(partner);
  }
  bool accepts(const Operand& operand, const Skeleton& skeleton) const;
  bool is_allowed(const Item& item) const;
  bool is_first_of_its_symmetries(uint32_t driver, Member partner) const;
  /// f(a, b) of equal skeletons where f(b, a) is the same item, or comes first.
  bool is_swap_first(const Skeleton& skeleton, Member partner) const;
  std::vector<uint32_t> partners(uint32_t driver, int size) const;
  Operators operators_of(const Skeleton& skeleton) const;
  bool is_same_application(const Item& item, const Renaming& renaming) const;
  void add_variables();
  void process(const Item& item, int size, LevelCounts& counts,
               const std::function<void(const ClassEquation&)>& report);
  void enter(const Item& item, int output, int size, LevelCounts& counts,
             const std::function<void(const ClassEquation&)>& report);
  /// In the order of the application.
  std::array<Member, 2> operands_of(const Item& item) const;
  std::array<Member, 2> renamed(std::array<Member, 2> operands, const Renaming& renaming) const;
  uint64_t hash(const Application& application, int output, const std::array<Member, 2>& operands) {
    return hash(application, output, tensor_or_null(operands[0], 0), tensor_or_null(operands[1], 0), scratch_[0]);
  }
  /// Of an item's output, whose operands and leaves are canonical.
  void add_skeleton(const Item& item, int output, int size, const std::array<Member, 2>& operands,
                    const Leaves& leaves);
  /// All namings of the last skeleton, that of an item with these operands; its symmetries.
  std::vector<Renaming> add_namings(const Item& item, int output, const std::array<Member, 2>& operands,
                                    const Renaming& to_canonical);
  /// The earlier naming of the same skeleton that has this value already.
  std::optional<uint32_t> add_naming(uint64_t hash, uint32_t skeleton, uint32_t number, const Side& side);
  Member make_member(const Application& application, int output, uint32_t skeleton, const Leaves& leaves,
                     const std::array<Member, 2>& operands);
  Member add_member(uint32_t skeleton, const Leaves& leaves, const Operators& operators,
                    std::array<Elements, 2> tensors);
  uint32_t node_of(int16_t instance, const std::array<Member, 2>& operands);
  verify::Term term(uint32_t skeleton, Renaming renaming, uint64_t used) const;
  verify::Term term(Member member, uint64_t used) const;
  verify::Term term(const Side& side, uint64_t used) const;
  verify::Term instantiate(int instance, int output, std::span<const verify::Term> operands) const;

  int levels_;
  Applications applications_;
  Names names_;
  std::array<Universe, 2> universes_;
  std::vector<Skeleton> skeletons_;
  std::vector<Value> values_;
  std::vector<Member> members_;
  std::array<std::vector<Elements>, 2> tensors_;
  std::vector<std::vector<Member>> of_size_;  ///< members kept, by size
  std::unordered_map<Node, uint32_t, NodeHash> nodes_;
  std::vector<std::vector<Member>> outputs_;     ///< of each node
  std::vector<std::vector<Member>> containing_;  ///< members with this node among their operators
  std::unordered_map<uint32_t, std::vector<Renaming>> symmetries_;
  HashIndex index_;
  std::unordered_map<ItemKey, uint64_t, ItemHash> items_;  ///< skeleton and naming of all items that were met
  Scratch scratch_[2];
};

}  // namespace isomer::substitutions
