"""Wording of decisions: one sentence for each deciding statement, and the near misses of a refusal."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from policies.engine import condition_wording
from policies.engine.actor_conditions import attributes_of, failing_conditions
from policies.engine.model import Actor, Decision, MissingPrivilege, Question, Statement
from policies.engine.selectors import (
    BRANCH,
    CONTAINER,
    CREATION,
    DATA_PLATFORM_INSTANCE,
    DOMAIN,
    EVERYONE,
    GLOSSARY,
    GROUP_MEMBERSHIP,
    ID,
    IN_ANY_GROUP,
    MAIN_BRANCH,
    ONESELF,
    OWNER,
    OWNER_OF_ANY_TYPE,
    PROJECT,
    TAG,
    TYPE,
    URN,
    YES,
    Condition,
    Criterion,
    Resource,
    owner_token,
    resource_tokens,
)
from policies.engine.snapshot import Snapshot, meets_constraint

#: Gives the display name of a URN, or the URN itself if there is none.
NameOf = Callable[[str], str]

#: Most names that a sentence lists; the rest is counted.
_MAX_LISTED_NAMES = 3

#: Predicates for an entity that has a value of a field, and for one that does not.
_FIELD_PHRASES = {
    DOMAIN: ("is in domain", "is not in domain"),
    CONTAINER: ("is in", "is not in"),
    GLOSSARY: ("has the glossary term", "does not have the glossary term"),
    TAG: ("is tagged", "is not tagged"),
    OWNER: ("is owned by", "is not owned by"),
    DATA_PLATFORM_INSTANCE: ("is on platform instance", "is not on platform instance"),
    GROUP_MEMBERSHIP: ("is a member of", "is not a member of"),
    TYPE: ("is a", "is not a"),
    URN: ("is", "is not"),
    ID: ("has the id", "does not have the id"),
    PROJECT: ("is in project", "is not in project"),
}

#: The privilege to change the fact that a criterion tests, by field. Other criteria need a change of the policy.
_REMEDY_PRIVILEGES = {
    DOMAIN: "EDIT_DOMAINS_PRIVILEGE",
    GLOSSARY: "EDIT_ENTITY_GLOSSARY_TERMS",
    TAG: "EDIT_ENTITY_TAGS",
    OWNER: "EDIT_ENTITY_OWNERS",
    GROUP_MEMBERSHIP: "MANAGE_USERS_AND_GROUPS",
}


class ConditionPart(StrEnum):
    """The part of a statement to which a condition belongs."""

    ACTOR = "actor"
    RESOURCE = "resource"
    SUBRESOURCE = "subresource"
    BRANCH = "branch"
    PROPERTY = "property"


@dataclass(frozen=True, slots=True)
class Reason:
    """One deciding statement: its policy's URN and name, its index there, its effect, and its matching conditions."""

    policy: str
    name: str
    statement: int
    effect: str
    explanation: str


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
class NearMatch:
    """A statement that nearly matched: its conditions that held, as a sentence, and those that failed."""

    policy: str
    name: str
    statement: int
    effect: str
    explanation: str
    failed_conditions: tuple[FailedCondition, ...]


