"""The substitution library: its rules, and where equations stand with them.

    for rule in isomer.library.rules():
        print(rule.name, rule.statement)
    isomer.library.check("x[2,3] w[3,4] | Relu(MatMul(x, w)) = MatMul(Relu(x), w)")
"""
import dataclasses
import os

from . import _isomer
from ._errors import raised

__all__ = ["Equation", "Rule", "add", "check", "rules"]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A proved rule: its left side may be replaced by its right side, and the other way round."""
    name: str
    statement: str  #: LEFT ; … = RIGHT ; …
    fp_class: str   #: "exact", "sign-of-zero", "finite", "reassociated", "unsafe"
    laws: int       #: uses of laws in its proof


@dataclasses.dataclass(frozen=True)
class Equation:
    """Where an equation stands; true where the library has it, or it was proved."""
    line: int
    label: str
    statement: str
    verdict: str  #: "is rule", "follows", "is law", "follows with laws", "proved", "refuted" or "unknown"
    rules: list   #: what it follows from, by name
    laws: list
    why: str      #: a sentence; of what is refuted the inputs, and what both sides give

    def __bool__(self):
        return self.verdict not in ("refuted", "unknown")


def _paths(files):
    return [os.fspath(file) for file in ([files] if isinstance(files, (str, os.PathLike)) else files)]


def rules(files=()):
    """Those of files (STEM.rules beside STEM.proofs), or without any those that come with Isomer.

    The proofs are read, not checked: `isomer library replay` does that.

    Raises:
        InvalidModel: A file is none of rules.
    """
    with raised():
        return [Rule(*rule) for rule in _isomer.library_rules(_paths(files))]


def check(equations, *, rules=(), threads=0, seed=0):
    """Whether equations are rules, follow from rules, can be proved, or are refuted by numbers. Needs the program `z3`.

    Args:
        equations: Lines of `LABEL | TYPES | LEFT ; … = RIGHT ; …` as one string, or a list of them. Types are written as
            in `x[2,3] c:bool[3]`, float32 where nothing is said.
        rules: Files, as of `isomer.library.rules`.

    Returns:
        An `Equation` for each line, in order.

    Raises:
        InvalidModel: A line is no equation, or has no types.
    """
    text = equations if isinstance(equations, str) else "\n".join(equations)
    with raised():
        return [Equation(*found) for found in _isomer.check_equations(text, _paths(rules), threads, seed)]


def add(equations, rules, *, seed=0):
    """Proves equations and adds them as rules to a file, which `isomer.optimize(rules=…)` then searches over. Needs the program `z3`.

    Args:
        equations: Lines of `[NAME |] [TYPES |] LEFT ; … = RIGHT ; …`, as of `check`; types are drawn where there are none.
        rules: STEM.rules, with the proofs in STEM.proofs beside it; both are made where they are not there.

    Returns:
        A pair (name, statement) for each line; the name is "" where there was such a rule.

    Raises:
        CheckFailed: Numbers refute an equation.
        InvalidModel: A line is no equation, has a name that another rule has, or is neither proved nor refuted.
    """
    text = equations if isinstance(equations, str) else "\n".join(equations)
    with raised():
        return list(_isomer.add_rules(text, os.fspath(rules), seed))
