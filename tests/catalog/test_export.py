"""A snapshot on disk holds what the engine reads, of one moment, and is there whole or not at all."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import Permission

from catalog.access import coverage_sql
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, WildcardGrant
from catalog.reports.snapshot import database_reader, partitions, writer
from catalog.reports.snapshot.manifest import MANIFEST_FILE
from catalog.reports.snapshot.reader import MAX_NUMBER, SCHEMA_VERSION, CorruptSnapshot
from catalog.reports.snapshot.schema import TABLES
from catalog.reports.spec import UNTESTED_FACET_FIELDS
from policies.authoring.services import policies, policy_drafts
from policies.engine import families, reach_index, selectors
from policies.engine.model import Actor, StatementOrigin
from policies.engine.postings import Postings
from policies.engine.snapshot import Snapshot
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, PolicyVersion, Role, User
from policies.pdp import actor_resolution, authorizer, snapshot_store
from tests.catalog.conftest import DOOR, owners, said, tags, tell

pytestmark = pytest.mark.django_db(transaction=True)

Found = dict[str, list[dict[str, Any]]]

AS_OF = datetime(2026, 3, 1, tzinfo=UTC)
BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
JO, ANN, SAM = (f"urn:li:corpuser:{name}" for name in ("jo", "ann", "sam"))
TEAM, GONE, STEWARD = "urn:li:corpGroup:team", "urn:li:corpGroup:gone", "urn:li:dataHubRole:steward"
ORDERS, LINES, OLD = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "lines", "old"))
SALES, EMEA = "urn:li:domain:sales", "urn:li:domain:emea"
STREAM, SCORES, PROJECT = "urn:li:stream:ns1.clicks", "urn:li:dataset:" + "a" * 24, "1" * 24
DOCUMENT = {"displayName": "x", "state": "ACTIVE", "privileges": ["VIEW_ENTITY_PAGE"], "actors": {"allUsers": True}}
AWKWARD = 'Two\nlines, "quoted", \\N and é😀\r\n'
PRIVILEGES = ("VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS", "EDIT_ENTITY_DOCS", "dataset:read", "dataset:delete")


@pytest.fixture(autouse=True)
def company(transactional_db: None) -> Iterator[None]:
    """A company in which each of the tables has something that counts, and something that does not."""
    for urn in (JO, ANN, SAM):
        users.create(username=urn.rpartition(":")[2], **BY)
    User.objects.filter(urn=SAM).update(state=User.State.SUSPENDED)
    for urn in (TEAM, GONE):
        groups.create(name=urn.rpartition(":")[2], identifier=urn.rpartition(":")[2], **BY)
        groups.add_members(urn=urn, members=[JO, SAM], **BY)
    roles.create(identifier="steward", name="Steward", description="", **BY)
    roles.grant(urn=STEWARD, actors=[TEAM, GONE, ANN], **BY)
    GroupProfile.objects.filter(urn=GONE).update(is_removed=True)
    tell(
        said(SALES, "domainProperties", {"name": "Sales"}),
        said(EMEA, "domainProperties", {"name": "EMEA", "parentDomain": SALES}),
        said(JO, "corpUserInfo", {"active": True, "email": "jo@here.org", "customProperties": {"team": "blue"}}),
        said(LINES, "datasetProperties", {"customProperties": {"team": "blue", "tier": "gold"}}),
        said(ORDERS, "domains", {"domains": [EMEA]}),
        said(ORDERS, "globalTags", tags("pii")),
        said(LINES, "ownership", owners(f"{ANN}|urn:li:ownershipType:__system__technical_owner", JO)),
        said(OLD, "domains", {"domains": [SALES]}),
        said(OLD, "status", {"removed": True}),
    )
    Entity.objects.create(urn=SCORES, type="dataset", object_id="a" * 24, project=PROJECT)
    stream = Entity.objects.create(urn=STREAM, type="stream")
    read = Permission.objects.get(codename="READ", content_type__app_label="catalog")
    EntityUserGrant.objects.create(user=User.objects.get(urn=JO), permission=read, content_object=stream)
    for urn, profile in ((TEAM, True), (GONE, True), (STEWARD, False)):
        holder = (GroupProfile if profile else Role).objects.get(urn=urn).group
        EntityGroupGrant.objects.create(group=holder, permission=read, content_object=stream)
    WildcardGrant.objects.create(
        user=User.objects.get(urn=ANN),
        pattern="urn:li:stream:ns1.*",
        kind="stream",
        prefix="urn:li:stream:ns1.",
        within="urn:li:namespace:ns1",
        privilege="WRITE",
    )
    _policy("view", actors={"groups": [TEAM]}, resources=_in(DOMAIN=SALES), displayName=AWKWARD)
    _policy("tag", actors={"resourceOwners": True}, privileges=["EDIT_ENTITY_TAGS"])
    alike = {"field": "PROPERTY.team", "values": ["${ACTOR.PROPERTY.team}"]}
    _policy(
        "alike",
        actors={"allUsers": True},
        privileges=["EDIT_ENTITY_DOCS"],
        resources={"filter": {"criteria": [alike]}},
    )
    _policy("idle", actors={"allUsers": True}, state="INACTIVE")
    said_so = [
        {"resource": f"project:{PROJECT}:*", "actions": ["*:*"], "effect": "allow"},
        {"resource": f"dataset:{'a' * 24}", "actions": ["dataset:delete"], "effect": "deny"},
    ]
    document = {"name": "project", "statements": said_so, "roles": [STEWARD]}
    policies.create(draft=policy_drafts.PolicyInput("datazone", document), urn="urn:li:dataHubPolicy:project", **BY)
    yield
    snapshot_store.reset()


def _in(**fields: str) -> dict[str, Any]:
    return {"filter": {"criteria": [{"field": field, "values": [value]} for field, value in fields.items()]}}


def _policy(name: str, **changes: Any) -> None:
    document = {
        "displayName": name,
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"],
        **changes,
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), urn=f"urn:li:dataHubPolicy:{name}", **BY)


def read(folder: Path) -> Found:
    """Return every table of a snapshot, its schema checked."""
    found = {}
    for table in TABLES:
        whole = pq.read_table(folder / f"{table.name}.parquet")
        assert whole.schema.equals(table.schema), table.name
        found[table.name] = whole.to_pylist()
    return found


def postings(found: Found) -> Postings:
    """Return the postings of the entities of a snapshot."""
    places = {one["number"]: place for place, one in enumerate(found["entities"])}
    rows = [(places[one["entity"]], one["field"], one["value"], one["type"]) for one in found["facets"]]
    for column, field in (("object_id", selectors.ID), ("project", selectors.PROJECT)):
        rows += [(places[one["number"]], field, one[column], "") for one in found["entities"] if one[column]]
    below = defaultdict(set)
    for one in found["ancestries"]:
        below[one["ancestor"]].add(one["node"])
    fields = {selectors.DOMAIN, selectors.OWNER, selectors.TAG, selectors.ID, selectors.PROJECT, "PROPERTY.team"}
    return Postings(
        urns=[one["urn"] for one in found["entities"]],
        types=[one["type"] for one in found["entities"]],
        fields=fields,
        rows=[row for row in rows if row[1] in fields],
        descendants=below,
    )


def actors(found: Found) -> dict[str, Actor]:
    """Return everybody, with groups and roles and what is known of them."""
    people_of, held, known = defaultdict(set), defaultdict(set), defaultdict(set)
    for one in found["circumstances"]:
        known[one["user"]].add((one["field"], one["value"]))
    for one in found["memberships"]:
        people_of[one["user"]].add(one["group"])
    for one in found["roles"]:
        held[one["holder"]].add(one["role"])
    return {
        urn: Actor(
            urn,
            frozenset(people_of[urn]),
            frozenset().union(*(held[holder] for holder in {urn, *people_of[urn]})),
            one["may_act"],
            frozenset(known[urn]),
        )
        for one in found["users"]
        for urn in [one["urn"]]
    }


def snapshot(found: Found) -> Snapshot:
    """Return the engine's snapshot of the policies."""
    compiled = [
        (
            one["urn"],
            families.get(one["family"]).compile(json.loads(one["document"]), StatementOrigin(one["urn"], one["name"])),
        )
        for one in found["policies"]
    ]
    return Snapshot.build(1, [*families.implicit_policies(), *compiled])


