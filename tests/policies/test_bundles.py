"""Policies as code: files are exported, planned and applied, all or nothing; what is managed is refused elsewhere."""

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from policies.authoring.services import policies
from policies.authoring.services.bundles import applying, exporting, plan_wording, planning
from policies.authoring.services.bundles.planning import BundleOptions
from policies.authoring.services.policy_drafts import PolicyInput
from policies.errors import Conflict, Forbidden, Invalid, Stale
from policies.identity.services import roles
from policies.models import Policy, PolicyEvent, PolicyVersion, Role
from policies.models.people import ROOT_USERNAME, USER_PREFIX
from policies.pdp import actor_resolution, snapshot_store

DOOR = "test"
SOURCE = "https://git.example.com/access"

STEWARD = """\
urn: urn:li:dataHubRole:steward
name: Steward  # who looks after data
description: Looks after data.
"""
EDITORS = """\
# Reviewed by the data office.
urn: urn:li:dataHubPolicy:editors
family: datahub
document:
  displayName: Editors
  type: METADATA
  state: ACTIVE
  privileges:
    - EDIT_ENTITY_TAGS  # tags alone
  actors:
    roles: [urn:li:dataHubRole:steward]
    resourceOwners: false
    allUsers: false
    allGroups: false
"""
OTHER = EDITORS.replace("editors", "other")
BUNDLE = {"roles/steward.yaml": STEWARD, "policies/editors.yaml": EDITORS}
EDITORS_URN = "urn:li:dataHubPolicy:editors"


def plan(texts, by, **options):
    return planning.plan_bundle(texts=texts, options=BundleOptions(**options), by=by)


def apply(texts, by, expected_version=None, **options):
    return applying.apply_bundle(
        texts=texts, options=BundleOptions(**options), by=by, channel=DOOR, expected_version=expected_version
    )


def list_actions(plan):
    return [(change.action.value, change.key) for changes in plan.changes.values() for change in changes]


def list_problems(texts, by, **options):
    with pytest.raises(Invalid) as refusal:
        plan(texts, by, **options)
    return [(problem.pointer, problem.code) for problem in refusal.value.problems]


@pytest.fixture
def manager(holding):
    return holding("MANAGE_POLICIES")


def test_a_bundle_is_planned_and_applied_as_one_version(manager):
    assert list_actions(plan(BUNDLE, manager)) == [
        ("create", "urn:li:dataHubRole:steward"),
        ("create", EDITORS_URN),
    ]
    assert not Role.objects.filter(name="Steward").exists()
    version = PolicyVersion.load_version()
    _, new_version = apply(BUNDLE, manager, source=SOURCE)
    assert new_version == version + 1
    assert plan(BUNDLE, manager, source=SOURCE).is_empty
    policy = Policy.objects.get(urn=EDITORS_URN)
    assert (policy.is_managed, policy.source, policy.document["privileges"]) == (True, SOURCE, ["EDIT_ENTITY_TAGS"])
    assert Role.objects.get(name="Steward").is_managed


def test_several_policies_change_and_go_as_one_version(manager):
    apply(
        BUNDLE | {"policies/b.yaml": EDITORS.replace("editors", "b").replace("displayName: Editors", "displayName: B")},
        manager,
    )
    version = PolicyVersion.load_version()
    changed = BUNDLE | {"policies/editors.yaml": EDITORS.replace("EDIT_ENTITY_TAGS", "EDIT_ENTITY_OWNERS")}
    carried_out, new_version = apply(changed, manager, is_pruning=True)
    assert list_actions(carried_out) == [("change", EDITORS_URN), ("delete", "urn:li:dataHubPolicy:b")]
    assert new_version == version + 1
    events = PolicyEvent.objects.filter(policy_version=new_version).order_by("policy_urn")
    assert [(event.policy_urn, event.verb) for event in events] == [
        ("urn:li:dataHubPolicy:b", "DELETED"),
        (EDITORS_URN, "UPDATED"),
    ]


def test_a_role_goes_after_the_policy_that_names_it(manager):
    apply(BUNDLE, manager)
    with pytest.raises(Invalid, match="There is no file"):
        apply({}, manager, is_pruning=True)
    assert Policy.objects.filter(urn=EDITORS_URN).exists()
    apply({}, manager, is_pruning=True, is_empty_confirmed=True)
    assert not Role.objects.filter(name="Steward").exists()
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()


