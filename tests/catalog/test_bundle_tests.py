"""Tests of policies as code: decision tables and assertions from files, without a server and without a database."""

import io
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from catalog.bundle_tests import bundle
from catalog.reports.snapshot import partitions, writer
from policies.authoring.services import policies, policy_drafts
from policies.errors import Invalid
from policies.identity.services import groups, users
from policies.pdp import authorizer
from tests.catalog.conftest import said, tell
from tests.policies.conftest import DOOR

JO, MIA, TEAM = "urn:li:corpuser:jo", "urn:li:corpuser:mia", "urn:li:corpGroup:team"
ORDERS, OTHER = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "other"))
EDITORS = """\
urn: urn:li:dataHubPolicy:editors
family: datahub
document:
  displayName: Editors
  type: METADATA
  state: ACTIVE
  privileges: [EDIT_ENTITY_TAGS]
  actors: {roles: [urn:li:dataHubRole:steward]}
  resources: {filter: {criteria: [{field: DOMAIN, values: [urn:li:domain:sales]}]}}
"""
FACTS = f"""\
facts:
  groups:
    {TEAM}: {{roles: [urn:li:dataHubRole:steward]}}
  people:
    {JO}: {{groups: {TEAM}}}
    {MIA}: {{}}
    urn:li:corpuser:gone: {{groups: {TEAM}, active: false}}
  entities:
    "{ORDERS}": {{domain: urn:li:domain:emea, owner: [{{owner: {MIA}, type: urn:li:ownershipType:a}}]}}
    "{OTHER}": {{facets: {{DOMAIN: [urn:li:domain:it]}}}}
    urn:li:domain:sales: {{}}
  below:
    urn:li:domain:emea: urn:li:domain:sales
"""
TABLE = f"""\
table:
  - [{JO}, EDIT_ENTITY_TAGS, "{ORDERS}", ALLOW]
  - [{JO}, EDIT_ENTITY_TAGS, "{OTHER}", DENY]
  - [{JO}, EDIT_ENTITY_TAGS, urn:li:domain:sales, ALLOW]
  - [urn:li:corpuser:gone, EDIT_ENTITY_TAGS, "{ORDERS}", DENY]
  - {{person: {MIA}, privilege: MANAGE_POLICIES, answer: DENY}}
"""
ASSERTIONS = """\
assertions:
  - name: Only stewards edit
    nobody: {outside: [urn:li:dataHubRole:steward], may: EDIT_ENTITY_TAGS}
"""
FILES = {"policies/editors.yaml": EDITORS, "tests/editors.yaml": FACTS + TABLE + ASSERTIONS}


def write_files(folder, texts):
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def run(*arguments):
    output = io.StringIO()
    try:
        call_command("policies", "test", *map(str, arguments), stdout=output, stderr=output)
    except SystemExit as end:
        return int(str(end.code)), output.getvalue()
    except CommandError as error:
        return error.returncode, f"{output.getvalue()}{error}"
    return 0, output.getvalue()


def list_failures(texts, world=None):
    return [(result.file, line) for result in bundle.run_tests(texts, world=world) for line, _ in result.failures]


def test_a_folder_whose_tests_hold_exits_with_0(tmp_path):
    assert run(write_files(tmp_path, FILES)) == (0, "6 of 6 hold.\n")


def test_what_fails_is_told_with_its_line_and_the_policy_that_decides(tmp_path):
    wrong = FILES | {"policies/editors.yaml": EDITORS.replace("roles: [urn:li:dataHubRole:steward]", f"users: [{MIA}]")}
    code, output = run(write_files(tmp_path, wrong), "--junit", tmp_path / "results.xml")
    assert code == 1
    assert f"tests/editors.yaml:15: {JO} EDIT_ENTITY_TAGS {ORDERS}\n" in output
    assert f"{JO} EDIT_ENTITY_TAGS on {ORDERS}: DENY, not ALLOW. urn:li:dataHubPolicy:editors comes closest:" in output
    assert "tests/editors.yaml:21: Only stewards edit\n" in output
    assert f"{MIA} EDIT_ENTITY_TAGS on {ORDERS} (one of 2): ALLOW." in output
    suites = ElementTree.parse(tmp_path / "results.xml").getroot()
    assert suites.attrib == {"name": "policies", "tests": "6", "failures": "3", "errors": "0"}
    failed = [case for case in suites.iter("testcase") if case.find("failure") is not None]
    assert [case.get("line") for case in failed] == ["15", "17", "21"]
    assert failed[0].get("file") == "tests/editors.yaml"
    assert str(failed[0].findtext("failure")).startswith("tests/editors.yaml:15: ")


