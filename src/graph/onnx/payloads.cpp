#include "graph/onnx/payloads.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/onnx/onnx.pb.h"
#include "graph/onnx/wire.h"

namespace isomer {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using onnx_proto::AttributeProto;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;
using onnx_proto::TensorProto;

/// What a list keeps for an element besides its bytes, and the growth of a list that doubles.
constexpr int64_t kElementBytes = 48;
constexpr int64_t kGrowth = 2;

/// Kept, as descriptor() costs more than what is done for a field.
struct Types {
  const Descriptor* model = ModelProto::descriptor();
  const Descriptor* graph = GraphProto::descriptor();
  const Descriptor* node = NodeProto::descriptor();
  const Descriptor* attribute = AttributeProto::descriptor();
  const Descriptor* tensor = TensorProto::descriptor();
  const Descriptor* entry = onnx_proto::StringStringEntryProto::descriptor();
};

struct MessageFacts {
  bool holds_tensors = false;  ///< itself, or somewhere beneath
  int64_t bytes = 0;           ///< of an empty one in memory
};

bool reaches_tensor(const Descriptor* message, std::set<const Descriptor*>& seen) {
  if (message == TensorProto::descriptor()) return true;
  if (!seen.insert(message).second) return false;
  for (int i = 0; i < message->field_count(); ++i)
    if (const Descriptor* child = message->field(i)->message_type(); child && reaches_tensor(child, seen)) return true;
  return false;
}

MessageFacts measure(const Descriptor* message) {
  const auto* prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(message);
  std::set<const Descriptor*> seen;
  return {reaches_tensor(message, seen), static_cast<int64_t>(prototype->SpaceUsedLong())};
}

bool is_name(const FieldDescriptor& field, const Types& types) {
  return field.type() == FieldDescriptor::TYPE_STRING && field.name() != "doc_string" &&
         field.containing_type() != types.entry;
}

int64_t element_bytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_INT32: return 4;
    default: return 8;
  }
}

/// Elements in a packed list.
int64_t packed_count(const FieldDescriptor& field, std::string_view bytes) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) return static_cast<int64_t>(bytes.size() / 4);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) return static_cast<int64_t>(bytes.size() / 8);
  return std::count_if(bytes.begin(), bytes.end(), [](char byte) { return (byte & 0x80) == 0; });
}

bool is_text(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING; }

class Cutter {
 public:
  Cutter(std::span<const std::byte> file, const ImportLimits& limits)
      : file_(reinterpret_cast<const char*>(file.data()), file.size()),
        limits_(limits),
        memory_left_(limits.memory_bytes + limits.memory_factor * static_cast<int64_t>(file.size())) {}

  Result<CutModel> cut() {
    TRY_VOID(walk(file_, types_.model, {}));
    return CutModel{std::move(out_), std::move(payloads_)};
  }

 private:
  struct Place {
    int64_t messages = 0, bodies = 0;  ///< around this one
    bool copying = true;               ///< false: an outer message was copied whole
    bool cutting = true;               ///< false: data stay where they are
  };
  /// How often the fields of a message occurred, elements of lists counted.
  using Counts = std::map<uint32_t, int64_t>;

  const MessageFacts& facts_of(const Descriptor* message) {
    const auto found = facts_.find(message);
    return found != facts_.end() ? found->second : facts_.emplace(message, measure(message)).first->second;
  }

  Result<void> walk(std::string_view message, const Descriptor* type, const Place& place) {
    TRY_VOID(enter(type, place));
    Counts counts;
    wire::Reader reader(message);
    for (wire::Field field; !reader.done();) {
      const char* const start = reader.rest().data();
      if (!reader.next(field))
        return invalid("", "an ONNX model expected, bytes that are no protocol buffer found at offset {}",
                       start - file_.data());
      const FieldDescriptor* known = type->FindFieldByNumber(static_cast<int>(field.number));
      const Descriptor* child = known && field.type == wire::Type::kBytes ? known->message_type() : nullptr;
      TRY_VOID(count(field, type, known, counts));
      if (child)
        TRY_VOID(walk_child(field, type, child, place));
      else if (place.copying)
        copy_plain(field, type, place);
    }
    return {};
  }

