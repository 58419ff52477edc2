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
  /// A message that is being walked, as errors call it.
  struct Frame {
    const Descriptor* type;
    const Frame* around;
    const FieldDescriptor* field;
    int64_t index;
    std::string_view name, op_type;  ///< where they came already
  };
  struct Place {
    int64_t messages = 0, bodies = 0;  ///< around this one
    bool copying = true;               ///< false: an outer message was copied whole
    bool cutting = true;               ///< false: data stay where they are
    const Frame* around = nullptr;
    const FieldDescriptor* field = nullptr;  ///< of the message around; nullptr: this is the model
    int64_t index = 0;                       ///< among those of the field
  };
  /// How often the fields of a message occurred, elements of lists counted.
  using Counts = std::map<uint32_t, int64_t>;

  const MessageFacts& facts_of(const Descriptor* message) {
    const auto found = facts_.find(message);
    return found != facts_.end() ? found->second : facts_.emplace(message, measure(message)).first->second;
  }

  Result<void> walk(std::string_view message, const Descriptor* type, const Place& place) {
    Frame frame{type, place.around, place.field, place.index, {}, {}};
    TRY_VOID(enter(frame, place));
    Counts counts;
    wire::Reader reader(message);
    for (wire::Field field; !reader.done();) {
      const char* const start = reader.rest().data();
      if (!reader.next(field))
        return invalid(where(frame), "an ONNX model expected, bytes that are no protocol buffer found at offset {}",
                       start - file_.data());
      const FieldDescriptor* known = type->FindFieldByNumber(static_cast<int>(field.number));
      const Descriptor* child = known && field.type == wire::Type::kBytes ? known->message_type() : nullptr;
      TRY_VOID(count(field, frame, known, counts));
      note_name(field, frame);
      if (child) {
        Place inner = place;
        inner.around = &frame;
        inner.field = known;
        inner.index = counts[field.number] - 1;
        TRY_VOID(walk_child(field, type, child, inner));
      } else if (place.copying) {
        copy_plain(field, type, place);
      }
    }
    return {};
  }

  Result<void> enter(const Frame& frame, const Place& place) {
    if (place.messages > limits_.message_depth)
      return invalid(where(frame), "messages nested at most {} deep expected, more found", limits_.message_depth);
    if (place.bodies > limits_.body_depth)
      return invalid(where(frame), "bodies nested at most {} deep expected, more found", limits_.body_depth);
    if (frame.type != types_.node) return spend(facts_of(frame.type).bytes, frame);
    // Their number bounds what nodes take, here and in the graph.
    if (++nodes_ > limits_.nodes) return invalid(where(frame), "at most {} nodes expected, more found", limits_.nodes);
    return {};
  }

  Result<void> count(const wire::Field& field, const Frame& frame, const FieldDescriptor* known, Counts& counts) {
    const Descriptor* type = frame.type;
    if (!known) return spend(static_cast<int64_t>(field.whole.size()) + kElementBytes, frame);
    if (is_name(*known, types_) && static_cast<int64_t>(field.bytes.size()) > limits_.name_bytes)
      return invalid(where(frame), "{}.{} of at most {} bytes expected, {} found", type->name(), known->name(),
                     limits_.name_bytes, field.bytes.size());
    const bool packed = field.type == wire::Type::kBytes && known->is_packable();
    const int64_t elements = packed ? packed_count(*known, field.bytes) : 1;
    const int64_t total = counts[field.number] += elements;
    if (type == types_.node && field.number == NodeProto::kAttributeFieldNumber && total > limits_.attributes_per_node)
      return invalid(where(frame), "at most {} attributes of a node expected, more found", limits_.attributes_per_node);
    // Memory bounds the values of attributes.
    if (known->is_repeated() && type == types_.node && total > limits_.list_elements)
      return invalid(where(frame), "lists of at most {} elements expected, a longer one found: {}",
                     limits_.list_elements, known->name());
    if (known->message_type() != nullptr) return {};
    if (is_text(*known))
      return spend(kElementBytes + (is_payload(field, type) ? 0 : static_cast<int64_t>(field.bytes.size())), frame);
    return known->is_repeated() ? spend(kGrowth * elements * element_bytes(*known), frame) : Result<void>();
  }

  Result<void> spend(int64_t bytes, const Frame& frame) {
    memory_left_ -= bytes;
    if (memory_left_ >= 0) return {};
    return invalid(
        where(frame),
        "a model that takes at most {} MiB and {} times its size in memory expected, one that takes more found",
        limits_.memory_bytes >> 20, limits_.memory_factor);
  }

  /// What errors call the message.
  void note_name(const wire::Field& field, Frame& frame) const {
    const auto number = static_cast<int>(field.number);
    if (frame.type == types_.node && number == NodeProto::kNameFieldNumber) frame.name = field.bytes;
    if (frame.type == types_.node && number == NodeProto::kOpTypeFieldNumber) frame.op_type = field.bytes;
    if (frame.type == types_.attribute && number == AttributeProto::kNameFieldNumber) frame.name = field.bytes;
    if (frame.type == types_.tensor && number == TensorProto::kNameFieldNumber) frame.name = field.bytes;
  }

  /// "conv1 (Conv): attribute 'pads'"; what has no name so far by the field that it is: "training_info.algorithm".
  std::string where(const Frame& frame, int levels = 6) const {
    if (!frame.around) return "";
    if (levels == 0) return "…";
    const std::string around = where(*frame.around, levels - 1);
    const auto within = [&](std::string_view separator, const std::string& here) {
      return around.empty() || around == "graph" ? here : fmt::format("{}{}{}", around, separator, here);
    };
    if (frame.type == types_.node)
      return within(": ", frame.name.empty() ? fmt::format("node {} ({})", frame.index, frame.op_type)
                                             : fmt::format("{} ({})", frame.name, frame.op_type));
    if (frame.type == types_.attribute && !frame.name.empty())
      return within(": ", fmt::format("attribute '{}'", frame.name));
    if (!frame.name.empty()) return within(": ", std::string(frame.name));
    return within(".", frame.field->is_repeated() ? fmt::format("{}[{}]", frame.field->name(), frame.index)
                                                  : frame.field->name());
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
