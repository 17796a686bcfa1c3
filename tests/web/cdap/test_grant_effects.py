"""What the pages of grants say of who gains and who loses, before anything is granted or revoked."""

import pytest

from catalog.access import grant_source
from catalog.cdap import grant_effect
from catalog.models import EntityGroupGrant, EntityUserGrant, WildcardGrant
from policies.changes.pages.net_change_wording import CONCEALED, NOBODY, NOBODY_ON_ENTITIES
from policies.identity.services import groups
from policies.pdp import authorizer
from tests.web.cdap.conftest import CLICKS, MAKER, READER, ROOT, SHOP, STRANGER, TABLE, TEAM, give
from tests.web.cdap.test_pages import page
from tests.web.conftest import DOOR
from tests.web.test_markup import check

PART = {"HX-Request": "true"}
STREAMS = "urn:li:stream:shop.*"


@pytest.fixture(autouse=True)
def _team(shop):
    groups.add_members(urn=TEAM, members=[STRANGER], by=authorizer.SYSTEM, channel=DOOR)


def effect(client, part, urn, **sent):
    asked = client.post(page(part, urn), {**sent, "go": "look"}, headers=PART)
    assert asked.status_code == 200
    assert "<html" not in asked.content.decode()
    return asked.context["effect"]


def asked(client, urn, query):
    return client.get(page("revoke", urn, query)).context["effect"]


def test_granting_says_who_gains_and_stores_nothing(shop):
    maker, before = shop("maker"), EntityUserGrant.objects.count()
    said = effect(maker, "grants", TABLE, principals=[TEAM], privileges=["WRITE"])
    assert said == ["1 person gains access to 1 entity.", "1 person gains Write on 1 entity.", CONCEALED]
    assert effect(shop("root"), "grants", TABLE, principals=[TEAM], privileges=["WRITE"]) == [
        "1 person gains access to 1 entity.",
        "Sven gains Write on 1 entity, shop.sales.",
    ]
    assert effect(maker, "grants", TABLE, principals=[READER], privileges=["READ"]) == [NOBODY_ON_ENTITIES]
    assert effect(maker, "grants", TABLE, principals=[READER]) == []
    assert effect(maker, "grants", TABLE, privileges=["READ"]) == []
    assert effect(maker, "grants", TABLE, principals=["urn:li:corpuser:none"], privileges=["READ"]) == []
    assert (EntityUserGrant.objects.count(), EntityGroupGrant.objects.exists()) == (before, False)


def test_the_page_of_grants_shows_the_effect_without_scripts(shop):
    root = shop("root")
    assert (
        '<button type="submit" class="btn" name="go" value="look">' in root.get(page("grants", TABLE)).content.decode()
    )
    shown = root.post(page("grants", TABLE), {"principals": [TEAM], "privileges": ["WRITE"], "go": "look"})
    assert "Sven gains Write on 1 entity, shop.sales." in shown.content.decode()
    assert f'value="{TEAM}"' in shown.content.decode()
    check(shown)


def test_a_grant_that_begins_later_says_so(shop):
    sent = {"principals": [TEAM], "privileges": ["WRITE"], "valid_from": "2998-01-01T00:00"}
    said = effect(shop("maker"), "grants", TABLE, **sent)
    assert said[0].startswith("In effect from 1 Jan 2998, 00:00 UTC. Nothing changes until it begins")
    assert "1 person gains Write on 1 entity." in said


def test_a_pattern_says_who_gains_and_what_is_lacking(shop):
    sent = {"kind": "stream", "start": "", "principals": [TEAM], "privileges": ["READ"]}
    gain = "Sven gains Read on 1 entity, shop.clicks."
    assert gain in effect(shop("root"), "patterns", SHOP, **sent)
    shown = shop("root").post(page("patterns", SHOP), {**sent, "preview": "yes"})
    assert gain in shown.content.decode()
    assert shown.context["reach"].count == 1
    refused = effect(shop("maker"), "patterns", TABLE, **{**sent, "kind": "dataset"})
    assert refused
    assert not any("gains" in line for line in refused)
    assert effect(shop("root"), "patterns", SHOP, **{**sent, "start": "a b"}) == []
    assert not WildcardGrant.objects.exists()


def test_only_the_first_of_many_are_counted(shop, monkeypatch):
    monkeypatch.setattr(grant_effect, "MAX_PREVIEWED", 1)
    said = effect(shop("maker"), "grants", TABLE, principals=[STRANGER, READER], privileges=["WRITE"])
    assert said[-1] == grant_effect.NOT_ALL
    assert said[0] == "1 person gains access to 1 entity."


def test_revoking_says_who_loses_and_through_what_somebody_keeps_it(shop):
    give((STRANGER, CLICKS, "READ WRITE"), (TEAM, STREAMS, "READ"))
    said = asked(shop("root"), CLICKS, f"?principal={STRANGER}")
    assert "Sven loses Write on 1 entity, shop.clicks." in said
    assert "Sven keeps Read on 1 entity, through a CDAP grant." in said
    said = asked(shop("root"), SHOP, f"?principal={TEAM}&pattern={STREAMS}")
    assert said == [NOBODY, "Sven keeps Read on 1 entity, through a CDAP grant."]


def test_revoking_the_last_admin_says_to_whom_it_passes_as_it_then_does(shop):
    query = f"?principal={MAKER}"
    said = asked(shop("maker"), TABLE, query)
    assert any(line.startswith("Mara loses") for line in said)
    assert not any("confirm" in line for line in said)
    assert shop("maker").post(page("revoke", TABLE, query)).context["effect"] == said
    assert shop("maker").post(page("revoke", TABLE, query), {"confirmed": "yes"}).status_code == 302
    assert grant_source.load_privileges(pairs=[(ROOT, TABLE)]) == {(ROOT, TABLE): ("ADMIN",)}
