"""The search for a question: solutions of the solver are put to `decide`, which names the statements to look at next.

Statements are translated only when they matched a solution that should have none of them, so a search touches the few
policies that have to do with what it looks for. Without solutions the statements in the way are the reason.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat

from policies.engine.model import Effect, Question, Statement
from policies.engine.proofs.formula import Formula, TimeOver
from policies.engine.proofs.people import People
from policies.engine.proofs.verdicts import Proof, ProofContradiction, Verdict
from policies.engine.proofs.world_terms import WorldTerms

#: Most statements that one solution adds to those in the way: others that matter match the next solution, too.
_MAX_ADDED = 16
#: Most solutions that are tried for each wish of an example.
_MAX_WISHES = 4
#: Most sub-resources of a question. Where a proof would need more of them, it is unknown.
MAX_SUBRESOURCES = 6
#: Longest list of reasons that is searched for unneeded ones.
_MAX_SHORTENED = 24

#: Allows that may be needed are tried in groups of these sizes, the last size again and again: mostly one of the first
#: few is enough.
_GROUP_SIZES = (16, 128, 1024)

#: Names the statements that a question must not match; none: it is what was looked for.
Judge = Callable[[Question], Sequence[Statement]]


@dataclass(frozen=True, slots=True)
class QuestionSearch:
    """A search for a question that matches one of the statements of each list and is accepted by the judge.

    `fields` are all that the judge may test. `has_constraints`: whether sub-resources matter.
    `is_over` says when to give up. With `people` the actor is one of them. `obstacles` are the statements in the way,
    found so far.
    """

    lists: tuple[tuple[Statement, ...], ...]
    privileges: frozenset[str]
    fields: frozenset[str]
    judge: Judge
    is_over: Callable[[], bool]
    has_constraints: bool = False
    people: People | None = None
    obstacles: dict[Statement, None] = field(default_factory=dict)

    def run(self) -> Proof:
        """Return yes with the question, no with the statements in the way, or unknown. Raises ProofUnavailable."""
        number_of_subresources = 1 if self.has_constraints else 0
        try:
            while True:
                proof = self._run_with(number_of_subresources)
                needed_number = self._count_needed_subresources()
                if proof.verdict is Verdict.YES or needed_number <= number_of_subresources:
                    return proof
                if needed_number > MAX_SUBRESOURCES:
                    return Proof(Verdict.UNKNOWN)
                number_of_subresources = needed_number
        except TimeOver:
            return Proof(Verdict.UNKNOWN)

    def _run_with(self, number_of_subresources: int) -> Proof:
        with Formula(self.is_over) as formula:
            world = WorldTerms(formula, self.privileges, self.fields, number_of_subresources, self.people)
            for statements in self.lists:
                formula.require(*(world.applies(statement) for statement in statements))
            literals = {world.applies(statement): statement for statement in self.obstacles}
            while formula.solve(-literal for literal in literals):
                question = world.find_question()
                if question is None:
                    continue
                new_obstacles = self.judge(question)[:_MAX_ADDED]
                if not new_obstacles:
                    return Proof(Verdict.YES, self._find_believable(formula, world, literals, question))
                if not self.obstacles.keys().isdisjoint(new_obstacles):
                    raise ProofContradiction(question, "A statement matches that the solver excluded:")
                self.obstacles.update(dict.fromkeys(new_obstacles))
                literals |= {world.applies(statement): statement for statement in new_obstacles}
            reasons = _shorten_core(formula, formula.list_core())
            return Proof(Verdict.NO, because_of=tuple(literals[-literal] for literal in reasons))

    def _find_believable(
        self, formula: Formula, world: WorldTerms, literals: Iterable[int], question: Question
    ) -> Question:
        """Return a question that is as good and more like those that people ask, else this one."""
        excluded = [-literal for literal in literals]
        try:
            for wishes in world.list_wishes(question):
                for _ in range(_MAX_WISHES):
                    if not formula.solve([*excluded, *wishes]):
                        break
                    other_question = world.find_question()
                    if other_question is None:
                        continue
                    new_obstacles = self.judge(other_question)[:_MAX_ADDED]
                    if not new_obstacles:
                        return other_question
                    excluded += [-world.applies(statement) for statement in new_obstacles]
        except TimeOver:
            return question
        return question

    def _count_needed_subresources(self) -> int:
        """Return how many sub-resources a question needs at most: one to fail each constraint in the way, one to pass.

        Every other sub-resource can be left out, and all that holds of the question still does.
        """
        constraints = {
            statement.subresources
            for statement in self.obstacles
            if statement.effect is Effect.ALLOW and statement.subresources is not None
        }
        is_needed_to_pass = any(statement.needs_subresource for statements in self.lists for statement in statements)
        return len(constraints) + is_needed_to_pass


def group_allows(allows: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """Yield allows of which one may be needed in groups, the first ones small."""
    start = 0
    for size in chain(_GROUP_SIZES, repeat(_GROUP_SIZES[-1])):
        if start >= len(allows):
            return
        yield allows[start : start + size]
        start += size


def _shorten_core(formula: Formula, core: Iterable[int]) -> list[int]:
    """Return reasons none of which can be left out, if they are few enough to try."""
    reasons = sorted(core, key=abs)
    if len(reasons) > _MAX_SHORTENED:
        return reasons
    for reason in reasons.copy():
        others = [other for other in reasons if other != reason]
        if not formula.solve(others):
            reasons = [other for other in others if other in formula.list_core()]
    return reasons
