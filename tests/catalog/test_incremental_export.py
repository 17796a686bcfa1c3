"""A snapshot that continues another one says what a full one says, whatever was written in between."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from django.contrib.auth.models import Permission
from django.db import connection, connections
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from catalog.ingest import deletes, rebuild_projection
from catalog.models import ChangeMarker, Entity, EntityUserGrant, Facet, SnapshotBase, TableMarker, change_triggers
from catalog.reports.snapshot import bases, database_reader, overlay, reader, writer
from catalog.reports.snapshot.manifest import MANIFEST_FILE, Manifest
from catalog.reports.snapshot.schema import TABLES
from catalog.reports.storage import parse_address
from policies.engine import selectors
from policies.identity.services import groups, roles, users
from policies.models import Gate, GroupProfile, Role, User, open_write
from policies.pdp import authorizer
from tests import s3
from tests.catalog.conftest import DOOR, owners, said, tags, tell
from tests.depth import count_examples

pytestmark = pytest.mark.django_db(transaction=True)

AS_OF = datetime(2026, 3, 1, tzinfo=UTC)
DOMAINS = [f"urn:li:domain:d{number}" for number in range(3)]
DATASETS = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)" for number in range(9)]
PEOPLE = [f"urn:li:corpuser:p{number}" for number in range(3)]

BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}

Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def company(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A company with two entities a file, of which any number may change."""
    settings.REPORTS_DIR = str(tmp_path / "reports")
    monkeypatch.setattr(database_reader, "ENTITIES_PER_FILE", 2)
    monkeypatch.setattr(overlay, "MAX_CHANGED_SHARE", 1000)
    # SQLite empties one table after the other, and this one notes the last ones.
    ChangeMarker.objects.all().delete()
    TableMarker.objects.all().delete()
    for urn in PEOPLE:
        users.create(username=urn.rpartition(":")[2], **BY)
    tell(
        *(said(urn, "domainProperties", {"name": urn}) for urn in DOMAINS),
        *(said(urn, "globalTags", tags("pii")) for urn in DATASETS[:6]),
    )


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., tuple[Path, Manifest]]:
    """Take a snapshot, of everything unless told, and return its folder and manifest."""
    taken: list[Path] = []

    def take_next(*excluded_fields: str) -> tuple[Path, Manifest]:
        folder = tmp_path / f"taken-{len(taken)}"
        taken.append(folder)
        manifest = bases.take_snapshot(folder=parse_address(folder), as_of=AS_OF, excluded_fields=excluded_fields)
        assert manifest == Manifest.load(parse_address(folder))
        return folder, manifest

    return take_next


def read(folder: Path) -> Rows:
    """Return the rows of every table as readers see them, sorted."""
    return {table.name: _sort(reader.read_table(folder.as_uri(), table.name)) for table in TABLES}


