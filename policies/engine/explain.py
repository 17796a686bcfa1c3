"""Wording of decisions: one sentence for each deciding statement, and the near misses of a refusal."""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice

from policies.engine.actor_conditions import attributes_of, failing_conditions, is_excluded
from policies.engine.model import Actor, Decision, Effect, MissingPrivilege, Question, Statement
from policies.engine.selectors import (
    BRANCH,
    CREATION,
    EVERYONE,
    ID,
    IN_ANY_GROUP,
    MAIN_BRANCH,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    TYPE,
    YES,
    Condition,
    Criterion,
    Resource,
    owner_token,
    resource_tokens,
)
from policies.engine.snapshot import Snapshot, meets_constraint
from policies.engine.wording import (
    NO_VALUE,
    get_field_words,
    join_alternatives,
    join_clauses,
    name_resource,
    split_property,
    word_property_condition,
    word_time,
)

#: Remedy of a condition that only a change of the policy can make hold.
_CHANGE_OF_POLICY = MissingPrivilege(None, "MANAGE_POLICIES")

#: Prefix of the URNs of actors → phrase for those that a statement names, to follow "is not".
_AUDIENCE_PHRASES = (
    ("urn:li:corpuser:", "{}"),
    ("urn:li:corpGroup:", "in group {}"),
    ("urn:li:dataHubRole:", "a holder of the role {}"),
)

#: Gives the display name of a URN, or the URN itself if there is none.
NameOf = Callable[[str], str]


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
class Reason:
    """One deciding statement: its policy's URN and name, its index there, its effect, and its matching conditions.

    `ends` is the earliest end on the way to it, if anything on it ends.
    """

    policy: str
    name: str
    statement: int
    effect: str
    explanation: str
    ends: datetime | None = field(default=None, kw_only=True)


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
    """A statement that nearly matched: its conditions that held, as a sentence, and those that failed."""

    failed_conditions: tuple[FailedCondition, ...]


