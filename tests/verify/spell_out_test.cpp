// One spelling of what means the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/claim_support.h"
#include "verify/proof/spell_out.h"

namespace isomer::verify::test {
namespace {

using testing::HasSubstr;

struct Spelling {
  const char* types;
  const char* term;
  const char* spelled;
};

constexpr Spelling kSpellings[] = {
    {"x[2,4,5,5] w[3,4,3,3]", "Conv(x,w)",
     "Conv(x,w){auto_pad=\"NOTSET\",dilations=[1,1],group=1,pads=[0,0,0,0],strides=[1,1]}"},
    {"x[2,4,5,5] w[3,4,3,3]", "Conv(x,w){kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Conv(x,w){auto_pad=\"NOTSET\",dilations=[1,1],group=1,pads=[1,1,1,1],strides=[1,1]}"},
    {"x[2,4,5,5] w[3,4,1,1]", "Conv(x,w){kernel_shape=[1,1]}",
     "Conv(x,w){auto_pad=\"NOTSET\",dilations=[1,1],group=1,pads=[0,0,0,0],strides=[1,1]}"},
    {"x[2,4,5] w[3,4,1]", "Conv(x,w)", "Conv(x,w){auto_pad=\"NOTSET\",dilations=[1],group=1,pads=[0,0],strides=[1]}"},
    {"x[2,4,1,1] w[3,4,1,1]", "Conv(x,w){strides=[2,2]}",
     "Conv(x,w){auto_pad=\"NOTSET\",dilations=[1,1],group=1,pads=[0,0,0,0],strides=[2,2]}"},
    {"x[2,4,3,3]", "MaxPool(x){kernel_shape=[3,3]}",
     "MaxPool(x){auto_pad=\"NOTSET\",ceil_mode=0,dilations=[1,1],kernel_shape=[3,3],pads=[0,0,0,0],storage_order=0,"
     "strides=[1,1]}"},
    {"x[2,4,5,5] w[4,3,3,3]", "ConvTranspose(x,w)",
     "ConvTranspose(x,w){auto_pad=\"NOTSET\",dilations=[1,1],group=1,output_padding=[0,0],pads=[0,0,0,0],strides=[1,1]"
     "}"},
    {"x[2,4] y[2,3]", "Concat(x,y){axis=-1}", "Concat(x,y){axis=1}"},
    {"x[2,4]", "Split(x){axis=-2,split=[1,1]}.1", "Split(x){axis=0,split=[1,1]}.1"},
    {"x[2,4]", "Split(x){split=[1,1]}", "Split(x){axis=0,split=[1,1]}"},
    {"x[2,4]", "Transpose(x)", "Transpose(x){perm=[1,0]}"},
    {"x[2,3,4]", "Transpose(x)", "Transpose(x){perm=[2,1,0]}"},
    {"x[2,2]", "Transpose(x){perm=[0,1]}", "Transpose(x){perm=[0,1]}"},
    {"x[2,4]", "Slice(x){axes=[-1],ends=[3],starts=[1]}", "Slice(x){axes=[1],ends=[3],starts=[1],steps=[1]}"},
    {"x[2,4]", "Slice(x){ends=[1,2],starts=[0,0]}", "Slice(x){axes=[0,1],ends=[1,2],starts=[0,0],steps=[1,1]}"},
    {"x[2,4]", "Pad(x){pads=[0,1,0,2]}", "Pad(x){axes=[0,1],mode=\"constant\",pads=[0,1,0,2]}"},
    {"x[2,4]", "ReduceSum(x)", "ReduceSum(x){axes=[0,1],keepdims=1,noop_with_empty_axes=0}"},
    {"x[2,4,3]", "ReduceSum(x){axes=[-1,0]}", "ReduceSum(x){axes=[0,2],keepdims=1,noop_with_empty_axes=0}"},
    {"x[2,4,3]", "Unsqueeze(x){axes=[-1]}", "Unsqueeze(x){axes=[3]}"},
    {"x[2,4,3]", "Squeeze(ReduceSum(x){axes=[1]}){axes=[-2]}",
     "Squeeze(ReduceSum(x){axes=[1],keepdims=1,noop_with_empty_axes=0}){axes=[1]}"},
    {"x[2,4,3]", "Softmax(x)", "Softmax(x){axis=2}"},
    {"x[2,4]", "Elu(Mul(x,2))", "Elu(Mul(x,2)){alpha=1}"},
};

TEST(Spelling, IsOneWhateverWasLeftOut) {
  Signatures signatures;
  for (const Spelling& each : kSpellings) {
    SCOPED_TRACE(each.term);
    const VariableTypes types = types_of({each.types, ""});
    const Term term = *parse_term(each.term);
    const auto spelled = spelled_out(term, types, signatures);
    ASSERT_TRUE(spelled.ok()) << spelled.error().message();
    EXPECT_EQ(spelled->term.text(), each.spelled);
    EXPECT_TRUE(agree({term, spelled->term, {}}, types));
    const auto again = spelled_out(spelled->term, types, signatures);
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->term, spelled->term);
    EXPECT_EQ(again->type, spelled->type);
    Signatures fresh;
    EXPECT_EQ(spelled_out(term, types, fresh)->term, spelled->term);
  }
}

/// Integers that a program reads as data are no axes, and their order says something.
TEST(Spelling, LeavesIntegersThatAreRead) {
  Signatures signatures;
  for (const char* term :
       {"Range(){delta=2,limit=5,start=-1,stash_type=1}", "Range(){delta=2,limit=5,start=0,stash_type=1}",
        "Add(x){B=[3,-1]}", "Mul(x){B=[2,1]}", "Gather(x){axis=0,indices=[1,0]}"}) {
    SCOPED_TRACE(term);
    const auto spelled = spelled_out(*parse_term(term), {{"x", ValueType::tensor(DataType::kInt64, {2})}}, signatures);
    ASSERT_TRUE(spelled.ok()) << spelled.error().message();
    EXPECT_EQ(spelled->term.text(), term);
  }
}

/// Sizes that parameters say are none of the operands', whatever files call them.
TEST(Spelling, DoesNotHangOnNamesOfSizes) {
  const auto spelled_with = [&](const std::string& name, const std::string& text) {
    Signatures signatures;
    std::string named = text;
    for (size_t at = 0; (at = named.find('?')) != std::string::npos;) named.replace(at, 1, name);
    const auto spelled = spelled_out(*parse_term(named), types_of({"x[4,5] y[4,5]", ""}), signatures);
    EXPECT_TRUE(spelled.ok()) << named;
    std::string result = spelled->term.text();
    for (size_t at = 0; (at = result.find(name, at)) != std::string::npos;) result.replace(at, name.size(), "?");
    return result;
  };
  for (const char* text : {"Slice(x){ends=[?],starts=[0]}", "Slice(x){ends=[4,?],starts=[0,0]}",
                           "Slice(x){ends=[?,?],starts=[0,1]}", "Expand(Slice(x){ends=[1],starts=[0]}){shape=[?,5]}"})
    for (const char* name : {"d0", "d1", "d0_0", "d0_1", "\"said n\""})
      EXPECT_EQ(spelled_with(name, text), spelled_with("n_size", text)) << name;
}

TEST(Spelling, NamesWhatIsWrong) {
  Signatures signatures;
  const auto says = [&](const char* types, const char* term, const char* why) {
    const auto spelled = spelled_out(*parse_term(term), types_of({types, ""}), signatures);
    ASSERT_FALSE(spelled.ok()) << term;
    EXPECT_THAT(spelled.error().message(), HasSubstr(why));
  };
  says("x[2]", "Neg(y)", "a type of each variable expected");
  says("x[2,4,5,5] w[3,4,3,3]", "Conv(x,w){..p}", "all parameters expected");
  says("x[2,4,5,5] w[3,3,3,3]", "Conv(x,w)", "W has 3 input channels, X has 4");
  says("x[2,4]", "Split(x){axis=0,split=[1,1]}.2", "an output below");
}

}  // namespace
}  // namespace isomer::verify::test
