"""What of the decision log is laid beside a snapshot, and when it may be believed to be whole."""

import json
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from catalog.models import Report
from catalog.reports.kinds.unused_access import spec as unused_access_spec
from catalog.reports.kinds.unused_access.usage import ANY
from policies.models import LoggedDecision
from policies.models.decision import MAX_WANTED_LENGTH
from policies.pdp import decision_log_queries

JO, VIEW, EDIT = "urn:li:corpuser:jo", "VIEW_ENTITY_PAGE", "EDIT_ENTITY"
POLICY, OTHER = "urn:li:dataHubPolicy:one", "urn:li:dataHubPolicy:two"

pytestmark = pytest.mark.django_db


def log(days_ago: int, *policies: str, wanted: str = VIEW, is_allowed: bool = True) -> LoggedDecision:
    statements = [{"policy": one, "name": "", "statement": 0, "effect": "allow"} for one in policies]
    return LoggedDecision.objects.create(
        at=timezone.now() - timedelta(days=days_ago),
        actor=JO,
        by=JO,
        door="test",
        wanted=wanted,
        sub_resources=[],
        is_allowed=is_allowed,
        code="allowed",
        policy_version=1,
        statements=statements,
        milliseconds=1,
    )


def prepared(folder, days=30):
    unused_access_spec.prepare(Report(parameters={"days": days, "privileges": []}), folder)
    said = json.loads((folder / "usage.json").read_text(encoding="utf-8"))
    rows = pq.read_table(folder / "usage.parquet").to_pylist()
    return said, [(row["person"], row["privilege"], row["policy"]) for row in rows], rows


def test_each_use_stands_once_with_its_last_time(tmp_path):
    log(40, POLICY)
    log(20, POLICY)
    newest = log(10, POLICY)
    log(5, POLICY, OTHER, wanted=f"{EDIT} and {VIEW} | VIEW_ENTITY or MANAGE_POLICIES")
    log(1, POLICY, wanted="DELETE_ENTITY", is_allowed=False)
    log(1, wanted="EDIT_ENTITY_TAGS")
    _, pairs, rows = prepared(tmp_path)
    names = [EDIT, VIEW, "VIEW_ENTITY", "MANAGE_POLICIES"]
    assert set(pairs) == {(JO, name, policy) for name in names for policy in (POLICY, OTHER)} | {
        (JO, "EDIT_ENTITY_TAGS", "")
    }
    (last,) = (row["last"] for row in rows if (row["privilege"], row["policy"]) == (VIEW, POLICY))
    assert last > newest.at.isoformat(timespec="seconds")
    assert len(list(decision_log_queries.iterate_privilege_uses(since=timezone.now() - timedelta(days=30)))) == 3


def test_lists_that_the_log_has_cut_may_have_more(tmp_path):
    names = [f"PRIVILEGE_{number:03}" for number in range(100)]
    cut = " and ".join(names)[: MAX_WANTED_LENGTH - 1] + "…"
    log(3, POLICY, wanted=cut)
    log(2, *[POLICY] * 20, wanted=VIEW)
    _, pairs, _ = prepared(tmp_path)
    whole = {name for name in names if f"{name} " in cut}
    assert len(whole) < 100
    assert set(pairs) == {(JO, name, POLICY) for name in (*whole, ANY, VIEW)} | {(JO, VIEW, ANY)}


@pytest.mark.parametrize(
    ("share", "kept", "began", "is_sure"),
    [(1, 30, 31, True), (0.01, 30, 31, False), (1, 29, 31, False), (1, 30, 29, False), (1, 30, None, False)],
)
def test_when_the_log_is_whole(tmp_path, settings, share, kept, began, is_sure):
    settings.DECISION_LOG_SAMPLE, settings.DECISION_LOG_DAYS = share, kept
    if began is not None:
        log(began, POLICY)
    said, _, _ = prepared(tmp_path)
    assert said == {"days": 30, "percent": 100.0 * share, "is_sure": is_sure}
