// The door to Z3: answers, limits, children that die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.h"
#include "verify/smt.h"

namespace isomer::verify::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

Term term(const char* text) { return *parse_term(text); }
using Equations = std::vector<std::pair<Term, Term>>;

const Equations kEquations = {{term("Relu(x)"), term("y")}, {term("Tanh(x)"), term("Tanh(y)")}, {term("Neg(y)"), term("z")}};

TEST(Z3, SaysWhichEquationsItNeeds) {
  auto solver = Solver::start();
  ASSERT_TRUE(solver.ok()) << solver.error().message();
  EXPECT_THAT(*solver->unsat_core(kEquations, term("Add(Neg(Relu(x)),2)"), term("Add(z,2)")), Optional(ElementsAre(0, 2)));
  EXPECT_THAT(*solver->unsat_core({}, term("x"), term("x")), Optional(ElementsAre()));
}

TEST(Z3, TellsTermsApart) {
  auto solver = Solver::start();
  ASSERT_TRUE(solver.ok());
  const auto follows = [&](const char* from, const char* to) { return solver->unsat_core(kEquations, term(from), term(to))->has_value(); };
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
    EXPECT_EQ(*weak->unsat_core(kEquations, term("Neg(Relu(x))"), term("z")), std::nullopt) << "100 units of work are not enough";
  }
}

TEST(Z3, WhatIsNotZ3IsAnError) {
  EXPECT_THAT(Solver::start({.program = "no such program"}).error().message(), HasSubstr("it cannot be started"));
  EXPECT_THAT(Solver::start({.program = "true"}).error().message(), HasSubstr("the process has ended"));
  EXPECT_THAT(Solver::start({.program = "echo"}).error().message(), HasSubstr("Z3's answer expected"));
}

TEST(Z3, AChildThatDiesIsAnErrorAndStaysOne) {
  const isomer::test::ScratchFolder folder;
  const std::string script = folder.path() / "dying";
  isomer::test::write_file(script, "#!/bin/sh\necho ready\nread line\nread line\nread line\nread line\nread line\nexit 1\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  auto solver = Solver::start({.program = script});
  ASSERT_TRUE(solver.ok()) << solver.error().message();
  for (int k = 0; k < 3; ++k) EXPECT_THAT(solver->unsat_core(kEquations, term("x"), term("y")).error().message(), HasSubstr("the process has ended"));
}

}  // namespace
}  // namespace isomer::verify::test
