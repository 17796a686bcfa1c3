"""Folders at an address: the same on this machine and in a bucket; what is no address says so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.reports import storage
from catalog.reports.storage import BadAddress, StorageFolder, parse_address
from tests import s3


@pytest.fixture(scope="module")
def server() -> Iterator[s3.S3Server]:
    with s3.serve_s3() as server:
        yield server


@pytest.fixture(params=["local", "bucket"])
def folder(
    request: pytest.FixtureRequest, server: s3.S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StorageFolder:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    address = f"s3a://{s3.BUCKET}/{tmp_path.name}" if request.param == "bucket" else tmp_path / "reports"
    folder = parse_address(address)
    folder.create()
    return folder


def test_files_come_back_and_a_second_one_replaces_the_first(folder: StorageFolder):
    folder.write_text("a.json", "first")
    folder.write_bytes("a.json", b"sec", memoryview(b"ond"))
    (folder / "table").create()
    (folder / "table").write_text("part-0", "")
    assert folder.list_names() == ["a.json", "table"]
    assert folder.read_bytes("a.json") == b"second"
    assert folder.has_file("a.json")
    assert not folder.has_file("b.json")
    with folder.open_input("a.json") as file:
        assert (file.seek(3), file.read()) == (3, b"ond")
    folder.delete_file("a.json")
    assert folder.list_names() == ["table"]
    with pytest.raises(FileNotFoundError):
        folder.read_bytes("a.json")


def test_folders_are_copied_and_deleted(folder: StorageFolder, tmp_path: Path):
    for name in ("one", "two"):
        (folder / "from" / name).create()
        (folder / "from" / name).write_text("file", name)
    (folder / "from").copy_to(folder / "to")
    (folder / "from").copy_to(parse_address(tmp_path / "here"))
    (folder / "from" / "one" / "file").copy_to(parse_address(tmp_path / "there" / "file"))
    assert (tmp_path / "there/file").read_text() == "one"
    (folder / "from").delete()
    (folder / "from").delete()
    assert not (folder / "from").is_there()
    assert (folder / "from").list_names() == []
    assert (folder / "to" / "two").is_there()
    assert (folder / "to" / "two").read_bytes("file") == (tmp_path / "here/two/file").read_bytes() == b"two"


def test_a_second_name_is_given_once_and_the_content_stays(tmp_path: Path):
    folder = parse_address(tmp_path)
    (folder / "other").create()
    folder.write_text("file", "content")
    folder.link_file("file", folder / "other")
    with pytest.raises(FileExistsError):
        folder.link_file("file", folder / "other")
    assert folder.read_bytes("file") == (folder / "other").read_bytes("file") == b"content"


@pytest.mark.parametrize(
    ("address", "shown", "url", "spark_url"),
    [
        ("/a/b c/", "/a/b c", "file:///a/b%20c", "file:///a/b c"),
        ("file:///a/b%20c", "/a/b c", "file:///a/b%20c", "file:///a/b c"),
        ("file://localhost/a", "/a", "file:///a", "file:///a"),
        ("file:/a/b", "/a/b", "file:///a/b", "file:///a/b"),
        ("s3://bucket", "s3://bucket", "s3://bucket", "s3a://bucket"),
        ("s3a://bucket/a/b/", "s3://bucket/a/b", "s3://bucket/a/b", "s3a://bucket/a/b"),
        ("gs://bucket/a", "gs://bucket/a", "gs://bucket/a", "gs://bucket/a"),
        (
            "abfss://box@account.dfs.core.windows.net/a",
            "abfss://box@account.dfs.core.windows.net/a",
            "abfss://box@account.dfs.core.windows.net/a",
            "abfss://box@account.dfs.core.windows.net/a",
        ),
        ("hdfs://name:8020/a", "hdfs://name:8020/a", "hdfs://name:8020/a", "hdfs://name:8020/a"),
        ("hdfs:///a", "hdfs:///a", "hdfs:///a", "hdfs:///a"),
    ],
)
def test_every_kind_of_address(address: str, shown: str, url: str, spark_url: str):
    folder = parse_address(address)
    assert (str(folder), folder.url, folder.spark_url) == (shown, url, spark_url)
    assert parse_address(folder.url) == folder
    assert (folder / "x").url == f"{url}/x"
    assert (folder / "x").name == "x"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("s4://bucket/a", "s4://bucket/a begins with s4:, which names no storage"),
        ("file://data/a", "file://data/a names the machine data: a folder of this one has to be file:///folder."),
        ("s3:bucket/a", "An address that begins with s3: goes on with a slash, such as s3://bucket/folder"),
        ("file:a", "An address that begins with file: goes on with a slash"),
        ("s3:///a", "s3:///a names no bucket: it has to be s3://bucket/folder."),
        ("s3://key:hidden@bucket/a", "s3://bucket/a has more than a server and a path"),
        ("s3:/key:hidden@bucket/a", "s3:/bucket/a names no bucket"),
        ("s3://key:hidden@[bucket/a", r"s3://\[bucket/a is no address"),
        ("s3://bucket/a?secret_key=hidden", "s3://bucket/a has more than a server and a path"),
        ("abfss://account.dfs.core.windows.net/a", "does not name both container and account"),
        ("abfss://box:hidden@account.dfs.core.windows.net/a", "has more than a server and a path"),
    ],
)
def test_what_is_no_address_says_why_and_shows_no_secret(address: str, sentence: str):
    with pytest.raises(BadAddress, match=sentence.replace("?", ".")) as raised:
        parse_address(address)
    assert "hidden" not in str(raised.value)
    assert storage.redact_address("/a?b#c") == "/a?b#c"