def _sort(table: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def read_whole(tmp_path: Path, *excluded_fields: str) -> Rows:
    """Return the rows of a full snapshot of now."""
    folder = tmp_path / f"whole-{len(list(tmp_path.iterdir()))}"
    manifest = writer.write(folder=folder, as_of=AS_OF, excluded_fields=excluded_fields)
    assert manifest.generation == 0
    assert not (folder / reader.CHANGED_FOLDER).exists()
    return read(folder)


def _grant(urn: str) -> None:
    entity = Entity.objects.filter(urn=urn).first()
    if entity is not None:
        permission = Permission.objects.get(codename="READ", content_type__app_label="catalog")
        EntityUserGrant.objects.get_or_create(
            user=User.objects.get(urn=PEOPLE[0]), permission=permission, content_object=entity
        )


def _delete(urn: str) -> None:
    deletes.delete(urn=urn, by=authorizer.SYSTEM, channel=DOOR)


def _move(urn: str, parent: str | None) -> None:
    document = {"name": urn} if parent is None else {"name": urn, "parentDomain": parent}
    tell(said(urn, "domainProperties", document))


def _set_group(name: str, members: list[str]) -> None:
    urn = f"urn:li:corpGroup:{name}"
    if not GroupProfile.objects.filter(urn=urn).exists():
        groups.create(name=name, identifier=name, **BY)
    with open_write(Gate.PEOPLE):
        GroupProfile.objects.filter(urn=urn).update(is_removed=False)
        groups.add_members(urn=urn, members=members, **BY)


def _remove_group(name: str) -> None:
    with open_write(Gate.PEOPLE):
        GroupProfile.objects.filter(urn=f"urn:li:corpGroup:{name}").update(is_removed=True)


def _set_role(actors: list[str]) -> None:
    urn = "urn:li:dataHubRole:r"
    if not Role.objects.filter(urn=urn).exists():
        roles.create(identifier="r", name="R", description="", **BY)
    roles.grant(urn=urn, actors=actors, **BY)


def _set_user(urn: str, state: str) -> None:
    with open_write(Gate.PEOPLE):
        User.objects.filter(urn=urn).update(state=state)


def _describe_user(urn: str, team: str) -> None:
    document = {"active": True, "email": f"{team}@here.org", "customProperties": {"team": team}}
    tell(said(urn, "corpUserInfo", document))


PEOPLE_LISTS = st.lists(st.sampled_from(PEOPLE), unique=True, min_size=1)
TARGETS = st.sampled_from([*DATASETS, *DOMAINS])
NAMES = st.lists(st.sampled_from("abc"), unique=True, max_size=3)
WRITES = st.one_of(
    st.builds(lambda urn, names: lambda: tell(said(urn, "globalTags", tags(*names))), TARGETS, NAMES),
    st.builds(
        lambda urn, people: lambda: tell(said(urn, "ownership", owners(*people))),
        TARGETS,
        st.lists(st.sampled_from(PEOPLE), unique=True),
    ),
    st.builds(
        lambda urn, domains: lambda: tell(said(urn, "domains", {"domains": domains})),
        st.sampled_from(DATASETS),
        st.lists(st.sampled_from(DOMAINS), max_size=1),
    ),
    st.builds(
        lambda urn, is_removed: lambda: tell(said(urn, "status", {"removed": is_removed})),
        TARGETS,
        st.booleans(),
    ),
    st.builds(
        lambda position, parent: lambda: _move(DOMAINS[position], DOMAINS[parent] if parent < position else None),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
    st.builds(lambda urn: lambda: _delete(urn), TARGETS),
    st.builds(lambda urn: lambda: _grant(urn), TARGETS),
    st.just(rebuild_projection.rebuild),
    st.builds(lambda name, members: lambda: _set_group(name, members), st.sampled_from("xy"), PEOPLE_LISTS),
    st.builds(lambda name: lambda: _remove_group(name), st.sampled_from("xy")),
    st.builds(lambda actors: lambda: _set_role(actors), PEOPLE_LISTS),
    st.builds(lambda urn, state: lambda: _set_user(urn, state), st.sampled_from(PEOPLE), st.sampled_from(User.State)),
    st.builds(lambda urn, team: lambda: _describe_user(urn, team), st.sampled_from(PEOPLE), st.sampled_from("rgb")),
)


@pytest.mark.on_postgresql
@example_settings(
    max_examples=count_examples(usual=10, whole=40),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # Making a failing example smaller takes minutes, since each one is many snapshots.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(rounds=st.lists(st.lists(WRITES, max_size=4), min_size=2, max_size=4))
def test_it_says_what_a_full_one_says(
    rounds: list[list[Callable[[], object]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of all rows, of the rows of each range of entities, and of those without some fields."""
    tmp_path = tmp_path_factory.mktemp("property")
    #: Transactions that were open at a snapshot: of other databases that tests beside this one use, if they ended then.
    pending: set[int] = set()
    for excluded_fields in ((), (selectors.TAG,)):
        folder = parse_address(tmp_path / f"first-{len(excluded_fields)}")
        manifest = bases.take_snapshot(folder=folder, as_of=AS_OF, excluded_fields=excluded_fields)
        pending.update(manifest.horizon.pending if manifest.horizon else ())
    for number, writes in enumerate(rounds):
        for write in writes:
            write()
        for excluded_fields in ((), (selectors.TAG,)):
            path = tmp_path / f"next-{number}-{len(excluded_fields)}"
            manifest = bases.take_snapshot(folder=parse_address(path), as_of=AS_OF, excluded_fields=excluded_fields)
            pending.update(manifest.horizon.pending if manifest.horizon else ())
            assert manifest.generation > 0 or pending
            whole = read_whole(tmp_path, *excluded_fields)
            assert read(path) == whole
            assert manifest.rows == {name: len(rows) for name, rows in whole.items()}
            _check_ranges(path, whole)


def _check_ranges(folder: Path, whole: Rows) -> None:
    numbers = sorted(number for number, *_ in whole["entities"])
    for first, last in zip(numbers, numbers[2:], strict=False):
        for name, column in reader.NUMBER_COLUMNS.items():
            condition = (ds.field(column) >= first) & (ds.field(column) <= last)
            found = reader.read_table(folder.as_uri(), name, None, condition, ["type"], (first, last))
            assert _sort(found) == [row for row in whole[name] if first <= row[0] <= last]


def test_only_what_changed_is_written(take: Callable[..., tuple[Path, Manifest]], tmp_path: Path) -> None:
    first_folder, first = take()
    (first_base,) = (tmp_path / "reports" / "bases").glob("*/*")
    tell(said(DATASETS[0], "globalTags", tags("new")), said(DATASETS[8], "globalTags", tags("new")))
    _delete(DATASETS[1])
    folder, manifest = take()
    assert (first.generation, first.base, first.changed) == (0, None, 0)
    assert (manifest.generation, manifest.changed) == (1, 3)
    assert manifest.base == first_base.name
    for name in reader.NUMBER_COLUMNS:
        for path in (first_folder / f"{name}.parquet").iterdir():
            assert path.samefile(folder / f"{name}.parquet" / path.name)
    changed_files = list((folder / reader.CHANGED_FOLDER / "numbers.parquet").iterdir())
    assert 0 < len(changed_files) < len(first.ranges)
    again_folder, again = take()
    assert (again.generation, again.changed) == (2, 3)
    assert read(again_folder) == read(folder) == read_whole(tmp_path)


def test_files_of_people_are_linked_unless_something_in_them_changed(
    take: Callable[..., tuple[Path, Manifest]], tmp_path: Path
) -> None:
    """Signing in changes nothing in them (where a trigger sees what changed)."""
    about_people = {"users", "circumstances", "memberships", "roles", "ancestries"}
    people_writes: list[tuple[Callable[[], object], set[str]]] = [
        (lambda: None, about_people),
        (lambda: _set_group("x", [PEOPLE[0]]), {"users", "circumstances", "ancestries"}),
        (lambda: _remove_group("x"), {"users", "circumstances", "ancestries"}),
        (lambda: _set_user(PEOPLE[1], "SUSPENDED"), {"ancestries"}),
        (lambda: _move(DOMAINS[1], DOMAINS[0]), about_people - {"ancestries"}),
    ]
    if connection.vendor == "postgresql":
        people_writes.append((lambda: User.objects.update(last_login=AS_OF), about_people))
    take()
    for write, linked_names in people_writes:
        (base_folder,) = (tmp_path / "reports" / "bases").glob("*/*")
        files = {table.name: (base_folder / f"{table.name}.parquet") for table in TABLES}
        inodes = {name: path.stat().st_ino for name, path in files.items()}
        write()
        folder, _ = take()
        assert read(folder) == read_whole(tmp_path)
        found = {name for name in inodes if (folder / f"{name}.parquet").stat().st_ino == inodes[name]}
        assert found == linked_names
    assert TableMarker.objects.count() <= len(change_triggers.NOTED_TABLES)


def test_a_base_outlives_the_run_that_took_it(take: Callable[..., tuple[Path, Manifest]], tmp_path: Path) -> None:
    folder, _ = take()
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    tell(said(DATASETS[0], "globalTags", tags("new")))
    folder, manifest = take()
    assert manifest.generation == 1
    assert read(folder) == read_whole(tmp_path)
    assert len(list((tmp_path / "reports" / "bases").glob("*/*"))) == 1


def test_a_base_whose_markers_are_deleted_is_not_continued(
    take: Callable[..., tuple[Path, Manifest]], tmp_path: Path
) -> None:
    """A worker that took longer keeps its snapshot after that of another one, which began later."""
    take()
    (slow_folder,) = (tmp_path / "reports" / "bases").glob("*/*")
    slow_base = SnapshotBase.objects.values("token", "oldest_marker").get()
    shutil.copytree(slow_folder, tmp_path / "slow")
    _set_group("x", [PEOPLE[0]])
    take()
    (fast_folder,) = (tmp_path / "reports" / "bases").glob("*/*")
    shutil.rmtree(fast_folder)
    (tmp_path / "slow").rename(slow_folder)
    SnapshotBase.objects.update(**slow_base)
    folder, manifest = take()
    assert read(folder) == read_whole(tmp_path)
    assert manifest.generation == 0
    assert take()[1].generation == 1


def _make_older(folder: Path) -> None:
    document = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    (folder / MANIFEST_FILE).write_text(json.dumps(document | {"schema": reader.SCHEMA_VERSION - 1}), encoding="utf-8")


def _make_strange(folder: Path) -> None:
    document = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    (folder / MANIFEST_FILE).write_text(
        json.dumps(document | {"horizon": document["horizon"] | {"database": "another"}}), encoding="utf-8"
    )


def _make_earlier(folder: Path) -> None:
    """The database is a restored backup, in which fewer transactions were made than when the base was taken."""
    document = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    later = document["horizon"] | {"upper": document["horizon"]["upper"] + 1000}
    (folder / MANIFEST_FILE).write_text(json.dumps(document | {"horizon": later}), encoding="utf-8")


def _delete_file(folder: Path) -> None:
    next((folder / "facets.parquet").iterdir()).unlink()


def _spoil_file(folder: Path) -> None:
    path = next((folder / "facets.parquet").iterdir())
    path.unlink()
    path.write_bytes(b"PAR1 and no more")


def _restore_backup(_folder: Path) -> None:
    SnapshotBase.objects.all().delete()


def _lose_trigger(_folder: Path) -> None:
    change_triggers.remove(connection)
    tell(said(DATASETS[0], "globalTags", tags("unnoticed")))
    change_triggers.create(connection)


@pytest.mark.parametrize(
    "happen",
    [
        _make_older,
        _make_strange,
        _make_earlier,
        _delete_file,
        _spoil_file,
        _restore_backup,
        _lose_trigger,
        lambda folder: (folder / MANIFEST_FILE).write_text("{}", encoding="utf-8"),
        lambda _folder: bases.forget_base([]),
    ],
)
def test_what_cannot_be_continued_is_taken_whole(
    happen: Callable[[Path], object], take: Callable[..., tuple[Path, Manifest]], tmp_path: Path
) -> None:
    take()
    (base_folder,) = (tmp_path / "reports" / "bases").glob("*/*")
    happen(base_folder)
    tell(said(DATASETS[0], "globalTags", tags("new")))
    folder, manifest = take()
    assert manifest.generation == 0
    assert read(folder) == read_whole(tmp_path)
    tell(said(DATASETS[1], "globalTags", tags("newer")))
    folder, manifest = take()
    assert manifest.generation == 1
    assert read(folder) == read_whole(tmp_path)


def test_without_triggers_nothing_is_continued(take: Callable[..., tuple[Path, Manifest]]) -> None:
    take()
    change_triggers.remove(connection)
    try:
        assert [take()[1].generation, take()[1].generation] == [0, 0]
        assert take()[1].horizon is None
    finally:
        change_triggers.create(connection)


def test_after_many_changes_it_is_taken_whole(
    take: Callable[..., tuple[Path, Manifest]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, manifest = take()
    monkeypatch.setattr(overlay, "MAX_CHANGED_SHARE", 2.5 / manifest.rows["entities"])
    generations: list[int] = []
    for urn in (DATASETS[0], DATASETS[0], DATASETS[1], DATASETS[2], DATASETS[3]):
        tell(said(urn, "globalTags", tags(f"number-{len(generations)}")))
        generations.append(take()[1].generation)
    assert generations == [1, 2, 3, 0, 1]


def test_a_setting_has_them_taken_whole(
    take: Callable[..., tuple[Path, Manifest]], settings: Any, tmp_path: Path
) -> None:
    settings.REPORTS_INCREMENTAL = False
    assert [take()[1].generation, take()[1].generation] == [0, 0]
    assert not (tmp_path / "reports").exists()


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer at a time")
def test_a_transaction_that_ends_late_is_not_missed(take: Callable[..., tuple[Path, Manifest]], tmp_path: Path) -> None:
    """It was begun before the one that the base has, and is committed after the base was taken."""
    late_pk, early_pk = (Entity.objects.get(urn=urn).pk for urn in DATASETS[:2])
    insert = "INSERT INTO catalog_facet (entity_id, field, value, type) VALUES (%s, 'TAG', %s, '')"
    take()
    with closing(connections.create_connection("default")) as late, late.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(insert, [late_pk, "urn:li:tag:late"])
        Facet.objects.create(entity_id=early_pk, field="TAG", value="urn:li:tag:early")
        folder, manifest = take()
        values = {value for _, _, value, _ in read(folder)["facets"]}
        assert "urn:li:tag:early" in values
        assert "urn:li:tag:late" not in values
        cursor.execute("COMMIT")
    markers = dict(ChangeMarker.objects.values_list("entity", "marker"))
    assert markers[late_pk] < markers[early_pk]
    assert manifest.horizon is not None
    assert markers[early_pk] < manifest.horizon.upper
    folder, manifest = take()
    assert manifest.generation == 2
    assert "urn:li:tag:late" in {value for _, _, value, _ in read(folder)["facets"]}
    assert read(folder) == read_whole(tmp_path)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite is one database")
def test_a_transaction_of_another_database_is_not_waited_for(take: Callable[..., tuple[Path, Manifest]]) -> None:
    """It marks nothing here, so no marker has to stay for it; one of this database is waited for."""
    with (
        connection._nodb_cursor() as elsewhere,
        closing(connections.create_connection("default")) as here,
        here.cursor() as cursor,
    ):
        for other in (elsewhere, cursor):
            other.execute("BEGIN")
        elsewhere.execute("SELECT pg_current_xact_id()::text::bigint")
        (foreign_number,) = elsewhere.fetchone()
        horizon = take()[1].horizon
        assert horizon is not None
        assert foreign_number not in horizon.pending
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        (number,) = cursor.fetchone()
        _set_group("x", [PEOPLE[0]])
        horizon = take()[1].horizon
        assert horizon is not None
        # Beside it there may be those of other databases that ended at that moment.
        assert number in horizon.pending
        assert foreign_number not in horizon.pending
        assert horizon.oldest_marker <= number
        for other in (elsewhere, cursor):
            other.execute("ROLLBACK")


def test_it_is_continued_in_a_bucket(
    take: Callable[..., tuple[Path, Manifest]],
    tmp_path: Path,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files are copied within the bucket, where nothing has two names."""
    with s3.serve_s3() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        settings.REPORTS_DIR = f"s3://{s3.BUCKET}/reports"
        reports_folder = parse_address(settings.REPORTS_DIR)
        for number in range(3):
            tell(said(DATASETS[number], "globalTags", tags("new")))
            folder = reports_folder / f"taken-{number}"
            manifest = bases.take_snapshot(folder=folder, as_of=AS_OF, excluded_fields=())
            assert (manifest.generation, manifest.changed) == (number, number)
            found = {table.name: _sort(reader.read_table(folder.url, table.name)) for table in TABLES}
            assert found == read_whole(tmp_path)
            folder.delete()
        (key,) = (reports_folder / "bases").list_names()
        assert len((reports_folder / "bases" / key).list_names()) == 1


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no TRUNCATE")
def test_an_emptied_table_is_noticed(take: Callable[..., tuple[Path, Manifest]], tmp_path: Path) -> None:
    take()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE catalog_facet")
    folder, manifest = take()
    assert manifest.generation == 0
    assert read(folder) == read_whole(tmp_path)