def list_reasons(decision: Decision, question: Question, name_of: NameOf) -> tuple[Reason, ...]:
    """Return a reason for each deciding statement, in the order of their origin."""
    return tuple(
        Reason(
            statement.origin.policy,
            statement.origin.name,
            statement.origin.index,
            statement.effect.value,
            explain_match(statement, question, name_of),
            ends=statement.ends,
        )
        for statement in decision.statements
    )


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

    `times` are when what does not count now did, or will: the statement itself, or a way to its actors.
    """

    statement: Statement
    question: Question
    missing_count: int
    is_last_resort: bool = False
    times: tuple[OtherTime, ...] = ()

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
        )


def list_near_misses(
    snapshot: Snapshot, question: Question, limit: int = 3, administrators: frozenset[str] = frozenset()
) -> tuple[NearMiss, ...]:
    """Return the allows on the privilege that nearly matched, at most `limit`.

    Fewest failing conditions first, then most criteria on the resource, since a policy for exactly such entities is
    likelier to be meant than one for everything. Statements that name only `administrators` (tokens), none of them the
    actor's, come last: nobody should be made an administrator for this.
    """
    ordinary_misses: list[NearMiss] = []
    last_resorts: list[NearMiss] = []
    for missing_count, statements in enumerate(snapshot.group_by_shortfall(question)):
        candidates: dict[bool, list[Statement]] = {False: [], True: []}
        for statement in statements if missing_count else ():
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
        if statement.origin.policy in times
    )
    return tuple(islice(misses, limit))


def _is_for_administrators(statement: Statement, actor: Actor, administrators: frozenset[str]) -> bool:
    tokens = statement.actors.tokens
    return bool(tokens) and tokens <= administrators and tokens.isdisjoint(actor.tokens)


def explain_match(statement: Statement, question: Question, name_of: NameOf) -> str:
    """Return one sentence that lists the conditions of the statement that hold for the question."""
    actor, resource = question.actor, question.resource
    clauses = [_actor_clause(statement.actors.tokens, actor, resource, name_of)]
    if statement.ends is not None and statement.ends not in dict(actor.ends).values():
        clauses.append(f"it ends on {word_time(statement.ends)}")
    if resource is not None:
        clauses += [
            _word_criterion(criterion, resource, name_of, is_met=True)
            for criterion in statement.resources.criteria
            if criterion.holds(resource.values(criterion.field))
        ]
    unmet_conditions = failing_conditions(statement, actor, resource)
    actor_name, resource_name = name_of(actor.urn), name_resource(resource)
    clauses += [
        word_property_condition(condition, actor_name=actor_name, resource_name=resource_name, is_met=True)
        for condition in statement.actor_conditions
        if condition not in unmet_conditions
    ]
    return join_clauses(clause for clause in clauses if clause)


def _relevance_sort_key(statement: Statement) -> tuple[int, str, int]:
    return -len(statement.resources.criteria), statement.origin.policy, statement.origin.index


def _iterate_failed_conditions(statement: Statement, question: Question, name_of: NameOf) -> Iterable[FailedCondition]:
    """Yield the conditions that do not hold, in the order of a policy document."""
    actor, resource = question.actor, question.resource
    yield from _iterate_failed_actor_conditions(statement, actor, resource, name_of)
    if resource is not None:
        for criterion in statement.resources.criteria:
            if not criterion.holds(resource.values(criterion.field)):
                text = join_clauses([_word_criterion(criterion, resource, name_of, is_met=False)])
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
        text = join_clauses([f"{name_of(actor.urn)} is not {_audience_phrase(statement, name_of)}"])
        yield FailedCondition(ConditionPart.ACTOR, text, _actor_remedy(statement, resource))
    if is_excluded(statement, actor, resource):
        clause = _actor_clause(statement.actors.excluded_tokens, actor, resource, name_of)
        text = join_clauses([f"{name_of(actor.urn)} is excepted from it: {clause}"])
        yield FailedCondition(ConditionPart.ACTOR, text, _CHANGE_OF_POLICY)


def _actor_clause(tokens: frozenset[str], actor: Actor, resource: Resource | None, name_of: NameOf) -> str:
    """Return the clause that says by which of the tokens an actor is meant, '' if by none."""
    actor_name = name_of(actor.urn)
    if ONESELF in tokens and resource is not None and resource.urn == actor.urn:
        return f"{actor_name} is the resource itself"
    if actor.urn in tokens:
        return f"{actor_name} is named"
    if groups := tokens & actor.groups:
        return f"{actor_name} is in group {_join_names(groups, name_of)}{_word_end(groups, actor)}"
    if roles := tokens & actor.roles:
        return f"{actor_name} has the role {_join_names(roles, name_of)}{_word_end(roles, actor)}"
    if resource is not None and (ownership := _ownership_clause(tokens, actor, resource, name_of)):
        return ownership
    if EVERYONE in tokens:
        return "it is for all users"
    if IN_ANY_GROUP in tokens and actor.groups:
        return f"it is for all groups and {actor_name} is in one"
    return ""


def _ownership_clause(tokens: frozenset[str], actor: Actor, resource: Resource, name_of: NameOf) -> str:
    for owner in sorted(resource.owners, key=lambda owner: (owner.actor != actor.urn, owner.actor, owner.type)):
        is_matching_type = OWNER_OF_ANY_TYPE in tokens or (owner.type != "" and owner_token(owner.type) in tokens)
        if owner.actor in actor.holders and is_matching_type:
            title = f" as {name_of(owner.type)}" if owner.type else ""
            actor_name = name_of(actor.urn)
            holder_name = actor_name if owner.actor == actor.urn else f"{actor_name}'s group {name_of(owner.actor)}"
            end = _word_end((owner.actor,), actor)
            member_note = f", which {actor_name} is in{end}," if end else ""
            return f"{holder_name}{member_note} owns {name_resource(resource)}{title}"
    return ""


def _word_end(urns: Collection[str], actor: Actor) -> str:
    """Return until when the actor is in one of these groups, or holds one of these roles, '' if that does not end."""
    ends = dict(actor.ends)
    return f" until {word_time(max(ends[urn] for urn in urns))}" if ends.keys() >= set(urns) else ""


def _audience_phrase(statement: Statement, name_of: NameOf) -> str:
    """Return the audience of a statement as a phrase to follow "is not"."""
    tokens = statement.actors.tokens
    parts = [
        phrase.format(_join_names(matching_tokens, name_of))
        for prefix, phrase in _AUDIENCE_PHRASES
        if (matching_tokens := [token for token in tokens if token.startswith(prefix)])
    ]
    type_prefix = f"{OWNER_OF_ANY_TYPE}:"
    if OWNER_OF_ANY_TYPE in tokens:
        parts.append("an owner of the resource")
    elif types := [token.removeprefix(type_prefix) for token in tokens if token.startswith(type_prefix)]:
        parts.append(f"an owner of the resource as {_join_names(types, name_of)}")
    if IN_ANY_GROUP in tokens:
        parts.append("in any group")
    if ONESELF in tokens:
        parts.append("the resource itself")
    return ", nor ".join(parts) or "named: it is for nobody"


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


def _word_criterion(criterion: Criterion, resource: Resource, name_of: NameOf, *, is_met: bool) -> str:
    """Return the clause for a criterion that holds or fails.

    It is empty if it holds and that is self-evident: the resource exists, is on main, or has an id.
    """
    field, subject = criterion.field, name_resource(resource)
    if split_property(field)[0]:
        return word_property_condition(criterion, resource_name=subject, is_met=is_met)
    if field in (CREATION, BRANCH):
        return _word_question_facet(criterion, resource, is_met=is_met)
    if criterion.condition is Condition.STARTS_WITH and field == ID:
        return "" if is_met else f"{subject} has no object id"
    if criterion.condition is Condition.STARTS_WITH:
        return f"its {field} {'begins' if is_met else 'does not begin'} with {_join_names(criterion.values, str)}"
    has_value = is_met is (criterion.condition is Condition.EQUALS)
    if has_value and is_met and field == TYPE:
        return f"it is a {resource.type}"
    words = get_field_words(field)
    if has_value:
        return f"{subject} {words.having} {_join_names(criterion.values & resource.values(field), name_of)}"
    if is_met and not criterion.values:
        return ""
    return f"{subject} {words.lacking} {_join_names(criterion.values, name_of) or NO_VALUE}"


def _word_question_facet(criterion: Criterion, resource: Resource, *, is_met: bool) -> str:
    """Return the clause for a criterion on what the question is about: creation, or a branch."""
    if criterion.field == CREATION:
        is_creation = YES in criterion.values
        if is_met:
            return "it is about making one" if is_creation else ""
        return f"it is about {'making one' if is_creation else 'what exists'}, the question about the other"
    branches = _join_names(criterion.values, str)
    if is_met:
        return "" if MAIN_BRANCH in criterion.values else f"it is about branch {branches}"
    return f"the question is about branch {_join_names(resource.values(BRANCH), str)}, not {branches}"


def _join_names(values: Iterable[str], name_of: NameOf) -> str:
    return join_alternatives(sorted(values), name_of)
