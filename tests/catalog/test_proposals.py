"""The way into the catalog: versions, byte for byte, change types, all or nothing."""

import pytest

from catalog.access import aspect_documents, entity_lists
from catalog.models import Aspect, Entity
from policies.errors import Invalid
from policies.pdp import display_names
from tests.catalog.conftest import facets, owners, projection, said, stored, tags, tell

pytestmark = pytest.mark.django_db

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:hive,lines,PROD)"


def versions(urn: str, aspect: str) -> list[tuple[int, str]]:
    return list(
        Aspect.objects.filter(entity__urn=urn, name=aspect).order_by("version").values_list("version", "document")
    )


def test_a_document_comes_back_byte_for_byte() -> None:
    text = '{ "b":1.0,\n "a":"\\u00e9 é 😀",  "a2": [1e2, 0.10]}'
    tell(said(DATASET, "madeUp", text, system_metadata='{"runId":  "r"}'))
    found = aspect_documents.load_aspect(urn=DATASET, name="madeUp")
    assert found is not None
    assert (found.document, found.system_metadata) == (text, '{"runId":  "r"}')


def test_older_versions_move_to_the_next_number() -> None:
    for number in range(4):
        tell(said(DATASET, "madeUp", {"number": number}))
    assert versions(DATASET, "madeUp") == [
        (0, '{"number": 3}'),
        (1, '{"number": 0}'),
        (2, '{"number": 1}'),
        (3, '{"number": 2}'),
    ]


def test_several_versions_in_one_batch() -> None:
    tell(said(DATASET, "madeUp", {"number": 0}))
    tell(*[said(DATASET, "madeUp", {"number": number}) for number in (1, 2, 2, 3)])
    assert [text for _, text in versions(DATASET, "madeUp")] == [f'{{"number": {n}}}' for n in (3, 0, 1, 2)]


def test_the_same_bytes_are_no_new_version_but_newer_metadata() -> None:
    tell(said(DATASET, "madeUp", {"a": 1}, system_metadata='{"runId": "first"}'))
    created = Aspect.objects.get().created_at
    tell(said(DATASET, "madeUp", {"a": 1}, system_metadata='{"runId": "second"}'))
    row = Aspect.objects.get()
    assert (row.version, row.system_metadata, row.created_at) == (0, '{"runId": "second"}', created)


def test_create_refuses_what_is_there_and_stores_nothing() -> None:
    tell(said(DATASET, "globalTags", tags("a")))
    before = stored(), projection()
    with pytest.raises(Invalid) as refusal:
        tell(
            said(OTHER, "globalTags", tags("b")),
            said(DATASET, "globalTags", tags("b"), change="CREATE"),
            said(DATASET, "status", {}, change="CREATE_ENTITY"),
            said(OTHER, "globalTags", tags("c"), change="CREATE"),
        )
    assert [problem.pointer for problem in refusal.value.problems] == ["/1/aspectName", "/2/entityUrn", "/3/aspectName"]
    assert (stored(), projection()) == before


def test_create_of_new_things() -> None:
    tell(
        said(DATASET, "globalTags", tags("a"), change="CREATE_ENTITY"),
        said(DATASET, "status", {"removed": False}, change="CREATE_ENTITY"),
        said(OTHER, "globalTags", tags("b"), change="CREATE"),
    )
    assert facets(DATASET) >= {("TAG", "urn:li:tag:a", "")}
    assert Entity.objects.count() == 2


def test_delete_takes_all_versions_and_facets() -> None:
    tell(said(DATASET, "globalTags", tags("a")), said(DATASET, "globalTags", tags("b")))
    tell(said(DATASET, "globalTags", change="DELETE"), said(DATASET, "ownership", change="DELETE"))
    assert versions(DATASET, "globalTags") == []
    assert facets(DATASET) == {("PLATFORM", "urn:li:dataPlatform:hive", "")}
    tell(said(DATASET, "globalTags", tags("c")), said(DATASET, "globalTags", change="DELETE"))
    assert versions(DATASET, "globalTags") == []