  Result<void> enter(const Descriptor* type, const Place& place) {
    if (place.messages > limits_.message_depth)
      return invalid("", "messages nested at most {} deep expected, more found", limits_.message_depth);
    if (place.bodies > limits_.body_depth)
      return invalid("", "bodies nested at most {} deep expected, more found", limits_.body_depth);
    if (type != types_.node) return spend(facts_of(type).bytes);
    // Their number bounds what nodes take, here and in the graph.
    if (++nodes_ > limits_.nodes) return invalid("", "at most {} nodes expected, more found", limits_.nodes);
    return {};
  }

  Result<void> count(const wire::Field& field, const Descriptor* type, const FieldDescriptor* known, Counts& counts) {
    if (!known) return spend(static_cast<int64_t>(field.whole.size()) + kElementBytes);
    if (is_name(*known, types_) && static_cast<int64_t>(field.bytes.size()) > limits_.name_bytes)
      return invalid("", "{}.{} of at most {} bytes expected, {} found", type->name(), known->name(),
                     limits_.name_bytes, field.bytes.size());
    const bool packed = field.type == wire::Type::kBytes && known->is_packable();
    const int64_t elements = packed ? packed_count(*known, field.bytes) : 1;
    const int64_t total = counts[field.number] += elements;
    if (type == types_.node && field.number == NodeProto::kAttributeFieldNumber && total > limits_.attributes_per_node)
      return invalid("", "at most {} attributes of a node expected, more found", limits_.attributes_per_node);
    const bool limited = known->is_repeated() && (type == types_.node || type == types_.attribute);
    if (limited && total > limits_.list_elements)
      return invalid("", "lists of at most {} elements expected, a longer one found", limits_.list_elements);
    if (known->message_type() != nullptr) return {};
    if (is_text(*known))
      return spend(kElementBytes + (is_payload(field, type) ? 0 : static_cast<int64_t>(field.bytes.size())));
    return known->is_repeated() ? spend(kGrowth * elements * element_bytes(*known)) : Result<void>();
  }

  Result<void> spend(int64_t bytes) {
    memory_left_ -= bytes;
    if (memory_left_ >= 0) return {};
    return invalid(
        "", "a model that takes at most {} MiB and {} times its size in memory expected, one that takes more found",
        limits_.memory_bytes >> 20, limits_.memory_factor);
  }

  bool is_payload(const wire::Field& field, const Descriptor* type) const {
    return type == types_.tensor && field.type == wire::Type::kBytes &&
           field.number == TensorProto::kRawDataFieldNumber;
  }

  void copy_plain(const wire::Field& field, const Descriptor* type, const Place& place) {
    if (place.cutting && is_payload(field, type)) {
      wire::append_tag(out_, TensorProto::kPayloadFieldNumber, wire::Type::kVarint);
      wire::append_varint(out_, payloads_.size());
      payloads_.push_back({static_cast<uint64_t>(field.bytes.data() - file_.data()), field.bytes.size()});
    } else if (static_cast<int>(field.number) < NodeProto::kOpsetFieldNumber) {  // from there on numbers are our own
      out_.append(field.whole);
    }
  }

  /// Training graphs are kept as they are, data included.
  bool is_training(const wire::Field& field, const Descriptor* type) const {
    return type == types_.model && field.number == ModelProto::kTrainingInfoFieldNumber;
  }

  Result<void> walk_child(const wire::Field& field, const Descriptor* type, const Descriptor* child, Place place) {
    ++place.messages;
    if (child == types_.graph && type == types_.attribute) ++place.bodies;
    if (is_training(field, type)) place.cutting = false;
    if (place.copying && !facts_of(child).holds_tensors) {
      out_.append(field.whole);
      place.copying = false;
    }
    if (!place.copying) return walk(field.bytes, child, place);
    // The length is known only afterwards: room for the longest spelling of it, which is filled whatever it is.
    wire::append_tag(out_, field.number, wire::Type::kBytes);
    const size_t start = out_.size();
    out_.append(5, '\0');
    TRY_VOID(walk(field.bytes, child, place));
    uint64_t size = out_.size() - start - 5;
    for (int i = 0; i < 5; ++i, size >>= 7) out_[start + i] = static_cast<char>((size & 0x7f) | (i < 4 ? 0x80 : 0));
    return {};
  }

  const Types types_;
  std::string_view file_;
  ImportLimits limits_;
  int64_t memory_left_ = 0;
  int64_t nodes_ = 0;
  std::string out_;
  std::vector<Payload> payloads_;
  std::map<const Descriptor*, MessageFacts> facts_;
};

}  // namespace

Result<CutModel> cut_payloads(std::span<const std::byte> file, const ImportLimits& limits) {
  return Cutter(file, limits).cut();
}

}  // namespace isomer
