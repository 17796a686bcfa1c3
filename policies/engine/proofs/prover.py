"""The proofs that callers ask for. Each works for at most the seconds of its limit and is unknown after that.

All are about questions of one privilege, by active actors other than the system. Every example has been put to
`decide` before it is returned. Raises ProofUnavailable without a solver, and ProofContradiction if solver and `decide`
disagree.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic, thread_time

from policies.engine.evaluate import decide
from policies.engine.model import DecisionCode, Effect, Question, Statement, StatementOrigin
from policies.engine.proofs import only_this
from policies.engine.proofs.known_states import KnownState
from policies.engine.proofs.only_this import Allowance
from policies.engine.proofs.people import People
from policies.engine.proofs.search import Judge, QuestionSearch, group_allows
from policies.engine.proofs.verdicts import Proof, ProofContradiction, Verdict
from policies.engine.selectors import EVERYTHING, ActorMatch, Selector
from policies.engine.snapshot import Snapshot

#: The time limit unless one is given.
DEFAULT_SECONDS = 2.0

#: A proof is given up after this many times its limit on the clock, however little of the processor it got.
CLOCK_FACTOR = 5


@dataclass(frozen=True, slots=True)
class AccessScope:
    """The limits of a proof: these actors, any of these privileges, on the entities that the selector covers.

    With `people` only these, with the groups and roles that they have; else everybody there could be.
    """

    actors: ActorMatch
    privileges: frozenset[str]
    resources: Selector = EVERYTHING
    people: People | None = None

    @property
    def statement(self) -> Statement:
        """The scope as a statement, so that it means the same as in a policy."""
        return Statement(StatementOrigin("", ""), Effect.ALLOW, self.actors, self.privileges, self.resources)


def allows_more(
    before: Snapshot, after: Snapshot, *, within: AccessScope | None = None, seconds: float = DEFAULT_SECONDS
) -> Proof:
    """Prove whether `after` allows somebody something, within the scope if there is one, that `before` does not.

    The example of a yes is allowed by `after` alone; `because_of` of a no are statements of `before` that allow it,
    too, or of `after` that deny it. Rows, columns and paths are not compared: if the change touches privileges on which
    reading is restricted, and nobody gains access at all, the answer is unknown.
    """
    removed_statements, added_statements = before.find_differences(after)
    added_allows = tuple(statement for statement in added_statements if statement.effect is Effect.ALLOW)
    removed_denies = tuple(statement for statement in removed_statements if statement.effect is Effect.DENY)
    search = _AccessSearch(before, after, within, _limit_time(seconds))
    proof = search.find_gain(added_allows)
    if proof.verdict is Verdict.NO and removed_denies:
        proof = _join_proofs([proof, search.find_undenied(removed_denies)])
    changed_privileges = _collect_privileges((*removed_statements, *added_statements))
    if proof.verdict is Verdict.NO and any(
        snapshot.has_restrictions(changed_privileges) for snapshot in (before, after)
    ):
        return Proof(Verdict.UNKNOWN)
    return proof


def gives_only_this(
    before: KnownState,
    after: KnownState,
    *,
    actor: str,
    privileges: Iterable[str],
    entity: str | None,
    seconds: float = DEFAULT_SECONDS,
) -> Proof:
    """Prove whether a change gives this actor these privileges on this entity at most, and nobody anything else.

    Implied privileges are given with them; an entity of None is the platform. Asked are the people of both
    states, who have to be the same people, about everything that a catalog could hold; what is known of accounts and
    owners counts. The example of a no is allowed after the change, and refused before it (`earlier`). Rows, columns and
    paths are not compared: where more of these may be seen of something else, the answer is unknown.
    """
    places = {entity: frozenset(privileges)}
    return gives_only_these(before, after, actor=actor, places=places, seconds=seconds)


def gives_only_these(
    before: KnownState,
    after: KnownState,
    *,
    actor: str,
    places: Mapping[str | None, Collection[str]],
    seconds: float = DEFAULT_SECONDS,
) -> Proof:
    """Prove `gives_only_this` of several entities (None: the platform), each with its privileges."""
    return _negate(only_this.find_more(before, after, Allowance(actor, places), _limit_time(seconds)))


def are_equivalent(snapshot: Snapshot, other: Snapshot, *, seconds: float = DEFAULT_SECONDS) -> Proof:
    """Prove whether two snapshots allow the same; the example of a no is allowed by one of them."""
    proofs = [allows_more(*pair, seconds=seconds) for pair in ((snapshot, other), (other, snapshot))]
    example = next((proof.question for proof in proofs if proof.verdict is Verdict.YES), None)
    if example is not None:
        return Proof(Verdict.NO, example)
    is_unknown = any(proof.verdict is Verdict.UNKNOWN for proof in proofs)
    return Proof(Verdict.UNKNOWN if is_unknown else Verdict.YES)


def is_redundant(statement: Statement, because_of: Snapshot, *, seconds: float = DEFAULT_SECONDS) -> Proof:
    """Prove whether a statement changes nothing beside the other statements of a snapshot.

    An allow is redundant where others allow or deny all that it allows, a deny where others deny all that it denies.
    `because_of` of a yes are these others; the example of a no is what only this statement decides.
    """

    def judge(question: Question) -> Sequence[Statement]:
        others = [other for other in _list_matching(because_of, question) if other.origin != statement.origin]
        denies = [other for other in others if other.effect is Effect.DENY]
        return denies or ([] if statement.effect is Effect.DENY else others)

    constrains = statement.subresources is not None or because_of.has_constraints(statement.privileges)
    proof = QuestionSearch(
        ((statement,),),
        statement.privileges,
        because_of.all_tested_fields,
        judge,
        _limit_time(seconds),
        has_constraints=constrains,
    ).run()
    if proof.verdict is Verdict.NO and because_of.has_restrictions(statement.privileges):
        return Proof(Verdict.UNKNOWN)
    return _negate(proof)


def matches_nothing(statement: Statement, *, seconds: float = DEFAULT_SECONDS) -> Proof:
    """Prove whether a statement matches no question at all; the example of a no is one that it matches."""
    snapshot = Snapshot.build(0, ((statement.origin.policy, (statement,)),))
    return is_redundant(statement, snapshot, seconds=seconds)


def find_access(
    snapshot: Snapshot,
    scope: AccessScope,
    *,
    through: Iterable[Statement] | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> Proof:
    """Prove whether anybody of the scope may use one of its privileges on something that it covers.

    `through` limits the allows that are looked at (None: all). `because_of` of a no are denies in the way.
    """
    allows = snapshot.list_allows(scope.privileges) if through is None else tuple(through)
    return _AccessSearch(snapshot, snapshot, scope, _limit_time(seconds)).find_access(allows)


@dataclass(frozen=True, slots=True)
class _AccessSearch:
    """The search for access that `after` gives, or that it gives and `before` does not."""

    before: Snapshot
    after: Snapshot
    scope: AccessScope | None
    is_over: Callable[[], bool]

    def find_gain(self, added_allows: tuple[Statement, ...]) -> Proof:
        """Prove whether one of these allows of `after` gives what `before` refuses."""
        return self._find([added_allows], self._judge_gain) if added_allows else Proof(Verdict.NO)

    def find_undenied(self, removed_denies: tuple[Statement, ...]) -> Proof:
        """Prove whether `after` allows what one of these denies of `before` refuses."""
        proof = self._find([removed_denies], self._judge_deny)
        if proof.question is None or decide(self.after, proof.question).is_allowed:
            return proof
        allows = self.after.list_allows(_collect_privileges(removed_denies))
        return self._find_among(allows, [removed_denies])

    def find_access(self, allows: tuple[Statement, ...]) -> Proof:
        """Prove whether one of these allows of `after` gives access within the scope."""
        denied_proof = self._find([], self._judge_deny, has_constraints=False)
        if denied_proof.verdict is not Verdict.YES:
            return denied_proof
        return self._find_among(allows, [], has_constraints=False)

    def _find_among(
        self, allows: tuple[Statement, ...], lists: list[tuple[Statement, ...]], *, has_constraints: bool | None = None
    ) -> Proof:
        """Prove whether one of these allows gives access to what statements of each list match."""
        proofs = []
        for group in group_allows(allows):
            proofs.append(self._find([*lists, group], self._judge_access, has_constraints=has_constraints))
            if proofs[-1].verdict is not Verdict.NO:
                break
        return _join_proofs(proofs)

    def _find(self, lists: list[tuple[Statement, ...]], judge: Judge, *, has_constraints: bool | None = None) -> Proof:
        if self.scope is not None:
            lists = [*lists, (self.scope.statement,)]
        privileges = frozenset.intersection(*map(_collect_privileges, lists))
        if has_constraints is None:
            has_constraints = any(snapshot.has_constraints(privileges) for snapshot in (self.before, self.after))
        fields = self.before.all_tested_fields | self.after.all_tested_fields
        return QuestionSearch(
            tuple(lists),
            privileges,
            fields,
            judge,
            self.is_over,
            has_constraints=has_constraints,
            people=None if self.scope is None else self.scope.people,
        ).run()

    # -- judges -----------------------------------------------------------------------------------------------------

    def _judge_deny(self, question: Question) -> Sequence[Statement]:
        """Return the denies of `after` that match a question."""
        return [statement for statement in _list_matching(self.after, question) if statement.effect is Effect.DENY]

    def _judge_access(self, question: Question) -> Sequence[Statement]:
        """Return why `after` refuses a question: denies, or allows that show nothing. Nothing if it allows."""
        decision = decide(self.after, question)
        if decision.code is DecisionCode.IMPLICIT_DENY:
            raise ProofContradiction(question, "The solver says that something allows, and nothing does:")
        return () if decision.is_allowed else decision.statements

    def _judge_gain(self, question: Question) -> Sequence[Statement]:
        """Return why `after` refuses a question, or why `before` allows it."""
        obstacles = self._judge_access(question)
        if obstacles:
            return obstacles
        decision = decide(self.before, question)
        return decision.statements if decision.is_allowed else ()


def _list_matching(snapshot: Snapshot, question: Question) -> tuple[Statement, ...]:
    return snapshot.select(snapshot.match(question))


def _collect_privileges(statements: Iterable[Statement]) -> frozenset[str]:
    return frozenset[str]().union(*(statement.privileges for statement in statements))


def _join_proofs(proofs: Sequence[Proof]) -> Proof:
    """Return the last proof, which decides; of several noes, one with the reasons of all."""
    if any(proof.verdict is not Verdict.NO for proof in proofs):
        return proofs[-1]
    return Proof(Verdict.NO, because_of=tuple(dict.fromkeys(reason for proof in proofs for reason in proof.because_of)))


def _negate(proof: Proof) -> Proof:
    opposites = {Verdict.YES: Verdict.NO, Verdict.NO: Verdict.YES, Verdict.UNKNOWN: Verdict.UNKNOWN}
    return replace(proof, verdict=opposites[proof.verdict])


def _limit_time(seconds: float) -> Callable[[], bool]:
    """Return the test whether this thread has worked for so many seconds, or the clock went on for several times that.

    Time of other programs is left out, so that a proof ends the same way on a busy machine.
    """
    work_end, clock_end = thread_time() + seconds, monotonic() + seconds * CLOCK_FACTOR
    return lambda: thread_time() > work_end or monotonic() > clock_end