def test_a_refusal_stores_nothing(manager):
    apply(BUNDLE, manager)
    # A policy that stays, and is not managed, names the role that would go.
    policies.create(
        draft=PolicyInput("datahub", Policy.objects.get(urn=EDITORS_URN).document | {"displayName": "Other"}),
        by=manager,
        channel=DOOR,
    )
    version = PolicyVersion.load_version()
    with pytest.raises(Conflict, match="is named by"):
        apply({}, manager, is_pruning=True, is_empty_confirmed=True)
    assert Policy.objects.get(urn=EDITORS_URN).is_managed
    assert PolicyVersion.load_version() == version


def test_only_what_is_managed_from_this_source_is_pruned(manager, role):
    role("Untouched")
    apply(BUNDLE, manager, source=SOURCE)
    other = {"roles/other.yaml": "urn: urn:li:dataHubRole:other\nname: Other\n"}
    apply(other, manager, source="https://git.example.com/other", is_pruning=True)
    assert Policy.objects.filter(urn=EDITORS_URN).exists()
    assert list_actions(plan({}, manager, source=SOURCE, is_pruning=True)) == [
        ("delete", "urn:li:dataHubRole:steward"),
        ("delete", EDITORS_URN),
    ]
    assert list_problems({}, manager, is_pruning=True) == [("/source", "source.missing")]


def test_another_version_than_expected_is_refused(manager):
    version = PolicyVersion.load_version()
    with pytest.raises(Stale):
        apply(BUNDLE, manager, expected_version=version + 1)
    apply(BUNDLE, manager, expected_version=version)


def test_who_may_not_manage_policies_neither_plans_nor_applies_nor_exports(holding):
    outsider = holding("MANAGE_TAGS", username="outsider")
    for call in (
        lambda: plan(BUNDLE, outsider),
        lambda: apply(BUNDLE, outsider),
        lambda: exporting.export_bundle(by=outsider),
    ):
        with pytest.raises(Forbidden):
            call()


# What is managed


def test_other_writes_refuse_what_is_managed_and_name_its_source(manager):
    apply(BUNDLE, manager, source=SOURCE)
    document = Policy.objects.get(urn=EDITORS_URN).document
    draft = PolicyInput("datahub", document | {"privileges": ["EDIT_ENTITY"]})
    role = "urn:li:dataHubRole:steward"
    for write in (
        lambda: policies.update(urn=EDITORS_URN, draft=draft, by=manager, channel=DOOR),
        lambda: policies.put_many(drafts={EDITORS_URN: draft}, by=manager, channel=DOOR),
        lambda: policies.set_state(urn=EDITORS_URN, state="INACTIVE", by=manager, channel=DOOR),
        lambda: policies.restore(urn=EDITORS_URN, version=1, by=manager, channel=DOOR),
        lambda: policies.delete(urn=EDITORS_URN, by=manager, channel=DOOR),
        lambda: roles.update(urn=role, name="Other", by=manager, channel=DOOR),
        lambda: roles.delete(urn=role, by=manager, channel=DOOR),
    ):
        with pytest.raises(Conflict, match=SOURCE):
            write()
    assert plan(BUNDLE, manager).is_empty


def test_root_restores_a_version_of_what_is_managed(manager, system):
    apply(BUNDLE, manager)
    apply(BUNDLE | {"policies/editors.yaml": EDITORS.replace("EDIT_ENTITY_TAGS", "EDIT_ENTITY_OWNERS")}, manager)
    call_command("bootstrap", stdout=io.StringIO())
    snapshot_store.refresh()
    root = actor_resolution.load_actor(urn=f"{USER_PREFIX}{ROOT_USERNAME}")
    policies.restore(urn=EDITORS_URN, version=1, by=root, channel=DOOR)
    assert Policy.objects.get(urn=EDITORS_URN).document["privileges"] == ["EDIT_ENTITY_TAGS"]
    assert list_actions(plan(BUNDLE, manager)) == []


