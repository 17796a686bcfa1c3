"""Which uses are laid beside a snapshot, and when they may be believed to be all."""

import json
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from catalog.models import Report
from catalog.reports.kinds.unused_access import spec as unused_access_spec
from catalog.reports.storage import parse_address
from policies.models import DailyUse, UseCounter, UseGap

JO, AL, VIEW, EDIT = "urn:li:corpuser:jo", "urn:li:corpuser:al", "VIEW_ENTITY_PAGE", "EDIT_ENTITY"
POLICY, OTHER = "urn:li:dataHubPolicy:one", "urn:li:dataHubPolicy:two"

pytestmark = pytest.mark.django_db


def count(days_ago, policy=POLICY, *, actor=JO, privilege=VIEW):
    at = timezone.now() - timedelta(days=days_ago)
    return DailyUse.objects.create(
        day=at.date(), policy=policy, actor=actor, privilege=privilege, uses=1, last_at=at
    ).last_at


def leave_gap(days_ago):
    day = timezone.now().date() - timedelta(days=days_ago)
    UseGap.objects.create(first_day=day, last_day=day, cause=UseGap.Cause.STARTED)


def prepared(folder, days=30):
    unused_access_spec.prepare(Report(parameters={"days": days, "privileges": []}), parse_address(folder))
    said = json.loads((folder / "usage.json").read_text(encoding="utf-8"))
    rows = pq.read_table(folder / "usage.parquet").to_pylist()
    return said, {(row["person"], row["privilege"], row["policy"]): row["last"] for row in rows}


def test_each_use_stands_once_with_its_last_time(tmp_path, monkeypatch):
    monkeypatch.setattr(unused_access_spec, "_ROWS_PER_GROUP", 2)
    count(40, OTHER)
    count(30, actor=AL)
    count(20)
    newest = count(10)
    count(5, "", privilege=EDIT)
    count(3, OTHER, actor="")
    _, rows = prepared(tmp_path)
    assert rows.keys() == {(AL, VIEW, POLICY), (JO, VIEW, POLICY), (JO, EDIT, ""), ("", VIEW, OTHER)}
    assert rows[JO, VIEW, POLICY] == newest.isoformat(timespec="seconds")


@pytest.mark.parametrize(("gap", "is_sure"), [(31, True), (30, False), (1, False), (None, False)])
def test_when_every_use_is_counted(tmp_path, gap, is_sure):
    if gap is not None:
        leave_gap(gap)
    said, rows = prepared(tmp_path)
    today = timezone.now().date()
    complete_since = None if gap is None else (today - timedelta(days=gap - 1)).isoformat()
    assert said.pop("counted_until")
    assert said == {
        "days": 30,
        "since": (today - timedelta(days=30)).isoformat(),
        "complete_since": complete_since,
        "is_sure": is_sure,
    }
    assert rows == {}


def test_a_process_that_was_killed_leaves_nothing_to_be_called_unused(tmp_path):
    leave_gap(50)
    row = UseCounter(id="5f1c2d1e-0000-4000-8000-000000000001", batch=1)
    row.counted_until = timezone.now() - timedelta(seconds=200)
    row.save()
    said, _ = prepared(tmp_path)
    # It may still be there: then its uses are known until then.
    assert (said["is_sure"], said["counted_until"]) == (True, row.counted_until.isoformat(timespec="seconds"))
    row.counted_until -= timedelta(seconds=200)
    row.save()
    said, _ = prepared(tmp_path)
    assert not said["is_sure"]
