"""Ways of writing policies that the policies guide warns of (source 000, "Anti-patterns"), found in what policies say.

Each is a sentence about one policy. Policies count as alike when they give the same privileges, and by what they differ
is the pattern: one user each, one entity each, one domain each.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from catalog.reports.kinds.policy_hygiene.hygiene import GROUP, USER, Seen, Stored
from policies.engine import selectors
from policies.engine.model import Actor, Effect
from policies.engine.selectors import EVERYONE, OWNER_OF_ANY_TYPE, Condition

#: From how many alike policies on it is a pattern, and from how many entities that one policy names one by one.
ALIKE, MANY_URNS = 3, 20

#: A domain that a policy names lies on the third level or has something on it: deeper than the guide wants a boundary.
DEEP = 3

VIEWING = frozenset(("VIEW_ENTITY_PAGE", "VIEW_ENTITY"))
#: Whoever has one of these sees everything, whatever narrower policies say (guide, "Roles and VBAC").
WIDE_ROLES = frozenset(f"urn:li:dataHubRole:{name}" for name in ("Admin", "Editor", "Reader"))
#: The role that is for operators of the platform, who are meant to see everything.
_OPERATORS = "urn:li:dataHubRole:Admin"


class Pattern(StrEnum):
    """What can be found."""

    ONE_USER = "ONE_POLICY_PER_USER"
    URN_SPECIFIC = "URN_SPECIFIC"
    DOMAIN_OVERLAP = "OVERLAPPING_DOMAINS"
    DEEP_DOMAIN = "DEEP_DOMAINS"
    CONTAINER_CHAIN = "CONTAINER_CHAIN"
    ROLE_BESIDE = "ROLE_BESIDE_ISOLATION"


class Found(NamedTuple):
    """A pattern in a policy: a sentence, and what it is about (an entity, a person or another policy; "" for none)."""

    pattern: Pattern
    policy: str
    sentence: str
    entity: str = ""
    actor: str = ""


def found(
    policies: Sequence[Stored], actors: Sequence[Actor], below: Mapping[str, Sequence[str]], seen: Seen
) -> Iterator[Found]:
    """Give every pattern in these policies; `below` maps a node to everything under it."""
    above: dict[str, list[str]] = defaultdict(list)
    for node, under in below.items():
        for one in under:
            above[one].append(node)
    yield from _alike(
        policies, _one_user, Pattern.ONE_USER, "one user each; one policy for a group of them says it once"
    )
    yield from _alike(policies, _one_urn, Pattern.URN_SPECIFIC, "entities named one by one; a tag and one policy do")
    yield from _alike(
        policies, _one_domain, Pattern.DOMAIN_OVERLAP, "a domain each; owners say the same with one policy"
    )
    for policy in policies:
        yield from _many_urns(policy)
        yield from _deep(policy, above, below)
        yield from _chains(policy, below)
        yield from _beside(policy, actors, seen)


def isolating(policy: Stored) -> bool:
    """Whether a policy lets somebody view what some domains hold, or what he owns, and not everybody everything."""
    allows = [one for one in policy.statements if one.effect is Effect.ALLOW and one.privileges & VIEWING]
    if not allows or EVERYONE in policy.tokens or not policy.tokens.isdisjoint(WIDE_ROLES):
        return False
    is_by_domain = any(one.field == selectors.DOMAIN for some in allows for one in some.resources.criteria)
    return is_by_domain or any(token.startswith(OWNER_OF_ANY_TYPE) for token in policy.tokens)


def has_wide_role(actor: Actor) -> bool:
    """Whether somebody sees everything by a role that is not for operators."""
    return actor.is_active and not actor.roles.isdisjoint(WIDE_ROLES - {_OPERATORS})


#: What a policy is alike by, when it is of the kind that is looked for.
_Likeness = Callable[[Stored], object | None]


def _alike(policies: Iterable[Stored], likeness: _Likeness, pattern: Pattern, why: str) -> Iterator[Found]:
    groups: dict[object, list[Stored]] = defaultdict(list)
    for policy in policies:
        if policy.statements and (alike := likeness(policy)) is not None:
            groups[alike].append(policy)
    for some in groups.values():
        if len(some) >= ALIKE:
            yield from (
                Found(pattern, one.urn, f"{len(some)} policies give the same privileges for {why}.") for one in some
            )


def _one_user(policy: Stored) -> object | None:
    """Alike are policies for one user that give the same on the same."""
    if len(policy.tokens) != 1 or not next(iter(policy.tokens)).startswith(USER):
        return None
    return frozenset((one.privileges, one.resources, one.provisos, one.effect) for one in policy.statements)


def _one_urn(policy: Stored) -> object | None:
    """Alike are policies on named entities that give the same to the same."""
    return _for_same(policy) if _values(policy, selectors.URN) else None


def _one_domain(policy: Stored) -> object | None:
    """Alike are policies on domains that give the same, to whomever."""
    if not _values(policy, selectors.DOMAIN):
        return None
    return frozenset((one.privileges, one.provisos) for one in policy.statements)


def _for_same(policy: Stored) -> object:
    return frozenset((one.privileges, one.actors, one.provisos, one.effect) for one in policy.statements)


def _values(policy: Stored, field: str) -> list[str]:
    """Return the values that a policy wants of a facet, in order."""
    criteria = (one for statement in policy.statements for one in statement.resources.criteria)
    wanted = (one for one in criteria if one.field == field and one.condition is Condition.EQUALS)
    return sorted({value for one in wanted for value in one.values})


def _many_urns(policy: Stored) -> Iterator[Found]:
    named = len(_values(policy, selectors.URN))
    if named >= MANY_URNS:
        sentence = f"It names {named} entities one by one; a tag on them and a policy on the tag does without a list."
        yield Found(Pattern.URN_SPECIFIC, policy.urn, sentence)


def _deep(policy: Stored, above: Mapping[str, Sequence[str]], below: Mapping[str, Sequence[str]]) -> Iterator[Found]:
    for domain in _values(policy, selectors.DOMAIN):
        levels = max(len(above.get(node, ())) + 1 for node in (domain, *below.get(domain, ())))
        if levels >= DEEP:
            sentence = f"The tree of this domain has {levels} levels; keep domains shallow where they are a boundary."
            yield Found(Pattern.DEEP_DOMAIN, policy.urn, sentence, entity=domain)


def _chains(policy: Stored, below: Mapping[str, Sequence[str]]) -> Iterator[Found]:
    for container in _values(policy, selectors.CONTAINER):
        if below.get(container):
            sentence = f"{len(below[container])} containers lie in this one; owners are the cheaper boundary."
            yield Found(Pattern.CONTAINER_CHAIN, policy.urn, sentence, entity=container)


def _beside(policy: Stored, actors: Iterable[Actor], seen: Seen) -> Iterator[Found]:
    """Find whom a policy means to keep to something, and who sees everything by a role."""
    if not isolating(policy):
        return
    owners = seen.owners(policy.urn)
    named = {token for token in policy.tokens if token.startswith((USER, GROUP))}
    for actor in actors:
        meant = not actor.tokens.isdisjoint(named) or not actor.holders.isdisjoint(owners)
        if meant and has_wide_role(actor):
            roles = ", ".join(sorted(one.rpartition(":")[2] for one in actor.roles & WIDE_ROLES))
            sentence = f"It keeps this person to part of the catalog, but the role {roles} shows all of it."
            yield Found(Pattern.ROLE_BESIDE, policy.urn, sentence, actor=actor.urn)
