"""Near misses of a refusal: the statements that came closest to allowing it, and what each of them lacked."""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from policies.engine.actor_conditions import attributes_of, failing_conditions, is_excluded
from policies.engine.explain import NameOf, Reason, explain_match, join_names, word_actor_clause, word_criterion
from policies.engine.model import Actor, Effect, MissingPrivilege, Question, Statement
from policies.engine.openings import Opening, rank_by_opening
from policies.engine.selectors import (
    BRANCH,
    IN_ANY_GROUP,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    Criterion,
    Resource,
    resource_tokens,
)
from policies.engine.snapshot import Snapshot, meets_constraint
from policies.engine.wording import get_field_words, join_clauses, name_resource, word_property_condition, word_time

#: Remedy of a condition that only a change of the policy can make hold.
_CHANGE_OF_POLICY = MissingPrivilege(None, "MANAGE_POLICIES")

#: Prefix of the URNs of groups and roles → phrase for those that a statement names, to follow "is not".
_AUDIENCE_PHRASES = (
    ("urn:li:corpGroup:", "in group {}"),
    ("urn:li:dataHubRole:", "a holder of the role {}"),
)
_USER_PREFIX = "urn:li:corpuser:"

#: The actor clause of what only the resource itself may do.
_ONLY_ONESELF = frozenset((ONESELF,))


class ConditionPart(StrEnum):
    """The part of a statement to which a condition belongs."""

    ACTOR = "actor"
    RESOURCE = "resource"
    SUBRESOURCE = "subresource"
    BRANCH = "branch"
    PROPERTY = "property"
    EFFECT = "effect"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """One condition that did not hold, and the privilege that allows changing that.

    `remedy_actors` are the (URN, name) of the actors who could, if that is known.
    """

    part: ConditionPart
    sentence: str
    remedy: MissingPrivilege
    remedy_actors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NearMatch(Reason):
    """A statement that nearly matched: its conditions that held, as a sentence, and those that failed.

    `opening` is what would be open beside the question if these held; None if that is not known.
    """

    failed_conditions: tuple[FailedCondition, ...]
    opening: Opening | None = None


