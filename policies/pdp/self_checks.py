"""The guide's checklist for slow search and pages, as checks of what is stored (source 000, "Designing policies for
view-based access control" and "Troubleshooting slow search or UI").

Our own lists are one WHERE and do not slow down as the guide describes, but policies for another installation are often
written here first, and misplaced roles are wrong in any installation.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.core.cache import cache

from policies.engine.model import Effect, Statement
from policies.engine.selectors import CONTAINER, DOMAIN, TYPE, URN, Condition
from policies.models.people import GROUP_PREFIX, ROOT_USERNAME, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import active_policies, authorizer, membership_stats, per_snapshot, snapshot_store
from policies.propagation.pubsub import list_connection_errors

#: Most findings that a check names.
MAX_FINDINGS: Final = 10

#: Thresholds above which a check reports. The guide gives none; these are ours.
_MAX_POLICIES: Final = 1000
_MAX_URN_POLICIES: Final = 50
_MAX_SINGLE_USER_POLICIES: Final = 10
_MAX_GROUPS: Final = 10
_MAX_DOMAIN_DEPTH: Final = 3

#: Cache key of the users in many groups, and its seconds.
GROUP_OVERLAP_CACHE_KEY: Final = "policies:crowds"
_GROUP_OVERLAP_CACHE_SECONDS: Final = 60

#: The privilege that view authorization asks for (rules/datahub.md a.10).
_VIEW_PRIVILEGE: Final = "VIEW_ENTITY_PAGE"

#: Roles whose default policies view everything, whatever other policies say.
_VIEW_ALL_ROLES: Final = (f"{ROLE_PREFIX}Editor", f"{ROLE_PREFIX}Reader")


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One finding of a check: a policy, user, role or entity, with an optional detail."""

    urn: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the checklist: whether it is fine, a sentence, and the first findings."""

    name: str
    title: str
    is_fine: bool
    sentence: str
    advice: str = ""
    findings: tuple[CheckFinding, ...] = ()
    count: int = 0


def run() -> tuple[Check, ...]:
    """Return every check, in the order of the guide."""
    domain_check, container_check, *other_checks = per_snapshot.memoize(__name__, _check_policies)
    return (
        _check_active_policies(),
        domain_check,
        _check_domain_depth(),
        container_check,
        _check_group_overlap(),
        *other_checks,
        _check_viewing_roles(),
        _check_freshness(),
    )


def _check_policies() -> tuple[Check, ...]:
    """Return the checks that follow from the policies alone."""
    snapshot = snapshot_store.get_current()
    statements = snapshot.select(snapshot.everything)
    view_statements = [item for item in snapshot.list_statements(_VIEW_PRIVILEGE) if item.effect is Effect.ALLOW]
    return (
        _check_view_policies(DOMAIN, "domain", view_statements),
        _check_view_policies(CONTAINER, "container", view_statements),
        _build_statement_check(
            "many_groups_listed",
            "Groups that one policy lists",
            filter(_has_many_groups, statements),
            f"list more than {_MAX_GROUPS} groups",
            "One group per boundary is quicker and easier to keep.",
        ),
        _build_statement_check(
            "one_user",
            "Policies for one person",
            filter(_is_for_single_user, statements),
            "name one user and nobody else",
            "Put people into groups and name the group.",
            _MAX_SINGLE_USER_POLICIES,
        ),
        _build_statement_check(
            "urns",
            "Policies for single entities",
            filter(_has_urns, statements),
            "list URNs of entities",
            "Tag the entities and write one policy for the tag.",
            _MAX_URN_POLICIES,
        ),
    )


def _check_active_policies() -> Check:
    count = active_policies.list_active_policies().count()
    return Check(
        "active_policies",
        "Active policies",
        count <= _MAX_POLICIES,
        f"Active policies: {count:,}.",
        "Many policies are often many times the same one: bring together those that give the same privileges.",
        count=count,
    )


def _check_view_policies(field: str, noun: str, view_statements: Sequence[Statement]) -> Check:
    """Return the check of view policies that test a hierarchy; policies that only show the domains are no finding."""
    boundary_statements = [
        statement
        for statement in view_statements
        if _has_criterion(statement, field) and _resource_types(statement) != {"domain"}
    ]
    return _build_statement_check(
        f"view_by_{noun}",
        f"View policies by {noun}",
        boundary_statements,
        f"let people view things by the {noun} they are in",
        "Prefer ownership for that, and filters by domain for domains alone."
        if field == DOMAIN
        else "Avoid them where schemas lie in databases and those in others.",
    )


def _check_domain_depth() -> Check:
    nodes = authorizer.directory().list_deepest_nodes(type="domain", limit=MAX_FINDINGS)
    level = nodes[0].level if nodes else 1
    findings = tuple(
        CheckFinding(node.urn, node.name, f"level {node.level}") for node in nodes if node.level > _MAX_DOMAIN_DEPTH
    )
    sentence = f"The domain tree has {level} level{'s' * (level > 1)}."
    return Check("domain_depth", "Depth of domains", not findings, sentence, "Make it flatter.", findings, level)


def _check_group_overlap() -> Check:
    # This counts every membership, which is too much for each visit of the page, unless the cache is away.
    try:
        cache_entry = cache.get(GROUP_OVERLAP_CACHE_KEY)
    except list_connection_errors():
        cache_entry = None
    if cache_entry is None:
        overlap = membership_stats.list_users_in_many_groups(threshold=_MAX_GROUPS, limit=MAX_FINDINGS)
        cache_entry = (overlap.user_count, overlap.top_users)
        with suppress(*list_connection_errors()):
            cache.set(GROUP_OVERLAP_CACHE_KEY, cache_entry, timeout=_GROUP_OVERLAP_CACHE_SECONDS)
    count, sample_users = cache_entry
    return Check(
        "overlapping_groups",
        "Overlapping groups",
        count == 0,
        f"{count or 'No'} {_pluralize(count, 'user')} in more than {_MAX_GROUPS} groups.",
        "One group per boundary of policies is enough.",
        tuple(CheckFinding(urn, name, f"{groups} groups") for urn, name, groups in sample_users),
        count,
    )


def _check_viewing_roles() -> Check:
    holders = (
        membership_stats.count_role_assignments(roles=_VIEW_ALL_ROLES) if settings.VIEW_AUTHORIZATION_ENABLED else {}
    )
    names = authorizer.load_names(urns=holders)
    findings = tuple(
        CheckFinding(urn, names.get(urn, urn), f"{count} holders") for urn, count in sorted(holders.items())
    )
    sentence = "View authorization is off: everybody may look at everything."
    if settings.VIEW_AUTHORIZATION_ENABLED:
        sentence = "Nobody holds Editor or Reader beside view authorization."
    if findings:
        sentence = "Holders of Editor or Reader may view everything, regardless of view policies."
    advice = "Take the roles from people whose view is to be limited."
    return Check("viewing_roles", "Editor and Reader", not findings, sentence, advice, findings, sum(holders.values()))


def _check_freshness() -> Check:
    seconds = settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS
    sentence = f"Every process sees a change within a second; idle workers compare every {seconds} seconds."
    return Check("freshness", "How soon a change counts", is_fine=True, sentence=sentence, count=seconds)


def _build_statement_check(
    name: str, title: str, statements: Iterable[Statement], verb: str, advice: str, max_policies: int = 0
) -> Check:
    policies = dict(sorted({statement.origin.policy: statement.origin.name for statement in statements}.items()))
    is_fine = len(policies) <= max_policies
    sentence = f"Active policies that {verb}: {len(policies):,}." if policies else f"No active policies {verb}."
    findings = () if is_fine else tuple(CheckFinding(urn, name) for urn, name in list(policies.items())[:MAX_FINDINGS])
    return Check(name, title, is_fine, sentence, advice, findings, len(policies))


def _has_criterion(statement: Statement, field: str) -> bool:
    return any(criterion.field == field for criterion in statement.resources.criteria)


def _resource_types(statement: Statement) -> set[str]:
    return {
        value for criterion in statement.resources.criteria if criterion.field == TYPE for value in criterion.values
    }


def _has_many_groups(statement: Statement) -> bool:
    return sum(token.startswith(GROUP_PREFIX) for token in statement.actors.tokens) > _MAX_GROUPS


def _is_for_single_user(statement: Statement) -> bool:
    # The root user's own policies are part of every installation.
    (token,) = statement.actors.tokens if len(statement.actors.tokens) == 1 else ("",)
    return token.startswith(USER_PREFIX) and token != f"{USER_PREFIX}{ROOT_USERNAME}"


def _has_urns(statement: Statement) -> bool:
    return any(
        criterion.field == URN and criterion.condition is Condition.EQUALS for criterion in statement.resources.criteria
    )


def _pluralize(count: int, noun: str) -> str:
    return f"{noun} is" if count == 1 else f"{noun}s are"
