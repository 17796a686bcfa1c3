"""What somebody may use a privilege on holds a thing exactly when the single question about it allows.

Entities of the catalog, users, groups, roles and policies alike, filtered in the database.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.access import reachable_parts, reachable_resources
from catalog.access.facet_source import OrmFacetSource
from catalog.models import Entity
from policies.authoring.services import policies, policy_drafts
from policies.engine.evaluate import decide
from policies.engine.model import Question
from policies.identity.services import roles
from policies.models import GroupProfile, Policy, Role, User
from policies.pdp import authorizer
from tests.catalog.conftest import DOOR, undone
from tests.catalog.generated import store
from tests.strategies import ACTORS, GROUPS, PRIVILEGES, worlds
from tests.worlds import document

pytestmark = pytest.mark.django_db

FIELDS = {
    *("OWNER", "DOMAIN", "CONTAINER", "GLOSSARY", "TAG", "DATA_PLATFORM_INSTANCE", "GROUP_MEMBERSHIP", "ID"),
    *("PROJECT", "PROPERTY.a", "PROPERTY.b"),
}
#: Types of entities, people and policies by which a list is limited.
TYPES = ["dataset", "domain", "tag", "container", "corpuser", "corpGroup", "dataHubRole", "dataHubPolicy"]
#: Conditions that reach people and policies by every column that their tables have.
ABOUT_PEOPLE = [
    [("TYPE", "EQUALS", ["corpGroup", "dataHubRole"])],
    [("TYPE", "NOT_EQUALS", ["dataset", "corpuser"])],
    [("TYPE", "STARTS_WITH", ["dataHub"])],
    [("GROUP_MEMBERSHIP", "EQUALS", GROUPS[:1])],
    [("GROUP_MEMBERSHIP", "NOT_EQUALS", GROUPS[:1]), ("TYPE", "EQUALS", ["corpuser"])],
    [("URN", "STARTS_WITH", ["urn:li:dataHubPolicy:", "urn:li:corpGroup:"])],
    [("TAG", "NOT_EQUALS", ["urn:li:tag:a"]), ("OWNER", "STARTS_WITH", ["urn:li:corp"])],
    [],
]


def filtered(criteria):
    return {
        "filter": {"criteria": [{"field": one, "condition": how, "values": values} for one, how, values in criteria]}
    }


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(worlds(), st.sampled_from(PRIVILEGES), st.lists(st.sampled_from(ABOUT_PEOPLE), max_size=2), st.data())
def test_what_has_it_exactly_when_the_single_question_allows(monkeypatch, world, privilege, about, data):
    extra = [
        (f"about-{place}", document(privileges=[privilege], actors={"allUsers": True}, resources=filtered(criteria)))
        for place, criteria in enumerate(about)
    ]
    snapshot = world.having([*world.policies, *extra]).snapshot()
    with undone():
        store(world)
        _add_roles_and_policies()
        tables = (Entity, User, GroupProfile, Role, Policy)
        known = {urn for table in tables for urn in table.objects.order_by().values_list("urn", flat=True)}
        loaded = OrmFacetSource().load(urns=known, fields=FIELDS)
        for who in ACTORS:
            actor = world.actor(who)
            coverage = snapshot.compute_coverage(actor, privilege)
            # A list of which the entries are read first, or one that is tested in its order.
            most = data.draw(st.sampled_from([0, 1000]))
            monkeypatch.setattr(reachable_parts, "MAX_SHORT", data.draw(st.sampled_from([0, 2, 1000])))
            found = reachable_resources.list_reachable(coverage=coverage, max_count=1000, max_entries=most)
            rows = found[0:1000]
            allowed = {urn for urn in known if decide(snapshot, Question(actor, privilege, loaded[urn])).is_allowed}
            assert sorted(row.urn for row in rows) == sorted(allowed)
            assert len(found) == found.count_all() == len(allowed)
            limit = data.draw(st.integers(0, 3))
            bounded = reachable_resources.list_reachable(coverage=coverage, max_count=limit, max_entries=most)
            assert len(bounded) == min(len(allowed), limit + 1)
            assert all(row.urn.startswith(f"urn:li:{row.type}:") for row in rows)
            start, size = data.draw(st.integers(0, len(allowed) + 2)), data.draw(st.integers(1, 4))
            assert found[start : start + size] == rows[start : start + size]
            assert found.list_urns_after("urn:li:corpuser:", 1000) == sorted(
                one for one in allowed if one > "urn:li:corpuser:"
            )
            types = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
            found = reachable_resources.list_reachable(coverage=coverage, types=types, max_count=1000, max_entries=most)
            assert sorted(row.urn for row in found[0:1000]) == sorted(
                urn for urn in allowed if urn.split(":")[2] in types
            )


def _add_roles_and_policies() -> None:
    for name in ("a", "b"):
        roles.create(name=name, identifier=f"made-{name}", by=authorizer.SYSTEM, channel=DOOR)
    draft = policy_drafts.PolicyInput("datahub", document(displayName="Stored", privileges=["EDIT_ENTITY"], actors={}))
    policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR)
