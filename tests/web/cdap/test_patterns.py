"""Grants by pattern in the browser: giving, what one stands for, taking away (rules/cdap.md CD-5, CD-18, CD-19)."""

from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.access import grant_source
from catalog.cdap import visible_grants
from catalog.models import WildcardGrant
from policies.engine.families import cdap
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.identity.services import users
from policies.models import ChangeEvent
from policies.pdp import authorizer
from tests.web.cdap.conftest import CLICKS, LOAD, MAKER, ORDERS_APP, READER, ROLE, ROOT, SHOP, TABLE, TEAM, do, give
from tests.web.cdap.test_pages import page
from tests.web.conftest import DOOR
from tests.web.test_markup import HOSTILE, check

STREAMS = "urn:li:stream:shop.*"


def sent(kind="stream", start="", **more):
    return {"kind": kind, "start": start, "principals": [TEAM], "privileges": ["READ"], **more}


def post(client, urn=SHOP, **more):
    return client.post(page("patterns", urn), sent(**more))


def test_who_may_see_the_grants_gets_the_form_cd_18(shop):
    for urn, wanted in ((SHOP, (302, 403, 403, 403, 200)), (TABLE, (302, 403, 403, 200, 200))):
        found = [
            shop(name).get(page("patterns", urn)).status_code
            for name in ("anonymous", "stranger", "reader", "maker", "root")
        ]
        assert tuple(found) == wanted
    assert shop("root").get(page("patterns", "urn:li:stream:shop.nothing")).status_code == 404


@pytest.mark.parametrize(
    ("urn", "kind", "start", "pattern"),
    [
        (SHOP, "stream", "", STREAMS),
        (SHOP, "dataset", "sa", "urn:li:dataset:(urn:li:dataPlatform:cdap,shop.sa*,PROD)"),
        (SHOP, "program", "orders.lo", "urn:li:program:shop.orders.lo*"),
        (ORDERS_APP, "program", "lo", "urn:li:program:shop.orders.lo*"),
        (INSTANCE_URN, "namespace", "sh", "urn:li:namespace:sh*"),
        (INSTANCE_URN, "stream", "", "urn:li:stream:*"),
        (CLICKS, "stream", "cl", "urn:li:stream:shop.cl*"),
        (LOAD, "program", "load", "urn:li:program:shop.orders.load*"),
    ],
)
def test_a_pattern_is_given_where_its_entities_lie_cd_5(shop, urn, kind, start, pattern):
    client = shop("root")
    assert post(client, urn, kind=kind, start=start, privileges=["READ", "EXECUTE"]).status_code == 302
    assert grant_source.load_privileges(pairs=[(TEAM, pattern)]) == {(TEAM, pattern): ("READ", "EXECUTE")}
    assert set(WildcardGrant.objects.values_list("pattern", "given_by")) == {(pattern, ROOT)}


def test_an_entity_starts_from_its_own_name(shop):
    form = shop("root").get(page("patterns", TABLE)).context["form"]
    assert (form.initial, form.fields["kind"].choices) == (
        {"kind": "dataset", "start": "sales"},
        [("dataset", "Datasets")],
    )
    assert shop("root").get(page("patterns", LOAD)).context["lead"] == "shop.orders."


def test_what_a_pattern_stands_for_is_shown_before_it_is_given(shop, monkeypatch):
    client = shop("root")
    answer = client.post(
        page("patterns", SHOP), {"kind": "stream", "start": "", "preview": "yes", "principals": [TEAM]}
    )
    assert answer.status_code == 200
    assert answer.context["reach"] == visible_grants.PatternExtent(STREAMS, 1, is_more=False, names=("shop.clicks",))
    assert f'value="{TEAM}"' in answer.content.decode()
    assert not WildcardGrant.objects.exists()
    check(answer)
    monkeypatch.setattr(visible_grants, "_MAX_COUNT", 2)
    for number in range(3):
        do("stream.create", f"urn:li:stream:shop.s{number}", MAKER)
    assert "more than 2 entities" in post(client, preview="yes").content.decode()
    assert post(client, preview="yes", start="nothing").context["reach"].count == 0


