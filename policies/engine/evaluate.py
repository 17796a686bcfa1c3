"""The decision: default is deny, deny wins, order does not matter.

Collect the statements that match; if one denies the answer is no; else if one allows the answer is yes; else no.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from policies.engine import actor_conditions
from policies.engine.alternatives import join_alternatives, limit_alternatives
from policies.engine.model import (
    SYSTEM_ACTOR,
    Actor,
    Code,
    Decision,
    Missing,
    Question,
    Statement,
)
from policies.engine.requirements import SELF, Need, Quantifier, Requirement
from policies.engine.restrictions import RoleAllow, Slice, combine
from policies.engine.selectors import Resource, resource_tokens
from policies.engine.snapshot import Snapshot, constraint_holds

#: The resources of each relative a requirement names. A question without a resource has (None,) under SELF.
Relatives = Mapping[str, Sequence[Resource | None]]


_ALLOWED = Code.ALLOWED


def decide(snapshot: Snapshot, question: Question, grants: Iterable[Statement] = ()) -> Decision:
    """Answer one question from the snapshot and from the grants that were loaded for this actor and resource.

    Raises MissingFact when a facet that a candidate tests was not loaded.
    """
    actor = question.actor
    if actor.urn == SYSTEM_ACTOR:
        return Decision(is_allowed=True, code=Code.SYSTEM_ACTOR, version=snapshot.version)
    if not actor.is_active:
        return Decision(is_allowed=False, code=Code.ACTOR_SUSPENDED, version=snapshot.version)
    matched = snapshot.matching(question)
    granted = tuple(grant for grant in grants if matches(grant, question)) if grants else ()
    if not matched and not granted:
        return _nobody_allows(snapshot.version)
    denies = snapshot.denying(matched)
    if denies:
        return Decision(
            is_allowed=False, code=Code.EXPLICIT_DENY, version=snapshot.version, source=snapshot, bits=denies
        )
    if granted or not snapshot.restricting(matched):
        return Decision(True, _ALLOWED, snapshot.version, None, (), snapshot, matched, granted)  # noqa: FBT003 - by place, because this is the line that every allow pays for
    slices = _slices(actor, snapshot.select(matched))
    code = Code.NO_COLUMNS if slices == () else Code.ALLOWED
    return Decision(code is Code.ALLOWED, code, snapshot.version, slices or None, source=snapshot, bits=matched)


def decide_requirement(
    snapshot: Snapshot,
    actor: Actor,
    requirement: Requirement,
    relatives: Relatives,
    subresources: tuple[Resource, ...] = (),
    grants: Iterable[Statement] = (),
) -> Decision:
    """Answer whether the actor meets one of the alternatives of a requirement.

    A refusal names what is missing: of several alternatives, those of the one that lacks least, and beside them those
    of every alternative. One that asks for something on relatives that are not there, such as the domains of a product
    that is in none, is named only when there is no other: no privilege would help with it.
    """
    if actor.urn == SYSTEM_ACTOR or not actor.is_active:
        return decide(snapshot, Question(actor, ""))
    asker = _Asker(snapshot, actor, relatives, subresources, tuple(grants))
    refusals: list[list[Decision]] = []
    unhelpful: list[list[Decision]] = []
    for alternative in requirement.any_of:
        answers = [asker.answer(need) for need in alternative]
        if alternative and all(answer.is_allowed for answer in answers):
            return _together(snapshot, answers)
        (refusals if all(relatives[need.on] for need in alternative) else unhelpful).append(answers)
    return _refused(snapshot, refusals or unhelpful)


def matches(statement: Statement, question: Question) -> bool:
    """Whether one statement speaks to a question: its parts in the order of what they cost."""
    actor, resource = question.actor, question.resource
    tokens = statement.actors.tokens
    return (
        question.privilege in statement.privileges
        and (
            not tokens.isdisjoint(actor.tokens)
            or not tokens.isdisjoint(resource_tokens(actor.urn, actor.holders, resource))
        )
        and statement.resources.covers(resource)
        and constraint_holds(statement, question.subresources)
        and actor_conditions.hold(statement, actor, resource)
    )


class _Asker:
    """Asks the needs of one requirement; keeps what they have in common."""

    def __init__(
        self,
        snapshot: Snapshot,
        actor: Actor,
        relatives: Relatives,
        subresources: tuple[Resource, ...],
        grants: tuple[Statement, ...],
    ) -> None:
        self.snapshot = snapshot
        self.actor = actor
        self.relatives = relatives
        self.subresources = subresources
        self.grants = grants

    def answer(self, need: Need) -> Decision:
        resources = self.relatives[need.on]
        decisions = []
        for resource in resources:
            decision = self._any_privilege(need, resource)
            if need.quantifier is Quantifier.ANY and decision.is_allowed:
                return decision
            decisions.append(decision)
        if need.quantifier is Quantifier.EACH and decisions and all(one.is_allowed for one in decisions):
            return _together(self.snapshot, decisions)
        return self._lacking(need, decisions)

    def _any_privilege(self, need: Need, resource: Resource | None) -> Decision:
        refused = None
        for privilege in need.privileges:
            question = Question(self.actor, privilege, resource, self.subresources)
            decision = decide(self.snapshot, question, self.grants)
            if decision.is_allowed:
                return decision
            if refused is None or decision.code is Code.EXPLICIT_DENY:
                refused = decision
        refused = refused or Decision(is_allowed=False, code=Code.IMPLICIT_DENY, version=self.snapshot.version)
        return _with_missing(refused, need, resource.urn or None if resource else None)

    def _lacking(self, need: Need, decisions: list[Decision]) -> Decision:
        refused = [decision for decision in decisions if not decision.is_allowed]
        if refused and need.quantifier is Quantifier.ANY:
            lists = limit_alternatives(one for decision in refused for one in decision.missing_any)
            return refused[0]._replace(missing_any=lists)
        if refused:
            return _lacking_all(refused)
        self_urn = next((resource.urn or None for resource in self.relatives.get(SELF, ()) if resource), None)
        refusal = Decision(is_allowed=False, code=Code.IMPLICIT_DENY, version=self.snapshot.version)
        return _with_missing(refusal, need, self_urn)


@lru_cache(maxsize=16)
def _nobody_allows(version: int) -> Decision:
    """Return the commonest answer, one object a version: making it would cost as much as finding it."""
    return Decision(is_allowed=False, code=Code.IMPLICIT_DENY, version=version)


def _with_missing(refused: Decision, need: Need, urn: str | None) -> Decision:
    lacking = tuple(Missing(urn, privilege) for privilege in need.privileges)
    return refused._replace(missing=lacking[:1], missing_any=tuple((one,) for one in lacking))


def _lacking_all(refused: list[Decision]) -> Decision:
    """Return the refusal of several together, with what is missing for any of them; a deny is told first."""
    if len(refused) == 1:
        return refused[0]
    missing = tuple(dict.fromkeys(lack for decision in refused for lack in decision.missing))
    first = next((one for one in refused if one.code is Code.EXPLICIT_DENY), refused[0])
    return first._replace(missing=missing, missing_any=join_alternatives([one.missing_any for one in refused]))


def _together(snapshot: Snapshot, answers: list[Decision]) -> Decision:
    if len(answers) == 1:
        return answers[0]
    bits = 0
    granted: dict[Statement, None] = {}
    for answer in answers:
        bits |= answer.bits
        granted.update(dict.fromkeys(answer.granted))
    slices = next((answer.slices for answer in answers if answer.slices is not None), None)
    return Decision(
        is_allowed=True,
        code=Code.ALLOWED,
        version=snapshot.version,
        slices=slices,
        source=snapshot,
        bits=bits,
        granted=tuple(granted),
    )


def _refused(snapshot: Snapshot, refusals: list[list[Decision]]) -> Decision:
    lists = []
    for answers in refusals:
        refused = [answer for answer in answers if not answer.is_allowed]
        if refused:
            lists.append(_lacking_all(refused))
    if not lists:
        return Decision(is_allowed=False, code=Code.IMPLICIT_DENY, version=snapshot.version)
    shortest = min(lists, key=lambda decision: len(decision.missing))
    if len(lists) == 1:
        return shortest
    return shortest._replace(missing_any=limit_alternatives(one for decision in lists for one in decision.missing_any))


def _slices(actor: Actor, allows: tuple[Statement, ...]) -> tuple[Slice, ...] | None:
    """Combine the restrictions of all matching allows, each under the roles through which the actor holds it."""
    pairs: list[RoleAllow] = []
    for statement in allows:
        roles = sorted(statement.actors.tokens & actor.roles) or [""]
        pairs.extend(RoleAllow(role, statement.restriction) for role in roles)
    return combine(pairs)
