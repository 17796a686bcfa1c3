"""Decisions: default is deny, deny wins, order does not matter.

Collect the statements that match; if one denies the answer is no; else if one allows the answer is yes; else no.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce

from policies.engine import actor_conditions
from policies.engine.alternatives import join_alternatives, limit_alternatives
from policies.engine.families import vocabulary
from policies.engine.model import (
    SYSTEM_ACTOR,
    Actor,
    Decision,
    DecisionCode,
    MissingPrivilege,
    Question,
    Statement,
)
from policies.engine.requirements import SELF, Need, Quantifier, Requirement
from policies.engine.restrictions import RoleAllow, RoleSlice, combine_allows, intersect_slices
from policies.engine.selectors import Resource, resource_tokens
from policies.engine.snapshot import Snapshot, meets_constraint
from policies.engine.way_ends import add_ends

#: The resources of each relative that a requirement names. A question without a resource has (None,) under SELF.
Relatives = Mapping[str, Sequence[Resource | None]]


_ALLOWED_CODE = DecisionCode.ALLOWED


def decide(snapshot: Snapshot, question: Question, grants: Iterable[Statement] = ()) -> Decision:
    """Decide one question from the snapshot and from the grants that were loaded for this actor and resource.

    Raises MissingFact if a facet that a candidate tests was not loaded.
    """
    actor = question.actor
    if actor.urn == SYSTEM_ACTOR:
        return Decision(is_allowed=True, code=DecisionCode.SYSTEM_ACTOR, version=snapshot.version)
    if not actor.is_active:
        code = DecisionCode.ACTOR_REMOVED if actor.is_removed else DecisionCode.ACTOR_SUSPENDED
        return Decision(is_allowed=False, code=code, version=snapshot.version)
    if actor.ends:
        return add_ends(decide(snapshot, question._replace(actor=replace(actor, ends=())), grants), question)
    matching_bits = snapshot.match(question)
    matching_grants = tuple(grant for grant in grants if matches(grant, question)) if grants else ()
    if not matching_bits and not matching_grants:
        return _get_implicit_deny(snapshot.version)
    deny_bits = snapshot.filter_denies(matching_bits)
    if deny_bits:
        return Decision(
            is_allowed=False, code=DecisionCode.EXPLICIT_DENY, version=snapshot.version, source=snapshot, bits=deny_bits
        )
    if matching_grants or not snapshot.filter_restricted(matching_bits):
        # What Decision(...) does, without the time of passing arguments: every allow runs this line.
        fields = (True, _ALLOWED_CODE, snapshot.version, None, (), snapshot, matching_bits, matching_grants, ())
        return tuple.__new__(Decision, fields)
    slices = _combine_slices(actor, snapshot.select(matching_bits))
    code = DecisionCode.NO_COLUMNS if slices == () else DecisionCode.ALLOWED
    return Decision(
        code is DecisionCode.ALLOWED, code, snapshot.version, slices or None, source=snapshot, bits=matching_bits
    )


def decide_requirement(
    snapshot: Snapshot,
    actor: Actor,
    requirement: Requirement,
    relatives: Relatives,
    subresources: tuple[Resource, ...] = (),
    grants: Iterable[Statement] = (),
) -> Decision:
    """Decide whether the actor meets one of the alternatives of a requirement.

    A refusal has in `missing` the privileges of the alternative that lacks least, in `missing_any` those of all. One
    with needs on relatives that do not exist, such as the domains of a product without domains, is named only if there
    is no other: no privilege would help with it. Raises MissingFact as `decide`.
    """
    if actor.urn == SYSTEM_ACTOR or not actor.is_active:
        return decide(snapshot, Question(actor, ""))
    own_resources = relatives.get(SELF, ())
    if requirement.sole_privilege is not None and len(own_resources) == 1:
        question = Question(actor, requirement.sole_privilege, own_resources[0], subresources)
        return decide_privilege(snapshot, question, grants)
    evaluator = _RequirementEvaluator(snapshot, actor, requirement, relatives, subresources, tuple(grants))
    refusals: list[list[Decision]] = []
    unhelpful_refusals: list[list[Decision]] = []
    for alternative in requirement.any_of:
        answers = [evaluator.answer(need) for need in alternative]
        if alternative and all(answer.is_allowed for answer in answers):
            decision = _combine_allows(snapshot, answers)
            if decision.is_allowed:
                return decision
            answers = [evaluator.refuse(need, decision) for need in alternative]
        (refusals if all(relatives[need.relative] for need in alternative) else unhelpful_refusals).append(answers)
    return _select_refusal(snapshot, refusals or unhelpful_refusals)


def decide_privilege(snapshot: Snapshot, question: Question, grants: Iterable[Statement] = ()) -> Decision:
    """Decide a requirement of one privilege on the entity itself: the same as the walk over needs and alternatives."""
    decision = decide(snapshot, question, grants)
    actor, privilege, resource, subresources = question
    if decision.is_allowed or not actor.is_active:
        return decision
    entity = None if resource is None else resource.urn or None
    missing: tuple[MissingPrivilege, ...] = (MissingPrivilege(entity, privilege),)
    if subresources:
        missing = _find_missing_subresources(snapshot, question, grants) or missing
    is_allowed, code, version, slices, _, source, bits, decision_grants, _ = decision
    # What `_replace` does, in a fifth of its time: every refusal runs this line.
    return Decision(is_allowed, code, version, slices, missing, source, bits, decision_grants, (missing,))


def _find_missing_subresources(
    snapshot: Snapshot, question: Question, grants: Iterable[Statement]
) -> tuple[MissingPrivilege, ...]:
    """Return the privilege as missing on the sub-resources that a constraint leaves out, () if it is missing anyway.

    All of them where each is allowed alone: one statement has to cover the whole question.
    """
    if not decide(snapshot, question._replace(subresources=()), grants).is_allowed:
        return ()
    refused_urns = [
        subresource.urn
        for subresource in question.subresources
        if not decide(snapshot, question._replace(subresources=(subresource,)), grants).is_allowed
    ]
    urns = refused_urns or [subresource.urn for subresource in question.subresources]
    return tuple(MissingPrivilege(urn, question.privilege) for urn in dict.fromkeys(urns))


def matches(statement: Statement, question: Question) -> bool:
    """Whether one statement matches a question; cheap tests come first."""
    actor, resource = question.actor, question.resource
    tokens = statement.actors.tokens
    return (
        question.privilege in statement.privileges
        and (
            not tokens.isdisjoint(actor.tokens)
            or not tokens.isdisjoint(resource_tokens(actor.urn, actor.holders, resource))
        )
        and not actor_conditions.is_excluded(statement, actor, resource)
        and statement.resources.covers(resource)
        and meets_constraint(statement, question.subresources)
        and actor_conditions.meets_conditions(statement, actor, resource)
    )


class _RequirementEvaluator:
    """Evaluates the needs of one requirement for one actor."""

    def __init__(
        self,
        snapshot: Snapshot,
        actor: Actor,
        requirement: Requirement,
        relatives: Relatives,
        subresources: tuple[Resource, ...],
        grants: tuple[Statement, ...],
    ) -> None:
        self.requirement = requirement
        self.snapshot = snapshot
        self.actor = actor
        self.relatives = relatives
        self.subresources = subresources
        self.grants = grants

    def answer(self, need: Need) -> Decision:
        resources = self.relatives[need.relative]
        decisions = []
        for resource in resources:
            decision = self._decide_any_privilege(need, resource)
            if need.quantifier is Quantifier.ANY and decision.is_allowed:
                return decision
            decisions.append(decision)
        if need.quantifier is Quantifier.EACH and decisions and all(decision.is_allowed for decision in decisions):
            decision = _combine_allows(self.snapshot, decisions)
            return decision if decision.is_allowed else self.refuse(need, decision)
        return self._refuse_need(need, decisions)

    def refuse(self, need: Need, refusal: Decision) -> Decision:
        """Return the refusal with the privileges of a need, on the entity itself, as missing."""
        self_urn = next((resource.urn or None for resource in self.relatives.get(SELF, ()) if resource), None)
        return _with_missing(refusal, need, self_urn)

    def _decide_any_privilege(self, need: Need, resource: Resource | None) -> Decision:
        refusal = None
        alternatives: list[tuple[MissingPrivilege, ...]] = []
        for privilege in need.privileges:
            decision = self._decide_privilege(need.relative, privilege, resource)
            if decision.is_allowed:
                return decision
            if refusal is None or decision.code is DecisionCode.EXPLICIT_DENY:
                refusal = decision
            alternatives.append(decision.missing)
        refusal = refusal or _get_implicit_deny(self.snapshot.version)
        return refusal._replace(
            missing=alternatives[0] if alternatives else (), missing_any=tuple(dict.fromkeys(alternatives))
        )

    def _decide_privilege(self, relative: str, privilege: str, resource: Resource | None) -> Decision:
        """Decide one privilege; a deny of its umbrella, or of what it is the umbrella of, refuses it too.

        The missing privilege is then the denied one: the other one is held.
        """
        question = Question(self.actor, privilege, resource, self.subresources)
        decision = decide_privilege(self.snapshot, question, self.grants)
        if not decision.is_allowed or not self.snapshot.has_denies(self.requirement.privileges):
            return decision
        for other_privilege in _find_umbrella_privileges(self.requirement, relative, privilege):
            other_decision = decide_privilege(self.snapshot, question._replace(privilege=other_privilege), self.grants)
            if other_decision.code is DecisionCode.EXPLICIT_DENY:
                return other_decision
        return decision

    def _refuse_need(self, need: Need, decisions: list[Decision]) -> Decision:
        refusals = [decision for decision in decisions if not decision.is_allowed]
        if refusals and need.quantifier is Quantifier.ANY:
            lists = limit_alternatives(alternative for decision in refusals for alternative in decision.missing_any)
            return refusals[0]._replace(missing_any=lists)
        if refusals:
            return _combine_refusals(refusals)
        return self.refuse(need, _get_implicit_deny(self.snapshot.version))


@lru_cache(maxsize=1024)
def _find_umbrella_privileges(requirement: Requirement, relative: str, privilege: str) -> tuple[str, ...]:
    """Return the privileges that a requirement names on the same relative and that are the umbrella of this one.

    Or whose umbrella this one is: callers accept the broader of two privileges in place of the narrower one, so that an
    explicit deny of either refuses both.
    """
    is_umbrella_pair = vocabulary.load_datahub().is_umbrella_pair
    names = dict.fromkeys(name for need in requirement.needs if need.relative == relative for name in need.privileges)
    return tuple(name for name in names if is_umbrella_pair(name, privilege))


@lru_cache(maxsize=16)
def _get_implicit_deny(version: int) -> Decision:
    """Return the most frequent decision, one object per version: creating it would cost as much as deciding."""
    return Decision(is_allowed=False, code=DecisionCode.IMPLICIT_DENY, version=version)


def _with_missing(refusal: Decision, need: Need, urn: str | None) -> Decision:
    missing_privileges = tuple(MissingPrivilege(urn, privilege) for privilege in need.privileges)
    return refusal._replace(
        missing=missing_privileges[:1],
        missing_any=tuple((missing_privilege,) for missing_privilege in missing_privileges),
    )


def _combine_refusals(refusals: list[Decision]) -> Decision:
    """Combine several refusals into one that lacks the privileges of all; an explicit deny takes precedence."""
    if len(refusals) == 1:
        return refusals[0]
    missing_privileges = tuple(
        dict.fromkeys(missing_privilege for decision in refusals for missing_privilege in decision.missing)
    )
    first_refusal = next((refusal for refusal in refusals if refusal.code is DecisionCode.EXPLICIT_DENY), refusals[0])
    return first_refusal._replace(
        missing=missing_privileges, missing_any=join_alternatives([refusal.missing_any for refusal in refusals])
    )


def _combine_allows(snapshot: Snapshot, decisions: list[Decision]) -> Decision:
    """Combine decisions that all have to allow: only what every restriction shows remains, and if nothing does, no."""
    if len(decisions) == 1:
        return decisions[0]
    bits = 0
    grants: dict[Statement, None] = {}
    for decision in decisions:
        bits |= decision.bits
        grants.update(dict.fromkeys(decision.grants))
    slice_lists = [decision.slices for decision in decisions if decision.slices is not None]
    slices = reduce(intersect_slices, slice_lists) if slice_lists else None
    code = DecisionCode.ALLOWED
    if slices == ():
        has_paths = any(role_slice.paths for role_slices in slice_lists for role_slice in role_slices)
        code = DecisionCode.PATH_NOT_ALLOWED if has_paths else DecisionCode.NO_COLUMNS
    return Decision(
        is_allowed=code is DecisionCode.ALLOWED,
        code=code,
        version=snapshot.version,
        slices=slices or None,
        source=snapshot,
        bits=bits,
        grants=tuple(grants),
    )


def _select_refusal(snapshot: Snapshot, refusals: list[list[Decision]]) -> Decision:
    combined_refusals = []
    for answers in refusals:
        refused_answers = [answer for answer in answers if not answer.is_allowed]
        if refused_answers:
            combined_refusals.append(_combine_refusals(refused_answers))
    if not combined_refusals:
        return _get_implicit_deny(snapshot.version)
    shortest_refusal = min(combined_refusals, key=lambda decision: len(decision.missing))
    if len(combined_refusals) == 1:
        return shortest_refusal
    return shortest_refusal._replace(
        missing_any=limit_alternatives(
            alternative for decision in combined_refusals for alternative in decision.missing_any
        )
    )


def _combine_slices(actor: Actor, allows: tuple[Statement, ...]) -> tuple[RoleSlice, ...] | None:
    """Combine the restrictions of all matching allows, each under the roles through which the actor has it."""
    role_allows: list[RoleAllow] = []
    for statement in allows:
        roles = sorted(statement.actors.tokens & actor.roles) or [""]
        role_allows.extend(RoleAllow(role, statement.restriction) for role in roles)
    return combine_allows(role_allows)
