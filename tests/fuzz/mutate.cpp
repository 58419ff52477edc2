#include "fuzz/mutate.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/op_def.h"

namespace isomer::test {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using onnx_proto::AttributeProto;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;
using onnx_proto::TensorProto;

constexpr size_t kMostMessages = 5000;
constexpr int64_t kMostElements = 4096;
constexpr size_t kMostCopied = 10'000;

template <class T>
const T& one_of(const std::vector<T>& list, Random& random) {
  return list[random.below(list.size())];
}

int64_t number(Random& random) {
  static const std::vector<int64_t> kEdges = {-1,
                                              -2,
                                              -99,
                                              99,
                                              127,
                                              128,
                                              255,
                                              256,
                                              65535,
                                              65536,
                                              int64_t{1} << 31,
                                              (int64_t{1} << 31) - 1,
                                              -(int64_t{1} << 31),
                                              int64_t{1} << 32,
                                              int64_t{1} << 40,
                                              (int64_t{1} << 40) + 1,
                                              int64_t{1} << 46,
                                              int64_t{1} << 62,
                                              std::numeric_limits<int64_t>::max(),
                                              std::numeric_limits<int64_t>::min()};
  return random.chance(0.7) ? random.between(0, 8) : one_of(kEdges, random);
}

double real(Random& random) {
  static const std::vector<double> kEdges = {0,        -0.0,      1,    -1,    0.5,   2,     NAN,
                                             HUGE_VAL, -HUGE_VAL, 1e30, -1e30, 1e-45, 1e300, 3};
  return one_of(kEdges, random);
}

/// Messages and texts of a model, where mutations pick from.
struct Survey {
  std::vector<Message*> messages;
  std::map<const Descriptor*, std::vector<Message*>> by_type;
  std::vector<std::string> texts;

  explicit Survey(Message& root) { visit(root); }

  void visit(Message& message) {
    if (messages.size() >= kMostMessages) return;
    messages.push_back(&message);
    by_type[message.GetDescriptor()].push_back(&message);
    std::vector<const FieldDescriptor*> fields;
    const Reflection& reflection = *message.GetReflection();
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->message_type())
          visit(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                     : *reflection.MutableMessage(&message, field));
        else if (field->type() == FieldDescriptor::TYPE_STRING)
          texts.push_back(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                               : reflection.GetString(message, field));
      }
    }
  }
};

/// Strings that the rows know: names of operators and attributes, values of string attributes.
const std::vector<std::string>& vocabulary() {
  static const std::vector<std::string> kWords = [] {
    std::vector<std::string> words = {"",          "x",       "NOTSET",      "SAME_UPPER", "linear",        "cubic",
                                      "constant",  "reflect", "com.example", "ai.onnx",    "bidirectional", "ij,jk->ik",
                                      "...i->...", "\n",      "location",    "offset",     "length",        "n",
                                      "m"};
    for (const OpDef* op : all_ops()) {
      words.emplace_back(op->name);
      for (const AttributeDef& attribute : op->attributes) {
        words.emplace_back(attribute.name);
        if (attribute.fallback && std::holds_alternative<std::string>(*attribute.fallback))
          words.push_back(std::get<std::string>(*attribute.fallback));
      }
    }
    return words;
  }();
  return kWords;
}

class Mutator {
 public:
  Mutator(ModelProto& model, Random& random) : model_(model), survey_(model), random_(random) {}

  void mutate() {
    switch (random_.below(8)) {
      case 0: return become_operator();
      case 1: return fit_data();
      case 2: return rewire();
      default: return change_field(*one_of(survey_.messages, random_));
    }
  }

  void take_from(Survey& other) {
    Message& target = *one_of(survey_.messages, random_);
    const auto found = other.by_type.find(target.GetDescriptor());
    if (found == other.by_type.end() || &target == &model_) return;
    target.CopyFrom(*one_of(found->second, random_));
  }

 private:
  std::string text() {
    if (!survey_.texts.empty() && random_.chance(0.7)) return one_of(survey_.texts, random_);
    return one_of(vocabulary(), random_);
  }

