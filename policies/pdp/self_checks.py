"""The guide's checklist for slow search and pages, as checks of what is stored (source 000, "Designing policies for
view-based access control" and "Troubleshooting slow search or UI").

Our own lists are one WHERE and do not slow down like those the guide speaks of, but policies written for another
installation are often written here first, and misplaced roles are misplaced everywhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.conf import settings
from django.core.cache import cache

from policies.engine.model import Statement
from policies.engine.selectors import CONTAINER, DOMAIN, TYPE, URN, Condition
from policies.engine.snapshot import Snapshot
from policies.models.people import GROUP_PREFIX, ROOT_USERNAME, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import active_policies, authorizer, membership_stats, snapshot_store

#: How many of what it finds a check names.
SHOWN: Final = 10

#: From which numbers on a check has something to say. The guide gives none; these are ours.
_MANY_POLICIES: Final = 1000
_MANY_FOR_URNS: Final = 50
_MANY_FOR_ONE: Final = 10
_MANY_GROUPS: Final = 10
_DEEP: Final = 3

#: Where the users in many groups are kept, and for how many seconds.
CROWDS: Final = "policies:crowds"
_COUNTED_EVERY: Final = 60

#: The privilege that view authorization asks for (rules/datahub.md a.10).
_VIEWING: Final = "VIEW_ENTITY_PAGE"

#: Roles whose default policies view everything, whatever other policies say.
_VIEWING_ROLES: Final = (f"{ROLE_PREFIX}Editor", f"{ROLE_PREFIX}Reader")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check is about: a policy, user, role or entity, and what is to be said of it."""

    urn: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the checklist: whether all is well, in a sentence, and the first of what was found."""

    name: str
    title: str
    is_fine: bool
    sentence: str
    advice: str = ""
    findings: tuple[Finding, ...] = ()
    count: int = 0


def run() -> tuple[Check, ...]:
    """Return every check, in the order of the guide."""
    by_domain, by_container, *others = _about_policies(snapshot_store.current())
    return (_active(), by_domain, _depth(), by_container, _crowds(), *others, _roles(), _freshness())


@lru_cache(maxsize=1)
def _about_policies(snapshot: Snapshot) -> tuple[Check, ...]:
    """Return the checks that follow from the policies alone; kept as long as these are the policies."""
    statements = snapshot.select(snapshot.everything)
    viewing = snapshot.listed(_VIEWING)
    return (
        _viewing_by(DOMAIN, "domain", viewing),
        _viewing_by(CONTAINER, "container", viewing),
        _of_statements(
            "many_groups_listed",
            "Groups that one policy lists",
            filter(_lists_many_groups, statements),
            f"list more than {_MANY_GROUPS} groups",
            "One group per boundary is quicker and easier to keep.",
        ),
        _of_statements(
            "one_user",
            "Policies for one person",
            filter(_is_for_one, statements),
            "name one user and nobody else",
            "Put people into groups and name the group.",
            _MANY_FOR_ONE,
        ),
        _of_statements(
            "urns",
            "Policies for single entities",
            filter(_names_urns, statements),
            "list URNs of entities",
            "Tag the entities and write one policy for the tag.",
            _MANY_FOR_URNS,
        ),
    )


def _active() -> Check:
    count = active_policies.active_policies().count()
    return Check(
        "active_policies",
        "Active policies",
        count <= _MANY_POLICIES,
        f"Active policies: {count:,}.",
        "Many policies are often many times the same one: bring together those that give the same privileges.",
        count=count,
    )


def _viewing_by(field: str, noun: str, viewing: Sequence[Statement]) -> Check:
    """Check which view policies draw their boundary by a hierarchy; to let people see the domains is what it is for."""
    found = [one for one in viewing if _tests(one, field) and _types(one) != {"domain"}]
    return _of_statements(
        f"view_by_{noun}",
        f"View policies by {noun}",
        found,
        f"let people view things by the {noun} they are in",
        "Prefer ownership for that, and filters by domain for domains alone."
        if field == DOMAIN
        else "Avoid them where schemas lie in databases and those in others.",
    )


def _depth() -> Check:
    nodes = authorizer.directory().deepest(type="domain", limit=SHOWN)
    level = nodes[0].level if nodes else 1
    deep = tuple(Finding(one.urn, one.name, f"level {one.level}") for one in nodes if one.level > _DEEP)
    sentence = f"The domain tree has {level} level{'s' * (level > 1)}."
    return Check("domain_depth", "Depth of domains", not deep, sentence, "Make it flatter.", deep, level)


def _crowds() -> Check:
    # Every membership is counted, which is too much for each visit of a page.
    kept = cache.get(CROWDS)
    if kept is None:
        crowd = membership_stats.in_many_groups(more_than=_MANY_GROUPS, limit=SHOWN)
        kept = (crowd.count, crowd.first)
        cache.set(CROWDS, kept, timeout=_COUNTED_EVERY)
    count, first = kept
    return Check(
        "overlapping_groups",
        "Overlapping groups",
        count == 0,
        f"{count or 'No'} {_plural(count, 'user')} in more than {_MANY_GROUPS} groups.",
        "One group per boundary of policies is enough.",
        tuple(Finding(urn, name, f"{groups} groups") for urn, name, groups in first),
        count,
    )


def _roles() -> Check:
    holders = membership_stats.holders_of(roles=_VIEWING_ROLES) if settings.VIEW_AUTHORIZATION_ENABLED else {}
    names = authorizer.names(urns=holders)
    found = tuple(Finding(urn, names.get(urn, urn), f"{count} holders") for urn, count in sorted(holders.items()))
    sentence = "View authorization is off: everybody may look at everything."
    if settings.VIEW_AUTHORIZATION_ENABLED:
        sentence = "Nobody holds Editor or Reader beside view authorization."
    if found:
        sentence = "Whoever holds Editor or Reader may view everything, whatever view policies say."
    advice = "Take the roles from people whose view is to be limited."
    return Check("viewing_roles", "Editor and Reader", not found, sentence, advice, found, sum(holders.values()))


def _freshness() -> Check:
    seconds = settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS
    sentence = f"Every process sees a change within a second; idle workers compare every {seconds} seconds."
    return Check("freshness", "How soon a change counts", is_fine=True, sentence=sentence, count=seconds)


def _of_statements(
    name: str, title: str, statements: Iterable[Statement], verb: str, advice: str, allowed: int = 0
) -> Check:
    policies = dict(sorted({one.origin.policy: one.origin.name for one in statements}.items()))
    is_fine = len(policies) <= allowed
    sentence = f"Active policies that {verb}: {len(policies):,}." if policies else f"No active policies {verb}."
    findings = () if is_fine else tuple(Finding(urn, name) for urn, name in list(policies.items())[:SHOWN])
    return Check(name, title, is_fine, sentence, advice, findings, len(policies))


def _tests(statement: Statement, field: str) -> bool:
    return any(one.field == field for one in statement.resources.criteria)


def _types(statement: Statement) -> set[str]:
    return {value for one in statement.resources.criteria if one.field == TYPE for value in one.values}


def _lists_many_groups(statement: Statement) -> bool:
    return sum(token.startswith(GROUP_PREFIX) for token in statement.actors.tokens) > _MANY_GROUPS


def _is_for_one(statement: Statement) -> bool:
    # The root user's own policies come with every installation.
    (token,) = statement.actors.tokens if len(statement.actors.tokens) == 1 else ("",)
    return token.startswith(USER_PREFIX) and token != f"{USER_PREFIX}{ROOT_USERNAME}"


def _names_urns(statement: Statement) -> bool:
    return any(one.field == URN and one.condition is Condition.EQUALS for one in statement.resources.criteria)


def _plural(count: int, noun: str) -> str:
    return f"{noun} is" if count == 1 else f"{noun}s are"
