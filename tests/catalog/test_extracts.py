"""What finished runs are asked later: as they were then, and what changed between them."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from catalog.models import Report
from catalog.reports.run import run_state
from catalog.reports.snapshot import writer
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import groups, users
from policies.pdp import authorizer
from tests.catalog.conftest import DOOR, said, tags, tell

pytestmark = pytest.mark.django_db(transaction=True)

BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
JO, ANN = "urn:li:corpuser:jo", "urn:li:corpuser:ann"
TEAM, PII, VIEW = "urn:li:corpGroup:team", "urn:li:tag:pii", "VIEW_ENTITY_PAGE"
ORDERS, PUBLIC = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "public"))


@pytest.fixture(autouse=True)
def company(transactional_db: None, settings: Any, tmp_path: Path) -> None:
    settings.REPORTS_DIR = tmp_path
    for urn in (JO, ANN):
        users.create(username=urn.rpartition(":")[2], **BY)
    groups.create(name="team", identifier="team", **BY)
    groups.add_members(urn=TEAM, members=[JO], **BY)
    tell(said(ORDERS, "globalTags", tags("pii")), said(PUBLIC, "status", {"removed": False}))
    document = {
        "displayName": "Team",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [VIEW],
        "actors": {"groups": [TEAM]},
        "resources": {"filter": {"criteria": [{"field": "TAG", "condition": "EQUALS", "values": [PII]}]}},
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), **BY)


def run_of_now() -> Report:
    """Return a finished run that kept what there is now."""
    now = timezone.now()
    report = Report.objects.create(kind="effective_access", requested_by=authorizer.SYSTEM.urn)
    folder = run_state.report_folder(report.pk)
    manifest = writer.write(folder=folder / "input", as_of=now)
    ended = {"status": Report.Status.READY, "started_at": now, "finished_at": now, "as_of": now}
    Report.objects.filter(pk=report.pk).update(policy_version=manifest.policy_version, **ended)
    report.refresh_from_db()
    return report


def asked(report: Report, *arguments: str) -> list[str]:
    """Return what the command says."""
    out = StringIO()
    call_command("access", str(report.pk), VIEW, *arguments, stdout=out)
    return out.getvalue().split("\n")[:-1]


def test_a_run_answers_as_it_was_then():
    then = run_of_now()
    groups.add_members(urn=TEAM, members=[ANN], **BY)
    tell(said(PUBLIC, "globalTags", tags("pii")))
    now = run_of_now()
    assert asked(then, "--entity", ORDERS) == [JO]
    assert asked(now, "--entity", ORDERS) == [ANN, JO]
    assert asked(then, "--person", JO) == [ORDERS]
    assert asked(now, "--person", ANN) == [ORDERS, PUBLIC]
    assert asked(now, "--since", str(then.pk), "--facet", "TAG", PII) == [f"+2 {ANN}", f"+1 {JO}"]
    assert asked(then, "--since", str(now.pk), "--facet", "TAG", PII) == [f"-2 {ANN}", f"-1 {JO}"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--entity", "urn:li:tag:none"), "no entity urn:li:tag:none when"),
        (("--person", "urn:li:corpuser:none"), "no user urn:li:corpuser:none when"),
    ],
)
def test_what_a_run_did_not_know_is_no_empty_answer(arguments, sentence):
    with pytest.raises(CommandError, match=sentence):
        asked(run_of_now(), *arguments)


def test_what_a_run_did_not_keep_is_said():
    report = run_of_now()
    (run_state.report_folder(report.pk) / "input").delete()
    with pytest.raises(CommandError, match="did not keep"):
        asked(report, "--entity", ORDERS)
    with pytest.raises(CommandError, match="no finished effective access report"):
        call_command("access", "x", VIEW, "--entity", ORDERS)