  void change_field(Message& message) {
    const Descriptor& type = *message.GetDescriptor();
    const FieldDescriptor& field =
        *type.field(static_cast<int>(random_.below(static_cast<uint64_t>(type.field_count()))));
    if (field.is_repeated())
      change_list(message, field);
    else if (random_.chance(0.15))
      message.GetReflection()->ClearField(&message, &field);
    else
      set(message, field);
  }

  void change_list(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    const auto position = [&] { return static_cast<int>(random_.below(static_cast<uint64_t>(size))); };
    switch (size == 0 ? 0 : random_.below(5)) {
      case 0:
      case 1: return add(message, field);
      case 2: return reflection.SwapElements(&message, &field, position(), position());
      case 3:
        reflection.SwapElements(&message, &field, position(), size - 1);
        return reflection.RemoveLast(&message, &field);
      default: return set_element(message, field, position());
    }
  }

  /// What a new message holds: a copy of one of its type, or nothing. Taken before the message stands in the model,
  /// where it may replace what it is a copy of.
  std::unique_ptr<Message> filling(const Descriptor* type) {
    const auto found = survey_.by_type.find(type);
    if (found == survey_.by_type.end() || random_.chance(0.2)) return nullptr;
    const Message& source = *one_of(found->second, random_);
    std::unique_ptr<Message> copy(source.New());
    copy->CopyFrom(source);
    return copy->ByteSizeLong() < kMostCopied ? std::move(copy) : nullptr;
  }

  static void fill(Message& message, const std::unique_ptr<Message>& content) {
    if (content) message.CopyFrom(*content);
  }