def test_the_engine_answers_alike_from_the_files_and_from_the_database(tmp_path: Path) -> None:
    writer.write(folder=tmp_path / "one", as_of=AS_OF)
    found = read(tmp_path / "one")
    facts, everybody, compiled = postings(found), actors(found), snapshot(found)
    reached = set()
    for urn, actor in everybody.items():
        assert actor == actor_resolution.load_actor(urn=urn)
        for privilege in PRIVILEGES:
            covered = reach_index.compute_extent(facts, compiled.compute_coverage(actor, privilege)).allowed
            present = coverage_sql.filter_covered(
                snapshot_store.get_current().compute_coverage(actor, privilege)
            ).filter(is_removed=False)
            listed = sorted(present.values_list("urn", flat=True))
            assert sorted(facts.urns[number] for number in covered) == listed, (urn, privilege)
            reached |= {(urn, privilege, facts.urns[number]) for number in covered}
    assert reached == {
        (JO, "VIEW_ENTITY_PAGE", SALES),
        (JO, "VIEW_ENTITY_PAGE", EMEA),
        (JO, "VIEW_ENTITY_PAGE", ORDERS),
        (JO, "EDIT_ENTITY_TAGS", LINES),
        (ANN, "EDIT_ENTITY_TAGS", LINES),
        (JO, "EDIT_ENTITY_DOCS", LINES),
        (JO, "dataset:read", SCORES),
        (ANN, "dataset:read", SCORES),
    }


