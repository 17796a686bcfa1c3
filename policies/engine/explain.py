"""From a trace to reasons: one sentence for each deciding statement, and the nearest misses of a refusal."""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from policies.engine import condition_wording
from policies.engine.actor_conditions import failing, known_of
from policies.engine.model import Actor, Decision, Missing, Question, Statement
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
from policies.engine.snapshot import Snapshot, constraint_holds

#: Gives the display name of a URN, or the URN itself where there is none.
NameOf = Callable[[str], str]

#: How many names a sentence lists before it says how many more there are.
_LISTED = 3

#: What is said of an entity that has a value of a field, and of one that has not.
_PHRASES = {
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

#: Who can change a condition: the privilege that lets somebody change the fact. Other conditions are the policy's own.
_REMEDIES = {
    DOMAIN: "EDIT_DOMAINS_PRIVILEGE",
    GLOSSARY: "EDIT_ENTITY_GLOSSARY_TERMS",
    TAG: "EDIT_ENTITY_TAGS",
    OWNER: "EDIT_ENTITY_OWNERS",
    GROUP_MEMBERSHIP: "MANAGE_USERS_AND_GROUPS",
}


class Part(StrEnum):
    """Which part of a statement a condition belongs to."""

    ACTOR = "actor"
    RESOURCE = "resource"
    SUBRESOURCE = "subresource"
    BRANCH = "branch"
    PROPERTY = "property"


@dataclass(frozen=True, slots=True)
class Reason:
    """One deciding statement: its policy's URN and name, its place there, its effect and why it matched."""

    policy: str
    name: str
    statement: int
    effect: str
    because: str


@dataclass(frozen=True, slots=True)
class Lack:
    """One condition that did not hold, and the privilege with which somebody could change that.

    `who` are the (URN, name) of those who could, where that is known.
    """

    part: Part
    sentence: str
    remedy: Missing
    who: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Near:
    """A statement that came close: everything about it that held, as a sentence, and what it lacked."""

    policy: str
    name: str
    statement: int
    effect: str
    because: str
    lacks: tuple[Lack, ...]


def reasons(decision: Decision, question: Question, name_of: NameOf) -> tuple[Reason, ...]:
    """Return a reason for each deciding statement, in the order of their origin."""
    return tuple(
        Reason(
            policy=statement.origin.policy,
            name=statement.origin.name,
            statement=statement.origin.index,
            effect=statement.effect.value,
            because=because(statement, question, name_of),
        )
        for statement in decision.statements
    )


@dataclass(frozen=True, slots=True)
class Miss:
    """An allowing statement that came close, not yet in words."""

    statement: Statement
    question: Question
    lacking: int
    is_last_resort: bool = False

    def worded(self, name_of: NameOf) -> Near:
        """Return what held of it and what it lacked, in words."""
        origin = self.statement.origin
        tokens = _tokens(self.question)
        return Near(
            policy=origin.policy,
            name=origin.name,
            statement=origin.index,
            effect=self.statement.effect.value,
            because=because(self.statement, self.question, name_of),
            lacks=tuple(_lacks(self.statement, self.question, tokens, name_of)),
        )


def misses(
    snapshot: Snapshot, question: Question, limit: int = 3, administrators: frozenset[str] = frozenset()
) -> tuple[Miss, ...]:
    """Return the allowing statements on the privilege that came closest.

    Fewest lacking conditions first; of equals, the one that says most about the resource, since a policy for exactly
    such things is likelier to be meant than one for everything. What speaks to `administrators` (tokens) alone, and
    not to who asks, comes behind all others: nobody is meant to be made one of them for this.
    """
    found: list[Miss] = []
    rest: list[Miss] = []
    for lacking, statements in enumerate(snapshot.shortfalls(question)):
        if lacking:
            apart = [one for one in statements if _is_apart(one, question.actor, administrators)]
            others = [one for one in statements if one not in apart] if apart else statements
            for chosen, kept, is_last in ((others, found, False), (apart, rest, True)):
                nearest = heapq.nsmallest(limit - len(kept), chosen, key=_rank)
                kept += (Miss(statement, question, lacking, is_last) for statement in nearest)
    return tuple([*found, *rest][:limit])


def _is_apart(statement: Statement, actor: Actor, administrators: frozenset[str]) -> bool:
    tokens = statement.actors.tokens
    return bool(tokens) and tokens <= administrators and tokens.isdisjoint(actor.tokens)


def because(statement: Statement, question: Question, name_of: NameOf) -> str:
    """Return one sentence that says which conditions of the statement hold for the question."""
    clauses = [_actor_clause(statement, question.actor, question.resource, name_of)]
    resource = question.resource
    if resource is not None:
        clauses += [
            condition_wording.held(criterion, who="", what=condition_wording.called(resource))
            if condition_wording.is_property(criterion.field)
            else _held(criterion, resource, name_of)
            for criterion in statement.resources.criteria
            if criterion.holds(resource.values(criterion.field))
        ]
    lacking = failing(statement, question.actor, resource)
    who, what = name_of(question.actor.urn), condition_wording.called(resource)
    clauses += [condition_wording.held(one, who=who, what=what) for one in statement.provisos if one not in lacking]
    return sentence(clause for clause in clauses if clause)


def _rank(statement: Statement) -> tuple[int, str, int]:
    return -len(statement.resources.criteria), statement.origin.policy, statement.origin.index


def _lacks(statement: Statement, question: Question, tokens: frozenset[str], name_of: NameOf) -> Iterable[Lack]:
    """Find what does not hold, in the order in which a policy is written."""
    resource = question.resource
    if statement.actors.tokens.isdisjoint(tokens):
        said = sentence([f"{name_of(question.actor.urn)} is not {_audience(statement, name_of)}"])
        yield Lack(Part.ACTOR, said, _actor_remedy(statement, resource))
    if resource is not None:
        for criterion in statement.resources.criteria:
            if not criterion.holds(resource.values(criterion.field)):
                said = sentence([_wanted(criterion, resource, name_of)])
                part = Part.BRANCH if criterion.field == BRANCH else Part.RESOURCE
                yield Lack(part, said, _remedy(criterion, resource))
    elif statement.resources.needs_resource:
        said = "It is about certain resources, and the question names none."
        yield Lack(Part.RESOURCE, said, Missing(None, "MANAGE_POLICIES"))
    if not constraint_holds(statement, question.subresources):
        said = "It does not allow every tag that the question touches."
        yield Lack(Part.SUBRESOURCE, said, Missing(None, "MANAGE_POLICIES"))
    known = known_of(question.actor)
    for proviso in failing(statement, question.actor, resource):
        said = condition_wording.failed(
            proviso, known, who=name_of(question.actor.urn), what=condition_wording.called(resource)
        )
        yield Lack(Part.PROPERTY, sentence([said]), Missing(None, "MANAGE_POLICIES"))


def _tokens(question: Question) -> frozenset[str]:
    actor = question.actor
    return actor.tokens | resource_tokens(actor.urn, actor.holders, question.resource)


def _actor_clause(statement: Statement, actor: Actor, resource: Resource | None, name_of: NameOf) -> str:
    tokens, who = statement.actors.tokens, name_of(actor.urn)
    if ONESELF in tokens and resource is not None and resource.urn == actor.urn:
        return f"{who} is the resource itself"
    if actor.urn in tokens:
        return f"{who} is named"
    if groups := sorted(tokens & actor.groups):
        return f"{who} is in group {_names(groups, name_of)}"
    if roles := sorted(tokens & actor.roles):
        return f"{who} has the role {_names(roles, name_of)}"
    if resource is not None and (owned := _ownership(statement, actor, resource, name_of)):
        return owned
    if EVERYONE in tokens:
        return "it is for all users"
    if IN_ANY_GROUP in tokens and actor.groups:
        return f"it is for all groups and {who} is in one"
    return ""


def _ownership(statement: Statement, actor: Actor, resource: Resource, name_of: NameOf) -> str:
    tokens = statement.actors.tokens
    for owner in sorted(resource.owners, key=lambda owner: (owner.actor != actor.urn, owner.actor, owner.type)):
        counts = OWNER_OF_ANY_TYPE in tokens or (owner.type != "" and owner_token(owner.type) in tokens)
        if owner.actor in actor.holders and counts:
            title = f" as {name_of(owner.type)}" if owner.type else ""
            who = name_of(actor.urn)
            holder = who if owner.actor == actor.urn else f"{who}'s group {name_of(owner.actor)}"
            return f"{holder} owns {condition_wording.called(resource)}{title}"
    return ""


def _audience(statement: Statement, name_of: NameOf) -> str:
    """Say whom a statement is for, to follow "is not"."""
    tokens = statement.actors.tokens
    users = sorted(token for token in tokens if token.startswith("urn:li:corpuser:"))
    groups = sorted(token for token in tokens if token.startswith("urn:li:corpGroup:"))
    roles = sorted(token for token in tokens if token.startswith("urn:li:dataHubRole:"))
    types = sorted(
        token.removeprefix(f"{OWNER_OF_ANY_TYPE}:") for token in tokens if token.startswith(f"{OWNER_OF_ANY_TYPE}:")
    )
    parts = []
    if users:
        parts.append(_names(users, name_of))
    if groups:
        parts.append(f"in group {_names(groups, name_of)}")
    if roles:
        parts.append(f"a holder of the role {_names(roles, name_of)}")
    if OWNER_OF_ANY_TYPE in tokens:
        parts.append("an owner of the resource")
    elif types:
        parts.append(f"an owner of the resource as {_names(types, name_of)}")
    if IN_ANY_GROUP in tokens:
        parts.append("in any group")
    if ONESELF in tokens:
        parts.append("the resource itself")
    return ", nor ".join(parts) or "named: it is for nobody"


def _actor_remedy(statement: Statement, resource: Resource | None) -> Missing:
    tokens = statement.actors.tokens
    if any(token.startswith(("urn:li:corpGroup:", IN_ANY_GROUP)) for token in tokens):
        return Missing(None, "MANAGE_USERS_AND_GROUPS")
    if resource is not None and resource.urn and any(token.startswith(OWNER_OF_ANY_TYPE) for token in tokens):
        return Missing(resource.urn, "EDIT_ENTITY_OWNERS")
    return Missing(None, "MANAGE_POLICIES")


def _remedy(criterion: Criterion, resource: Resource) -> Missing:
    privilege = _REMEDIES.get(criterion.field)
    if privilege is None or not resource.urn:
        return Missing(None, "MANAGE_POLICIES")
    return Missing(resource.urn, privilege)


def _held(criterion: Criterion, resource: Resource, name_of: NameOf) -> str:
    """Say that a criterion holds; what goes without saying (it exists, is on main, has an id) is ''."""
    if criterion.field == CREATION:
        return "it is about making one" if YES in criterion.values else ""
    if criterion.field == BRANCH:
        return "" if MAIN_BRANCH in criterion.values else f"it is about branch {_names(sorted(criterion.values), str)}"
    has, has_not = _PHRASES.get(criterion.field, ("has", "does not have"))
    match criterion.condition:
        case Condition.EQUALS if criterion.field == TYPE:
            return f"it is a {resource.type}"
        case Condition.EQUALS:
            found = sorted(criterion.values & resource.values(criterion.field))
            return f"{condition_wording.called(resource)} {has} {_names(found, name_of)}"
        case Condition.STARTS_WITH if criterion.field == ID:
            return ""
        case Condition.STARTS_WITH:
            return f"its {criterion.field} begins with {_names(sorted(criterion.values), str)}"
        case Condition.NOT_EQUALS:
            return (
                f"{condition_wording.called(resource)} {has_not} {_names(sorted(criterion.values), name_of)}"
                if criterion.values
                else ""
            )


def _wanted(criterion: Criterion, resource: Resource, name_of: NameOf) -> str:
    if condition_wording.is_property(criterion.field):
        return condition_wording.failed(criterion, {}, who="", what=condition_wording.called(resource))
    if criterion.field == CREATION:
        is_meant = YES in criterion.values
        return f"it is about {'making one' if is_meant else 'what exists'}, the question about the other"
    if criterion.field == BRANCH:
        meant = _names(sorted(criterion.values), str)
        return f"the question is about branch {_names(sorted(resource.values(BRANCH)), str)}, not {meant}"
    has, has_not = _PHRASES.get(criterion.field, ("has", "does not have"))
    match criterion.condition:
        case Condition.EQUALS:
            wanted = _names(sorted(criterion.values), name_of) if criterion.values else "anything: no value is wanted"
            return f"{condition_wording.called(resource)} {has_not} {wanted}"
        case Condition.STARTS_WITH if criterion.field == ID:
            return f"{condition_wording.called(resource)} has no object id"
        case Condition.STARTS_WITH:
            return f"its {criterion.field} does not begin with {_names(sorted(criterion.values), str)}"
        case Condition.NOT_EQUALS:
            found = sorted(criterion.values & resource.values(criterion.field))
            return f"{condition_wording.called(resource)} {has} {_names(found, name_of)}"


def _names(values: list[str], name_of: NameOf) -> str:
    shown = [name_of(value) for value in values[:_LISTED]]
    if len(values) > _LISTED:
        return f"{', '.join(shown)} or one of {len(values) - _LISTED} more"
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 2 else shown)


def sentence(clauses: Iterable[str]) -> str:
    """Return clauses as one sentence; none is the empty text. A URN keeps its small letter."""
    text = "; ".join(clauses)
    if not text.startswith("urn:"):
        text = text[:1].upper() + text[1:]
    return f"{text}." if text else ""