def test_giving_needs_admin_through_a_pattern_as_wide_cd_18(shop):
    client = shop("maker")
    for more in ({}, {"preview": "yes"}):
        refused = post(client, TABLE, kind="dataset", start="", **more)
        assert refused.status_code == 403
        assert "You need ADMIN through a pattern at least as wide" in refused.content.decode()
        assert refused.context["reach"] is None
    assert not WildcardGrant.objects.exists()
    give((MAKER, "dataset:shop.s*", "ADMIN"))
    assert post(client, TABLE, kind="dataset", start="sal").status_code == 302
    assert post(client, TABLE, kind="dataset", start="").status_code == 403


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"kind": "colour"}, "There is no such kind here."),
        ({"kind": "namespace"}, "There is no such kind here."),
        ({"start": "a b"}, "This cannot be the beginning of such a name"),
        ({"start": "a.b"}, "This cannot be the beginning of such a name"),
        ({"start": "a*"}, "This cannot be the beginning of such a name"),
        ({"start": "a\x00"}, "Null characters are not allowed."),
        ({"start": "x" * 201}, "at most 200 characters"),
        ({"principals": []}, "Choose who gets it."),
        ({"privileges": []}, "Choose at least one."),
        ({"privileges": ["RULE"]}, "is not one of the available choices"),
        ({"principals": ["urn:li:corpuser:none"]}, "There is no urn:li:corpuser:none."),
        ({"start": HOSTILE[:100]}, "This cannot be the beginning of such a name"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(shop, more, sentence):
    answer = post(shop("root"), **more)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert "<script>alert(1)" not in answer.content.decode()
    assert not WildcardGrant.objects.exists()


def wide(client, urn):
    rows = client.get(page("grants", urn)).context["wide"]
    return {(row.holder.urn, row.grant.source, row.privileges): row.revoke_url for row in rows}


def test_a_place_lists_the_patterns_for_what_lies_in_it(shop):
    give((TEAM, "stream:shop.*", "READ"), (ROLE, "program:shop.orders.*", "EXECUTE"), (TEAM, "stream:*", "WRITE"))
    here = {(TEAM, STREAMS, ("READ",)), (ROLE, "urn:li:program:shop.orders.*", ("EXECUTE",))}
    root = shop("root")
    assert wide(root, SHOP).keys() == here
    assert wide(root, ORDERS_APP).keys() == {(ROLE, "urn:li:program:shop.orders.*", ("EXECUTE",))}
    assert wide(root, INSTANCE_URN).keys() == {(TEAM, "urn:li:stream:*", ("WRITE",))}
    assert wide(root, CLICKS).keys() == {(TEAM, STREAMS, ("READ",)), (TEAM, "urn:li:stream:*", ("WRITE",))}
    assert all(wide(root, CLICKS).values())
    # Who administers the stream alone sees what reaches it, and may take none of it away.
    assert set(wide(shop("maker"), CLICKS).values()) == {""}
    give((READER, SHOP, "ADMIN"), (READER, "stream:shop.*", "ADMIN"))
    assert wide(shop("reader"), SHOP).keys() == {(TEAM, STREAMS, ("READ",)), (READER, STREAMS, ("ADMIN",))}


def test_a_grant_by_pattern_is_revoked_after_a_question(shop):
    give((TEAM, "stream:shop.*", "READ WRITE"))
    client = shop("root")
    (address,) = wide(client, SHOP).values()
    asked = client.get(address).content.decode()
    assert "Revoke READ, WRITE from The team?" in asked
    assert f"all of {STREAMS}" in asked
    assert shop("maker").get(address.replace(quote(SHOP, safe=""), quote(CLICKS, safe=""))).status_code == 403
    assert client.post(address).status_code == 302
    assert grant_source.load_privileges(pairs=[(TEAM, STREAMS)]) == {(TEAM, STREAMS): ()}
    last = ChangeEvent.objects.all()[0]
    assert (last.object_urn, last.by, last.after["privileges"]) == (STREAMS, ROOT, [])
    assert client.get(address).status_code == 404


def test_the_last_admin_through_a_pattern_falls_to_the_instance_administrators_cd_19(shop):
    give((TEAM, "stream:shop.*", "ADMIN"))
    client, maker = shop("root"), page("revoke", CLICKS, f"?principal={MAKER}")
    assert client.post(maker).status_code == 302
    (address,) = wide(client, SHOP).values()
    warned = client.post(address)
    assert warned.status_code == 409
    assert "Nobody would hold ADMIN on some of what it stands for any more." in warned.content.decode()
    assert grant_source.load_privileges(pairs=[(TEAM, STREAMS)]) == {(TEAM, STREAMS): ("ADMIN",)}
    assert client.post(address, {"confirmed": "yes"}).status_code == 302
    assert grant_source.load_privileges(pairs=[(TEAM, STREAMS), (ROOT, CLICKS)]) == {
        (TEAM, STREAMS): (),
        (ROOT, CLICKS): ("ADMIN",),
    }


@pytest.mark.parametrize("pattern", ["%00*", "urn:li:stream:shop.*", "dataset:(*", "*", "urn:li:corpuser:*"])
def test_a_pattern_on_which_nothing_is_given_is_revoked_from_nobody(shop, pattern):
    address = page("revoke", SHOP, f"?principal={TEAM}&pattern={pattern}")
    assert shop("root").post(address).status_code == 404


def test_a_grant_by_pattern_works_at_once_and_for_what_is_made_later_cd_5(shop):
    assert post(shop("root"), principals=[READER], privileges=["ALL"]).status_code == 302
    do("stream.create", "urn:li:stream:shop.later", MAKER)
    assert grant_source.load_privileges(pairs=[(READER, STREAMS)]) == {(READER, STREAMS): cdap.PRIVILEGES}
    assert shop("reader").get(page("grants", "urn:li:stream:shop.later")).status_code == 200


def test_many_patterns_cost_what_few_do(shop):
    client = shop("root")

    def cost(start, stop):
        for number in range(start, stop):
            who = f"urn:li:corpuser:w{number}"
            users.create(username=f"w{number}", by=authorizer.SYSTEM, channel=DOOR)
            give((who, f"stream:shop.a{number}*", "READ"))
        client.get(page("grants", SHOP))
        with CaptureQueriesContext(connection) as seen:
            assert client.get(page("grants", SHOP)).status_code == 200
        return len(seen)

    assert cost(0, 2) == cost(2, 30)