@dataclass(frozen=True, slots=True)
class OtherTime:
    """When a policy ended or begins (`urn` is empty), or when the actor was or will be in a group or hold a role."""

    urn: str
    instant: datetime
    is_past: bool

    def to_condition(self, actor: Actor, name_of: NameOf) -> FailedCondition:
        """Return the time as a condition that fails now, worded."""
        if not self.urn:
            text = f"It {'ended' if self.is_past else 'begins'} on {word_time(self.instant)}."
            return FailedCondition(ConditionPart.TIME, text, _CHANGE_OF_POLICY)
        is_group = self.urn.startswith("urn:li:corpGroup:")
        was, will = ("was in group", "will be in group") if is_group else ("had the role", "will have the role")
        limit = f"{'until' if self.is_past else 'from'} {word_time(self.instant)}"
        clause = f"{name_of(actor.urn)} {was if self.is_past else will} {name_of(self.urn)} {limit}"
        remedy = MissingPrivilege(None, "MANAGE_USERS_AND_GROUPS") if is_group else _CHANGE_OF_POLICY
        return FailedCondition(ConditionPart.TIME, join_clauses([clause]), remedy)


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An allow that nearly matched, or a deny that did (no failing condition), not yet worded.

    `times` are when what does not count now did, or will: the statement itself, or a way to its actors. `opening` is
    how much more than the question it would open.
    """

    statement: Statement
    question: Question
    missing_count: int
    is_last_resort: bool = False
    times: tuple[OtherTime, ...] = ()
    opening: Opening | None = None

    def to_near_match(self, name_of: NameOf) -> NearMatch:
        """Return the conditions that held and those that failed, worded."""
        origin = self.statement.origin
        return NearMatch(
            policy=origin.policy,
            name=origin.name,
            statement=origin.index,
            effect=self.statement.effect.value,
            explanation=explain_match(self.statement, self.question, name_of),
            failed_conditions=(
                *(other_time.to_condition(self.question.actor, name_of) for other_time in self.times),
                *_iterate_failed_conditions(self.statement, self.question, name_of),
            ),
            opening=self.opening,
        )


def list_near_misses(
    snapshot: Snapshot, question: Question, limit: int = 3, administrators: frozenset[str] = frozenset()
) -> tuple[NearMiss, ...]:
    """Return the allows on the privilege that nearly matched, at most `limit`.

    Fewest failing conditions first, then those that open least (`rank_by_opening`). Statements that name only
    `administrators` (tokens), none of them the actor's, come last: nobody should be made an administrator for this.
    Statements for the resource itself are no suggestion: nobody can become it.
    """
    ordinary_misses: list[NearMiss] = []
    last_resorts: list[NearMiss] = []
    for missing_count, statements in enumerate(snapshot.group_by_shortfall(question)):
        candidates: dict[bool, list[Statement]] = {False: [], True: []}
        for statement in statements if missing_count else ():
            if _is_out_of_reach(statement, question):
                continue
            candidates[_is_for_administrators(statement, question.actor, administrators)].append(statement)
        for misses, is_last_resort in ((ordinary_misses, False), (last_resorts, True)):
            nearest = heapq.nsmallest(limit - len(misses), candidates[is_last_resort], key=_relevance_sort_key)
            misses += (NearMiss(statement, question, missing_count, is_last_resort) for statement in nearest)
    return tuple([*ordinary_misses, *last_resorts][:limit])


def list_timed_misses(
    snapshot: Snapshot, question: Question, times: Mapping[str, OtherTime], limit: int = 3
) -> tuple[NearMiss, ...]:
    """Return the allows of a snapshot of policies that do not count now that nearly match, at most `limit`.

    `times` is policy URN → when it counts. That is one more condition that fails.
    """
    misses = (
        NearMiss(statement, question, failing_count + 1, times=(times[statement.origin.policy],))
        for failing_count, statements in enumerate(snapshot.group_by_shortfall(question))
        for statement in sorted(statements, key=_relevance_sort_key)
        if statement.origin.policy in times and not _is_out_of_reach(statement, question)
    )
    return tuple(islice(misses, limit))


def _is_for_administrators(statement: Statement, actor: Actor, administrators: frozenset[str]) -> bool:
    tokens = statement.actors.tokens
    return bool(tokens) and tokens <= administrators and tokens.isdisjoint(actor.tokens)


def _is_out_of_reach(statement: Statement, question: Question) -> bool:
    """Whether only the resource itself is meant, which the actor is not."""
    resource = question.resource
    return statement.actors.tokens == _ONLY_ONESELF and (resource is None or resource.urn != question.actor.urn)


def _relevance_sort_key(statement: Statement) -> tuple[tuple[int, int, int], str, int]:
    return rank_by_opening(statement), statement.origin.policy, statement.origin.index


def _iterate_failed_conditions(statement: Statement, question: Question, name_of: NameOf) -> Iterable[FailedCondition]:
    """Yield the conditions that do not hold, in the order of a policy document."""
    actor, resource = question.actor, question.resource
    yield from _iterate_failed_actor_conditions(statement, actor, resource, name_of)
    if resource is not None:
        for criterion in statement.resources.criteria:
            if not criterion.holds(resource.values(criterion.field)):
                text = join_clauses([word_criterion(criterion, resource, name_of, is_met=False)])
                part = ConditionPart.BRANCH if criterion.field == BRANCH else ConditionPart.RESOURCE
                yield FailedCondition(part, text, _criterion_remedy(criterion, resource))
    elif statement.resources.needs_resource:
        text = "It is about certain resources, and the question names none."
        yield FailedCondition(ConditionPart.RESOURCE, text, _CHANGE_OF_POLICY)
    if not meets_constraint(statement, question.subresources):
        text = "It does not allow every tag that the question touches."
        yield FailedCondition(ConditionPart.SUBRESOURCE, text, _CHANGE_OF_POLICY)
    known_attributes = attributes_of(actor).keys()
    for condition in failing_conditions(statement, actor, resource):
        text = word_property_condition(
            condition,
            actor_name=name_of(actor.urn),
            resource_name=name_resource(resource),
            is_met=False,
            known_attributes=known_attributes,
        )
        yield FailedCondition(ConditionPart.PROPERTY, join_clauses([text]), _CHANGE_OF_POLICY)
    if statement.effect is Effect.DENY:
        text = "It denies this, and a deny wins over every allow."
        yield FailedCondition(ConditionPart.EFFECT, text, _CHANGE_OF_POLICY)


def _iterate_failed_actor_conditions(
    statement: Statement, actor: Actor, resource: Resource | None, name_of: NameOf
) -> Iterable[FailedCondition]:
    """Yield what in the actor clause keeps the statement from the actor: it does not name, or excludes, the actor."""
    if statement.actors.tokens.isdisjoint(actor.tokens | resource_tokens(actor.urn, actor.holders, resource)):
        text = join_clauses([_word_audience(statement, actor, name_of)])
        yield FailedCondition(ConditionPart.ACTOR, text, _actor_remedy(statement, resource))
    if is_excluded(statement, actor, resource):
        clause = word_actor_clause(statement.actors.excluded_tokens, actor, resource, name_of)
        text = join_clauses([f"{name_of(actor.urn)} is excepted from it: {clause}"])
        yield FailedCondition(ConditionPart.ACTOR, text, _CHANGE_OF_POLICY)


def _word_audience(statement: Statement, actor: Actor, name_of: NameOf) -> str:
    """Return that the statement is not for the actor, by what the actor can become: nobody becomes another user."""
    tokens = statement.actors.tokens
    parts = [
        phrase.format(join_names(matching_tokens, name_of))
        for prefix, phrase in _AUDIENCE_PHRASES
        if (matching_tokens := [token for token in tokens if token.startswith(prefix)])
    ]
    type_prefix = f"{OWNER_OF_ANY_TYPE}:"
    if OWNER_OF_ANY_TYPE in tokens:
        parts.append("an owner of the resource")
    elif types := [token.removeprefix(type_prefix) for token in tokens if token.startswith(type_prefix)]:
        parts.append(f"an owner of the resource as {join_names(types, name_of)}")
    if IN_ANY_GROUP in tokens:
        parts.append("in any group")
    if parts:
        return f"{name_of(actor.urn)} is not {', nor '.join(parts)}"
    users = [token for token in tokens if token.startswith(_USER_PREFIX)]
    return f"{name_of(actor.urn)} is not named: it is for {join_names(users, name_of) if users else 'nobody'}"


def _actor_remedy(statement: Statement, resource: Resource | None) -> MissingPrivilege:
    tokens = statement.actors.tokens
    if any(token.startswith(("urn:li:corpGroup:", IN_ANY_GROUP)) for token in tokens):
        return MissingPrivilege(None, "MANAGE_USERS_AND_GROUPS")
    if resource is not None and resource.urn and any(token.startswith(OWNER_OF_ANY_TYPE) for token in tokens):
        return MissingPrivilege(resource.urn, "EDIT_ENTITY_OWNERS")
    return _CHANGE_OF_POLICY


def _criterion_remedy(criterion: Criterion, resource: Resource) -> MissingPrivilege:
    privilege = get_field_words(criterion.field).remedy
    return MissingPrivilege(resource.urn, privilege) if privilege and resource.urn else _CHANGE_OF_POLICY