def test_grants_stand_beside_their_holders(tmp_path: Path) -> None:
    writer.write(folder=tmp_path / "one", as_of=AS_OF)
    found = read(tmp_path / "one")
    numbers = {one["number"]: one["urn"] for one in found["entities"]}
    assert sorted((numbers[one["entity"]], one["privilege"], one["holder"]) for one in found["grants"]) == [
        (STREAM, "READ", TEAM),
        (STREAM, "READ", JO),
        (STREAM, "READ", STEWARD),
    ]
    assert found["patterns"] == [
        {"kind": "stream", "prefix": "urn:li:stream:ns1.", "privilege": "WRITE", "holder": ANN}
    ]


def test_texts_come_back_as_they_are(tmp_path: Path) -> None:
    writer.write(folder=tmp_path / "one", as_of=AS_OF)
    found = read(tmp_path / "one")
    named = {one["urn"]: one["name"] for one in found["policies"]}
    assert named["urn:li:dataHubPolicy:view"] == AWKWARD
    assert "urn:li:dataHubPolicy:idle" not in named
    kinds = {(one["value"], one["type"]) for one in found["facets"] if one["field"] == selectors.OWNER}
    assert kinds == {(ANN, "urn:li:ownershipType:__system__technical_owner"), (JO, "")}
    assert {one["object_id"] for one in found["entities"]} == {None, "a" * 24}


def test_what_nobody_reads_is_left_out(tmp_path: Path) -> None:
    writer.write(folder=tmp_path / "one", as_of=AS_OF)
    writer.write(folder=tmp_path / "two", as_of=AS_OF, excluded_fields={selectors.TAG, selectors.DOMAIN})
    whole, less = read(tmp_path / "one"), read(tmp_path / "two")
    fields = {one["field"] for one in whole["facets"]}
    assert {selectors.TAG, selectors.DOMAIN, selectors.OWNER} <= fields
    assert {one["field"] for one in less["facets"]} == fields - {selectors.TAG, selectors.DOMAIN}
    assert {name: rows for name, rows in whole.items() if name != "facets"} == {
        name: rows for name, rows in less.items() if name != "facets"
    }


def test_no_policy_tests_what_reports_go_without() -> None:
    """Of a field that the engine does not know it says so; these it knows nothing of."""
    known = {value for name, value in vars(selectors).items() if name.isupper() and isinstance(value, str)}
    assert known.isdisjoint(UNTESTED_FACET_FIELDS)
    for field in UNTESTED_FACET_FIELDS:
        document = {"type": "METADATA", "resources": {"filter": {"criteria": [{"field": field, "values": ["x"]}]}}}
        compiled = families.get("datahub").compile(DOCUMENT | document, StatementOrigin("urn:li:dataHubPolicy:x", "x"))
        assert {one.field for statement in compiled for one in statement.resources.criteria}.isdisjoint(
            UNTESTED_FACET_FIELDS
        )


def test_the_manifest_says_what_it_is_of(tmp_path: Path) -> None:
    manifest = writer.write(folder=tmp_path / "one", as_of=AS_OF)
    assert json.loads((tmp_path / "one" / MANIFEST_FILE).read_text(encoding="utf-8")) == {
        "schema": SCHEMA_VERSION,
        "policy_version": PolicyVersion.load_version(),
        "change_seq": PolicyVersion.load_last_change(),
        "as_of": "2026-03-01T00:00:00+00:00",
        "rows": manifest.rows,
        "ranges": [[0, 0]],
        "horizon": manifest.horizon and {**asdict(manifest.horizon), "pending": list(manifest.horizon.pending)},
        "base": None,
        "generation": 0,
        "changed": 0,
    }
    assert manifest.horizon is not None
    assert manifest.rows == {name: len(rows) for name, rows in read(tmp_path / "one").items()}


def test_it_is_of_one_moment(tmp_path: Path) -> None:
    """What is committed after the first query is not in any table."""
    with database_reader.open_database_reader() as database:
        database.read_counters()
        _policy("late", actors={"allUsers": True})
        tell(said(SALES, "globalTags", tags("late")), said(f"{SALES}-late", "domainProperties", {"name": "Late"}))
        (numbers,) = database.list_ranges()
        found = {
            table.name: pa.Table.from_batches(database.iterate_batches(table, numbers), table.schema).to_pylist()
            for table in TABLES
        }
    assert f"{SALES}-late" not in {one["urn"] for one in found["entities"]}
    assert "urn:li:dataHubPolicy:late" not in {one["urn"] for one in found["policies"]}
    assert "urn:li:tag:late" not in {one["value"] for one in found["facets"]}


