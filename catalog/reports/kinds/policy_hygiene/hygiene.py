"""Policies that do nothing: what a slice tells of each, and what follows from all slices (docs/hygiene.md).

What a policy reaches, and whether others give all that it gives, is asked of the engine; what it names is read from its
statements, so that every family is looked at alike.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from catalog.reports.spark.partition_facts import Facts
from policies.engine import selectors as engine_selectors
from policies.engine.model import Actor, Effect, Origin, Statement
from policies.engine.postings import union
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP, ONESELF, OWNER_OF_ANY_TYPE, Condition

#: What is told: a slice was there; a policy covers so many entities; somebody owns something of it; something that a
#: policy names is there; all that a policy gives here is given by others (one of them alone); somebody owns something
#: that a policy opens to its owners.
SLICE, COVERS, OWNED, THERE, SHADOWED, ALONE, OWNER = "slice", "covers", "owned", "there", "shadowed", "alone", "owner"

USER, GROUP, ROLE = "urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"
_URN = "urn:li:"

#: Facets whose values are URNs of something that can be gone.
NAMING = frozenset(
    (
        engine_selectors.URN,
        engine_selectors.TAG,
        engine_selectors.DOMAIN,
        engine_selectors.CONTAINER,
        engine_selectors.GLOSSARY,
        engine_selectors.OWNER,
        engine_selectors.DATA_PLATFORM_INSTANCE,
    )
)


class Told(NamedTuple):
    """One thing that a slice tells."""

    told: str
    policy: str
    other: str = ""
    number: int = 1


@dataclass(frozen=True, slots=True)
class Stored:
    """A policy: its name and statements."""

    urn: str
    name: str
    statements: tuple[Statement, ...]

    @property
    def tokens(self) -> frozenset[str]:
        """Whom any of its statements speaks to."""
        return frozenset[str]().union(*(one.actors.tokens for one in self.statements))

    @property
    def says(self) -> frozenset[Statement]:
        """What it says, without what it is called."""
        return frozenset(replace(one, origin=Origin("", "")) for one in self.statements)

    @property
    def is_about_entities(self) -> bool:
        """Whether all that it gives is given on entities, so that without any it gives nothing."""
        return all(one.resources.needs_resource for one in self.statements)

    def named(self) -> Iterator[tuple[str, str]]:
        """Give (URN, facet) of what it names in its resources, and (URN, "") of users, groups and roles."""
        for statement in self.statements:
            for token in statement.actors.tokens:
                if token.startswith((USER, GROUP, ROLE)):
                    yield token, ""
            selectors = (one for one in (statement.resources, statement.subresources) if one is not None)
            for criterion in (one for selector in selectors for one in selector.criteria):
                if criterion.field in NAMING and criterion.condition is not Condition.STARTS_WITH:
                    yield from ((value, criterion.field) for value in criterion.values if value.startswith(_URN))


@dataclass(frozen=True, slots=True)
class Look:
    """What every slice looks for: the policies, whom tokens stand for, and who else says the same."""

    policies: tuple[Stored, ...]
    standing: Mapping[str, frozenset[str]]
    twins: Mapping[str, tuple[str, ...]]
    viewing: frozenset[str] = frozenset()
    watched: frozenset[str] = frozenset()


class Seen:
    """What all slices told of all policies."""

    def __init__(self, rows: Iterable[Told]) -> None:
        self._numbers: Counter[tuple[str, str, str]] = Counter()
        for row in rows:
            self._numbers[row.told, row.policy, row.other] += row.number
        self._slices = self._numbers[SLICE, "", ""]

    def covers(self, policy: str) -> int:
        """Return how many entities a policy is about."""
        return self._numbers[COVERS, policy, ""]

    def is_owned(self, policy: str) -> bool:
        """Whether somebody who may act owns something that the policy opens to its owners."""
        return (OWNED, policy, "") in self._numbers

    def is_there(self, urn: str) -> bool:
        """Whether something that a policy names is in the catalog."""
        return (THERE, "", urn) in self._numbers

    def is_shadowed(self, policy: str) -> bool:
        """Whether others give all that this one gives, in every slice."""
        return self._slices > 0 and self._numbers[SHADOWED, policy, ""] == self._slices

    def others(self, policy: str) -> list[str]:
        """Return the policies of which each alone gives all that this one gives."""
        return sorted(
            other
            for (told, one, other), number in self._numbers.items()
            if (told, one) == (ALONE, policy) and number == self._slices
        )

    def owners(self, policy: str) -> set[str]:
        """Return those who own something that a policy opens to its owners, of those that were watched for."""
        return {other for told, one, other in self._numbers if (told, one) == (OWNER, policy)}


def policies_of(statements: Iterable[Statement], stored: Mapping[str, str]) -> tuple[Stored, ...]:
    """Return the stored policies, URN → name, with their statements; one without statements too."""
    found: dict[str, list[Statement]] = {urn: [] for urn in stored}
    for statement in statements:
        if statement.origin.policy in found:
            found[statement.origin.policy].append(statement)
    return tuple(Stored(urn, stored[urn], tuple(some)) for urn, some in sorted(found.items()))


def look_of(policies: Sequence[Stored], actors: Sequence[Actor], roles: Mapping[str, frozenset[str]]) -> Look:
    """Return what to look for; `roles` are those bound to each group."""
    alike: dict[frozenset[Statement], list[str]] = defaultdict(list)
    for policy in policies:
        if policy.statements:
            alike[policy.says].append(policy.urn)
    twins = {urn: tuple(one for one in some if one != urn) for some in alike.values() if len(some) > 1 for urn in some}
    known = {actor.urn: actor for actor in actors}
    tokens = frozenset[str]().union(*(policy.tokens for policy in policies))
    standing = {token: _standing(token, known, roles) for token in tokens}
    return Look(tuple(policies), standing, twins)


def told(facts: Facts, look: Look) -> Iterator[Told]:
    """Look at one slice."""
    yield Told(SLICE, "")
    yield from _there(facts, look)
    gifts = _Gifts(facts, look)
    holders = frozenset[str]().union(*(actor.holders for actor in facts.actors if actor.is_active))
    for policy in look.policies:
        extent = union(facts.postings.extent(one.resources) for one in policy.statements)
        if policy.statements and extent:
            yield Told(COVERS, policy.urn, number=len(extent))
        if any(_is_owned(facts, one, holders) for one in policy.statements):
            yield Told(OWNED, policy.urn)
        if policy.urn in look.viewing:
            yield from (Told(OWNER, policy.urn, one) for one in _owners(facts, policy) & look.watched)
        others = gifts.given_by_others(policy)
        if others is not None:
            yield Told(SHADOWED, policy.urn)
            yield from (Told(ALONE, policy.urn, other) for other in sorted(others))


def _there(facts: Facts, look: Look) -> Iterator[Told]:
    """Tell which of the things that policies name are in this slice, as an entity or as a value of one."""
    named: dict[str, set[str]] = defaultdict(set)
    for policy in look.policies:
        for urn, facet in policy.named():
            if facet:
                named[urn].add(facet)
    for urn, facets in named.items():
        is_value = (urn in facts.postings.values(facet) for facet in facets if facet != engine_selectors.URN)
        if facts.postings.number(urn) is not None or any(is_value):
            yield Told(THERE, "", urn)


def _is_owned(facts: Facts, statement: Statement, holders: frozenset[str]) -> bool:
    """Whether a statement for owners covers something that somebody who may act owns."""
    types = [token for token in statement.actors.tokens if token.startswith(OWNER_OF_ANY_TYPE)]
    if not types:
        return False
    owned = (facts.postings.owned(holders, _owner_type(token)) for token in types)
    return bool(facts.postings.extent(statement.resources) & union(owned))


def _owners(facts: Facts, policy: Stored) -> set[str]:
    """Return the owners to whom a policy opens something here."""
    found: set[str] = set()
    for statement in policy.statements:
        extent = facts.postings.extent(statement.resources)
        for token in statement.actors.tokens:
            if token.startswith(OWNER_OF_ANY_TYPE):
                owners = facts.postings.owners(_owner_type(token))
                found.update(urn for urn, owned in owners.items() if owned & extent)
    return found


class _Gifts:
    """What every policy gives to whom in one slice: by privilege and token the plain allows, and what they cover."""

    def __init__(self, facts: Facts, look: Look) -> None:
        self._facts = facts
        self._look = look
        self._given: dict[tuple[str, str], list[Statement]] = defaultdict(list)
        for policy in look.policies:
            for statement in policy.statements:
                if statement.effect is Effect.ALLOW and statement.restriction is None and not statement.provisos:
                    for privilege in statement.privileges:
                        for token in statement.actors.tokens:
                            self._given[privilege, token].append(statement)

    def given_by_others(self, policy: Stored) -> set[str] | None:
        """Return the policies of which each alone gives all that this one gives here; None when others do not.

        A policy whose twin says the same is no case of it; nor is one that denies, restricts or says nothing.
        """
        plain = (one.effect is Effect.ALLOW and one.restriction is None for one in policy.statements)
        if policy.urn in self._look.twins or not policy.statements or not all(plain):
            return None
        alone: set[str] | None = None
        for statement in policy.statements:
            for privilege in statement.privileges:
                for token in statement.actors.tokens:
                    found = self._alone(policy, statement, privilege, token)
                    if found is None:
                        return None
                    alone = found if alone is None else alone & found
        return alone

    def _alone(self, policy: Stored, statement: Statement, privilege: str, token: str) -> set[str] | None:
        """Return the policies that alone give this to this token; None when all together do not."""
        postings, extent = self._facts.postings, self._facts.postings.extent(statement.resources)
        reach: dict[str, list[Statement]] = defaultdict(list)
        for standing in self._look.standing[token]:
            for other in self._given.get((privilege, standing), ()):
                if other.origin.policy != policy.urn and other.subresources in (None, statement.subresources):
                    reach[other.origin.policy].append(other)
        if not reach:
            return None
        asks = not statement.resources.needs_resource
        full = set()
        for urn, some in reach.items():
            covers = not extent - union(postings.extent(one.resources) for one in some)
            if covers and (not asks or any(one.resources.covers(None) for one in some)):
                full.add(urn)
        if full:
            return full
        everybody = [one for some in reach.values() for one in some]
        is_covered = not extent - union(postings.extent(one.resources) for one in everybody)
        return set() if is_covered and (not asks or any(one.resources.covers(None) for one in everybody)) else None


def _standing(token: str, known: Mapping[str, Actor], roles: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the tokens that whoever has this token has too."""
    if token.startswith(OWNER_OF_ANY_TYPE):
        return frozenset((token, OWNER_OF_ANY_TYPE, EVERYONE))
    if token in (EVERYONE, IN_ANY_GROUP, ONESELF):
        return frozenset((token, EVERYONE))
    if token.startswith(GROUP):
        return Actor(token, frozenset((token,)), roles.get(token, frozenset())).tokens
    if token.startswith(ROLE):
        return Actor(token, roles=frozenset((token,))).tokens
    return known.get(token, Actor(token)).tokens


def _owner_type(token: str) -> str | None:
    return None if token == OWNER_OF_ANY_TYPE else token.removeprefix(engine_selectors.owner_token(""))


def reaches_nobody(policy: Stored, actors: Sequence[Actor], found: Seen) -> bool:
    """Whether nobody who may act is meant, not as an owner of something either."""
    tokens = policy.tokens
    if ONESELF in tokens or found.is_owned(policy.urn):
        return False
    return not any(actor.is_active and not actor.tokens.isdisjoint(tokens) for actor in actors)


def gone(policy: Stored, found: Seen, people: Collection[str]) -> Iterator[tuple[str, str]]:
    """Give (URN, facet) of everything that a policy names and that is not there; facet "" for people."""
    for urn, facet in dict.fromkeys(policy.named()):
        if urn not in people and (not facet or not found.is_there(urn)):
            yield urn, facet
