// The door to Z3: answers, limits, children that die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.h"
#include "verify/claim_support.h"
#include "verify/prover/smt.h"
#include "verify/prover/smt_facts.h"

namespace isomer::verify::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

using Equations = std::vector<std::pair<Term, Term>>;

const Equations kEquations = {
    {term("Relu(x)"), term("y")}, {term("Tanh(x)"), term("Tanh(y)")}, {term("Neg(y)"), term("z")}};

TEST(Z3, SaysWhichEquationsItNeeds) {
  auto solver = Solver::start();
  ASSERT_TRUE(solver.ok()) << solver.error().message();
  EXPECT_THAT(*solver->unsat_core(kEquations, term("Add(Neg(Relu(x)),2)"), term("Add(z,2)")),
              Optional(ElementsAre(0, 2)));
  EXPECT_THAT(*solver->unsat_core({}, term("x"), term("x")), Optional(ElementsAre()));
}

TEST(Z3, TellsTermsApart) {
  auto solver = Solver::start();
  ASSERT_TRUE(solver.ok());
  const auto follows = [&](const char* from, const char* to) {
    return solver->unsat_core(kEquations, term(from), term(to))->has_value();
  };
  EXPECT_FALSE(follows("x", "y"));
  EXPECT_FALSE(follows("Add(Relu(x),2)", "Add(y,3)"));
  EXPECT_FALSE(follows("Concat(Relu(x),x){axis=0}", "Concat(y,x){axis=1}"));
  EXPECT_FALSE(follows("Split(y){axis=0,split=[1,1]}", "Split(Relu(x)){axis=0,split=[1,1]}.1"));
  EXPECT_FALSE(follows("Concat(y,y){axis=0}", "Concat(y){axis=0}"));
  EXPECT_TRUE(follows("Split(y){axis=0,split=[1,1]}.1", "Split(Relu(x)){axis=0,split=[1,1]}.1"));
}

TEST(Z3, AnswersTheSameWhateverWasAskedBefore) {
  auto solver = Solver::start(), weak = Solver::start({.resources = 100});
  ASSERT_TRUE(solver.ok() && weak.ok());
  for (int k = 0; k < 200; ++k) {
    EXPECT_THAT(*solver->unsat_core(kEquations, term("Neg(Relu(x))"), term("z")), Optional(ElementsAre(0, 2)));
    EXPECT_EQ(*solver->unsat_core(kEquations, term("x"), term("z")), std::nullopt);
    EXPECT_EQ(*weak->unsat_core(kEquations, term("Neg(Relu(x))"), term("z")), std::nullopt)
        << "100 units of work are not enough";
  }
}

TEST(Arithmetic, IsDecided) {
  using enum ArithmeticSolver::Answer;
  auto solver = ArithmeticSolver::start({.resources = 20'000});
  ASSERT_TRUE(solver.ok()) << solver.error().message();
  const std::string integer = "(declare-const n Int)\n(assert (> n 2))\n",
                    hard =
                        "(declare-const x Int)(declare-const y Int)(declare-const z Int)(assert (and (> x 1) (> y 1) "
                        "(> z 1) (= (+ (* x x x) (* y y y)) (* z z z))))\n";
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(*solver->ask(integer + "(assert (< n 3))\n"), kContradiction);
    EXPECT_EQ(*solver->ask_thoroughly(integer + "(assert (< n 4))\n"), kConsistent)
        << "what was asked before is forgotten";
    EXPECT_EQ(*solver->ask_thoroughly(hard), kUnknown);
  }
}

TEST(Arithmetic, OfWhatIsNotZ3IsAnError) {
  const isomer::test::ScratchFolder folder;
  EXPECT_FALSE(ArithmeticSolver::start({.program = "no such program"}).ok());
  auto solver = ArithmeticSolver::start();
  ASSERT_TRUE(solver.ok());
  EXPECT_THAT(solver->ask("(nonsense)\n").error().message(), HasSubstr("sat, unsat or unknown expected"));
  EXPECT_FALSE(solver->ask("").ok()) << "it has ended";
}

/// Z3 does not look at its own limit of time everywhere.
TEST(Arithmetic, WhatIsNotAnsweredInTimeIsUnknown) {
  const isomer::test::ScratchFolder folder;
  const std::string path = folder.path() / "program";
  isomer::test::write_file(path,
                           "#!/bin/sh\n[ -e $0.asked ] || { touch $0.asked; exec cat > /dev/null; }\n"
                           "while read line; do case $line in *check-sat*) echo unsat;; esac; done\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  auto solver = ArithmeticSolver::start({.program = path, .seconds = 1});
  ASSERT_TRUE(solver.ok());
  EXPECT_EQ(*solver->ask_thoroughly(""), ArithmeticSolver::Answer::kUnknown);
  EXPECT_EQ(*solver->ask(""), ArithmeticSolver::Answer::kContradiction) << "another process was started";
}

/// A program that takes what a solver is told first, answers so, and then does as the last line says.
std::string program(const isomer::test::ScratchFolder& folder, const std::string& answer, const std::string& last) {
  const std::string path = folder.path() / "program";
  isomer::test::write_file(path,
                           "#!/bin/sh\nfor k in 1 2 3 4 5; do read line; done\necho " + answer + "\n" + last + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(Z3, WhatIsNotZ3IsAnError) {
  const isomer::test::ScratchFolder folder;
  EXPECT_THAT(Solver::start({.program = "no such program"}).error().message(), HasSubstr("it cannot be started"));
  EXPECT_THAT(Solver::start({.program = "true"}).error().message(), HasSubstr("the process has ended"));
  EXPECT_THAT(Solver::start({.program = program(folder, "hello", "cat > /dev/null")}).error().message(),
              HasSubstr("Z3's answer expected, 'hello' found"));
}

TEST(Z3, AfterAnErrorThereIsNoAnswer) {
  const isomer::test::ScratchFolder folder;
  for (const auto& [last, why] : {std::pair("exit 1", "the process has ended"),
                                  std::pair("read line; echo perhaps; cat > /dev/null", "'perhaps' found")}) {
    auto solver = Solver::start({.program = program(folder, "ready", last)});
    ASSERT_TRUE(solver.ok()) << solver.error().message();
    EXPECT_THAT(solver->unsat_core(kEquations, term("x"), term("y")).error().message(), HasSubstr(why));
    EXPECT_THAT(solver->unsat_core(kEquations, term("x"), term("y")).error().message(),
                HasSubstr("the process has ended"));
  }
}

/// A size may be called anything: what has no quotes is not told, rather than read as something else.
TEST(Z3, IsToldNoNameThatEndsItsQuotes) {
  ElementMaker make;
  for (const char* name : {"n| Int)(assert false)(declare-const |m", "n|", "\\"}) {
    const te::Expr size = te::symbol(name);
    EXPECT_EQ(smt_text(size), std::nullopt);
    EXPECT_EQ(smt_facts(std::span(&size, 0), std::span(&size, 1), make), std::nullopt);
  }
  EXPECT_EQ(smt_text(te::symbol("size n")), "|size n|");
}

}  // namespace
}  // namespace isomer::verify::test
