"""Policies without effect: facts of each partition, and conclusions from all of them (docs/hygiene.md).

Coverage is computed by the engine; references are read from statements, so that all families are treated alike. A
policy is said to change nothing in any catalog only where that is proved (`redundancy`).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from catalog.reports.snapshot.partition_facts import PartitionFacts
from policies.engine import selectors as engine_selectors
from policies.engine.model import Actor, Effect, Statement, StatementOrigin
from policies.engine.postings import union
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, Condition

#: Kinds of facts: a policy covers `number` entities; an actor owns an entity that a policy opens to owners; a
#: referenced URN exists; an owner of an entity that a policy opens to its owners.
POLICY_COVERS, POLICY_IS_OWNED, URN_EXISTS, POLICY_OWNER = ("covers", "owned", "there", "owner")

USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX = "urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"
_URN_PREFIX = "urn:li:"

#: Facets whose values are URNs that may no longer exist.
URN_FIELDS = frozenset(
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


class HygieneFact(NamedTuple):
    """One fact about a policy in one partition."""

    kind: str
    policy: str
    other_urn: str = ""
    number: int = 1


@dataclass(frozen=True, slots=True)
class PolicyStatements:
    """A policy: its URN, name and statements."""

    urn: str
    name: str
    statements: tuple[Statement, ...]

    @property
    def tokens(self) -> frozenset[str]:
        """The actor tokens of all its statements."""
        return frozenset[str]().union(*(statement.actors.tokens for statement in self.statements))

    @property
    def is_deny(self) -> bool:
        """Whether the policy only denies."""
        return bool(self.statements) and all(statement.effect is Effect.DENY for statement in self.statements)

    @property
    def content(self) -> frozenset[Statement]:
        """The statements without their origin, to compare policies regardless of their names."""
        return frozenset(replace(statement, origin=StatementOrigin("", "")) for statement in self.statements)

    @property
    def is_about_entities(self) -> bool:
        """Whether every statement needs a resource, so that the policy grants nothing where it covers no entity."""
        return all(statement.resources.needs_resource for statement in self.statements)

    def count_people(self, actors: Iterable[Actor]) -> int:
        """Return the number of active actors that it names and does not exclude; owners are not counted."""
        clauses = {statement.actors for statement in self.statements}
        return sum(
            actor.is_active
            and any(
                not clause.tokens.isdisjoint(actor.tokens) and clause.excluded_tokens.isdisjoint(actor.tokens)
                for clause in clauses
            )
            for actor in actors
        )

    def has_excluded(self, actor: Actor) -> bool:
        """Whether every statement excludes the actor, whatever the resource."""
        return all(not item.actors.excluded_tokens.isdisjoint(actor.tokens) for item in self.statements)

    def iterate_references(self) -> Iterator[tuple[str, str]]:
        """Yield (URN, facet) of each URN in the resources, and (URN, "") of users, groups and roles."""
        for statement in self.statements:
            for token in statement.actors.tokens | statement.actors.excluded_tokens:
                if token.startswith((USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX)):
                    yield token, ""
            selectors = (item for item in (statement.resources, statement.subresources) if item is not None)
            for criterion in (item for selector in selectors for item in selector.criteria):
                if criterion.field in URN_FIELDS and criterion.condition is not Condition.STARTS_WITH:
                    yield from ((value, criterion.field) for value in criterion.values if value.startswith(_URN_PREFIX))


@dataclass(frozen=True, slots=True)
class HygieneQuery:
    """Input of every partition: policies, duplicates, owners to report."""

    policies: tuple[PolicyStatements, ...]
    duplicates: Mapping[str, tuple[str, ...]]
    isolating_policies: frozenset[str] = frozenset()
    watched_holders: frozenset[str] = frozenset()


class HygieneFacts:
    """The facts of all partitions about all policies."""

    def __init__(self, rows: Iterable[HygieneFact]) -> None:
        self._numbers: Counter[tuple[str, str, str]] = Counter()
        for row in rows:
            self._numbers[row.kind, row.policy, row.other_urn] += row.number

    def count_covered(self, policy: str) -> int:
        """Return the number of entities that a policy covers."""
        return self._numbers[POLICY_COVERS, policy, ""]

    def is_owned(self, policy: str) -> bool:
        """Whether an active actor owns an entity that the policy opens to its owners."""
        return (POLICY_IS_OWNED, policy, "") in self._numbers

    def has_urn(self, urn: str) -> bool:
        """Whether a referenced URN is in the catalog."""
        return (URN_EXISTS, "", urn) in self._numbers

    def list_owners(self, policy: str) -> set[str]:
        """Return the `watched_holders` that own an entity that the policy opens to its owners."""
        return {owner for kind, owned_policy, owner in self._numbers if (kind, owned_policy) == (POLICY_OWNER, policy)}


def group_by_policy(statements: Iterable[Statement], names_by_urn: Mapping[str, str]) -> tuple[PolicyStatements, ...]:
    """Return the policies of `names_by_urn` (URN to name) with their statements, also those without statements."""
    statements_by_urn: dict[str, list[Statement]] = {urn: [] for urn in names_by_urn}
    for statement in statements:
        if statement.origin.policy in statements_by_urn:
            statements_by_urn[statement.origin.policy].append(statement)
    return tuple(
        PolicyStatements(urn, names_by_urn[urn], tuple(policy_statements))
        for urn, policy_statements in sorted(statements_by_urn.items())
    )


def build_query(policies: Sequence[PolicyStatements]) -> HygieneQuery:
    """Return the query of every partition."""
    urns_by_content: dict[frozenset[Statement], list[str]] = defaultdict(list)
    for policy in policies:
        if policy.statements:
            urns_by_content[policy.content].append(policy.urn)
    duplicates = {
        urn: tuple(other_urn for other_urn in urns if other_urn != urn)
        for urns in urns_by_content.values()
        if len(urns) > 1
        for urn in urns
    }
    return HygieneQuery(tuple(policies), duplicates)


def collect_facts(facts: PartitionFacts, query: HygieneQuery) -> Iterator[HygieneFact]:
    """Yield the facts of one partition."""
    yield from _find_existing_urns(facts, query)
    holders = frozenset[str]().union(*(actor.holders for actor in facts.actors if actor.is_active))
    for policy in query.policies:
        extent = union(facts.postings.find_extent(item.resources) for item in policy.statements)
        if policy.statements and extent:
            yield HygieneFact(POLICY_COVERS, policy.urn, number=len(extent))
        if any(_is_owned(facts, item, holders) for item in policy.statements):
            yield HygieneFact(POLICY_IS_OWNED, policy.urn)
        if policy.urn in query.isolating_policies:
            yield from (
                HygieneFact(POLICY_OWNER, policy.urn, item)
                for item in _find_owners(facts, policy) & query.watched_holders
            )


def _find_existing_urns(facts: PartitionFacts, query: HygieneQuery) -> Iterator[HygieneFact]:
    """Yield the referenced URNs that are in this partition, as an entity or as the value of a facet."""
    facets_by_urn: dict[str, set[str]] = defaultdict(set)
    for policy in query.policies:
        for urn, facet in policy.iterate_references():
            if facet:
                facets_by_urn[urn].add(facet)
    for urn, facets in facets_by_urn.items():
        is_value = (urn in facts.postings.values(facet) for facet in facets if facet != engine_selectors.URN)
        if facts.postings.number(urn) is not None or any(is_value):
            yield HygieneFact(URN_EXISTS, "", urn)


def _is_owned(facts: PartitionFacts, statement: Statement, holders: frozenset[str]) -> bool:
    """Whether a statement for owners covers an entity that one of the holders owns."""
    owner_tokens = [token for token in statement.actors.tokens if token.startswith(OWNER_OF_ANY_TYPE)]
    if not owner_tokens:
        return False
    owned_extents = (facts.postings.find_owned_entities(holders, _owner_type(token)) for token in owner_tokens)
    return bool(facts.postings.find_extent(statement.resources) & union(owned_extents))


def _find_owners(facts: PartitionFacts, policy: PolicyStatements) -> set[str]:
    """Return the owners of the entities of this partition that a policy opens to its owners."""
    owner_urns: set[str] = set()
    for statement in policy.statements:
        extent = facts.postings.find_extent(statement.resources)
        for token in statement.actors.tokens:
            if token.startswith(OWNER_OF_ANY_TYPE):
                extents_by_owner = facts.postings.owners(_owner_type(token))
                owner_urns.update(urn for urn, owned_extent in extents_by_owner.items() if owned_extent & extent)
    return owner_urns


def _owner_type(token: str) -> str | None:
    return None if token == OWNER_OF_ANY_TYPE else token.removeprefix(engine_selectors.owner_token(""))


def reaches_nobody(policy: PolicyStatements, actors: Sequence[Actor], hygiene_facts: HygieneFacts) -> bool:
    """Whether the policy applies to no active actor, not even as an owner."""
    return not (ONESELF in policy.tokens or hygiene_facts.is_owned(policy.urn) or policy.count_people(actors))


def missing_references(
    policy: PolicyStatements, hygiene_facts: HygieneFacts, people: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield (URN, facet) of each reference of a policy that does not exist; facet "" for users, groups and roles."""
    for urn, facet in dict.fromkeys(policy.iterate_references()):
        if urn not in people and (not facet or not hygiene_facts.has_urn(urn)):
            yield urn, facet
