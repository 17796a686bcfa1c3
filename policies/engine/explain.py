"""Wording of decisions: one sentence for each deciding statement, of the conditions of it that hold."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from policies.engine.actor_conditions import failing_conditions
from policies.engine.model import Actor, Decision, Question, Statement
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

#: Gives the display name of a URN, or the URN itself if there is none.
NameOf = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Reason:
    """One deciding statement: its policy's URN and name, its index there, its effect, and its matching conditions.

    `ends` is the earliest end on the way to it, if anything on it ends. `through` are the tokens of its actor clause
    that the actor has for the resource, sorted.
    """

    policy: str
    name: str
    statement: int
    effect: str
    explanation: str
    ends: datetime | None = field(default=None, kw_only=True)
    through: tuple[str, ...] = field(default=(), kw_only=True)


def list_reasons(decision: Decision, question: Question, name_of: NameOf) -> tuple[Reason, ...]:
    """Return a reason for each deciding statement, in the order of their origin."""
    actor = question.actor
    tokens = actor.tokens | resource_tokens(actor.urn, actor.holders, question.resource)
    return tuple(
        Reason(
            statement.origin.policy,
            statement.origin.name,
            statement.origin.index,
            statement.effect.value,
            explain_match(statement, question, name_of),
            ends=statement.ends,
            through=tuple(sorted(statement.actors.tokens & tokens)),
        )
        for statement in decision.statements
    )


def explain_match(statement: Statement, question: Question, name_of: NameOf) -> str:
    """Return one sentence that lists the conditions of the statement that hold for the question."""
    actor, resource = question.actor, question.resource
    clauses = [word_actor_clause(statement.actors.tokens, actor, resource, name_of)]
    if statement.ends is not None and statement.ends not in dict(actor.ends).values():
        clauses.append(f"it ends on {word_time(statement.ends)}")
    if resource is not None:
        clauses += [
            word_criterion(criterion, resource, name_of, is_met=True)
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


def word_actor_clause(tokens: frozenset[str], actor: Actor, resource: Resource | None, name_of: NameOf) -> str:
    """Return the clause that says by which of the tokens an actor is meant, '' if by none."""
    actor_name = name_of(actor.urn)
    if ONESELF in tokens and resource is not None and resource.urn == actor.urn:
        return f"{actor_name} is the resource itself"
    if actor.urn in tokens:
        return f"{actor_name} is named"
    if groups := tokens & actor.groups:
        return f"{actor_name} is in group {join_names(groups, name_of)}{_word_end(groups, actor)}"
    if roles := tokens & actor.roles:
        return f"{actor_name} has the role {join_names(roles, name_of)}{_word_end(roles, actor)}"
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


def word_criterion(criterion: Criterion, resource: Resource, name_of: NameOf, *, is_met: bool) -> str:
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
        return f"its {field} {'begins' if is_met else 'does not begin'} with {join_names(criterion.values, str)}"
    has_value = is_met is (criterion.condition is Condition.EQUALS)
    if has_value and is_met and field == TYPE:
        return f"it is a {resource.type}"
    words = get_field_words(field)
    if has_value:
        return f"{subject} {words.having} {join_names(criterion.values & resource.values(field), name_of)}"
    if is_met and not criterion.values:
        return ""
    return f"{subject} {words.lacking} {join_names(criterion.values, name_of) or NO_VALUE}"


def _word_question_facet(criterion: Criterion, resource: Resource, *, is_met: bool) -> str:
    """Return the clause for a criterion on what the question is about: creation, or a branch."""
    if criterion.field == CREATION:
        is_creation = YES in criterion.values
        if is_met:
            return "it is about making one" if is_creation else ""
        return f"it is about {'making one' if is_creation else 'what exists'}, the question about the other"
    branches = join_names(criterion.values, str)
    if is_met:
        return "" if MAIN_BRANCH in criterion.values else f"it is about branch {branches}"
    return f"the question is about branch {join_names(resource.values(BRANCH), str)}, not {branches}"


def join_names(values: Iterable[str], name_of: NameOf) -> str:
    return join_alternatives(sorted(values), name_of)
