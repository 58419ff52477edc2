// isomer library: what is generated, and what a library has of the equations that a user states.
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "support/files.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CheckEquations : public CommandLine {
 protected:
  std::string equations(const std::string& text) const {
    write_file(path("stated.equations"), text);
    return path("stated.equations");
  }
};

class ShowRule : public CommandLine {};

/// Of a mutant and its correction: which of them is right where.
TEST_F(ShowRule, DrawsAMutantWithItsBoxes) {
  const json list = json::parse(isomer({"library", "list", "--json"}).out);
  std::string corrected;
  for (const json& rule : list["rules"])
    if (rule["rule"].get<std::string>().find("= Concat(Concat(Conv(Slice(x)") != std::string::npos)
      corrected = rule["name"];
  ASSERT_NE(corrected, "");
  const json shown = json::parse(isomer({"library", "show", corrected, "--json"}).out);
  EXPECT_EQ(shown["name"], corrected);
  ASSERT_EQ(shown["cover"]["boxes"].size(), 3U);
  const json& mutant = shown["cover"]["boxes"][1];
  EXPECT_TRUE(mutant["cut"]);
  EXPECT_FALSE(mutant["wrong"].empty());
  double shares = 0;
  for (const json& box : shown["cover"]["boxes"]) shares += box["share"].get<double>();
  EXPECT_NEAR(shares, 1, 0.01);
  EXPECT_GT(shown["cover"]["operations"], 1);
  const Outcome text = isomer({"library", "show", corrected});
  EXPECT_THAT(text.out, HasSubstr("boxes of its output ["));
  EXPECT_THAT(text.out, HasSubstr("which is wrong at ["));
}

/// Axes that are counted from the back are the same axes.
TEST_F(ShowRule, DrawsBoxesAlongTheLastAxis) {
  const std::string means = "ReduceMean(x){axes=[0],keepdims=0},ReduceMean(w){axes=[0],keepdims=0}";
  write_file(path("stated.equations"),
             fmt::format("{0} = Concat({1}){{axis=-1}}\n"
                         "{0} = Slice(Concat({1}){{axis=0}}){{axes=[-1],starts=[0],ends=[8],steps=[1]}}\n",
                         "x[3,4] w[3,4] | "
                         "ReduceMean(Transpose(Concat(x,w){axis=1}){perm=[1,0]}){axes=[1],keepdims=0}",
                         means));
  const Outcome added = isomer({"library", "add", path("stated.equations"), "-o", path("mine"), "--json"});
  ASSERT_EQ(added.exit_code, 0) << added.err;
  const json rules = json::parse(added.out)["rules"];
  ASSERT_EQ(rules.size(), 2U);
  const auto boxes = [&](size_t k) {
    const Outcome shown = isomer({"library", "show", rules[k]["name"], path("mine.rules"), "--json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return json::parse(shown.out)["cover"]["boxes"];
  };
  const json joined = boxes(0), cut = boxes(1);
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0]["box"], "[0:4]");
  EXPECT_EQ(joined[1]["box"], "[4:8]");
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_TRUE(cut[0]["cut"]);
}

TEST_F(ShowRule, NamesReachNoTerminalAsTheyAre) {
  const std::string name = "o\x1b[31mdd";
  write_file(path("odd.rules"),
             "# isomer library generate x\n" + name + "\treassociated\tRelu(Relu(x)) = Relu(x)\tx:float32[2]\n");
  write_file(path("odd.proofs"),
             "# isomer library generate x\n" + name + "\n\telements ; left=Relu(Relu(x)) ; right=Relu(x)\n");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"list"}, std::vector<std::string>{"show", name}}) {
    std::vector<std::string> arguments = {"library"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    arguments.push_back(path("odd.rules"));
    expect_error(isomer(arguments), 3, "'o\\x1b[31mdd' found");
  }
}

class Generate : public CommandLine {};