def test_what_is_released_is_changed_elsewhere_again(manager):
    apply(BUNDLE, manager, source=SOURCE)
    assert ("release", EDITORS_URN) in list_actions(plan(BUNDLE, manager, is_releasing=True))
    apply(BUNDLE, manager, is_releasing=True)
    policies.set_state(urn=EDITORS_URN, state="INACTIVE", by=manager, channel=DOOR)
    assert list_actions(plan(BUNDLE, manager)) == [("adopt", "urn:li:dataHubRole:steward"), ("change", EDITORS_URN)]


def test_a_plan_that_deletes_more_than_half_says_so_first(manager):
    others = {f"policies/p{number}.yaml": OTHER.replace("other", f"p{number}") for number in range(2)}
    apply(BUNDLE | others, manager, source=SOURCE)
    assert plan(BUNDLE, manager, source=SOURCE, is_pruning=True).warnings == ()
    few = plan({"roles/steward.yaml": STEWARD}, manager, source=SOURCE, is_pruning=True)
    assert few.warnings == (f"This deletes 3 of the 4 entries that are managed from {SOURCE}.",)
    assert plan_wording.render_plan(few, None).startswith("This deletes 3 of the 4 entries")
    assert planning.describe_plan(few)["warnings"] == list(few.warnings)


def test_what_another_source_manages_is_taken_over_on_purpose_alone(manager):
    apply(BUNDLE, manager, source=SOURCE)
    other_source = "https://git.example.com/other"
    found = plan(BUNDLE, manager, source=other_source)
    assert [(takeover.key, takeover.source) for takeover in found.takeovers] == [
        ("urn:li:dataHubRole:steward", SOURCE),
        (EDITORS_URN, SOURCE),
    ]
    assert f"Editors ({EDITORS_URN}) is managed from {SOURCE}, and taken over." in found.warnings
    for options in ({}, {"is_releasing": True}):
        with pytest.raises(Conflict, match=f"Steward .* and 1 other entry are managed from {SOURCE}: "):
            apply(BUNDLE, manager, source=other_source, **options)
    assert Policy.objects.get(urn=EDITORS_URN).source == SOURCE
    apply(BUNDLE, manager, source=other_source, is_taking_over=True)
    assert Policy.objects.get(urn=EDITORS_URN).source == other_source


def test_policies_with_one_name_are_exported_and_applied_elsewhere(manager):
    bundle = BUNDLE | {"policies/other.yaml": OTHER}
    (warning,) = [text for text in plan(bundle, manager).warnings if "urn:li:dataHubPolicy:other" in text.split(")")[0]]
    assert warning == f"Editors (urn:li:dataHubPolicy:other) has the name of {EDITORS_URN}."
    apply(bundle, manager)
    exported = exporting.export_bundle(by=manager)
    Policy.objects.filter(name="Editors").delete()
    apply(exported, manager)
    assert Policy.objects.filter(name="Editors").count() == 2
    assert plan(exported, manager).warnings == ()


# Bad input


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("policies/z.yaml", "urn: a\nurn: b\n", ("policies/z.yaml:2", "yaml.invalid")),
        ("policies/z.yaml", "- 1\n", ("policies/z.yaml:1", "type.object")),
        ("policies/z.yaml", "document: {}\n", ("policies/z.yaml:1", "urn.missing")),
        ("policies/z.yaml", OTHER.replace("ACTIVE", "SOMETIMES"), ("policies/z.yaml:7", "choice")),
        ("policies/z.yaml", OTHER.replace("EDIT_ENTITY_TAGS", "FLY"), ("policies/z.yaml:9", "privilege.unknown")),
        ("policies/z.yaml", OTHER + "wings: 2\n", ("policies/z.yaml:15", "field.unknown")),
        ("policies/z.yaml", EDITORS, ("policies/z.yaml:1", "entry.twice")),
        ("roles/a.yaml", "urn: steward\nname: A\n", ("roles/a.yaml:1", "urn.invalid")),
        ("roles/a.yaml", "urn: urn:li:dataHubRole:a\nname: ''\n", ("roles/a.yaml:2", "required")),
        ("wings/a.yaml", "a: 1\n", ("wings/a.yaml", "file.place")),
        ("../policies/a.yaml", EDITORS, ("../policies/a.yaml", "file.place")),
    ],
)
def test_a_bad_file_is_refused_with_its_line(manager, path, text, problem):
    assert list_problems(BUNDLE | {path: text}, manager) == [problem]
    with pytest.raises(Invalid):
        apply(BUNDLE | {path: text}, manager)
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()


