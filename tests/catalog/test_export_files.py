"""Which files patterns of exports name, and which files are too large to be read."""

import bz2
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from catalog.reports.kinds.role_mapping_check.file_limits import FileLimits, find_file_problems
from catalog.reports.storage import parse_address
from catalog.warehouses import plain_grants
from catalog.warehouses.exports import parse_exports
from catalog.warehouses.files.file_patterns import find_pattern_problem, match_path
from catalog.warehouses.files.headers import Header, choose_header
from catalog.warehouses.layouts import choose_layout
from catalog.warehouses.postgres import schema_layouts
from catalog.warehouses.postgres.catalog_layouts import LAYOUTS
from catalog.warehouses.redshift import history as redshift_history
from catalog.warehouses.redshift.layouts import POLICY_LAYOUTS
from catalog.warehouses.registry import list_warehouses
from catalog.warehouses.warehouse import BadExports, Export

KEYS = ("grants", "members", "usage", "policies", "hierarchy", "denies")


@pytest.mark.parametrize(
    "pattern",
    [
        *("../secret", "a/../../secret", "..", "snow/..", "/etc/passwd", "//etc/passwd", "", " ", "a//b", "./a", "a/"),
        *("file:///etc/passwd", "file:/etc/passwd", "s3a://bucket/x", "FILE:///etc/passwd", "hdfs:secret", "C:\\x"),
        *("{..,x}/secret", "{a,../../secret}", "\\.\\./secret", "[.][.]/secret", "[!a]/x", "a\0b"),
    ],
)
def test_patterns_stay_inside_the_folder(pattern: str) -> None:
    assert find_pattern_problem(pattern)
    for key in KEYS:
        export = {"name": "a", "platform": "p", "form": "csv", "grants": ["a.csv"]} | {key: ["a.csv", pattern]}
        with pytest.raises(BadExports, match=f"exports/0/{key}/1 "):
            parse_exports(json.dumps({"exports": [export]}))


@pytest.mark.parametrize("pattern", ["a.csv", "snow/grants*.csv", "..data/a.csv", "a..b", "*/x?.csv.gz", "my 5%+é.csv"])
def test_other_patterns_are_paths_in_the_folder(pattern: str) -> None:
    assert find_pattern_problem(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "path", "is_named"),
    [
        ("snow/a*.csv", "snow/abc.csv", True),
        ("snow/a*.csv", "snow/x/abc.csv", False),
        ("*/a?.csv", "snow/ab.csv", True),
        ("*/a?.csv", "snow/abc.csv", False),
        ("a.csv", "abcsv", False),
        ("snow", "snow/a.csv", True),
        ("snow", "snow/_hidden", False),
        ("s*", "snow/deep/a.csv", True),
    ],
)
def test_which_files_a_pattern_names(pattern: str, path: str, *, is_named: bool) -> None:
    assert match_path(pattern, path) == is_named


def find_problems(folder: Path, limits: FileLimits, *names: str) -> dict[str, list[str]]:
    exports = [Export(name=name, platform="p", warehouse=list_warehouses()["csv"], grants=(name,)) for name in names]
    problems = find_file_problems(parse_address(folder), exports, limits)
    return {name: [problem.sentence for problem in found] for name, found in problems.items()}


def pack_twice(content: bytes) -> bytes:
    return gzip.compress(content[: len(content) // 2]) + gzip.compress(content[len(content) // 2 :])


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".gz", pack_twice), (".bz2", bz2.compress)])
def test_what_grows_too_much_is_named(tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]) -> None:
    bomb, good = f"bomb.csv{ending}", f"good.csv{ending}"
    (tmp_path / bomb).write_bytes(pack(b"row\n" * 2**20))
    (tmp_path / good).write_bytes(pack(b"row\n" * 9))
    found = find_problems(tmp_path, FileLimits(), bomb, good, f"*{ending}")
    sentence = f"{bomb} grows beyond 100 times its size when it is unpacked."
    assert list(found) == [bomb, f"*{ending}"]
    assert all(sentences[0].startswith(sentence) for sentences in found.values())
    assert find_problems(tmp_path, FileLimits(growth=10**6), bomb) == {}
    (many,) = find_problems(tmp_path, FileLimits(growth=10**6, size=2**20), bomb)[bomb]
    assert many.startswith(f"{bomb} grows beyond 1,048,576 bytes")


@pytest.mark.parametrize("name", ["a.zip", "a.csv.ZIP", "a.csv.zst", "a.csv.deflate"])
def test_what_nobody_can_measure_is_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    assert find_problems(tmp_path, FileLimits(), name) == {
        name: [f"{name} is packed in a way that is not read: unpack it, or pack it with gzip."]
    }


LONG = 16 * 2**20