TEST_F(Generate, SaysHowManyOperatorsBeforeItMakesAFolder) {
  expect_error(isomer({"library", "generate", "--ops", "elementwise", "--max-ops", "6", "-o", path("none")}), 2,
               "--max-ops: at most 5 operators expected where terms are enumerated, 6 found");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

/// Z3 ends after some questions.
class WhereZ3Ends : public CommandLine {
 protected:
  WhereZ3Ends() {
    std::filesystem::create_directory(path("bin"));
    write_file(path("bin/z3"), fmt::format("#!/bin/sh\nPATH={}\nsed -u 300q | z3 \"$@\"\n", path_));
    std::filesystem::permissions(path("bin/z3"), std::filesystem::perms::owner_all);
  }
  Outcome library(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"env", fmt::format("PATH={}:{}", path("bin"), path_), tool_path("isomer").string(), "library"});
    return run_program(arguments);
  }

  const std::string path_ = std::getenv("PATH");
};

/// What it was not asked is not unproved: the rules that were there stay.
TEST_F(WhereZ3Ends, NothingIsGenerated) {
  write_file(path("elementwise.rules"), "mine");
  expect_error(library({"generate", "--ops", "elementwise", "--max-ops", "2", "-o", path(""), "-q"}), 3,
               "z3: an answer expected, the process has ended");
  EXPECT_EQ(read_file(path("elementwise.rules")), "mine");
}

TEST_F(WhereZ3Ends, NoRuleIsSaidToBeWrong) {
  expect_error(library({"verify", "--threads", "1", "-q"}), 3, "z3: an answer expected, the process has ended");
}

/// A figure that nobody knows is null.
TEST_F(ShowRule, StatisticsHaveAllTheirKeys) {
  const json facts = json::parse(isomer({"library", "stats", "--json"}).out);
  for (const char* key : {"rules", "ops", "max_ops", "graphs", "fingerprints", "seconds", "peak_memory_mb", "by_class"})
    EXPECT_TRUE(facts.contains(key)) << key;
  for (const char* key : {"total", "proved_all_sizes", "bounded"}) EXPECT_TRUE(facts["axioms"].contains(key)) << key;
  EXPECT_TRUE(facts["ops"].is_string()) << facts["generated"];
  EXPECT_GE(facts["max_ops"], 1);
  EXPECT_GT(facts["different"], 1000);
  EXPECT_LT(facts["different"], facts["rules"]) << "a set may have rules of another one";
}

TEST_F(ShowRule, DotIsJsonToo) {
  const std::string name = json::parse(isomer({"library", "list", "--json"}).out)["rules"][0]["name"];
  const json shown = json::parse(isomer({"library", "show", name, "--dot", "--json"}).out);
  EXPECT_THAT(shown["left"].get<std::string>(), HasSubstr("digraph"));
  EXPECT_THAT(shown["right"].get<std::string>(), HasSubstr("digraph"));
}