def test_delete_and_write_again_in_one_batch() -> None:
    tell(said(DATASET, "globalTags", tags("a")), said(DATASET, "globalTags", tags("b")))
    tell(said(DATASET, "globalTags", change="DELETE"), said(DATASET, "globalTags", tags("c")))
    assert [number for number, _ in versions(DATASET, "globalTags")] == [0]
    assert facets(DATASET) >= {("TAG", "urn:li:tag:c", "")}


def test_deleting_the_key_deletes_the_entity() -> None:
    tell(said(DATASET, "globalTags", tags("a")), said(OTHER, "globalTags", tags("a")))
    tell(said(DATASET, "datasetKey", change="DELETE"))
    assert list(Entity.objects.values_list("urn", flat=True)) == [OTHER]


def test_a_soft_delete_keeps_everything_but_leaves_lists() -> None:
    tell(said(DATASET, "globalTags", tags("a")))
    tell(said(DATASET, "status", {"removed": True}))
    assert entity_lists.get(urn=DATASET).is_removed
    assert entity_lists.list_entities().count() == 0
    assert entity_lists.list_entities(with_removed=True).count() == 1
    tell(said(DATASET, "status", {"removed": False}))
    assert entity_lists.list_entities().count() == 1


def test_every_problem_of_every_proposal_and_nothing_stored() -> None:
    with pytest.raises(Invalid) as refusal:
        tell(
            said(OTHER, "globalTags", tags("a")),
            said("urn:li:dataset:(a", "globalTags", tags("a")),
            said(DATASET, "ownership", {"owners": [{"owner": "jo"}, {}]}),
            said(DATASET, "a b", "{"),
            said(DATASET, "status", {}, change="MERGE", type="chart", system_metadata="[]"),
            said(DATASET, "status", None),
            said(DATASET + "\x00", "status", "\ud800"),
        )
    assert [problem.pointer for problem in refusal.value.problems] == [
        "/1/entityUrn",
        "/2/aspect/owners/0/owner",
        "/2/aspect/owners/1/owner",
        "/3/aspectName",
        "/3/aspect",
        "/4/entityType",
        "/4/systemMetadata",
        "/4/changeType",
        "/5/aspect",
        "/6/entityUrn",
        "/6/aspect",
    ]
    assert stored() == (set(), [])


def test_places_can_be_told() -> None:
    with pytest.raises(Invalid) as refusal:
        tell(said(DATASET, "ownership", {}, pointer="/proposals/3", document_pointer="/proposals/3/value"))
    assert [problem.pointer for problem in refusal.value.problems] == ["/proposals/3/value/owners"]


def test_people_are_written_to_their_rows_and_read_back() -> None:
    user = "urn:li:corpuser:jo"
    info = {"active": True, "displayName": "Jo", "title": "Baker", "future": [1]}
    applied = tell(
        said(user, "corpUserInfo", info), said(user, "globalTags", tags("a")), said(DATASET, "ownership", owners(user))
    )
    assert applied.urns == (user, user, DATASET)
    assert not Aspect.objects.filter(name="corpUserInfo").exists()
    found = aspect_documents.load_aspects(urn=user)
    assert found is not None
    assert {"corpUserKey", "corpUserInfo", "globalTags"} <= set(found)
    assert found["corpUserInfo"].value == info
    assert display_names.load_names(urns=[user]) == {user: "Jo"}


def test_problems_of_people_have_their_place_in_the_whole() -> None:
    with pytest.raises(Invalid) as refusal:
        tell(said(DATASET, "status", {}), said("urn:li:corpuser:jo", "corpUserInfo", {"active": "yes"}))
    assert [problem.pointer for problem in refusal.value.problems] == ["/1/aspect/active"]
    assert stored() == (set(), [])


def test_the_key_of_a_person_is_not_deleted_as_an_aspect() -> None:
    with pytest.raises(Invalid):
        tell(said("urn:li:corpuser:jo", "corpUserKey", change="DELETE"))


def test_every_known_entity_has_its_key() -> None:
    tell(said("urn:li:role:reader", "roleProperties", {"name": "Reader"}))
    found = aspect_documents.load_aspects(urn="urn:li:role:reader")
    assert found is not None
    assert found["roleKey"].value == {"id": "reader"}
    assert aspect_documents.load_aspects(urn="urn:li:role:writer") is None
    assert aspect_documents.load_aspect(urn="urn:li:role:writer", name="roleKey") is None
