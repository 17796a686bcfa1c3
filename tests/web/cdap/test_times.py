"""The times of grants on pages: given with a reason, shown, and taken back before they begin."""

from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from catalog.access import grant_source
from catalog.cdap import grant_services
from catalog.cdap.grant_requests import GrantRequest
from catalog.models import EntityUserGrant, ScheduledGrant, WildcardGrant
from policies.engine.families.validity import Validity
from policies.pdp import authorizer
from tests.web.cdap.conftest import MAKER, READER, SHOP, STRANGER, TABLE
from tests.web.conftest import DOOR

BEGIN, END = datetime(2998, 1, 1, 8, 30, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)
ENDS = {"valid_until": "2999-01-01T00:00", "reason": "audit"}
LATER = {"valid_from": "2998-01-01T08:30", **ENDS}


def address(part, urn=TABLE):
    return f"/catalog/{part}/{quote(urn, safe='')}"


def test_a_grant_is_given_for_a_time_and_shown_with_it(shop):
    maker = shop("maker")
    given = maker.post(address("grants"), {"principals": [STRANGER], "privileges": ["READ"], **ENDS})
    assert given.status_code == 302
    message = str(next(iter(given.wsgi_request._messages)))
    assert message == "READ given. In effect until 1 Jan 2999, 00:00 UTC."
    assert EntityUserGrant.objects.get(user__urn=STRANGER).validity == Validity(None, END)
    page = maker.get(address("grants"))
    times = {row.holder.urn: row.times and row.times["label"] for row in page.context["rows"]}
    assert times == {MAKER: None, READER: None, STRANGER: "Ends 1 Jan 2999, 00:00 UTC"}
    assert "Ends 1 Jan 2999, 00:00 UTC" in page.content.decode()


def test_what_has_not_begun_is_listed_and_taken_back(shop):
    maker = shop("maker")
    given = maker.post(address("grants"), {"principals": [STRANGER], "privileges": ["READ", "WRITE"], **LATER})
    assert given.status_code == 302
    assert {row.reason for row in ScheduledGrant.objects.all()} == {"audit"}
    assert grant_source.load_privileges(pairs=[(STRANGER, TABLE)])[STRANGER, TABLE] == ()
    (row,) = maker.get(address("grants")).context["scheduled"]
    assert (row.holder.urn, row.privileges, row.times["label"]) == (
        STRANGER,
        ("READ", "WRITE"),
        "Begins 1 Jan 2998, 08:30 UTC",
    )
    assert maker.get(row.revoke_url).status_code == 200
    assert maker.post(row.revoke_url).status_code == 302
    assert not ScheduledGrant.objects.exists()
    assert maker.get(row.revoke_url).status_code == 404
    assert maker.get(f"{address('revoke')}?principal=%00&privilege=READ").status_code == 404


def test_a_grant_by_pattern_has_a_time(shop):
    root = shop("root")
    form = {"kind": "dataset", "start": "sal", "principals": [STRANGER], "privileges": ["READ"]}
    assert root.post(address("patterns", SHOP), {**form, **ENDS}).status_code == 302
    assert WildcardGrant.objects.get().validity == Validity(None, END)
    assert root.post(address("patterns", SHOP), {**form, "privileges": ["WRITE"], **LATER}).status_code == 302
    page = root.get(address("grants", SHOP))
    assert [row.times["label"] for row in page.context["wide"]] == ["Ends 1 Jan 2999, 00:00 UTC"]
    (row,) = page.context["scheduled"]
    assert row.grant.source == WildcardGrant.objects.get().pattern
    assert root.post(row.revoke_url).status_code == 302
    assert not ScheduledGrant.objects.exists()


def test_patterns_to_come_are_shown_to_who_may_grant_on_them(shop):
    request = GrantRequest(STRANGER, "dataset:shop.sal*", ("READ",), validity=Validity(BEGIN, None))
    grant_services.grant(requests=[request], by=authorizer.SYSTEM, channel=DOOR)
    grant_services.grant(requests=[GrantRequest(MAKER, SHOP, ("ADMIN",))], by=authorizer.SYSTEM, channel=DOOR)
    assert shop("maker").get(address("grants", SHOP)).context["scheduled"] == []
    assert len(shop("root").get(address("grants", SHOP)).context["scheduled"]) == 1


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({"valid_from": "tomorrow"}, "valid_from"),
        ({"valid_until": "2020-01-01T00:00"}, "valid_until"),
        ({"reason": "because"}, "reason"),
    ],
)
def test_wrong_times_stand_at_their_fields(shop, typed, wrong):
    refused = shop("maker").post(address("grants"), {"principals": [STRANGER], "privileges": ["READ"], **typed})
    assert refused.status_code == 422
    assert refused.context["form"].errors.keys() == {wrong}
    assert not EntityUserGrant.objects.filter(user__urn=STRANGER).exists()


def test_what_is_held_already_does_not_begin_later(shop):
    refused = shop("maker").post(address("grants"), {"principals": [READER], "privileges": ["READ"], **LATER})
    assert refused.status_code == 422
    assert "is held already" in refused.content.decode()