  void set(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetInt32(&message, &field, static_cast<int32_t>(number(random_)));
      case FieldDescriptor::CPPTYPE_INT64: return reflection.SetInt64(&message, &field, number(random_));
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.SetUInt32(&message, &field, static_cast<uint32_t>(number(random_)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(&message, &field, static_cast<uint64_t>(number(random_)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetFloat(&message, &field, static_cast<float>(real(random_)));
      case FieldDescriptor::CPPTYPE_DOUBLE: return reflection.SetDouble(&message, &field, real(random_));
      case FieldDescriptor::CPPTYPE_STRING: return reflection.SetString(&message, &field, text());
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const auto content = filling(field.message_type());
        return fill(*reflection.MutableMessage(&message, &field), content);
      }
      default: return;
    }
  }

  void add(Message& message, const FieldDescriptor& field) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.AddInt32(&message, &field, static_cast<int32_t>(number(random_)));
      case FieldDescriptor::CPPTYPE_INT64: return reflection.AddInt64(&message, &field, number(random_));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.AddUInt64(&message, &field, static_cast<uint64_t>(number(random_)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.AddFloat(&message, &field, static_cast<float>(real(random_)));
      case FieldDescriptor::CPPTYPE_DOUBLE: return reflection.AddDouble(&message, &field, real(random_));
      case FieldDescriptor::CPPTYPE_STRING: return reflection.AddString(&message, &field, text());
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        const auto content = filling(field.message_type());
        return fill(*reflection.AddMessage(&message, &field), content);
      }
      default: return;
    }
  }

  void set_element(Message& message, const FieldDescriptor& field, int i) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetRepeatedInt32(&message, &field, i, static_cast<int32_t>(number(random_)));
      case FieldDescriptor::CPPTYPE_INT64: return reflection.SetRepeatedInt64(&message, &field, i, number(random_));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetRepeatedUInt64(&message, &field, i, static_cast<uint64_t>(number(random_)));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return reflection.SetRepeatedFloat(&message, &field, i, static_cast<float>(real(random_)));
      case FieldDescriptor::CPPTYPE_DOUBLE: return reflection.SetRepeatedDouble(&message, &field, i, real(random_));
      case FieldDescriptor::CPPTYPE_STRING: return reflection.SetRepeatedString(&message, &field, i, text());
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return change_field(*reflection.MutableRepeatedMessage(&message, &field, i));
      default: return;
    }
  }

  template <class T>
  T* any() {
    const auto found = survey_.by_type.find(T::descriptor());
    return found == survey_.by_type.end() ? nullptr : static_cast<T*>(one_of(found->second, random_));
  }

  /// A node of another row, or the same one with another attribute that the row has.
  void become_operator() {
    NodeProto* node = any<NodeProto>();
    if (!node) return;
    const OpDef* op = find_op(node->domain(), node->op_type());
    if (!op || random_.chance(0.5)) {
      op = one_of(all_ops(), random_);
      node->set_op_type(std::string(op->name));
      node->set_domain(std::string(op->domain));
      if (random_.chance(0.8)) node->clear_attribute();
    }
    while (node->input_size() < static_cast<int>(op->inputs.size()) && random_.chance(0.8)) node->add_input(text());
    if (!op->attributes.empty()) add_attribute(*node, one_of(op->attributes, random_));
  }

  void add_attribute(NodeProto& node, const AttributeDef& def) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(std::string(def.name));
    const auto times = random_.below(5);
    switch (def.kind) {
      case AttributeKind::kInt: attribute.set_type(AttributeProto::INT); return attribute.set_i(number(random_));
      case AttributeKind::kFloat:
        attribute.set_type(AttributeProto::FLOAT);
        return attribute.set_f(static_cast<float>(real(random_)));
      case AttributeKind::kString: attribute.set_type(AttributeProto::STRING); return attribute.set_s(text());
      case AttributeKind::kTensor:
        attribute.set_type(AttributeProto::TENSOR);
        return fill(*attribute.mutable_t(), filling(TensorProto::descriptor()));
      case AttributeKind::kGraph:
        attribute.set_type(AttributeProto::GRAPH);
        return fill(*attribute.mutable_g(), filling(GraphProto::descriptor()));
      case AttributeKind::kInts:
        attribute.set_type(AttributeProto::INTS);
        for (uint64_t i = 0; i < times; ++i) attribute.add_ints(number(random_));
        return;
      case AttributeKind::kFloats:
        attribute.set_type(AttributeProto::FLOATS);
        for (uint64_t i = 0; i < times; ++i) attribute.add_floats(static_cast<float>(real(random_)));
        return;
      case AttributeKind::kStrings:
        attribute.set_type(AttributeProto::STRINGS);
        for (uint64_t i = 0; i < times; ++i) attribute.add_strings(text());
        return;
    }
  }

  /// An input of a node reads another value.
  void rewire() {
    NodeProto* node = any<NodeProto>();
    if (!node || node->input_size() == 0) return;
    node->set_input(static_cast<int>(random_.below(static_cast<uint64_t>(node->input_size()))), text());
  }

  /// raw_data of the size that type and dims ask for.
  void fit_data() {
    TensorProto* tensor = any<TensorProto>();
    if (!tensor) return;
    const auto dtype = static_cast<DataType>(tensor->data_type());
    if (!is_known_data_type(tensor->data_type()) || dtype == DataType::kString) return;
    int64_t count = 1;
    for (const int64_t dim : tensor->dims()) {
      if (dim < 0 || dim > kMostElements || count * dim > kMostElements) return;
      count *= dim;
    }
    std::string data = tensor->raw_data();
    data.resize(static_cast<size_t>(byte_size(dtype, count)));
    tensor->clear_float_data();
    tensor->clear_int32_data();
    tensor->clear_int64_data();
    tensor->clear_double_data();
    tensor->clear_uint64_data();
    tensor->set_raw_data(data);
  }

  ModelProto& model_;
  Survey survey_;
  Random& random_;
};

}  // namespace

void mutate(ModelProto& model, Random& random) { Mutator(model, random).mutate(); }

void cross_over(ModelProto& model, const ModelProto& other, Random& random) {
  ModelProto source = other;
  Survey survey(source);
  Mutator(model, random).take_from(survey);
}

}  // namespace isomer::test
