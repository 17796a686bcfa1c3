"""Lists, search and names; and grants as statements."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission

from catalog.access import aspect_documents, entity_lists
from catalog.access.directory import OrmDirectory
from catalog.access.grant_source import OrmGrantSource
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant
from policies.engine.ports import DirectoryEntry
from policies.errors import NotFound
from policies.identity.services import roles
from policies.models import Role, User
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import DOOR, said, tags, tell

pytestmark = pytest.mark.django_db

READER = "urn:li:role:snowflake_reader_role"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.order_lines,PROD)"
STRASSE = "urn:li:tag:strasse"


@pytest.fixture(autouse=True)
def _catalog() -> None:
    tell(
        said(READER, "roleProperties", {"name": "Snowflake Reader Role"}),
        said(ORDERS, "globalTags", tags("PII")),
        said(ORDERS, "domains", {"domains": ["urn:li:domain:low"]}),
        said("urn:li:domain:low", "domainProperties", {"name": "Readers", "parentDomain": "urn:li:domain:top"}),
        said("urn:li:domain:top", "domainProperties", {"name": "Reader"}),
        said(STRASSE, "tagProperties", {"name": "Große Straße 100%"}),
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("snowflake read", [READER]),
        ("role snow", [READER]),
        ("SALES", [ORDERS]),
        ("order_lines", [ORDERS]),
        ("lines.order", [ORDERS]),
        ("ines", []),
        ("strasse GROSSE", [STRASSE]),
        ("100%", [STRASSE]),
        ("reader", ["urn:li:domain:top", "urn:li:domain:low", READER]),
        ("urn:li:domain:", ["urn:li:domain:top", "urn:li:domain:low"]),
        (ORDERS, [ORDERS]),
        ("nothing like it", []),
        ("\x00", []),
        ("\ud800", []),
        ("x" * 5000, []),
    ],
)
@pytest.mark.parametrize("most", [0, 1, 1000])
def test_search(text: str, found: list[str], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same whether all, some or none of the words are read before the entities."""
    monkeypatch.setattr(entity_lists, "MAX_WORD_ENTRIES", most)
    assert list(entity_lists.search(text=text).values_list("urn", flat=True)) == found


def test_words_are_read_in_one_query(django_assert_num_queries) -> None:
    """However many there are: the others are tested with the entities."""
    with django_assert_num_queries(2):
        assert [row.urn for row in entity_lists.search(text="role snow reader sn sno rea ro")] == [READER]
    with django_assert_num_queries(1):
        assert not entity_lists.search(text=" ".join(f"word{number}" for number in range(40)))
    with django_assert_num_queries(0):
        entity_lists.search(text="* ---")


@pytest.mark.parametrize("text", ["", " ", "*"])
def test_searching_for_anything(text: str) -> None:
    assert entity_lists.search(text=text).count() == 5
    assert entity_lists.search(text=text, types=["domain"]).count() == 2


def test_narrowing() -> None:
    def urns(**filters: Any) -> set[str]:
        return set(entity_lists.list_entities(**filters).values_list("urn", flat=True))

    assert urns(tag="urn:li:tag:PII") == {ORDERS}
    assert urns(domain="urn:li:domain:top") == {ORDERS, "urn:li:domain:low", "urn:li:domain:top"}
    assert urns(domain="urn:li:domain:low", types=["dataset"]) == {ORDERS}
    assert urns(platform="urn:li:dataPlatform:hive") == {ORDERS}
    assert urns(platform="\x00") == set()
    assert urns(text="reader", types=["role"]) == {READER}


def test_get() -> None:
    assert entity_lists.get(urn=ORDERS).name == "sales.order_lines"
    for urn in ("urn:li:tag:none", "\x00"):
        with pytest.raises(NotFound):
            entity_lists.get(urn=urn)


def test_documents() -> None:
    found = aspect_documents.load_documents(urns=[ORDERS, "urn:li:tag:none", "nonsense", "\x00"])
    assert list(found) == [ORDERS]
    assert set(found[ORDERS]) == {"datasetKey", "globalTags", "domains"}
    assert aspect_documents.load_aspect(urn=ORDERS, name="globalTags", version=1) is None
    assert aspect_documents.load_aspect(urn=ORDERS, name="globalTags", version=10**30) is None


def test_the_directory() -> None:
    directory = OrmDirectory()
    assert directory.load_names(urns=[READER, "urn:li:tag:none", "\x00"]) == {READER: "Snowflake Reader Role"}
    assert directory.search(text="snow", types=["role"], limit=5) == [
        DirectoryEntry(READER, "Snowflake Reader Role", "role")
    ]
    assert len(directory.search(text="", types=[], limit=2)) == 2
    assert directory.list_children(parent="urn:li:domain:\x00", types=["domain", "\x00"], limit=2) == []


def test_grants_are_statements_for_their_holder(django_assert_num_queries) -> None:
    user, group = "urn:li:corpuser:jo", "urn:li:corpGroup:eng"
    tell(
        said(group, "corpGroupInfo", {"admins": [], "members": [], "groups": []}),
        said(user, "corpUserInfo", {"active": True}),
        said(user, "nativeGroupMembership", {"nativeGroups": [group]}),
    )
    role: Role = roles.create(name="Boss", identifier="Boss", by=SYSTEM, channel=DOOR)
    roles.grant(urn=role.urn, actors=[group], by=SYSTEM, channel=DOOR)
    entity = Entity.objects.get(urn=ORDERS)
    allowed = {
        name: Permission.objects.get(content_type__app_label="catalog", codename=name) for name in ("READ", "WRITE")
    }
    row = User.objects.get(urn=user)
    for name in ("READ", "WRITE"):
        EntityUserGrant.objects.create(user=row, permission=allowed[name], content_object=entity)
    for holder in (row.groups.get(), role.group):
        EntityGroupGrant.objects.create(group=holder, permission=allowed["READ"], content_object=entity)
    holders = [user, group, role.urn]
    with django_assert_num_queries(1):
        found = OrmGrantSource().load_statements(holders=holders, urns=[ORDERS, READER])
    said_of = {holder: one.privileges for holder, (one,) in found[ORDERS].items()}
    assert said_of == {user: {"READ", "WRITE"}, group: {"READ"}, role.urn: {"READ"}}
    assert OrmGrantSource().load_statements(holders=["urn:li:corpuser:other"], urns=[ORDERS]) == {}
    entity.delete()
    assert not EntityUserGrant.objects.exists()
    assert not EntityGroupGrant.objects.exists()
