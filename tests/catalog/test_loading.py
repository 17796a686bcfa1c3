"""Files of proposals: plain, packed or piped; one bad entry stores nothing and is not the only one named."""

import gzip
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from catalog.access import aspect_documents
from catalog.ingest import file_reader
from catalog.models import Entity
from policies.engine.errors import MAX_PROBLEMS
from policies.errors import Invalid
from tests.catalog.conftest import projection, stored

pytestmark = pytest.mark.django_db

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,ordérs,PROD)"


def entry(urn: str = DATASET, aspect: str = "globalTags", document: object = None, **more: object) -> dict:
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"json": {"tags": []} if document is None else document},
    } | more


def load(path: Path, content: bytes | list) -> str:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    out = io.StringIO()
    call_command("load_catalog", str(path), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def refusal(path: Path, content: bytes | list) -> list[str]:
    before = stored(), projection()
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    err = io.StringIO()
    with pytest.raises(CommandError):
        call_command("load_catalog", str(path), stdout=io.StringIO(), stderr=err)
    assert (stored(), projection()) == before
    return [line.split(" ")[1].rstrip(":") for line in err.getvalue().splitlines()]


def test_plain_packed_and_piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.dumps([entry(), entry(aspect="madeUp", document={"é": 1.0})], indent=1, ensure_ascii=False).encode()
    assert "2 proposals, 1 entities touched" in load(tmp_path / "plain.json", content)
    assert "2 proposals" in load(tmp_path / "packed.json.gz", gzip.compress(content, mtime=0))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    out = io.StringIO()
    call_command("load_catalog", "-", stdout=out, stderr=io.StringIO())
    assert out.getvalue().startswith("-: 2 proposals")
    found = aspect_documents.load_aspect(urn=DATASET, name="madeUp")
    assert found is not None
    assert found.value == {"é": 1.0}


def test_a_packed_file_may_have_several_parts(tmp_path: Path) -> None:
    """As `cat` makes one of two: gzip reads it as one text, whose list may go on in the second part."""
    content = json.dumps([entry(), entry("urn:li:tag:second", "status", {"removed": False})]).encode()
    parts = gzip.compress(content[:100], mtime=0) + gzip.compress(content[100:], mtime=0)
    assert "2 proposals, 2 entities touched" in load(tmp_path / "parts.json.gz", parts)
    lists = gzip.compress(json.dumps([entry()]).encode(), mtime=0) * 2
    with pytest.raises(Invalid, match="Something follows the JSON list"):
        list(file_reader.read(io.BytesIO(lists)))


def test_a_file_of_nothing_but_problems_is_not_read_to_its_end(tmp_path: Path) -> None:
    """A hundred are listed and one says that there are more; the broken end is not reached."""
    content = json.dumps([{"proposedSnapshot": {}}] * 2000)[:-1].encode()
    places = refusal(tmp_path / "f", content)
    assert len(places) == MAX_PROBLEMS + 1
    assert places[:2] == ["/0", "/1"]


def test_the_text_form_is_stored_byte_for_byte(tmp_path: Path) -> None:
    load(tmp_path / "f", [entry(aspect="madeUp") | {"aspect": {"value": '{"a":  1}'}}])
    found = aspect_documents.load_aspect(urn=DATASET, name="madeUp")
    assert found is not None
    assert found.document == '{"a":  1}'


def test_every_bad_proposal_is_named_and_nothing_stored(tmp_path: Path) -> None:
    good = [entry(f"urn:li:tag:{number}", "status", {"removed": False}) for number in range(1500)]
    places = refusal(
        tmp_path / "f",
        [
            *good,
            entry(document={"tags": [{"tag": "x"}]}),
            entry(changeType="RESTATE"),
            {"proposedSnapshot": {}},
            entry(entityUrn=7),
            entry() | {"aspect": []},
            *good,
            entry("urn:li:tag:("),
        ],
    )
    assert places == [
        "/1500/aspect/tags/0/tag",
        "/1501/changeType",
        "/1502",
        "/1503/entityUrn",
        "/1504/aspect",
        "/3005/entityUrn",
    ]
    assert not Entity.objects.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[",
        b"[{}",
        b'[{"a": 1},]',
        b"[1]",
        b"[{}] x",
        b"nonsense",
        b"[" + b'{"a":' * 100_000,
        b'["\xff"]',
        b'[{"a": "\xff"}]',
        b"\x1f\x8bnonsense",
        gzip.compress(b"[{}]", mtime=0)[:-6],
    ],
)
def test_what_is_no_file_of_proposals(tmp_path: Path, content: bytes) -> None:
    assert len(refusal(tmp_path / "f", content)) >= 1


def test_what_no_file_may_bring(tmp_path: Path) -> None:
    secret = entry("urn:li:corpuser:jo", "corpUserCredentials", {"hashedPassword": "x"})
    assert refusal(tmp_path / "f", [entry(), secret]) == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("load_catalog", str(tmp_path / "none"))


def test_an_empty_list_is_fine(tmp_path: Path) -> None:
    assert "0 proposals" in load(tmp_path / "f", [])


class Trickle(io.BytesIO):
    """A stream that gives one byte at a time, as a slow pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1)


def test_pieces_may_end_anywhere() -> None:
    content = json.dumps([entry(document={"é😀": "x" * 50}), entry()], ensure_ascii=False).encode()
    assert [proposal.urn for proposal, _ in file_reader.read(Trickle(content)) if proposal] == [DATASET, DATASET]


def test_a_bomb_is_not_unpacked_into_memory() -> None:
    with pytest.raises(Invalid):
        list(file_reader.read(io.BytesIO(gzip.compress(b'[{"a": "' + b"x" * (80 << 20), mtime=0))))


def test_rebuild_says_how_much_there_was(tmp_path: Path) -> None:
    load(tmp_path / "f", [entry()])
    before = projection()
    out = io.StringIO()
    call_command("rebuild_facets", stdout=out)
    assert "1 entities" in out.getvalue()
    assert projection() == before
