"""Entities as the API writes them: registered, updated, refused, deleted."""

from collections.abc import Callable

import pytest

from catalog.entities import services as entity_services
from catalog.ingest import rebuild_projection
from catalog.models import Entity
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import DOOR, facets, projection, stored

pytestmark = pytest.mark.django_db

PROJECT, OBJECT = "66be5fc75158d037e9970c6d", "507f1f77bcf86cd799439011"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:snowflake,churn.scores,PROD)"
LIST = [
    {"type": "project", "object_id": PROJECT.upper(), "name": "Churn"},
    {"type": "dataset", "object_id": OBJECT, "project": PROJECT, "urn": DATASET},
    {"type": "stream", "urn": "urn:li:stream:ns1.clicks"},
]


def create(*bodies: object, by: Actor = SYSTEM) -> list[Entity]:
    return entity_services.create(bodies=bodies, by=by, channel=DOOR)


def test_a_list_is_registered_with_ids_names_and_projects() -> None:
    project, dataset, stream = create(*LIST)
    assert (project.urn, project.object_id, project.name) == (f"urn:li:project:{PROJECT}", PROJECT, "Churn")
    assert (dataset.urn, dataset.object_id, dataset.project) == (DATASET, OBJECT, PROJECT)
    assert (stream.type, stream.object_id, stream.name) == ("stream", None, "ns1.clicks")
    assert facets(DATASET) >= {("ID", OBJECT, ""), ("PROJECT", PROJECT, "")}
    before = projection()
    rebuild_projection.rebuild()
    assert projection() == before


def test_an_id_is_made_where_there_is_none() -> None:
    (view,) = create({"type": "view"})
    assert view.urn == f"urn:li:view:{view.object_id}"
    assert len(view.object_id or "") == 24


def test_what_is_known_is_updated_with_the_fields_sent() -> None:
    create(*LIST)
    (again,) = create({"type": "project", "object_id": PROJECT, "name": "Renamed"})
    assert (again.name, Entity.objects.count()) == ("Renamed", 3)
    (by_id,) = create({"type": "dataset", "object_id": OBJECT, "aspects": {"globalTags": {"tags": []}}})
    assert (by_id.urn, by_id.project) == (DATASET, PROJECT)


def test_update_changes_name_project_and_aspects() -> None:
    create(*LIST)
    body = {"name": "Scores", "project": None, "aspects": {"domains": {"domains": ["urn:li:domain:d"]}}}
    changed = entity_services.update(urn=DATASET, body=body, by=SYSTEM, channel=DOOR)
    assert (changed.name, changed.project, changed.object_id) == ("Scores", None, OBJECT)
    assert ("DOMAIN", "urn:li:domain:d", "") in facets(DATASET)
    assert not [facet for facet in facets(DATASET) if facet[0] == "PROJECT"]


@pytest.mark.parametrize(
    ("bodies", "pointers"),
    [
        ([{"type": "view", "colour": 1}, 7], ["/0/colour", "/1"]),
        ([{"type": "view", "object_id": "xyz"}, {"urn": "urn:li:tag:x"}], ["/0/object_id", "/1/type"]),
        ([{"type": "chart", "urn": "urn:li:tag:x"}, {"type": "chart"}], ["/0/urn", "/1/urn"]),
        (
            [{"type": "user"}, {"type": "role"}, {"type": "corpuser", "urn": "urn:li:corpuser:x"}],
            ["/0/type", "/1/type", "/2/type"],
        ),
        ([{"type": "no type", "object_id": OBJECT}], ["/0/type"]),
        ([{"type": "view", "project": OBJECT}, {"type": "project", "object_id": OBJECT}], ["/0/project"]),
        (
            [{"type": "tag", "urn": "urn:li:tag:x", "aspects": {"globalTags": {"tags": [{}]}}}],
            ["/0/aspects/globalTags/tags/0/tag"],
        ),
        ([{"type": "tag", "urn": "urn:li:tag:x", "name": "x\ud800"}], ["/0"]),
        ([{"type": "tag", "urn": "urn:li:tag:x", "aspects": {"a/b": {}}}], ["/0/aspectName"]),
    ],
)
def test_every_problem_has_its_place_and_nothing_is_stored(bodies: list, pointers: list[str]) -> None:
    with pytest.raises(Invalid) as refusal:
        create({"type": "view", "object_id": "1" * 24}, *bodies)
    found = [problem.pointer for problem in refusal.value.problems]
    assert found == [f"/{int(place[1]) + 1}{place[2:]}" for place in pointers]
    assert stored() == (set(), [])


def test_ids_are_unique_per_type_and_stay() -> None:
    create(*LIST)
    with pytest.raises(Conflict):
        create({"type": "dataset", "object_id": OBJECT, "urn": DATASET.replace("churn", "other")})
    with pytest.raises(Conflict):
        create({"type": "dataset", "object_id": "1" * 24, "urn": DATASET})
    with pytest.raises(Conflict):
        create(
            {"type": "view", "object_id": "2" * 24, "urn": "urn:li:view:a"},
            {"type": "view", "object_id": "2" * 24, "urn": "urn:li:view:b"},
        )
    create({"type": "view", "object_id": OBJECT})


def test_at_most_a_thousand() -> None:
    with pytest.raises(Invalid):
        create(*[{"type": "view"}] * 1001)
    assert len(create(*[{"type": "view"}] * 1000)) == 1000


def test_privileges(holding: Callable[..., Actor]) -> None:
    with pytest.raises(Forbidden) as refusal:
        create(*LIST, by=holding("VIEW_ENTITY_PAGE", username="reader"))
    assert {item.entity for item in refusal.value.missing} == {f"urn:li:project:{PROJECT}", DATASET, LIST[2]["urn"]}
    creator = holding("CREATE_ENTITY", username="creator")
    create(*LIST, by=creator)
    for call in (
        lambda: create(LIST[0], by=creator),
        lambda: entity_services.update(urn=DATASET, body={"project": None}, by=creator, channel=DOOR),
        lambda: entity_services.delete(urn=DATASET, by=creator, channel=DOOR),
    ):
        with pytest.raises(Forbidden):
            call()
    entity_services.delete(urn=DATASET, by=holding("DELETE_ENTITY", username="remover"), channel=DOOR)
    assert not Entity.objects.filter(urn=DATASET).exists()


def test_what_is_not_there() -> None:
    for call in (
        lambda: entity_services.update(urn=DATASET, body={}, by=SYSTEM, channel=DOOR),
        lambda: entity_services.delete(urn=DATASET, by=SYSTEM, channel=DOOR),
        lambda: entity_services.delete(urn="\x00", by=SYSTEM, channel=DOOR),
    ):
        with pytest.raises(NotFound):
            call()
