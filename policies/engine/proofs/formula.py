"""Propositional formulas and the SAT solver that decides them. A literal is a number; its negation is the negative."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from policies.engine.proofs.verdicts import ProofUnavailable

#: Conflicts between two looks at the time; a few milliseconds of work.
_CONFLICTS_PER_LOOK = 2_000
#: New literals between two looks at the time.
_LITERALS_PER_LOOK = 32

TRUE, FALSE = 1, -1


class TimeOver(Exception):
    """The time for a proof was over before there was an answer."""


def _load_solver() -> Any:
    """Return the class of the solver, imported at its first use: most processes prove nothing."""
    try:
        from pysat.solvers import Minisat22
    except (ImportError, OSError) as error:
        raise ProofUnavailable("The solver for proofs (python-sat) cannot be loaded.") from error
    return Minisat22


class Formula:
    """Clauses over literals, with the solver that holds them. Use it as a context manager, which frees the solver.

    `is_over` is asked between steps of the search, and whether to go on: TimeOver is raised if not.
    """

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self._solver = _load_solver()()
        self._number_of_literals = 1
        self._is_over = is_over
        self._conjunctions: dict[frozenset[int], int] = {}
        self._model: Sequence[int] = ()
        self.require(TRUE)

    def __enter__(self) -> "Formula":
        return self

    def __exit__(self, *_: object) -> None:
        self._solver.delete()

    def create_literal(self) -> int:
        """Return a new literal, free until a clause says more. Raises TimeOver: a policy may name many texts."""
        self._number_of_literals += 1
        if self._number_of_literals % _LITERALS_PER_LOOK == 0 and self._is_over():
            raise TimeOver
        return self._number_of_literals

    def require(self, *literals: int) -> None:
        """Require that one of the literals is true."""
        self._solver.add_clause(literals or (FALSE,))

    def define_all(self, literals: Iterable[int]) -> int:
        """Return the literal that is true if all of these are."""
        parts = frozenset(literals) - {TRUE}
        if len(parts) <= 1:
            return next(iter(parts), TRUE)
        if FALSE in parts or any(-part in parts for part in parts):
            return FALSE
        conjunction = self._conjunctions.get(parts)
        if conjunction is None:
            conjunction = self._conjunctions[parts] = self.create_literal()
            for part in parts:
                self.require(-conjunction, part)
            self.require(conjunction, *(-part for part in parts))
        return conjunction

    def define_any(self, literals: Iterable[int]) -> int:
        """Return the literal that is true if any of these is."""
        return -self.define_all(-literal for literal in literals)

    def solve(self, assumptions: Iterable[int] = ()) -> bool:
        """Whether all clauses can be true together with the assumptions. Raises TimeOver and ProofUnavailable."""
        literals = list(assumptions)
        while True:
            if self._is_over():
                raise TimeOver
            self._solver.conf_budget(_CONFLICTS_PER_LOOK)
            try:
                answer: bool | None = self._solver.solve_limited(assumptions=literals)
            except (MemoryError, RuntimeError, SystemError) as error:
                raise ProofUnavailable("The solver for proofs (python-sat) failed.") from error
            if answer is not None:
                self._model = self._solver.get_model() if answer else ()
                return answer

    def holds(self, literal: int) -> bool:
        """Whether a literal is true in the solution that was found last. One that no clause names is false."""
        position = abs(literal) - 1
        is_true = position < len(self._model) and self._model[position] > 0
        return is_true == (literal > 0)

    def list_core(self) -> frozenset[int]:
        """Return assumptions of the last call of `solve` that cannot be true together."""
        return frozenset(self._solver.get_core() or ())
