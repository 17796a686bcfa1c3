"""Anti-patterns of the policies guide (source 000, "Anti-patterns"), detected in the statements of policies.

Each finding is a sentence about one policy. Policies are alike when they grant the same privileges; the pattern is the
dimension in which they differ: one user each, one entity each, one domain each.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from catalog.reports.kinds.policy_hygiene.hygiene import GROUP_PREFIX, USER_PREFIX, HygieneFacts, PolicyStatements
from policies.engine import selectors
from policies.engine.model import Actor, Effect
from policies.engine.selectors import EVERYONE, OWNER_OF_ANY_TYPE, Condition

#: Minimum number of alike policies that make a pattern, and minimum number of entities in the URN list of one policy.
MIN_ALIKE_POLICIES, MIN_NAMED_URNS = 3, 20

#: Minimum depth of the tree of a domain, from its root to its deepest descendant, that counts as deep.
MIN_DEEP_LEVELS = 3

VIEW_PRIVILEGES = frozenset(("VIEW_ENTITY_PAGE", "VIEW_ENTITY"))
#: Roles that view everything, regardless of narrower policies (guide, "Roles and VBAC").
WIDE_ROLES = frozenset(f"urn:li:dataHubRole:{name}" for name in ("Admin", "Editor", "Reader"))
#: Role of the operators of the platform, who are meant to view everything.
_OPERATOR_ROLE = "urn:li:dataHubRole:Admin"


class Antipattern(StrEnum):
    """The types of anti-patterns."""

    ONE_USER = "ONE_POLICY_PER_USER"
    URN_SPECIFIC = "URN_SPECIFIC"
    DOMAIN_OVERLAP = "OVERLAPPING_DOMAINS"
    DEEP_DOMAIN = "DEEP_DOMAINS"
    CONTAINER_CHAIN = "CONTAINER_CHAIN"
    ROLE_BESIDE = "ROLE_BESIDE_ISOLATION"


class AntipatternFinding(NamedTuple):
    """An anti-pattern in a policy: a sentence, and the entity or actor that it is about ("" for none)."""

    pattern: Antipattern
    policy: str
    sentence: str
    entity: str = ""
    actor: str = ""


def find_antipatterns(
    policies: Sequence[PolicyStatements],
    actors: Sequence[Actor],
    descendants: Mapping[str, Sequence[str]],
    hygiene_facts: HygieneFacts,
) -> Iterator[AntipatternFinding]:
    """Yield every anti-pattern in these policies; `descendants` maps a node to everything below it."""
    ancestors: dict[str, list[str]] = defaultdict(list)
    for node, node_descendants in descendants.items():
        for descendant in node_descendants:
            ancestors[descendant].append(node)
    yield from _find_alike(
        policies, _single_user_key, Antipattern.ONE_USER, "one user each; one policy for a group of them says it once"
    )
    yield from _find_alike(
        policies, _single_urn_key, Antipattern.URN_SPECIFIC, "entities named one by one; a tag and one policy do"
    )
    yield from _find_alike(
        policies, _single_domain_key, Antipattern.DOMAIN_OVERLAP, "a domain each; owners say the same with one policy"
    )
    for policy in policies:
        yield from _find_long_urn_lists(policy)
        yield from _find_deep_domains(policy, ancestors, descendants)
        yield from _find_container_chains(policy, descendants)
        yield from _find_role_bypasses(policy, actors, hygiene_facts)


def is_isolating(policy: PolicyStatements) -> bool:
    """Whether a policy allows viewing by domain or owner, and not to everyone or a role that views everything."""
    allow_statements = [
        item for item in policy.statements if item.effect is Effect.ALLOW and item.privileges & VIEW_PRIVILEGES
    ]
    if not allow_statements or EVERYONE in policy.tokens or not policy.tokens.isdisjoint(WIDE_ROLES):
        return False
    is_by_domain = any(
        item.field == selectors.DOMAIN for statement in allow_statements for item in statement.resources.criteria
    )
    return is_by_domain or any(token.startswith(OWNER_OF_ANY_TYPE) for token in policy.tokens)


def has_wide_role(actor: Actor) -> bool:
    """Whether an active actor has a role that views everything and is not the role of operators."""
    return actor.is_active and not actor.roles.isdisjoint(WIDE_ROLES - {_OPERATOR_ROLE})


#: Returns the key by which policies of a pattern are alike; None for a policy that does not fit the pattern.
_GroupKeyFunction = Callable[[PolicyStatements], object | None]


def _find_alike(
    policies: Iterable[PolicyStatements], group_key: _GroupKeyFunction, pattern: Antipattern, advice: str
) -> Iterator[AntipatternFinding]:
    groups: dict[object, list[PolicyStatements]] = defaultdict(list)
    for policy in policies:
        if policy.statements and (key := group_key(policy)) is not None:
            groups[key].append(policy)
    for alike_policies in groups.values():
        if len(alike_policies) >= MIN_ALIKE_POLICIES:
            verb = "deny" if alike_policies[0].is_deny else "give"
            sentence = f"{len(alike_policies)} policies {verb} the same privileges for {advice}."
            yield from (AntipatternFinding(pattern, member.urn, sentence) for member in alike_policies)


def _single_user_key(policy: PolicyStatements) -> object | None:
    """Return the key of a policy that names one user: privileges, resources, exclusions, conditions and effects."""
    if len(policy.tokens) != 1 or not next(iter(policy.tokens)).startswith(USER_PREFIX):
        return None
    return frozenset(
        (
            statement.privileges,
            statement.resources,
            statement.actors.excluded_tokens,
            statement.actor_conditions,
            statement.effect,
        )
        for statement in policy.statements
    )


def _single_urn_key(policy: PolicyStatements) -> object | None:
    """Return the key of a policy that names entities by URN: privileges, actors, actor conditions and effects."""
    return _grant_key(policy) if _facet_values(policy, selectors.URN) else None


def _single_domain_key(policy: PolicyStatements) -> object | None:
    """Return the key of a policy on domains: privileges and actor conditions, whatever the actors are.

    None for a deny, which ownership cannot say.
    """
    if policy.is_deny or not _facet_values(policy, selectors.DOMAIN):
        return None
    return frozenset((statement.privileges, statement.actor_conditions) for statement in policy.statements)


def _grant_key(policy: PolicyStatements) -> object:
    return frozenset(
        (statement.privileges, statement.actors, statement.actor_conditions, statement.effect)
        for statement in policy.statements
    )


def _facet_values(policy: PolicyStatements, field: str) -> list[str]:
    """Return the values that the policy requires of a facet by EQUALS, sorted."""
    criteria = (criterion for statement in policy.statements for criterion in statement.resources.criteria)
    equals_criteria = (
        criterion for criterion in criteria if criterion.field == field and criterion.condition is Condition.EQUALS
    )
    return sorted({value for criterion in equals_criteria for value in criterion.values})


def _find_long_urn_lists(policy: PolicyStatements) -> Iterator[AntipatternFinding]:
    urn_count = len(_facet_values(policy, selectors.URN))
    if urn_count >= MIN_NAMED_URNS:
        sentence = (
            f"It names {urn_count} entities one by one; a tag on them and a policy on the tag does without a list."
        )
        yield AntipatternFinding(Antipattern.URN_SPECIFIC, policy.urn, sentence)


def _find_deep_domains(
    policy: PolicyStatements, ancestors: Mapping[str, Sequence[str]], descendants: Mapping[str, Sequence[str]]
) -> Iterator[AntipatternFinding]:
    for domain in _facet_values(policy, selectors.DOMAIN):
        levels = max(len(ancestors.get(node, ())) + 1 for node in (domain, *descendants.get(domain, ())))
        if levels >= MIN_DEEP_LEVELS:
            sentence = f"The tree of this domain has {levels} levels; keep domains shallow where they are a boundary."
            yield AntipatternFinding(Antipattern.DEEP_DOMAIN, policy.urn, sentence, entity=domain)


def _find_container_chains(
    policy: PolicyStatements, descendants: Mapping[str, Sequence[str]]
) -> Iterator[AntipatternFinding]:
    for container in _facet_values(policy, selectors.CONTAINER):
        if descendants.get(container):
            sentence = f"{len(descendants[container])} containers lie in this one; owners are the cheaper boundary."
            yield AntipatternFinding(Antipattern.CONTAINER_CHAIN, policy.urn, sentence, entity=container)


def _find_role_bypasses(
    policy: PolicyStatements, actors: Iterable[Actor], hygiene_facts: HygieneFacts
) -> Iterator[AntipatternFinding]:
    """Yield actors that an isolating policy applies to and that view everything through a role."""
    if not is_isolating(policy):
        return
    owners = hygiene_facts.list_owners(policy.urn)
    named_tokens = {token for token in policy.tokens if token.startswith((USER_PREFIX, GROUP_PREFIX))}
    for actor in actors:
        is_targeted = not actor.tokens.isdisjoint(named_tokens) or not actor.holders.isdisjoint(owners)
        if is_targeted and has_wide_role(actor) and not policy.has_excluded(actor):
            roles = ", ".join(sorted(role.rpartition(":")[2] for role in actor.roles & WIDE_ROLES))
            sentence = f"It keeps this person to part of the catalog, but the role {roles} shows all of it."
            yield AntipatternFinding(Antipattern.ROLE_BESIDE, policy.urn, sentence, actor=actor.urn)