def test_an_inactive_policy_and_one_that_has_ended_allow_nothing():
    for old, new in (
        ("state: ACTIVE", "state: INACTIVE"),
        ("state: ACTIVE", 'state: ACTIVE\n  validUntil: "2020-01-01T00:00:00Z"'),
    ):
        changed = FILES | {"policies/editors.yaml": EDITORS.replace(old, new)}
        assert list_failures(changed) == [("tests/editors.yaml", 15), ("tests/editors.yaml", 17)]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("EDIT_ENTITY_TAGS, urn:li:domain:sales", "FLY, urn:li:domain:sales", [17]),
        ("below:", "under:", [12]),
        ("table:", "tables:", [14]),
        ("active: false", "active: perhaps", [7]),
        (f"{MIA}: {{}}", f"{JO}: {{}}", [6]),
        ("urn:li:domain:sales\n", "urn:li:domain:emea\n", [13]),
        ("owner: [", "owner: [x, ", [9]),
        ("ALLOW]", "PERHAPS]", [15, 17]),
        ("{domain:", "{domian:", [9]),
        ("nobody: {", "nobody: {{", [23]),
        ("facts:", "facts: &a", [1]),
        ("facts:", "facts: *a", [1]),
        ("groups:\n", "groups:\t\n", None),
    ],
)
def test_a_bad_file_is_refused_with_its_lines(tmp_path, old, new, lines):
    text = FILES["tests/editors.yaml"].replace(old, new)
    assert text != FILES["tests/editors.yaml"]
    with pytest.raises(Invalid) as refusal:
        bundle.run_tests(FILES | {"tests/editors.yaml": text}, world=None)
    found = [problem.pointer for problem in refusal.value.problems]
    assert found == [f"tests/editors.yaml:{line}" for line in lines] if lines else len(found) == 1
    code, output = run(write_files(tmp_path, FILES | {"tests/editors.yaml": text}))
    assert (code, found[0] in output) == (2, True)


def test_the_problems_of_all_files_are_named_at_once(tmp_path):
    texts = FILES | {
        "policies/z.yaml": EDITORS.replace("EDIT_ENTITY_TAGS", "FLY"),
        "tests/a.yaml": "table: []\n",
        "assertions/a.yaml": "name: A\n",
    }
    code, output = run(write_files(tmp_path, texts))
    assert code == 2
    for place in ("policies/z.yaml:7: ", "tests/a.yaml:1: ", "assertions/a.yaml:1: "):
        assert place in output


def test_nothing_tested_leaves_no_results_of_an_earlier_run(tmp_path):
    results = tmp_path / "results.xml"
    results.write_text("of an earlier run")
    folder = tmp_path / "bundle"
    write_files(folder, {"policies/a.yaml": "a: [", "policies/editors.yaml": EDITORS.replace("EDIT_", "FLY_")})
    code, output = run(folder, "--junit", results)
    assert code == 2
    assert all(text in output for text in ("policies/a.yaml:2", "policies/editors.yaml:7", "tests.missing"))
    assert not results.exists()


@pytest.mark.parametrize(
    ("claims", "line", "name"),
    [
        (f'table:\n  - [{JO}, EDIT_ENTITY_TAGS, "{ORDERS}x", DENY]\n', 2, f"{ORDERS}x"),
        (f'table:\n  - [{JO}x, EDIT_ENTITY_TAGS, "{ORDERS}", DENY]\n', 2, f"{JO}x"),
        (
            f"assertions:\n  - name: A\n    nobody: {{outside: [{TEAM}, {TEAM}s], may: EDIT_ENTITY_TAGS}}\n",
            2,
            f"{TEAM}s",
        ),
        (
            "assertions:\n  - name: A\n    nobody: {may: EDIT_ENTITY_TAGS, on: {domain: urn:li:domain:nope}}\n",
            2,
            "urn:li:domain:nope",
        ),
        ("assertions:\n  - name: A\n    nobody: {may: EDIT_ENTITY, on: {tag: urn:li:tag:pi}}\n", 2, "urn:li:tag:pi"),
        (
            "assertions:\n  - name: A\n    nobody: {may: EDIT_ENTITY, on: {not: {tag: urn:li:tag:pi}}}\n",
            2,
            "urn:li:tag:pi",
        ),
        (
            f"assertions:\n  - name: A\n    every: {{in: {TEAM}, may: EDIT_ENTITY, on: {{owner: {MIA}s}}}}\n",
            2,
            f"{MIA}s",
        ),
    ],
)
def test_a_name_that_nothing_has_fails_unless_it_may_be_absent(claims, line, name):
    def find_absences(text):
        results = bundle.run_tests({"policies/editors.yaml": EDITORS, "tests/a.yaml": text}, world=None)
        return [(line, message) for result in results for line, message in result.failures if "There is no " in message]

    [(found_line, message)] = find_absences(claims + FACTS)
    assert (found_line, f"There is no {name}: " in message) == (line, True)
    if claims.startswith("table"):
        person, privilege, entity = claims.partition("[")[2].split(", ")[:3]
        answer = f"person: {person}, privilege: {privilege}, entity: {entity}, answer: DENY, may_be_absent: true"
        marked = f"table:\n  - {{{answer}}}\n"
    else:
        marked = f"{claims}    may_be_absent: true\n"
    assert find_absences(marked + FACTS) == []


