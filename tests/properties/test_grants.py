"""Lists and single answers agree about grants, inherited or not: what `covered` finds is what `decide` allows."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.access import coverage_sql
from catalog.access.grant_source import Grant
from catalog.cdap.grant_requests import GrantRequest
from catalog.cdap.grant_services import grant
from catalog.entities import bootstrap
from catalog.entities import services as entity_services
from catalog.models import Entity
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.requirements import privilege_requirement
from policies.identity.services import groups, roles, users
from policies.pdp import actor_resolution, authorizer, inverse_queries
from policies.pdp.access_requests import AccessRequest, ResourceRef
from tests.catalog.conftest import undone
from tests.cdap.conftest import DOOR, urn

ACTORS = ("jo", "mia")
PRINCIPALS = ("jo", "mia", "group:g", "role:r")
NAMES = (
    "namespace:a",
    "namespace:ab",
    "artifact:a.x",
    "application:a.x",
    "program:a.x.p",
    "program:ab.x.p",
    "stream:a.s",
    "stream:ab.s",
    "dataset:a.d",
    "dataset:ab.d",
    "secure_key:a.k",
)
PATTERNS = ("namespace:*", "namespace:a*", "stream:a.*", "dataset:a*", "program:a.*", "program:a.x.*", "secure_key:*")

GRANTS = st.lists(
    st.tuples(
        st.sampled_from(PRINCIPALS),
        st.sampled_from((*NAMES, *PATTERNS)),
        st.sets(st.sampled_from(cdap.PRIVILEGES), min_size=1).map(sorted).map(tuple),
    ),
    max_size=8,
)


@pytest.fixture
def world(db: None) -> None:
    """Every entity but one application, which programs lie in all the same, and everybody who may hold something."""
    bootstrap.register_cdap_instance(by=authorizer.SYSTEM)
    for name in ("datahub", *ACTORS):
        users.create(username=name, by=authorizer.SYSTEM, channel=DOOR)
    groups.create(name="g", identifier="g", members=[urn("mia")], by=authorizer.SYSTEM, channel=DOOR)
    roles.create(name="r", identifier="r", by=authorizer.SYSTEM, channel=DOOR)
    roles.assign(role=urn("role:r"), actors=[urn("group:g")], by=authorizer.SYSTEM, channel=DOOR)
    bodies = [{"type": urn(name).split(":")[2], "urn": urn(name)} for name in NAMES]
    bodies.append({"type": "tag", "urn": "urn:li:tag:a.s"})
    entity_services.create(bodies=bodies, by=authorizer.SYSTEM, channel=DOOR)


@pytest.mark.parametrize("is_inherited", [False, True])
def test_lists_who_and_decisions_agree(world: None, is_inherited: bool, settings_of_django) -> None:
    settings_of_django.INHERIT_PRIVILEGES = is_inherited

    @settings(max_examples=15, deadline=None)
    @given(GRANTS)
    def agree(granted: list[tuple[str, str, tuple[str, ...]]]) -> None:
        with undone():
            sent = [GrantRequest(urn(who), _spelled(name), privileges) for who, name, privileges in granted]
            assert all(isinstance(given_, Grant) for given_ in grant(requests=sent, by=authorizer.SYSTEM, channel=DOOR))
            stored = list(Entity.objects.order_by("urn").values_list("urn", flat=True))
            actors = [actor_resolution.load_actor(urn=urn(name)) for name in ACTORS]
            for actor, privilege in itertools.product(actors, cdap.PRIVILEGES):
                asks = [
                    (actor, AccessRequest(privilege_requirement(privilege), ResourceRef(entity))) for entity in stored
                ]
                decisions = authorizer.answer_many(requests=asks)
                allowed = {entity for entity, decision in zip(stored, decisions, strict=True) if decision.is_allowed}
                found = coverage_sql.filter_covered(authorizer.compute_coverage(actor=actor, privilege=privilege))
                assert set(found.values_list("urn", flat=True)) == allowed
                for entity in stored[:: len(cdap.PRIVILEGES)]:
                    who = inverse_queries.find_allowed_actors(privilege=privilege, resource=ResourceRef(entity))
                    held = {*who.users, *who.groups, *who.roles}
                    assert bool(held & (actor.holders | actor.roles)) == (entity in allowed)

    agree()


@pytest.fixture
def settings_of_django(settings):
    """Django's settings, under a name that hypothesis does not use."""
    return settings


def _spelled(name: str) -> str:
    return name if cdap_entity_ids.parse_pattern(name) is not None else urn(name)
