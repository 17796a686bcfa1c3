"""Guardrails as code: written before the policies that they judge, by who manages guardrails; marks are audited."""

import pytest

from policies.authoring.services.bundles import exporting, net_effect
from policies.errors import Conflict, Forbidden, GuardrailBroken
from policies.guardrails.services import guardrails
from policies.models import ChangeEvent, Guardrail, Policy
from policies.pdp import authorizer, snapshot_store
from tests.policies.test_bundles import (
    BUNDLE,
    DOOR,
    EDITORS,
    EDITORS_URN,
    SOURCE,
    apply,
    list_actions,
    list_problems,
    plan,
)

NOBODY_EDITS = """\
# Agreed with the data office.
urn: urn:li:guardrail:nobody-edits
name: Nobody edits tags
mode: enforce  # since last spring
rule:
  no_policy:
    actors: {allUsers: true}
    privileges: [EDIT_ENTITY_TAGS]
"""
URN = "urn:li:guardrail:nobody-edits"
FILES = {"guardrails/nobody-edits.yaml": NOBODY_EDITS}
ALL_EDIT = EDITORS.replace("allUsers: false", "allUsers: true").replace(
    "roles: [urn:li:dataHubRole:steward]", "users: []"
)


@pytest.fixture
def keeper(holding):
    """Somebody who keeps guardrails, and does not manage policies."""
    return holding("MANAGE_GUARDRAILS", username="keeper")


@pytest.fixture
def both(holding):
    """Somebody who manages policies and keeps guardrails."""
    return holding("MANAGE_POLICIES", "MANAGE_GUARDRAILS", username="both")


def test_they_are_planned_applied_exported_and_pruned(keeper):
    assert list_actions(plan(FILES, keeper)) == [("create", URN)]
    assert not Guardrail.objects.filter(urn=URN).exists()
    apply(FILES, keeper, source=SOURCE)
    guardrail = Guardrail.objects.get(urn=URN)
    assert (guardrail.is_managed, guardrail.source, guardrail.status) == (True, SOURCE, "holds")
    assert plan(FILES, keeper, source=SOURCE).is_empty
    assert exporting.export_bundle(by=keeper, texts=FILES) == FILES
    changed = {"guardrails/nobody-edits.yaml": NOBODY_EDITS.replace("enforce", "warn")}
    apply(changed, keeper)
    assert Guardrail.objects.get(urn=URN).mode == "warn"
    (text,) = exporting.export_bundle(by=keeper, texts=FILES).values()
    assert text.split() == changed["guardrails/nobody-edits.yaml"].split()
    assert list_actions(apply({}, keeper, is_pruning=True, is_empty_confirmed=True)[0]) == [("delete", URN)]
    assert not Guardrail.objects.filter(urn=URN).exists()


def test_each_kind_needs_what_its_writes_need(keeper, both, holding):
    manager = holding("MANAGE_POLICIES", username="manager")
    apply(FILES, both)
    for by, texts, options in (
        (manager, FILES, {}),
        (keeper, BUNDLE, {}),
        (manager, BUNDLE, {"is_pruning": True}),
        (manager, BUNDLE | FILES, {}),
    ):
        with pytest.raises(Forbidden):
            plan(texts, by, **options)
        with pytest.raises(Forbidden):
            apply(texts, by, **options)
    for by, folder in ((manager, "guardrails"), (keeper, "policies")):
        with pytest.raises(Forbidden):
            exporting.export_bundle(by=by, folders=[folder])
    assert set(exporting.export_bundle(by=keeper)) == FILES.keys()
    assert not exporting.export_bundle(by=manager).keys() & FILES.keys()
    assert Guardrail.objects.get(urn=URN).is_managed
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()


def test_a_policy_is_held_to_the_guardrails_of_its_own_bundle(both):
    with pytest.raises(GuardrailBroken):
        apply(FILES | {"policies/editors.yaml": ALL_EDIT}, both)
    assert not Guardrail.objects.filter(urn=URN).exists()
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()


