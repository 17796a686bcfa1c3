"""Exports of grants lie beside the snapshot before the check of role mappings starts."""

import json
import os
import subprocess
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.storage import parse_address
from catalog.warehouses.scripts import SCRIPTS
from policies.errors import Invalid

KIND = KINDS["role_mapping_check"]


def test_a_folder_is_copied(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "grants" / "snow").mkdir(parents=True)
    (tmp_path / "grants" / "snow" / "a.csv").write_text("x", encoding="utf-8")
    os.utime(tmp_path / "grants" / "snow" / "a.csv", (1_700_000_000, 1_700_000_000))
    (tmp_path / "input").mkdir()
    settings.GRANTS_EXPORTS = str(tmp_path / "grants")
    KIND.prepare(Report(kind=KIND.name), parse_address(tmp_path / "input"))
    said = json.loads((tmp_path / "input" / "grants_exports.json").read_text(encoding="utf-8"))
    assert (tmp_path / "input" / said["folder"] / "snow" / "a.csv").read_text(encoding="utf-8") == "x"
    # Copies are as old as the run.
    assert said["times"] == {"snow/a.csv": 1_700_000_000}


def test_a_url_is_named(settings: Any, tmp_path: Path) -> None:
    settings.GRANTS_EXPORTS = "s3a://bucket/grants/"
    KIND.prepare(Report(kind=KIND.name), parse_address(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["grants_exports.json"]
    said = json.loads((tmp_path / "grants_exports.json").read_text(encoding="utf-8"))
    assert abs(said.pop("asked_at") - time.time()) < 60
    limits = {"growth": 100, "size": 4 * 2**30}
    # The job asks the storage when the files were written.
    assert said == {"folder": "s3a://bucket/grants", "limits": limits, "times": {}, "max_age": 48}


def copy_exports(settings: Any, folder: Path, *, address: str = "") -> Path:
    """Prepare a run with the exports in a folder, and return their copy."""
    (folder / "input").mkdir()
    settings.GRANTS_EXPORTS = address or str(folder / "grants")
    KIND.prepare(Report(kind=KIND.name), parse_address(folder / "input"))
    return folder / "input" / "exports"


def make_outside(folder: Path) -> Path:
    """Return a folder of exports, beside one with a secret."""
    for name in ("grants/snow", "outside"):
        (folder / name).mkdir(parents=True)
    (folder / "outside" / "secret").write_text("KEY", encoding="utf-8")
    (folder / "grants" / "a.csv").write_text("a", encoding="utf-8")
    return folder / "grants"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("x.csv", "../outside/secret"),
        ("snow/x.csv", "../../outside/secret"),
        ("exports.json", "/etc/hostname"),
        ("snow/all", "../../outside"),
        ("x.csv", "snow/way"),
        ("x.csv", "nowhere"),
        ("snow/again", "."),
    ],
)
@pytest.mark.parametrize("is_url", [False, True])
def test_a_link_that_leads_out_is_named(settings: Any, tmp_path: Path, link: str, target: str, *, is_url: bool) -> None:
    folder = make_outside(tmp_path)
    if target == "snow/way":
        (folder / target).symlink_to("../../outside/secret")
    (folder / link).symlink_to(target)
    with pytest.raises(Invalid) as raised:
        copy_exports(settings, tmp_path, address=folder.as_uri() if is_url else "")
    assert raised.value.problems[0].code == "grants.outside"
    assert any(f"{name} is a link" in str(raised.value) for name in (link, target))
    copied = (tmp_path / "input").rglob("*")
    assert not [path for path in copied if path.is_file() and b"KEY" in path.read_bytes()]


def test_what_is_no_file_is_named(settings: Any, tmp_path: Path) -> None:
    os.mkfifo(make_outside(tmp_path) / "pipe.csv")
    with pytest.raises(Invalid, match="neither a file nor a link to one"):
        copy_exports(settings, tmp_path)


def test_links_inside_the_folder_are_followed(settings: Any, tmp_path: Path) -> None:
    folder = make_outside(tmp_path)
    # As containers mount files that are replaced at once.
    (folder / "..day").mkdir()
    (folder / "..day" / "exports.json").write_text("{}", encoding="utf-8")
    (folder / "..data").symlink_to("..day")
    (folder / "exports.json").symlink_to("..data/exports.json")
    (folder / "snow" / "b.csv").symlink_to(folder / "a.csv")
    settings.GRANTS_EXPORTS = str(tmp_path / "named")
    (tmp_path / "named").symlink_to("grants")
    copy = copy_exports(settings, tmp_path, address=str(tmp_path / "named"))
    assert (copy / "exports.json").read_text(encoding="utf-8") == "{}"
    assert (copy / "snow" / "b.csv").read_text(encoding="utf-8") == "a"
    assert not any(path.is_symlink() for path in copy.rglob("*"))


@pytest.mark.parametrize("place", ["", "no/such/folder"])
def test_nothing_to_check_is_a_sentence(settings: Any, tmp_path: Path, place: str) -> None:
    settings.GRANTS_EXPORTS = place
    with pytest.raises(Invalid, match="GRANTS_EXPORTS"):
        KIND.prepare(Report(kind=KIND.name), parse_address(tmp_path))


def test_what_is_sensitive_is_a_tag() -> None:
    assert KIND.validate({})["tags"] == ["urn:li:tag:PII"]
    with pytest.raises(Invalid) as raised:
        KIND.validate({"tags": ["urn:li:tag:a", "PII"]})
    assert [one.pointer for one in raised.value.problems] == ["/tags/1"]


@pytest.mark.parametrize("system", sorted(SCRIPTS))
def test_the_script_of_each_system_is_printed(system: str) -> None:
    printed = StringIO()
    call_command("exports", "sql", system, stdout=printed)
    assert printed.getvalue() == SCRIPTS[system].render()


def test_the_script_for_google_is_one_of_a_shell(tmp_path: Path) -> None:
    """The loop over named objects asks for a dataset by its name, and for a table in its dataset."""
    program = tmp_path / "bq"
    program.write_text("#!/bin/sh\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    script = SCRIPTS["bigquery"].render()
    loop = script[script.index("for object in") : script.index("# The entry in")]
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "REGION": "eu"}
    subprocess.run(
        ["sh", "-c", f"set -eu\n{loop}", "sh", "shop", "shop.pay"], cwd=tmp_path, env=environment, check=True
    )
    assert "WHERE object_name = 'shop'" in (tmp_path / "object_privileges_shop.csv").read_text(encoding="utf-8")
    query = (tmp_path / "object_privileges_shop.pay.csv").read_text(encoding="utf-8")
    assert "region-eu`" in query
    assert "WHERE object_schema = 'shop' AND object_name = 'pay'" in query
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def test_the_queries_of_a_system_are_printed() -> None:
    printed = StringIO()
    call_command("exports", "sql", "postgres", stdout=printed)
    assert printed.getvalue() == SCRIPTS["postgres"].render()
    assert "aclexplode(coalesce(relation.relacl, acldefault('r', relation.relowner)))" in printed.getvalue()
    with pytest.raises(CommandError, match="invalid choice: 'kafka'"):
        call_command("exports", "sql", "kafka")