def test_it_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    writer.write(folder=tmp_path / "one", as_of=AS_OF)
    with pytest.raises(FileExistsError):
        writer.write(folder=tmp_path / "one", as_of=AS_OF)
    PolicyVersion.objects.all().delete()
    with pytest.raises(PolicyVersion.DoesNotExist):
        writer.write(folder=tmp_path / "three", as_of=AS_OF)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two entities a file, so that this company has several."""
    monkeypatch.setattr(database_reader, "ENTITIES_PER_FILE", 2)


@pytest.mark.usefixtures("small_files")
def test_rows_of_entities_are_sorted_over_files_named_by_their_first_number(tmp_path: Path) -> None:
    manifest = writer.write(folder=tmp_path / "one", as_of=AS_OF)
    numbers = list(Entity.objects.filter(is_removed=False).order_by("pk").values_list("pk", flat=True))
    files = [f"part-{number:020}.parquet" for number in (0, *numbers[2::2])]
    for name, column in (("entities", "number"), ("facets", "entity")):
        folder = tmp_path / "one" / f"{name}.parquet"
        assert sorted(path.name for path in folder.iterdir()) == files
        found = [pq.read_table(folder / file).column(column).to_pylist() for file in files]
        together = [number for part in found for number in part]
        assert together == sorted(together)
        assert len(together) == manifest.rows[name]
        for index, part in enumerate(found):
            assert set(part) <= set(numbers[2 * index : 2 * index + 2])


@pytest.mark.usefixtures("small_files")
def test_a_partition_opens_the_files_of_its_entities_only(tmp_path: Path) -> None:
    writer.write(folder=tmp_path / "one", as_of=AS_OF)
    source = (tmp_path / "one").as_uri()
    state, numbers = partitions.load_state(source, 1), partitions.read_entity_numbers(source, 0, MAX_NUMBER)
    urns = dict(Entity.objects.values_list("pk", "urn"))
    bounds = [(start, end) for start in range(len(numbers)) for end in range(start + 1, len(numbers) + 1)]
    assert len(bounds) > 10
    for start, end in bounds:
        found = partitions.load_partition(state, {selectors.TAG}, numbers[start:end])
        assert list(found.postings.urns) == [urns[number.as_py()] for number in numbers[start:end]]
    for path in (tmp_path / "one").glob("*.parquet/*"):
        if path.name != "part-00000000000000000000.parquet":
            path.write_bytes(b"no Parquet")
    assert len(partitions.load_partition(state, {selectors.TAG}, numbers[:2]).numbers) == 2
    with pytest.raises(CorruptSnapshot, match="cannot be read"):
        partitions.load_partition(state, {selectors.TAG}, numbers[:3])


@pytest.mark.usefixtures("small_files")
def test_partitions_have_nearly_equal_size_and_every_entity_once(tmp_path: Path) -> None:
    """Also where a partition ends within a file, and where all rows are in one file, as in older snapshots."""
    writer.write(folder=tmp_path / "one", as_of=AS_OF)
    (tmp_path / "older").mkdir()
    pq.write_table(pq.read_table(tmp_path / "one" / "entities.parquet"), tmp_path / "older" / "entities.parquet")
    numbers = list(Entity.objects.filter(is_removed=False).order_by("pk").values_list("pk", flat=True))
    for source in ((tmp_path / "one").as_uri(), (tmp_path / "older").as_uri()):
        for count in range(1, len(numbers) + 3):
            bounds = partitions.list_bounds(source, min_partitions=count)
            found = [partitions.read_entity_numbers(source, item.first, item.last).to_pylist() for item in bounds]
            assert [number for part in found for number in part] == numbers
            assert [len(part) for part in found] == [item.count for item in bounds]
            assert len(found) == min(count, len(numbers))
            assert max(map(len, found)) - min(map(len, found)) <= 1
        assert partitions.list_types(source) == sorted(set(Entity.objects.values_list("type", flat=True)))


def test_a_catalog_without_entities_has_every_table(tmp_path: Path) -> None:
    Entity.objects.all().delete()
    manifest = writer.write(folder=tmp_path / "one", as_of=AS_OF)
    assert (manifest.rows["entities"], manifest.rows["facets"]) == (0, 0)
    assert read(tmp_path / "one")["facets"] == []
    assert partitions.list_bounds((tmp_path / "one").as_uri(), min_partitions=4) == []
