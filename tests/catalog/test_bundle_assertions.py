"""Assertions as code: one in each file, together one text, which keeps its notes; what is managed is not edited."""

import pytest

from catalog.models import AssertionText, ManagedAssertion
from catalog.reports.services import assertions
from policies.authoring.services.bundles import exporting
from policies.errors import Conflict, Forbidden
from policies.models import ChangeEvent
from tests.policies.test_bundles import SOURCE, apply, list_actions, list_problems, plan

TEXT = """\
# Ours.
- name: Nobody edits  # but us
  nobody: {outside: [urn:li:corpuser:datahub], may: EDIT_ENTITY}

# Theirs.
- name: "2024"
  expect:
    - [urn:li:corpuser:jo, MANAGE_POLICIES, DENY]
"""
NOBODY = "# Agreed.\nname: Nobody edits\nnobody: {outside: [urn:li:corpuser:datahub], may: EDIT_ENTITY}\n"
FILES = {"assertions/nobody.yaml": NOBODY}
TAGS = "name: Tags\nnobody: {may: EDIT_ENTITY_TAGS}\n"


@pytest.fixture
def manager(holding):
    return holding("MANAGE_POLICIES", type="PLATFORM")


@pytest.fixture
def text(manager):
    """The text that somebody wrote on the page."""
    return assertions.save(text=TEXT, expected_version=0, by=manager).text


def load_text():
    return AssertionText.objects.latest("number").text


def test_one_is_adopted_changed_and_pruned_and_the_others_stay(manager, text):
    assert list_actions(plan(FILES, manager)) == [("adopt", "Nobody edits")]
    apply(FILES, manager, source=SOURCE)
    assert load_text() == TEXT
    assert plan(FILES, manager, source=SOURCE).is_empty
    files = {"assertions/nobody.yaml": NOBODY.replace("EDIT_ENTITY", "EDIT_ENTITY_TAGS"), "assertions/tags.yaml": TAGS}
    assert list_actions(plan(files, manager)) == [("change", "Nobody edits"), ("create", "Tags")]
    apply(files, manager, source=SOURCE)
    changed = load_text()
    assert changed.startswith("# Ours.\n")
    assert "- name: Nobody edits # but us\n" in changed
    assert "may: EDIT_ENTITY_TAGS" in changed
    assert changed.count("- name: ") == 3
    assert "# Theirs." in changed
    assert AssertionText.objects.count() == 2
    apply({}, manager, is_pruning=True, is_empty_confirmed=True)
    assert [item.name for item in assertions.validate(load_text())] == ["2024"]
    assert plan({}, manager, is_pruning=True).is_empty


def test_an_export_says_what_is_stored_and_is_planned_as_no_change(manager, text):
    exported = exporting.export_bundle(by=manager, folders=["assertions"], texts=FILES)
    assert exported["assertions/nobody.yaml"] == NOBODY
    assert set(exported) == {"assertions/nobody.yaml", "assertions/2024.yaml"}
    assert {action for action, _ in list_actions(plan(exported, manager))} == {"adopt"}


def test_the_first_ones_make_the_text(manager):
    apply(FILES | {"assertions/tags.yaml": TAGS}, manager)
    assert [item.name for item in assertions.validate(load_text())] == ["Nobody edits", "Tags"]


def test_a_managed_one_is_refused_to_the_page_and_audited(manager, text):
    apply(FILES, manager, source=SOURCE)
    for changed in (TEXT.replace("EDIT_ENTITY}", "EDIT_ENTITY_TAGS}"), TEXT[TEXT.index("# Theirs.") :]):
        with pytest.raises(Conflict, match=SOURCE):
            assertions.save(text=changed, expected_version=1, by=manager)
    other = TEXT.replace("DENY", "ALLOW").replace("# Ours.", "# Noted.")
    assert assertions.save(text=other, expected_version=1, by=manager).number == 2
    [event] = ChangeEvent.objects.filter(object_urn="urn:li:accessAssertion:Nobody edits")
    assert event.after == {"is_managed": True, "source": SOURCE}
    apply(FILES, manager, is_releasing=True)
    assert not ManagedAssertion.objects.filter(is_managed=True).exists()
    assert assertions.save(text="", expected_version=2, by=manager).number == 3


def test_only_who_manages_policies_writes_them(manager, text, holding):
    keeper = holding("MANAGE_GUARDRAILS", username="keeper", type="PLATFORM")
    for call in (
        lambda: plan(FILES, keeper),
        lambda: apply(FILES, keeper),
        lambda: exporting.export_bundle(by=keeper, folders=["assertions"]),
    ):
        with pytest.raises(Forbidden):
            call()


@pytest.mark.parametrize(
    ("files", "problems"),
    [
        ({"assertions/a.yaml": NOBODY.replace("EDIT_ENTITY", "FLY")}, [("assertions/a.yaml:3", "assertions.invalid")]),
        ({"assertions/a.yaml": "name: A\nevery: {}\n"}, 2),
        ({"assertions/a.yaml": f"name: {'a' * 300}\nnobody: {{may: EDIT_ENTITY}}\n"}, 1),
        ({"assertions/a.yaml": TAGS, "assertions/b.yaml": TAGS}, [("assertions/b.yaml:1", "entry.twice")]),
        (
            {f"assertions/{name}.yaml": TAGS.replace("Tags", "2024") for name in "ab"},
            [("assertions/b.yaml:1", "entry.twice")],
        ),
        ({"assertions/a.yaml": "- name: A\n"}, [("assertions/a.yaml:1", "assertions.invalid")]),
        ({"assertions/a.yaml": ""}, [("assertions/a.yaml:1", "assertions.invalid")]),
        ({"assertions/a.yaml": "name: &a A\n"}, [("assertions/a.yaml:1", "yaml.invalid")]),
    ],
)
def test_a_bad_file_is_refused_with_its_lines(manager, files, problems):
    found = list_problems(files, manager)
    assert len(found) == problems if isinstance(problems, int) else found == problems
    assert not AssertionText.objects.exists()


def test_a_file_of_the_installation_is_not_written(manager, settings, tmp_path):
    settings.ASSERTIONS_FILE = str(tmp_path / "assertions.yaml")
    (tmp_path / "assertions.yaml").write_text(TEXT)
    assert list_problems(FILES, manager) == [("assertions/nobody.yaml:1", "assertions.file")]
    assert exporting.export_bundle(by=manager, folders=["assertions"]) == {}