TEST_F(CheckEquations, WhatIsAddedIsOneObject) {
  const std::string right = equations("mine | x[2,3] | Relu(Relu(x)) = Relu(x)\n");
  const json added = json::parse(isomer({"library", "add", right, "-o", path("mine"), "--json"}).out);
  EXPECT_EQ(added["rules"][0]["name"], "mine");
  EXPECT_EQ(added["refuted"], nullptr);
  const Outcome wrong =
      isomer({"library", "add", equations("x[2,3] | Relu(x) = Neg(x)\n"), "-o", path("mine"), "--json"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(json::parse(wrong.out)["refuted"]["equation"].get<std::string>(), HasSubstr("Relu(x)"));
}

/// Beside an equation that is refuted none is added, and of none it is said that the file has it already.
TEST_F(CheckEquations, WhatIsNotWrittenIsNotSaidToBeKnown) {
  const std::string both = equations("mine | x[2,3] | Relu(Relu(x)) = Relu(x)\nx[2,3] | Relu(x) = Neg(x)\n");
  const Outcome outcome = isomer({"library", "add", both, "-o", path("mine"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(json::parse(outcome.out)["rules"], json::array());
  EXPECT_THAT(json::parse(outcome.out)["refuted"]["equation"].get<std::string>(), HasSubstr("Neg(x)"));
  EXPECT_EQ(isomer({"library", "add", both, "-o", path("mine")}).err, "");
  EXPECT_FALSE(std::filesystem::exists(path("mine.rules")));
}

TEST_F(CheckEquations, RulesReplaceNoEquations) {
  const std::string text = "mine | x[2,3] | Relu(Relu(x)) = Relu(x)\n";
  for (const char* name : {"mine.rules", "mine.proofs"}) {
    SCOPED_TRACE(name);
    write_file(path(name), text);
    expect_error(isomer({"library", "add", path(name), "-o", path("mine")}), 2,
                 "--output: another file than that of file expected");
    EXPECT_EQ(read_file(path(name)), text);
    std::filesystem::remove(path(name));
  }
}

/// Both commands say the same of an equation that holds but where numbers are not finite, and of one that is not proved
/// by anything that a rule could repeat.
TEST_F(CheckEquations, WhatIsNotAddedIsRefutedOrSaidToBeEqualAlone) {
  const std::string divided = equations("x[2,3] y[2,3] | Mul(Div(x,y),y) = x\n");
  const Outcome refuted = isomer({"library", "add", divided, "-o", path("mine")});
  EXPECT_EQ(refuted.exit_code, 1) << refuted.err;
  EXPECT_THAT(refuted.out, testing::StartsWith("refuted  Mul(Div(x,y),y) = x\n"));
  EXPECT_THAT(refuted.out, HasSubstr("nan"));
  EXPECT_FALSE(std::filesystem::exists(path("mine.rules")));
  expect_error(isomer({"library", "add", equations("x[2,3] | Log(Exp(x)) = x\n"), "-o", path("mine")}), 3,
               "its elements are equal at these sizes");
}

/// The rules stay as they were: what is written can be read.
TEST_F(CheckEquations, WhatSaysNothingOrHasNoNameIsNotAdded) {
  ASSERT_EQ(
      isomer({"library", "add", equations("mine | x[2,3] | Relu(Relu(x)) = Relu(x)\n"), "-o", path("mine")}).exit_code,
      0);
  expect_error(isomer({"library", "add", equations("one\tname | x[2,3] | Abs(Abs(x)) = Abs(x)\n"), "-o", path("mine")}),
               3, "line 1: a label without tabs");
  expect_error(
      isomer({"library", "add", equations("x[2,3] | Softmax(x){axis=-1} = Softmax(x){axis=1}\n"), "-o", path("mine")}),
      3, "an equation that says something expected, both sides of 'Softmax(x){axis=-1} = Softmax(x){axis=1}' are ");
  expect_error(isomer({"library", "add", equations("x[2,3] | Mul(x,2;3) = x\n"), "-o", path("mine")}), 3,
               ": line 1: column 17: expected \",\", found \";\"");
  const Outcome listed = isomer({"library", "list", path("mine.rules")});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("mine"));
}

TEST_F(CheckEquations, SaysWhatEachFollowsFrom) {
  const std::string file = equations(
      "C04 | x[2,4] v[4,3] w[3,5] | MatMul(MatMul(x,v),w) = MatMul(x,MatMul(v,w))\n"
      "u[4,4] v[4,4] w[4,4] x[2,4] | MatMul(MatMul(MatMul(x,u),v),w) = MatMul(x,MatMul(u,MatMul(v,w)))\n");
  const Outcome outcome = isomer({"library", "check-equations", file});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("is rule  C04: MatMul(MatMul(x,v),w) = MatMul(x,MatMul(v,w))\n  matmul_matmul-matmul_matmul-"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  from matmul_matmul-matmul_matmul-"));
  EXPECT_THAT(outcome.out, HasSubstr("\n2 equations: 1 is rule, 1 follows\n"));
  const Outcome table = isomer({"library", "check-equations", file, "--table"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(
      table.out,
      HasSubstr("\n| C04 | `MatMul(MatMul(x,v),w) = MatMul(x,MatMul(v,w))` | is rule | matmul_matmul-matmul_matmul-"));
}

TEST_F(CheckEquations, WrongOnesAreRefuted) {
  const std::string file = equations("x[4,4] y[4,4] | MatMul(x,y) = MatMul(y,x)\n");
  const Outcome outcome = isomer({"library", "check-equations", file, "--json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const json facts = json::parse(outcome.out);
  EXPECT_EQ(facts["counts"]["refuted"], 1);
  EXPECT_EQ(facts["equations"][0]["verdict"], "refuted");
  EXPECT_THAT(facts["equations"][0]["why"].get<std::string>(), HasSubstr("x: float32[2,2] = "));
  EXPECT_EQ(isomer({"library", "check-equations", file, "--wrong"}).exit_code, 0);
}

TEST_F(CheckEquations, OfALibraryOfOnesOwn) {
  const std::string own = equations("mine | x[2,3] | Relu(Relu(x)) = Relu(x)\n");
  ASSERT_EQ(isomer({"library", "add", own, "-o", path("mine")}).exit_code, 0);
  const std::string file = equations("x[5] | Relu(Relu(Relu(x))) = Relu(x)\nx[2,3] | Relu(Neg(x)) = Neg(x)\n");
  const Outcome outcome = isomer({"library", "check-equations", file, "--rules", path("mine.rules"), "--json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const json facts = json::parse(outcome.out);
  EXPECT_EQ(facts["equations"][0]["verdict"], "follows");
  EXPECT_EQ(facts["equations"][0]["rules"], json::array({"mine"}));
  EXPECT_EQ(facts["equations"][1]["verdict"], "refuted");
}

TEST_F(CheckEquations, BrokenInputsGetASentence) {
  expect_error(isomer({"library", "check-equations", equations("Relu(x) = x\n")}), 3,
               "line 1: types of the variables expected, none found");
  expect_error(isomer({"library", "check-equations", equations("x[2] | Relu(x) = x\n"), "--rules", path("none.rules")}),
               3, "none.rules");
}

TEST_F(CheckEquations, GoOnBehindAFaultyLine) {
  const std::string file = equations(
      "x[2,3] | Rela(x) = x\n"
      "x[2,3] | Relu(Relu(x)) = Relu(x)\n"
      "Relu(x) = x\n"
      "x[2,3] y[4] | Add(x,y) = Add(y,x)\n"
      "x[2,a] | x = x\n"
      "x[4,4] y[4,4] | MatMul(x,y) = MatMul(y,x)\n");
  const Outcome outcome = isomer({"library", "check-equations", file});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Relu(Relu(x)) = Relu(x)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("refuted  MatMul(x,y) = MatMul(y,x)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n6 equations: "));
  EXPECT_THAT(outcome.out, HasSubstr(", 4 faulty\n"));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 4) << outcome.err;
  for (const char* line : {": line 1: ", ": line 3: types of the variables expected, none found",
                           ": line 4: ", ": line 5: a size expected, 'a' found"})
    EXPECT_THAT(outcome.err, HasSubstr(file + line));
  const Outcome told = isomer({"library", "check-equations", file, "--json"});
  EXPECT_EQ(told.exit_code, 3);
  const json facts = json::parse(told.out);
  EXPECT_EQ(facts["equations"].size(), 2U);
  EXPECT_EQ(facts["faults"].size(), 4U);
}

class CheckAxioms : public CommandLine {
 protected:
  /// What the command says in JSON, asked once: it takes seconds.
  const json& facts() const {
    static const json said = [&] {
      const Outcome outcome = isomer({"library", "check-axioms", "--trials", "8", "--json"});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      return json::parse(outcome.out);
    }();
    return said;
  }
};

TEST_F(CheckAxioms, SaysWhatFloatingPointDoes) {
  std::map<std::string, int> laws;
  for (const json& axiom : facts()["axioms"]) {
    ++laws[axiom["class"].get<std::string>()];
    EXPECT_TRUE(axiom["class_holds"].get<bool>()) << axiom;
  }
  EXPECT_EQ(laws.size(), 5U);
  for (const auto& [name, count] : laws) EXPECT_EQ(facts()["classes"][name], count) << name;
  EXPECT_EQ(facts()["classes"]["refuted"], 0);
}

TEST_F(CheckAxioms, SaysWhatIsProvedForAllSizes) {
  int proved = 0;
  for (const json& axiom : facts()["axioms"]) {
    EXPECT_EQ(axiom["proved"].get<bool>(), !axiom.contains("not_proved")) << axiom;
    EXPECT_TRUE(axiom["structures"].is_number()) << axiom;
    proved += axiom["proved"].get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(facts()["proved"], proved);
  EXPECT_EQ(facts()["bounded"], facts()["total"]);
  EXPECT_GT(proved, 200);
}

TEST_F(CheckAxioms, SaysWhyItFails) {
  const Outcome outcome = isomer({"library", "check-axioms", "--trials", "1"});
  EXPECT_EQ(outcome.exit_code, 1) << "one trial finds no instance of some";
  EXPECT_THAT(outcome.err, testing::StartsWith("isomer: check-axioms: an instance of each axiom expected"));
}

TEST_F(CheckAxioms, EndsWhenItIsAskedTo) {
  const Outcome outcome = run_program({"timeout", "--preserve-status", "--signal=TERM", "1",
                                       tool_path("isomer").string(), "library", "check-axioms", "--trials", "1000000"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.err, "isomer: stopped\n");
  EXPECT_LT(outcome.seconds, 60);
}

/// A file of rules whose text was changed: replay would say so, numbers must too.
class LibraryRefute : public CheckEquations {
 protected:
  std::string wrong_rules() {
    EXPECT_EQ(isomer({"library", "add", equations("mine | x[2,3] y[2,3] | Add(Mul(x,2),y) = Add(y,Mul(2,x))\n"), "-o",
                      path("mine")})
                  .exit_code,
              0);
    std::string text = read_file(path("mine.rules"));
    const size_t at = text.find("Mul(2,x)");
    EXPECT_NE(at, std::string::npos) << text;
    write_file(path("mine.rules"), text.replace(at, 8, "Mul(3,x)"));
    return path("mine.rules");
  }
};

TEST_F(LibraryRefute, InExactArithmeticAndByCompiledCode) {
  const std::string file = wrong_rules();
  const Outcome exact = isomer({"library", "refute", file, "--trials", "10", "--float-trials", "0"});
  EXPECT_EQ(exact.exit_code, 1) << exact.err;
  EXPECT_THAT(exact.out, HasSubstr("\n0 rules not refuted, 1 not, 0 float trials (0 rules without any); "));
  const Outcome floats = isomer({"library", "refute", file, "--trials", "0", "--json"});
  EXPECT_EQ(floats.exit_code, 1) << floats.err;
  const json facts = json::parse(floats.out);
  EXPECT_EQ(facts["float_trials"], 1);
  EXPECT_THAT(facts["problems"][0]["problem"].get<std::string>(),
              HasSubstr("the right side's code against the left side: "));
}

TEST_F(LibraryRefute, WhatIsTrueIsNot) {
  ASSERT_EQ(
      isomer({"library", "add", equations("mine | x[2,3] | Relu(Relu(x)) = Relu(x)\n"), "-o", path("mine")}).exit_code,
      0);
  const Outcome outcome =
      isomer({"library", "refute", path("mine.rules"), "--trials", "20", "--float-trials", "4", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["float_trials"], 4);
}

class LibraryGenerate : public CommandLine {};

TEST_F(LibraryGenerate, MakesItsFolder) {
  const Outcome outcome =
      isomer({"library", "generate", "--ops", "elementwise", "--max-ops", "1", "-o", path("new/folder")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(isomer({"library", "replay", path("new/folder/elementwise")}).exit_code, 0);
  write_file(path("file"), "");
  expect_error(isomer({"library", "generate", "--ops", "elementwise", "--max-ops", "1", "-o", path("file/folder")}), 3,
               "a folder, or a place for one, expected");
}

/// Both files, or neither: what could not be printed leaves none.
TEST_F(LibraryGenerate, RulesComeWithWhatIsPrinted) {
  const std::string command = tool_path("isomer").string() + " library ";
  const std::string generate = command + "generate --ops elementwise --max-ops 1 -o " + path("");
  write_file(path("equations"), "mine | x[2,3] | Relu(Relu(x)) = Relu(x)\n");
  for (const std::string& each : {generate + " --json", command + "add " + path("equations") + " -o " + path("mine")}) {
    SCOPED_TRACE(each);
    expect_error(run_program({"/bin/sh", "-c", each + " > /dev/full"}), 3,
                 "output: a place that takes what is printed expected");
    for (const char* name : {"elementwise.rules", "elementwise.proofs", "mine.rules", "mine.proofs"})
      EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  }
}

TEST_F(LibraryGenerate, SaysNothingWhereItIsQuiet) {
  const Outcome outcome =
      isomer({"library", "generate", "--ops", "elementwise", "--max-ops", "1", "-o", path(""), "-q"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_TRUE(std::filesystem::exists(path("elementwise.rules")));
}

}  // namespace
}  // namespace isomer::test