def list_reasons(decision: Decision, question: Question, name_of: NameOf) -> tuple[Reason, ...]:
    """Return a reason for each deciding statement, in the order of their origin."""
    return tuple(
        Reason(
            policy=statement.origin.policy,
            name=statement.origin.name,
            statement=statement.origin.index,
            effect=statement.effect.value,
            explanation=explain_match(statement, question, name_of),
        )
        for statement in decision.statements
    )


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An allow that nearly matched, not yet worded."""

    statement: Statement
    question: Question
    missing_count: int
    is_last_resort: bool = False

    def to_near_match(self, name_of: NameOf) -> NearMatch:
        """Return the conditions that held and those that failed, worded."""
        origin = self.statement.origin
        tokens = _actor_tokens(self.question)
        return NearMatch(
            policy=origin.policy,
            name=origin.name,
            statement=origin.index,
            effect=self.statement.effect.value,
            explanation=explain_match(self.statement, self.question, name_of),
            failed_conditions=tuple(_iterate_failed_conditions(self.statement, self.question, tokens, name_of)),
        )


def list_near_misses(
    snapshot: Snapshot, question: Question, limit: int = 3, administrators: frozenset[str] = frozenset()
) -> tuple[NearMiss, ...]:
    """Return the allows on the privilege that nearly matched, at most `limit`.

    Fewest failing conditions first, then most criteria on the resource, since a policy for exactly such entities is
    likelier to be meant than one for everything. Statements that name only `administrators` (tokens), none of them the
    actor's, come last: nobody should be made an administrator for this.
    """
    near_misses: list[NearMiss] = []
    last_resorts: list[NearMiss] = []
    for missing_count, statements in enumerate(snapshot.group_by_shortfall(question)):
        if missing_count:
            administrator_statements = [
                statement
                for statement in statements
                if _is_for_administrators(statement, question.actor, administrators)
            ]
            other_statements = (
                [statement for statement in statements if statement not in administrator_statements]
                if administrator_statements
                else statements
            )
            for candidates, selected_misses, is_last_resort in (
                (other_statements, near_misses, False),
                (administrator_statements, last_resorts, True),
            ):
                nearest_statements = heapq.nsmallest(limit - len(selected_misses), candidates, key=_relevance_sort_key)
                selected_misses += (
                    NearMiss(statement, question, missing_count, is_last_resort) for statement in nearest_statements
                )
    return tuple([*near_misses, *last_resorts][:limit])


def _is_for_administrators(statement: Statement, actor: Actor, administrators: frozenset[str]) -> bool:
    tokens = statement.actors.tokens
    return bool(tokens) and tokens <= administrators and tokens.isdisjoint(actor.tokens)


def explain_match(statement: Statement, question: Question, name_of: NameOf) -> str:
    """Return one sentence that lists the conditions of the statement that hold for the question."""
    clauses = [_actor_clause(statement, question.actor, question.resource, name_of)]
    resource = question.resource
    if resource is not None:
        clauses += [
            condition_wording.word_condition(
                criterion, actor_name="", resource_name=condition_wording.name_resource(resource)
            )
            if condition_wording.is_property(criterion.field)
            else _word_criterion(criterion, resource, name_of)
            for criterion in statement.resources.criteria
            if criterion.holds(resource.values(criterion.field))
        ]
    unmet_conditions = failing_conditions(statement, question.actor, resource)
    actor_name, resource_name = name_of(question.actor.urn), condition_wording.name_resource(resource)
    clauses += [
        condition_wording.word_condition(condition, actor_name=actor_name, resource_name=resource_name)
        for condition in statement.actor_conditions
        if condition not in unmet_conditions
    ]
    return join_clauses(clause for clause in clauses if clause)


def _relevance_sort_key(statement: Statement) -> tuple[int, str, int]:
    return -len(statement.resources.criteria), statement.origin.policy, statement.origin.index


def _iterate_failed_conditions(
    statement: Statement, question: Question, tokens: frozenset[str], name_of: NameOf
) -> Iterable[FailedCondition]:
    """Yield the conditions that do not hold, in the order of a policy document."""
    resource = question.resource
    if statement.actors.tokens.isdisjoint(tokens):
        text = join_clauses([f"{name_of(question.actor.urn)} is not {_audience_phrase(statement, name_of)}"])
        yield FailedCondition(ConditionPart.ACTOR, text, _actor_remedy(statement, resource))
    if resource is not None:
        for criterion in statement.resources.criteria:
            if not criterion.holds(resource.values(criterion.field)):
                text = join_clauses([_word_failed_criterion(criterion, resource, name_of)])
                part = ConditionPart.BRANCH if criterion.field == BRANCH else ConditionPart.RESOURCE
                yield FailedCondition(part, text, _criterion_remedy(criterion, resource))
    elif statement.resources.needs_resource:
        text = "It is about certain resources, and the question names none."
        yield FailedCondition(ConditionPart.RESOURCE, text, MissingPrivilege(None, "MANAGE_POLICIES"))
    if not meets_constraint(statement, question.subresources):
        text = "It does not allow every tag that the question touches."
        yield FailedCondition(ConditionPart.SUBRESOURCE, text, MissingPrivilege(None, "MANAGE_POLICIES"))
    attributes = attributes_of(question.actor)
    for condition in failing_conditions(statement, question.actor, resource):
        text = condition_wording.word_failed_condition(
            condition,
            attributes,
            actor_name=name_of(question.actor.urn),
            resource_name=condition_wording.name_resource(resource),
        )
        yield FailedCondition(ConditionPart.PROPERTY, join_clauses([text]), MissingPrivilege(None, "MANAGE_POLICIES"))


def _actor_tokens(question: Question) -> frozenset[str]:
    actor = question.actor
    return actor.tokens | resource_tokens(actor.urn, actor.holders, question.resource)


def _actor_clause(statement: Statement, actor: Actor, resource: Resource | None, name_of: NameOf) -> str:
    tokens, actor_name = statement.actors.tokens, name_of(actor.urn)
    if ONESELF in tokens and resource is not None and resource.urn == actor.urn:
        return f"{actor_name} is the resource itself"
    if actor.urn in tokens:
        return f"{actor_name} is named"
    if groups := sorted(tokens & actor.groups):
        return f"{actor_name} is in group {_join_names(groups, name_of)}"
    if roles := sorted(tokens & actor.roles):
        return f"{actor_name} has the role {_join_names(roles, name_of)}"
    if resource is not None and (ownership := _ownership_clause(statement, actor, resource, name_of)):
        return ownership
    if EVERYONE in tokens:
        return "it is for all users"
    if IN_ANY_GROUP in tokens and actor.groups:
        return f"it is for all groups and {actor_name} is in one"
    return ""


def _ownership_clause(statement: Statement, actor: Actor, resource: Resource, name_of: NameOf) -> str:
    tokens = statement.actors.tokens
    for owner in sorted(resource.owners, key=lambda owner: (owner.actor != actor.urn, owner.actor, owner.type)):
        is_matching_type = OWNER_OF_ANY_TYPE in tokens or (owner.type != "" and owner_token(owner.type) in tokens)
        if owner.actor in actor.holders and is_matching_type:
            title = f" as {name_of(owner.type)}" if owner.type else ""
            actor_name = name_of(actor.urn)
            holder_name = actor_name if owner.actor == actor.urn else f"{actor_name}'s group {name_of(owner.actor)}"
            return f"{holder_name} owns {condition_wording.name_resource(resource)}{title}"
    return ""


def _audience_phrase(statement: Statement, name_of: NameOf) -> str:
    """Return the audience of a statement as a phrase to follow "is not"."""
    tokens = statement.actors.tokens
    users = sorted(token for token in tokens if token.startswith("urn:li:corpuser:"))
    groups = sorted(token for token in tokens if token.startswith("urn:li:corpGroup:"))
    roles = sorted(token for token in tokens if token.startswith("urn:li:dataHubRole:"))
    types = sorted(
        token.removeprefix(f"{OWNER_OF_ANY_TYPE}:") for token in tokens if token.startswith(f"{OWNER_OF_ANY_TYPE}:")
    )
    parts = []
    if users:
        parts.append(_join_names(users, name_of))
    if groups:
        parts.append(f"in group {_join_names(groups, name_of)}")
    if roles:
        parts.append(f"a holder of the role {_join_names(roles, name_of)}")
    if OWNER_OF_ANY_TYPE in tokens:
        parts.append("an owner of the resource")
    elif types:
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
    return MissingPrivilege(None, "MANAGE_POLICIES")


def _criterion_remedy(criterion: Criterion, resource: Resource) -> MissingPrivilege:
    privilege = _REMEDY_PRIVILEGES.get(criterion.field)
    if privilege is None or not resource.urn:
        return MissingPrivilege(None, "MANAGE_POLICIES")
    return MissingPrivilege(resource.urn, privilege)


def _word_criterion(criterion: Criterion, resource: Resource, name_of: NameOf) -> str:
    """Return the clause for a criterion that holds, '' if self-evident (it exists, is on main, has an id)."""
    if criterion.field == CREATION:
        return "it is about making one" if YES in criterion.values else ""
    if criterion.field == BRANCH:
        return (
            ""
            if MAIN_BRANCH in criterion.values
            else f"it is about branch {_join_names(sorted(criterion.values), str)}"
        )
    phrase, negated_phrase = _FIELD_PHRASES.get(criterion.field, ("has", "does not have"))
    match criterion.condition:
        case Condition.EQUALS if criterion.field == TYPE:
            return f"it is a {resource.type}"
        case Condition.EQUALS:
            values = sorted(criterion.values & resource.values(criterion.field))
            return f"{condition_wording.name_resource(resource)} {phrase} {_join_names(values, name_of)}"
        case Condition.STARTS_WITH if criterion.field == ID:
            return ""
        case Condition.STARTS_WITH:
            return f"its {criterion.field} begins with {_join_names(sorted(criterion.values), str)}"
        case Condition.NOT_EQUALS:
            return (
                f"{condition_wording.name_resource(resource)} {negated_phrase} "
                f"{_join_names(sorted(criterion.values), name_of)}"
                if criterion.values
                else ""
            )


def _word_failed_criterion(criterion: Criterion, resource: Resource, name_of: NameOf) -> str:
    if condition_wording.is_property(criterion.field):
        return condition_wording.word_failed_condition(
            criterion, {}, actor_name="", resource_name=condition_wording.name_resource(resource)
        )
    if criterion.field == CREATION:
        is_creation = YES in criterion.values
        return f"it is about {'making one' if is_creation else 'what exists'}, the question about the other"
    if criterion.field == BRANCH:
        branches = _join_names(sorted(criterion.values), str)
        return f"the question is about branch {_join_names(sorted(resource.values(BRANCH)), str)}, not {branches}"
    phrase, negated_phrase = _FIELD_PHRASES.get(criterion.field, ("has", "does not have"))
    match criterion.condition:
        case Condition.EQUALS:
            names = (
                _join_names(sorted(criterion.values), name_of) if criterion.values else "anything: no value is wanted"
            )
            return f"{condition_wording.name_resource(resource)} {negated_phrase} {names}"
        case Condition.STARTS_WITH if criterion.field == ID:
            return f"{condition_wording.name_resource(resource)} has no object id"
        case Condition.STARTS_WITH:
            return f"its {criterion.field} does not begin with {_join_names(sorted(criterion.values), str)}"
        case Condition.NOT_EQUALS:
            values = sorted(criterion.values & resource.values(criterion.field))
            return f"{condition_wording.name_resource(resource)} {phrase} {_join_names(values, name_of)}"


def _join_names(values: list[str], name_of: NameOf) -> str:
    names = [name_of(value) for value in values[:_MAX_LISTED_NAMES]]
    if len(values) > _MAX_LISTED_NAMES:
        return f"{', '.join(names)} or one of {len(values) - _MAX_LISTED_NAMES} more"
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 2 else names)


def join_clauses(clauses: Iterable[str]) -> str:
    """Return clauses as one sentence, '' for none. A URN at the beginning is not capitalized."""
    text = "; ".join(clauses)
    if not text.startswith("urn:"):
        text = text[:1].upper() + text[1:]
    return f"{text}." if text else ""
