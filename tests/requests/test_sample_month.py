"""The month of the sample company: what its people asked for, at the times of the script, and nowhere else."""

import gzip
import io
import json
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db.models import Q
from django.utils import timezone

from catalog.ingest import file_import
from catalog.sample import month, rules
from policies import bootstrap
from policies.models import (
    ApprovalRule,
    Membership,
    Notice,
    OutboxEvent,
    Policy,
    RequestTrail,
    RoleAssignment,
    SubmittedRequest,
    User,
)
from policies.models.request import RequestState
from policies.pdp import authorizer

CATALOG = Path(rules.__file__).with_name("sample_catalog.json.gz")
KINDS = ("corpuser", "corpGroup", "domain", "dataHubPolicy")


@pytest.fixture
def company(db: None) -> None:
    """People, policies, and of the catalog what the month speaks of, as `make run` loads them."""
    named = set(re.findall(r"urn:li:(?:dataset|dashboard|role):?[^\"\s\]}]+", str(rules.load_data("requests"))))
    named = {urn.rstrip("',") for urn in named}
    proposals = [
        one
        for one in json.loads(gzip.decompress(CATALOG.read_bytes()))
        if one["entityUrn"].split(":")[2] in KINDS or one["entityUrn"] in named
    ]
    with month.open_before():
        bootstrap.run(is_restricted=True)
        stream = io.BytesIO(json.dumps(proposals).encode())
        file_import.load(stream=stream, by=authorizer.SYSTEM, channel="load_catalog")


def test_a_month_is_written_once_at_its_times_and_only_in_the_sample_company(company: None) -> None:
    stranger = User.objects.create(username="stranger", urn="urn:li:corpuser:stranger")
    assert (month.write_month(), ApprovalRule.objects.count()) == (0, 0)
    stranger.delete()

    count, now = month.write_month(), timezone.now()
    assert count == SubmittedRequest.objects.count() == 32
    assert month.write_month() == 0

    states = Counter(SubmittedRequest.objects.values_list("state", flat=True))
    assert set(RequestState.values) - {"approved"} == set(states)
    assert ApprovalRule.objects.count() == 3
    assert SubmittedRequest.objects.filter(rule="").exists()
    assert set(SubmittedRequest.objects.exclude(rule="").values_list("rule", flat=True)) == set(
        ApprovalRule.objects.values_list("urn", flat=True)
    )
    check_times(now)
    check_notices()


def check_times(now: datetime) -> None:
    """Everything was written in its order, what has ended at its end, and something ends this week."""
    assert abs(timezone.now().timestamp() - now.timestamp()) < 60
    for model, order in ((RequestTrail, "pk"), (OutboxEvent, "change_set"), (SubmittedRequest, "pk")):
        column = "created_at" if model is SubmittedRequest else "time"
        times = list(model.objects.order_by(order, column).values_list(column, flat=True))
        assert times == sorted(times), model
        assert now - timedelta(days=31) < times[0] < times[-1] < now, model
    ended = RequestTrail.objects.filter(what="ended").values_list("time", "request__until")
    assert ended
    assert all(until is not None and timedelta() <= at - until < timedelta(minutes=1) for at, until in ended)
    is_soon = Q(valid_until__gt=now, valid_until__lt=now + timedelta(days=7))
    assert all(model.objects.filter(is_soon).exists() for model in (Membership, RoleAssignment, Policy))


def check_notices() -> None:
    """Those who decide are told, never the one who asks; what is old was read, and what is new was not."""
    notices = Notice.objects.select_related("user")
    told = notices.filter(type="request.step")
    requests = {one.reason: one for one in SubmittedRequest.objects.all()}
    assert told
    for notice in told:
        request = requests[notice.text.partition("Reason: ")[2]]
        assert notice.user is not None
        assert notice.user.urn not in (request.actor, request.by)
    assert set(told.filter(text__contains="I am on call").values_list("user__username", flat=True)) == {
        *("nora.brandt", "sofie.lund"),
    }
    # The README's tour begins with this one.
    assert list(notices.filter(read_at=None, user__username="datahub").values_list("title", flat=True)) == [
        "Tess Vandenberg asks for access, and you can decide"
    ]
    assert notices.exclude(read_at=None).filter(user__username="datahub").exists()
    reminded = set(notices.filter(type__endswith=".ending").values_list("user__username", flat=True))
    assert {"chen.wei", "marek.dvorak", "luca.ferrari"} <= reminded