def test_a_file_that_is_no_yaml_hides_no_problem_of_the_others(manager):
    texts = {
        "roles/steward.yaml": STEWARD + "wings: [",
        "policies/editors.yaml": EDITORS,
        "policies/a.yaml": OTHER.replace("EDIT_ENTITY_TAGS", "FLY"),
        "policies/b.yaml": "a: [",
        "wings/a.yaml": "a: 1\n",
    }
    assert sorted(list_problems(texts, manager)) == [
        ("policies/a.yaml:9", "privilege.unknown"),
        ("policies/b.yaml:2", "yaml.invalid"),
        ("roles/steward.yaml:5", "yaml.invalid"),
        ("wings/a.yaml", "file.place"),
    ]


def test_a_bad_source_is_refused(manager):
    assert list_problems(BUNDLE, manager, source="javascript:alert(1)") == [("/source", "source.invalid")]


# Export


def test_an_export_is_planned_as_no_change_and_keeps_comments(manager):
    apply(BUNDLE, manager)
    exported = exporting.export_bundle(by=manager, texts=BUNDLE)
    assert {path: exported[path] for path in BUNDLE} == BUNDLE
    assert {action for action, _ in list_actions(plan(exported, manager))} == {"adopt"}
    assert exporting.export_bundle(by=manager) == exporting.export_bundle(by=manager)
    apply(BUNDLE, manager, is_releasing=True)
    policies.set_state(urn=EDITORS_URN, state="INACTIVE", by=manager, channel=DOOR)
    changed = exporting.export_bundle(by=manager, texts=BUNDLE)["policies/editors.yaml"]
    assert changed == EDITORS.replace("state: ACTIVE", "state: INACTIVE")


def test_the_kinds_of_an_export_are_chosen(manager, role):
    role("Steward")
    assert list(exporting.export_bundle(by=manager, folders=["roles"])) == ["roles/steward-492a08e5.yaml"]
    with pytest.raises(Invalid):
        exporting.export_bundle(by=manager, folders=["wings"])


# The command


def write_bundle(folder: Path, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def run(*arguments: object) -> tuple[int, str]:
    output = io.StringIO()
    try:
        call_command("policies", *map(str, arguments), stdout=output, stderr=output)
    except SystemExit as end:
        return int(str(end.code)), output.getvalue()
    except CommandError as error:
        return error.returncode, f"{output.getvalue()}{error}"
    return 0, output.getvalue()


@pytest.fixture
def folder(db, tmp_path):
    call_command("bootstrap", stdout=io.StringIO())
    snapshot_store.refresh()
    write_bundle(tmp_path, BUNDLE | {"README.md": "no part of it", "tests/table.yaml": "cases: []"})
    return tmp_path


def test_the_exit_code_of_a_plan_says_whether_something_changes(folder):
    code, output = run("plan", folder)
    assert code == 2
    assert "create: Editors (urn:li:dataHubPolicy:editors), policies/editors.yaml" in output
    assert "+  - EDIT_ENTITY_TAGS" in output
    assert "Proved: this allows more, for example" in output
    assert "Proved: whatever is in the catalog, this takes nobody anything." in output
    assert "Guardrail Somebody can manage policies: holds." in output
    assert run("apply", folder, "--source", SOURCE)[0] == 0
    assert run("plan", folder) == (0, f"Nothing changes. Compared with version {PolicyVersion.load_version()}.\n")
    (folder / "policies/editors.yaml").write_text("a: [")
    code, output = run("plan", folder)
    assert code == 1
    assert "policies/editors.yaml:" in output
    assert run("plan", folder / "nowhere")[0] == 1


def test_the_folder_of_an_export_says_what_is_stored(folder, tmp_path):
    run("apply", folder)
    target = tmp_path / "elsewhere"
    assert run("export", target)[0] == 0
    assert (target / "policies/editors.yaml").is_file()
    assert "0 files written" in run("export", target)[1]
    code, output = run("plan", target)
    assert code == 2
    assert "to adopt" in output
    assert "to change" not in output