def test_a_plan_says_which_guardrails_it_would_break(both, keeper):
    def find_verdicts(texts, by, **options):
        effect = net_effect.find_plan_effect(plan(texts, by, **options), by=by)
        assert effect is not None
        return {verdict.urn: (verdict.verdict, verdict.is_added) for verdict in effect.guardrails}

    assert find_verdicts(FILES, keeper) == {URN: ("holds", False)}
    assert find_verdicts(FILES | {"policies/editors.yaml": ALL_EDIT}, both) == {URN: ("broken", True)}
    apply(FILES | BUNDLE, both)
    assert find_verdicts({"policies/editors.yaml": ALL_EDIT}, both) == {URN: ("broken", True)}
    assert find_verdicts({"policies/editors.yaml": ALL_EDIT}, both, is_pruning=True) == {}
    warned = NOBODY_EDITS.replace("enforce", "off")
    apply({"guardrails/nobody-edits.yaml": warned, "policies/editors.yaml": ALL_EDIT}, both)
    snapshot_store.mark_stale()
    assert find_verdicts(FILES, keeper) == {URN: ("broken", False)}


def test_a_bundle_that_mends_what_its_guardrail_forbids_leaves_it_holding(both):
    apply({"policies/editors.yaml": ALL_EDIT}, both)
    snapshot_store.mark_stale()
    apply(FILES | BUNDLE, both)
    guardrail = Guardrail.objects.get(urn=URN)
    assert (guardrail.status, guardrail.breaches) == ("holds", [])


def test_a_bundle_takes_away_a_guardrail_with_what_needs_that(both):
    apply(FILES, both)
    apply({"policies/editors.yaml": ALL_EDIT}, both, is_pruning=True)
    assert Policy.objects.filter(urn=EDITORS_URN).exists()


def test_other_writes_refuse_a_managed_one_and_name_its_source(keeper):
    apply(FILES, keeper, source=SOURCE)
    for write in (
        lambda: guardrails.update(urn=URN, mode="off", by=keeper, channel=DOOR),
        lambda: guardrails.delete(urn=URN, by=keeper, channel=DOOR),
    ):
        with pytest.raises(Conflict, match=SOURCE):
            write()
    apply(FILES, keeper, is_releasing=True)
    guardrails.update(urn=URN, mode="off", by=keeper, channel=DOOR)


def test_a_mark_that_changes_is_in_the_change_log(keeper):
    guardrails.create(
        urn=URN,
        name="Nobody edits tags",
        rule={"no_policy": {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY_TAGS"]}},
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    assert list_actions(apply(FILES, keeper, source=SOURCE)[0]) == [("adopt", URN)]
    apply(FILES, keeper, source=SOURCE)
    apply(FILES, keeper, is_releasing=True)
    released, adopted = ChangeEvent.objects.filter(object_urn=URN, verb="UPDATED").order_by("-id")
    managed, unmanaged = {"is_managed": True, "source": SOURCE}, {"is_managed": False, "source": ""}
    assert (adopted.before, adopted.after, adopted.by) == (unmanaged, managed, keeper.urn)
    assert (released.before, released.after) == (managed, unmanaged)


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        ("EDIT_ENTITY_TAGS", "FLY", [(8, "privilege.unknown")]),
        ("enforce", "sometimes", [(4, "choice")]),
        ("rule:", "rules:", [(5, "field.unknown"), (2, "rule.missing")]),
        ("no_policy:", "some_policy:", None),
        (URN, "urn:li:dataHubRole:a", [(2, "urn.invalid")]),
        (URN, "urn:li:guardrail:__manage_policies", [(2, "urn.taken")]),
        (f"urn: {URN}\n", "", [(2, "urn.missing")]),
        ("Nobody edits tags", "''", [(3, "required")]),
    ],
)
def test_a_bad_file_is_refused_with_its_lines(keeper, old, new, problems):
    found = list_problems({"guardrails/g.yaml": NOBODY_EDITS.replace(old, new)}, keeper)
    if problems is None:
        assert all(pointer.startswith("guardrails/g.yaml:") for pointer, _ in found)
    else:
        assert found == [(f"guardrails/g.yaml:{line}", code) for line, code in problems]
    assert not Guardrail.objects.filter(urn=URN).exists()


def test_the_problems_of_all_kinds_are_named_at_once(both):
    texts = {
        "guardrails/g.yaml": NOBODY_EDITS.replace("EDIT_ENTITY_TAGS", "FLY"),
        "policies/p.yaml": EDITORS.replace("EDIT_ENTITY_TAGS", "FLY"),
        "roles/r.yaml": "urn: steward\nname: Steward\n",
    }
    assert [pointer.partition(":")[0] for pointer, _ in list_problems(texts, both)] == [
        "guardrails/g.yaml",
        "roles/r.yaml",
        "policies/p.yaml",
    ]
