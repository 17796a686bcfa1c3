"""Taking entities out, and what becomes of their children and of those that name them."""

import pytest

from catalog.access import aspect_documents, entity_lists
from catalog.ingest import deletes, rebuild_projection
from catalog.ingest.deletes import Mention
from catalog.models import Ancestry, Aspect, Entity, Facet
from policies.errors import Forbidden, Invalid
from policies.models import User
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import DOOR, facets, owners, projection, said, stored, tags, tell

pytestmark = pytest.mark.django_db

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
TOP, MIDDLE, LOW = (f"urn:li:domain:{name}" for name in ("top", "middle", "low"))
USER = "urn:li:corpuser:jo"


def delete(urn: str) -> deletes.DeleteResult:
    return deletes.delete(urn=urn, by=SYSTEM, channel=DOOR)


def test_a_hard_delete_takes_everything_of_the_entity() -> None:
    tell(said(DATASET, "globalTags", tags("a")), said(DATASET, "globalTags", tags("b")))
    assert delete(DATASET) == deletes.DeleteResult(DATASET, 2)
    assert not Entity.objects.exists()
    assert not Aspect.objects.exists()
    assert not Facet.objects.exists()
    assert delete(DATASET) == deletes.DeleteResult(DATASET, 0)


def test_children_stay_and_lose_their_parent() -> None:
    tell(
        said(TOP, "domainProperties", {"name": "Top"}),
        said(MIDDLE, "domainProperties", {"name": "Middle", "parentDomain": TOP}),
        said(LOW, "domainProperties", {"name": "Low", "parentDomain": MIDDLE, "future": 1}),
        said(DATASET, "container", {"container": "urn:li:container:c"}),
        said("urn:li:container:c", "containerProperties", {"name": "c"}),
    )
    delete(MIDDLE)
    delete("urn:li:container:c")
    assert not Ancestry.objects.exists()
    assert entity_lists.get(urn=LOW).parent is None
    found = aspect_documents.load_aspect(urn=LOW, name="domainProperties")
    assert found is not None
    assert found.value == {"name": "Low", "future": 1}
    assert aspect_documents.load_aspect(urn=LOW, name="domainProperties", version=1) is not None
    assert aspect_documents.load_aspect(urn=DATASET, name="container") is None
    assert entity_lists.get(urn=DATASET).parent is None
    before = projection()
    rebuild_projection.rebuild()
    assert projection() == before


def test_a_deleted_project_lets_its_objects_go() -> None:
    project, inside = "urn:li:project:p", "urn:li:view:v"
    Entity.objects.create(urn=project, type="project", object_id="a" * 24)
    Entity.objects.create(urn=inside, type="view", project="a" * 24)
    rebuild_projection.rebuild()
    assert ("PROJECT", "a" * 24, "") in facets(inside)
    delete(project)
    assert facets(inside) == set()
    assert entity_lists.get(urn=inside).project is None


def test_users_are_deleted_like_on_their_page() -> None:
    tell(said(USER, "corpUserInfo", {"active": True}), said(USER, "globalTags", tags("a")))
    delete(USER)
    assert not User.objects.filter(urn=USER).exists()
    assert not Entity.objects.exists()
    tell(said("urn:li:corpuser:datahub", "corpUserInfo", {"active": True}))
    with pytest.raises(Forbidden):
        delete("urn:li:corpuser:datahub")


@pytest.mark.parametrize("text", ["", "nonsense", "urn:li:tag:\x00", "urn:li:dataset:(a"])
def test_what_is_no_urn_is_said(text: str) -> None:
    with pytest.raises(Invalid):
        delete(text)
    with pytest.raises(Invalid):
        deletes.remove_references(urn=text, by=SYSTEM, channel=DOOR, dry_run=True)


def test_references_are_counted_then_taken_out() -> None:
    group, role = "urn:li:corpGroup:g", "urn:li:role:reader"
    tell(
        said(DATASET, "ownership", owners(USER, "urn:li:corpuser:other", f"{USER}|urn:li:ownershipType:t")),
        said(DATASET, "access", {"roles": [{"urn": role}, {"urn": "urn:li:role:writer"}]}),
        said(role, "actors", {"users": [{"user": USER}], "groups": [{"group": group}]}),
        said(LOW, "domainProperties", {"name": "Low", "parentDomain": TOP}),
    )
    before = stored()
    mentions = deletes.remove_references(urn=USER, by=SYSTEM, channel=DOOR, dry_run=True)
    assert mentions == [Mention(DATASET, "ownership"), Mention(role, "actors")]
    assert stored() == before
    assert deletes.remove_references(urn=USER, by=SYSTEM, channel=DOOR, dry_run=False) == mentions
    assert deletes.remove_references(urn=USER, by=SYSTEM, channel=DOOR, dry_run=False) == []
    assert {value for field, value, _ in facets(DATASET) if field == "OWNER"} == {"urn:li:corpuser:other"}
    assert facets(role) == {("ROLE_GROUP", group, "")}
    deletes.remove_references(urn=role, by=SYSTEM, channel=DOOR, dry_run=False)
    assert {value for field, value, _ in facets(DATASET) if field == "ACCESS_ROLE"} == {"urn:li:role:writer"}
    assert deletes.remove_references(urn=TOP, by=SYSTEM, channel=DOOR, dry_run=False) == [
        Mention(LOW, "domainProperties")
    ]
    assert entity_lists.get(urn=LOW).parent is None