def test_a_role_that_the_bundle_makes_is_known_before_anybody_holds_it():
    role = "urn:li:dataHubRole:new"
    claim = f"assertions:\n  - name: A\n    nobody: {{outside: {role}, may: MANAGE_POLICIES}}\n"
    texts = {"policies/editors.yaml": EDITORS, "tests/a.yaml": claim + FACTS}
    assert list_failures(texts) == [("tests/a.yaml", 2)]
    assert list_failures(texts | {"roles/new.yaml": f"urn: {role}\nname: New\n"}) == []


def test_a_folder_without_tests_tests_nothing_and_says_so(tmp_path):
    assert run(write_files(tmp_path, {"policies/editors.yaml": EDITORS}))[0] == 2
    without_facts = run(write_files(tmp_path, {"tests/table.yaml": TABLE}))
    assert without_facts[0] == 2
    assert "tests/table.yaml:1: This has no `facts`" in without_facts[1]
    assert run(write_files(tmp_path, FILES), "--snapshot", tmp_path / "nowhere")[0] == 2


@pytest.fixture
def snapshot(transactional_db, tmp_path):
    """A snapshot of a catalog in which Jo is a steward through a policy that names the group."""
    by: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
    for name in ("jo", "mia"):
        users.create(username=name, **by)
    groups.create(name="Team", identifier="team", **by)
    groups.add_members(urn=TEAM, members=[JO], **by)
    for urn in (ORDERS, OTHER):
        tell(said(urn, "domains", {"domains": ["urn:li:domain:sales"]}))
    document = {
        "displayName": "Editors",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"groups": [TEAM]},
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), urn="urn:li:dataHubPolicy:editors", **by)
    folder = tmp_path / "snapshot"
    writer.write(folder=folder, as_of=timezone.now())
    return folder


def test_a_snapshot_answers_with_the_policies_of_the_folder_in_place_of_its_own(snapshot, tmp_path, monkeypatch):
    asked = {
        "tests/table.yaml": f'table:\n  - [{JO}, EDIT_ENTITY_TAGS, "{OTHER}", ALLOW]\n',
        "assertions/team.yaml": "# Agreed.\nname: Only the team edits\n"
        f"nobody: {{outside: {TEAM}, may: EDIT_ENTITY_TAGS}}\n",
    }
    folder = write_files(tmp_path / "bundle", asked)
    assert run(folder, "--snapshot", snapshot) == (0, "2 of 2 hold.\n")
    write_files(folder, {"policies/e.yaml": EDITORS.replace("roles: [urn:li:dataHubRole:steward]", f"users: [{MIA}]")})
    monkeypatch.setattr(partitions, "MAX_PARTITION_ENTITIES", 1)
    code, output = run(folder, "--snapshot", snapshot)
    assert code == 1
    assert "assertions/team.yaml:2: Only the team edits\n" in output
    assert f"{MIA} EDIT_ENTITY_TAGS on {ORDERS} (one of 2): ALLOW" in output
    assert "tests/table.yaml:2: " in output
    # What the file states itself is all that its questions are about.
    assert list_failures(FILES) == []


def test_the_command_writes_a_snapshot(snapshot, tmp_path):
    target = tmp_path / "elsewhere"
    call_command("policies", "snapshot", str(target), stdout=io.StringIO())
    assert (target / "manifest.json").is_file()
    with pytest.raises(CommandError):
        call_command("policies", "snapshot", str(target), stdout=io.StringIO())


def test_neither_a_database_nor_spark_is_needed(tmp_path):
    write_files(tmp_path, FILES)
    script = (
        "import sys; from django.core.management import execute_from_command_line as run\n"
        f"run(['manage.py', 'policies', 'test', {str(tmp_path)!r}])\n"
        "assert not {'pyspark', 'py4j'} & sys.modules.keys()\n"
    )
    environment = os.environ | {
        "DATABASE_URL": "postgres://nobody:nothing@127.0.0.1:1/none",
        "DJANGO_SETTINGS_MODULE": "authzsite.settings",
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "6 of 6 hold.\n"), done.stderr