@pytest.mark.parametrize(
    ("length", "before", "after", "is_too_long"),
    [
        (LONG, b"a\n", b"\nb", False),
        (LONG + 1, b"a\n", b"\nb", True),
        (LONG + 1, b"", b"", True),
        (LONG, b"", b"", False),
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_line_that_is_too_long_is_named(
    tmp_path: Path, length: int, before: bytes, after: bytes, ending: str, *, is_too_long: bool
) -> None:
    content = before + b"x" * length + after
    (tmp_path / f"a{ending}").write_bytes(gzip.compress(content, 1) if ending else content)
    found = find_problems(tmp_path, FileLimits(growth=10**6), f"a{ending}")
    sentence = f"a{ending} has a line of more than 16 MiB: export it again, row by row."
    assert found == ({f"a{ending}": [sentence]} if is_too_long else {})


PACKED = gzip.compress(b"".join(b"%d\n" % number for number in range(9999)))
DAMAGED = "{} is damaged, or was not copied to its end: it cannot be unpacked. Export it again."
CUT_OFF = "{} ends in the middle of line 3: it was not copied to its end. Export it again."


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("half.gz", PACKED[: len(PACKED) // 2], DAMAGED),
        ("none.gz", b"no gzip at all", DAMAGED),
        ("bits.gz", PACKED[:200] + b"????" + PACKED[204:], DAMAGED),
        ("half.bz2", bz2.compress(b"row\n" * 999)[:-9], DAMAGED),
        ("none.bz2", b"no bzip2 at all", DAMAGED),
        ("cut.csv", b"a,b,c\n1,2,3\n1,2", CUT_OFF),
        ("quote.csv", b'a,b,c\n1,2,3\n1,2,"th', CUT_OFF),
        ("cut.csv.gz", gzip.compress(b"a,b,c\n1,2,3\n1,2"), CUT_OFF),
        ("cut.json", b'{"a": 1}\n{"a": 2}\n{"a": ', CUT_OFF),
        ("whole.csv", b"a,b,c\n1,2,3\n1,2,", ""),
        ("whole.json", b'{"a": 1}\n{"a": 2},', ""),
        ("empty.csv", b"", ""),
    ],
)
def test_a_file_that_has_no_end_is_named(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert find_problems(tmp_path, FileLimits(), name) == ({name: [sentence.format(name)]} if sentence else {})


def test_a_history_may_be_copied_while_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n1")
    warehouse = list_warehouses()["csv"]
    export = Export(name="x", platform="p", warehouse=warehouse, grants=("g.csv",), usage=("a.csv",))
    assert find_file_problems(parse_address(tmp_path), [export], FileLimits()) == {}


POSTGRES = Export(name="shop", platform="postgres", warehouse=list_warehouses()["postgres"], grants=("roles.csv",))
ROLES = (
    *("role_name", "is_superuser", "can_login", "inherits", "bypasses_row_security", "is_bootstrap", "valid_until"),
    "dependency_count",
)


def test_a_layout_is_known_by_its_whole_header() -> None:
    assert choose_layout(ROLES, POSTGRES, "roles.csv", LAYOUTS).name == "roles"
    with pytest.raises(BadExports, match="lack the column valid_until"):
        choose_layout([name for name in ROLES if name != "valid_until"], POSTGRES, "roles.csv", LAYOUTS)
    with pytest.raises(BadExports) as raised:
        choose_layout([*ROLES[:-1], "owner"], POSTGRES, "roles.csv", LAYOUTS)
    sentence, nearest = str(raised.value).split(" The nearest ones: ")
    assert sentence == "The files roles.csv of the export shop have the columns of no known layout."
    assert nearest.startswith("roles (lacking dependency_count, not with owner); ")


PG_POLICIES = ("schemaname", "tablename", "policyname", "permissive", "roles", "cmd", "qual", "with_check")
MASKS = ("policy_name", "schema_name", "table_name", "table_type", "grantor", "grantee", "grantee_type", "priority")
SCANS = ("userid", "usename", "query", "starttime", "tbl", "perm_table_name", "database", "schema")


@pytest.mark.parametrize(
    ("headers", "columns", "name"),
    [
        ([schema_layouts.POLICY_LAYOUT.header], PG_POLICIES, "pg_policies"),
        ([layout.header for layout in POLICY_LAYOUTS], MASKS, "SVV_ATTACHED_MASKING_POLICY"),
        (redshift_history.HEADERS, SCANS, "STL_SCAN"),
        ([plain_grants.HEADER], (*plain_grants.HEADER.columns, "created_on"), "the plain form"),
    ],
)
def test_policies_histories_and_plain_files_are_refused_with_another_column(
    headers: Sequence[Header], columns: tuple[str, ...], name: str
) -> None:
    assert choose_header(columns, POSTGRES, "a.csv", headers).name == name
    with pytest.raises(BadExports) as raised:
        choose_header([*columns, "deny"], POSTGRES, "a.csv", headers)
    assert str(raised.value).startswith("The files a.csv of the export shop have the columns of no known layout. ")
    assert f" {name} (not with deny)" in str(raised.value)
