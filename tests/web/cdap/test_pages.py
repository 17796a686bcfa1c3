"""The pages of CDAP entities: who gets them, what they say, what they change, and what they cost."""

from urllib.parse import quote, unquote

import pytest
from django.test import Client

from catalog.access import grant_source
from catalog.models import Entity
from policies.engine.families import cdap
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.identity.services import users
from policies.models import User
from policies.pdp import authorizer
from tests.costs import compare_costs
from tests.web.catalog.conftest import hide
from tests.web.cdap.conftest import (
    CLICKS,
    ELSEWHERE,
    ETL,
    LOAD,
    MAKER,
    ORDERS_APP,
    READER,
    ROLE,
    ROOT,
    SHOP,
    STRANGER,
    TABLE,
    TEAM,
    do,
    give,
)
from tests.web.conftest import DOOR
from tests.web.test_markup import HOSTILE, check

NOWHERE = "urn:li:dataset:(urn:li:dataPlatform:cdap,shop.nothing,PROD)"
PEOPLE = ("anonymous", "stranger", "reader", "maker", "root")


def page(part, urn, query=""):
    return f"/catalog/{part}/{quote(urn, safe='')}{query}"


#: Address → what stranger, reader, maker and root get; anonymous is led to the sign-in page everywhere.
TABLE_OF_PAGES = {
    page("grants", TABLE): (403, 403, 200, 200),
    page("grants", LOAD): (403, 403, 200, 200),
    page("grants", SHOP): (403, 403, 403, 200),
    page("grants", INSTANCE_URN): (403, 403, 403, 200),
    page("grants", NOWHERE): (404, 404, 404, 404),
    page("patterns", SHOP): (403, 403, 403, 200),
    page("patterns", TABLE): (403, 403, 200, 200),
    page("revoke", TABLE, f"?principal={READER}&privilege=READ"): (403, 403, 200, 200),
    page("revoke", TABLE, f"?principal={READER}&privilege=ADMIN"): (403, 403, 404, 404),
    page("revoke", TABLE, f"?principal={STRANGER}"): (403, 403, 404, 404),
    page("revoke", TABLE): (403, 403, 404, 404),
    page("revoke", INSTANCE_URN, "?principal=%00&privilege=%F0"): (403, 403, 403, 404),
    page("operations", TABLE): (200, 200, 200, 200),
    page("operations", SHOP): (200, 200, 200, 200),
    page("operations", NOWHERE): (404, 404, 404, 404),
    page("tree", SHOP): (200, 200, 200, 200),
    page("tree", SHOP, "?kind=colours&page=x"): (200, 200, 200, 200),
    page("tree", INSTANCE_URN): (200, 200, 200, 200),
    page("tree", ORDERS_APP): (200, 200, 200, 200),
    page("tree", TABLE): (404, 404, 404, 404),
}


@pytest.mark.parametrize(("place", "name"), list(enumerate(PEOPLE)))
def test_everybody_gets_what_the_table_says_cd_18(shop, place, name):
    client = shop(name)
    found = {address: client.get(address).status_code for address in TABLE_OF_PAGES}
    assert found == {address: (302, *answers)[place] for address, answers in TABLE_OF_PAGES.items()}


def test_an_entity_leads_to_its_tabs_and_one_of_another_platform_has_none(shop):
    def labels(name, urn):
        return [tab["label"] for tab in shop(name).get(f"/catalog/{quote(urn, safe='')}").context["tabs"]]

    assert labels("maker", TABLE) == ["About", "Documents", "Operations", "Grants"]
    assert labels("reader", TABLE) == ["About", "Documents", "Operations"]
    assert labels("root", SHOP) == ["About", "Documents", "Contents", "Operations", "Grants"]
    assert shop("root").get(page("grants", ELSEWHERE)).status_code == 404


# -- grants -----------------------------------------------------------------------------------------------------------


def listed(client, urn):
    shown = client.get(page("grants", urn)).context
    return [(row.holder.urn, row.privileges, row.grantor.urn if row.grantor else None) for row in shown["rows"]]


def test_the_grants_say_who_holds_what_since_when_and_from_whom(shop):
    give((TEAM, TABLE, "WRITE"), (ROLE, "dataset:shop.*", "READ"))
    answer = shop("maker").get(page("grants", TABLE))
    assert sorted(listed(shop("maker"), TABLE)) == [
        (TEAM, ("WRITE",), authorizer.SYSTEM.urn),
        (MAKER, cdap.PRIVILEGES, MAKER),
        (READER, ("READ",), authorizer.SYSTEM.urn),
    ]
    assert all(row.grant.at is not None for row in answer.context["rows"])
    assert [(row.holder.urn, row.privileges) for row in answer.context["wide"]] == [(ROLE, ("READ",))]
    check(answer)


def test_privileges_are_given_and_all_stands_for_the_four_cd_2(shop):
    client = shop("maker")
    answer = client.post(page("grants", TABLE), {"principals": [TEAM], "principals_pasted": ROLE, "privileges": "ALL"})
    assert answer.status_code == 302
    assert unquote(answer.headers["Location"]) == f"/catalog/grants/{TABLE}"
    assert grant_source.load_privileges(pairs=[(TEAM, TABLE), (ROLE, TABLE)]) == {
        (TEAM, TABLE): cdap.PRIVILEGES,
        (ROLE, TABLE): cdap.PRIVILEGES,
    }
    assert (TEAM, cdap.PRIVILEGES, MAKER) in listed(client, TABLE)


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"principals": [STRANGER]}, "Choose at least one."),
        ({"privileges": ["READ"]}, "Choose who gets it."),
        ({"principals": [STRANGER], "privileges": ["RULE"]}, "RULE is not one of the available choices"),
        ({"principals": ["urn:li:corpuser:none"], "privileges": ["READ"]}, "There is no urn:li:corpuser:none."),
        ({"principals_pasted": TABLE, "privileges": ["READ"]}, "is not the URN of one of the"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_typed_is_lost(shop, sent, sentence):
    before = listed(shop("maker"), TABLE)
    answer = shop("maker").post(page("grants", TABLE), sent)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert sentence in text
    assert all(urn in text for urn in sent.get("principals", ()))
    assert listed(shop("maker"), TABLE) == before


def test_who_may_not_grant_changes_nothing_cd_18(shop):
    for name in ("stranger", "reader"):
        client = shop(name)
        assert client.post(page("grants", TABLE), {"principals": [READER], "privileges": "ALL"}).status_code == 403
        assert client.post(page("revoke", TABLE, f"?principal={MAKER}"), {"confirmed": "yes"}).status_code == 403
    assert grant_source.load_privileges(pairs=[(READER, TABLE), (MAKER, TABLE)]) == {
        (READER, TABLE): ("READ",),
        (MAKER, TABLE): cdap.PRIVILEGES,
    }


def test_a_grant_is_revoked_after_a_question(shop):
    client, address = shop("maker"), page("revoke", TABLE, f"?principal={READER}&privilege=READ")
    assert "Revoke READ from Rita?" in client.get(address).content.decode()
    assert grant_source.load_privileges(pairs=[(READER, TABLE)]) == {(READER, TABLE): ("READ",)}
    assert client.post(address).status_code == 302
    assert grant_source.load_privileges(pairs=[(READER, TABLE)]) == {(READER, TABLE): ()}


def test_the_last_admin_falls_to_the_instance_administrators_once_confirmed_cd_19(shop):
    client, address = shop("maker"), page("revoke", TABLE, f"?principal={MAKER}")
    warned = client.post(address)
    assert warned.status_code == 409
    assert "Nobody would hold ADMIN" in warned.content.decode()
    assert grant_source.load_privileges(pairs=[(MAKER, TABLE)]) == {(MAKER, TABLE): cdap.PRIVILEGES}
    assert client.post(address, {"confirmed": "yes"}).status_code == 302
    assert grant_source.load_privileges(pairs=[(MAKER, TABLE), (ROOT, TABLE)]) == {
        (MAKER, TABLE): (),
        (ROOT, TABLE): ("ADMIN",),
    }


def test_what_the_settings_give_is_shown_and_stays_cd_18(shop):
    client = shop("root")
    (row,) = client.get(page("grants", INSTANCE_URN)).context["rows"]
    assert (row.holder.urn, row.privileges, row.revoke_url) == (ROOT, cdap.PRIVILEGES, "")
    answer = client.post(page("revoke", INSTANCE_URN, f"?principal={ROOT}"), follow=True)
    assert "cannot be taken away here" in answer.content.decode()


def test_roles_can_be_picked(shop):
    assert ROLE in shop("maker").get("/catalog/pick/principals?q=loa").content.decode()


# -- operations -------------------------------------------------------------------------------------------------------


def matrix(client, urn, part="rows"):
    rows = client.get(page("operations", urn)).context[part]
    return {
        row.name: row.is_allowed or {(privilege, lacking.urn) for privilege, lacking in row.missing} for row in rows
    }


@pytest.mark.parametrize("urn", [INSTANCE_URN, SHOP, ETL, ORDERS_APP, LOAD, CLICKS, TABLE])
def test_every_operation_of_the_kind_has_a_row_cd_6(shop, urn):
    kind = urn.split(":")[2]
    wanted = {one.name for one in cdap.list_operations(kind) if one.effect is not cdap.OperationEffect.CREATE}
    assert matrix(shop("stranger"), urn).keys() == wanted


def test_every_missing_pair_is_named_cd_7(shop):
    found = matrix(shop("stranger"), TABLE)
    assert found["dataset.get"] == {("READ", TABLE), ("READ", SHOP)}
    assert found["dataset.drop"] == {("ADMIN", TABLE)}
    assert matrix(shop("reader"), TABLE)["dataset.get"] == {("READ", SHOP)}
    assert matrix(shop("reader"), LOAD)["program.start"] == {("READ", SHOP)}
    give((READER, SHOP, "READ"))
    assert matrix(shop("reader"), TABLE)["dataset.get"] is True
    assert matrix(shop("reader"), LOAD)["program.start"] is True


def test_a_place_says_what_can_be_made_in_it(shop):
    wanted = {"artifact.add", "application.deploy", "stream.create", "dataset.create"}
    allowed = matrix(shop("maker"), SHOP, "making")
    assert wanted <= allowed.keys()
    assert set(allowed.values()) == {True}
    assert matrix(shop("stranger"), SHOP, "making")["dataset.create"] == {("WRITE", SHOP)}
    assert matrix(shop("stranger"), INSTANCE_URN, "making") == {"namespace.create": {("WRITE", INSTANCE_URN)}}


def test_an_owner_without_read_on_the_namespace_is_told_so(shop):
    def hints(name, urn):
        return " ".join(shop(name).get(page("operations", urn)).context["hints"])

    assert "Missing: READ on shop" in hints("maker", TABLE)
    assert "get, update" in hints("maker", TABLE)
    assert "Who makes a dataset here" in hints("maker", SHOP)
    assert hints("stranger", TABLE) == hints("stranger", SHOP) == hints("root", INSTANCE_URN) == ""
    give((MAKER, SHOP, "READ"))
    assert hints("maker", TABLE) == hints("maker", SHOP) == ""


# -- contents ---------------------------------------------------------------------------------------------------------


def tree(client, urn, kind=""):
    shown = client.get(page("tree", urn, f"?kind={kind}" if kind else "")).context
    return {row["entity"].urn: [one.urn for one in row["programs"]] for row in shown["rows"]}


def test_a_namespace_shows_what_its_reader_may_list_cd_12(shop):
    assert tree(shop("maker"), SHOP) == {ORDERS_APP: [LOAD]}
    assert tree(shop("maker"), SHOP, "stream") == {CLICKS: []}
    assert tree(shop("reader"), SHOP) == {TABLE: []}
    assert tree(shop("reader"), SHOP, "program") == {}
    assert tree(shop("stranger"), SHOP) == {}
    counts = [kind["label"] for kind in shop("reader").get(page("tree", SHOP)).context["kinds_there"]]
    assert counts[0] == "Applications (0)"
    assert "Datasets (1)" in counts
    assert all(label.endswith("(0)") for label in counts if label != "Datasets (1)")
    assert tree(shop("maker"), ORDERS_APP) == {LOAD: []}


def test_every_namespace_is_listed_and_those_with_a_grant_are_marked_cd_13(shop):
    def marks(name):
        return {
            row["entity"].urn: row["is_accessible"]
            for row in shop(name).get(page("tree", INSTANCE_URN)).context["rows"]
        }

    assert marks("stranger") == {SHOP: False}
    assert marks("maker") == {SHOP: True}


# -- what may not be viewed -------------------------------------------------------------------------------------------


def opened(client, urn):
    return client.get(f"/catalog/{quote(urn, safe='')}").status_code


def test_a_page_opens_for_who_could_list_the_entity_cd_22(shop, settings):
    everything = (SHOP, INSTANCE_URN, ETL, ORDERS_APP, LOAD, CLICKS)
    assert {opened(shop("stranger"), urn) for urn in everything} == {200}
    settings.VIEW_AUTHORIZATION_ENABLED = True
    # EXECUTE lists nothing (CD-12); namespaces are listed to all (CD-13); who grants anywhere sees what to grant on.
    for name, seen in (
        ("stranger", {SHOP, INSTANCE_URN}),
        ("reader", {SHOP, INSTANCE_URN}),
        ("maker", set(everything)),
        ("root", set(everything)),
    ):
        client = shop(name)
        assert {urn for urn in everything if opened(client, urn) == 200} == seen, name
        listed = {row["urn"] for row in client.get("/catalog").context["rows"]}
        assert listed & set(everything) == seen & listed, name
    give((READER, "stream:shop.*", "READ"), (TEAM, ETL, "READ"))
    reader = shop("reader")
    assert (opened(reader, CLICKS), opened(reader, ETL)) == (200, 404)
    assert CLICKS in {row["urn"] for row in reader.get("/catalog?type=stream").context["rows"]}
    for part in ("tree", "operations", "grants"):
        assert reader.get(page(part, ORDERS_APP)).status_code == 404


def test_a_hidden_entity_is_as_if_it_were_not_there_cd_22(shop, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    client, nowhere = shop("stranger"), "urn:li:stream:shop.nothing"
    hidden, absent = (client.get(f"/catalog/{quote(urn, safe='')}") for urn in (CLICKS, nowhere))
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.context["reason"].replace(CLICKS, "") == absent.context["reason"].replace(nowhere, "")


def test_the_tree_neither_names_nor_counts_a_dataset_that_may_not_be_viewed(shop, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    assert tree(shop("reader"), SHOP) == {TABLE: []}
    hide()
    assert opened(shop("reader"), TABLE) == 404
    answer = shop("reader").get(page("tree", SHOP))
    assert "Datasets (0)" in [kind["label"] for kind in answer.context["kinds_there"]]
    assert tree(shop("reader"), SHOP, "dataset") == {}
    assert TABLE not in shop("reader").get(page("tree", SHOP, "?kind=dataset")).content.decode()
    assert tree(shop("maker"), SHOP, "stream") == {CLICKS: []}


# -- names and costs --------------------------------------------------------------------------------------------------


def test_what_names_hold_stays_text(shop):
    users.create(username="hostile", display_name=HOSTILE[:200], by=authorizer.SYSTEM, channel=DOOR)
    give(("urn:li:corpuser:hostile", TABLE, "READ"), ("urn:li:corpuser:hostile", SHOP, "READ"))
    Entity.objects.filter(urn__in=[TABLE, SHOP, LOAD, ORDERS_APP]).update(name=HOSTILE[:200])
    client = shop("root")
    revoking = page("revoke", TABLE, "?principal=urn:li:corpuser:hostile")
    for address in (page("grants", TABLE), page("operations", TABLE), page("tree", SHOP), revoking):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "<script>alert(1)" not in answer.content.decode()
        check(answer)
    assert client.post(page("grants", TABLE), {"principals_pasted": HOSTILE, "privileges": HOSTILE}).status_code == 422
    assert client.get(page("revoke", TABLE, f"?principal={quote(HOSTILE)}")).status_code == 404


def fill(start, stop):
    for number in range(start, stop):
        who = f"urn:li:corpuser:p{number}"
        users.create(username=f"p{number}", by=authorizer.SYSTEM, channel=DOOR)
        give((who, TABLE, "READ"), (who, "dataset:shop.*", "READ"))
        application = f"urn:li:application:shop.a{number}"
        do("application.deploy", application, MAKER, programs=(f"urn:li:program:shop.a{number}.p",))
    Entity.objects.filter(type="application").update(name="An application")


MOST = {page("grants", TABLE): 40, page("operations", TABLE): 30, page("operations", SHOP): 30, page("tree", SHOP): 60}


@pytest.fixture(scope="module")
def costs_of_pages(shop_of_module, module_transaction):
    """The queries of each page with three of everything and with twenty-four."""
    assert module_transaction
    client = Client(raise_request_exception=True)
    client.force_login(User.objects.get(urn=MAKER), backend="django.contrib.auth.backends.ModelBackend")
    return compare_costs(client, [(address, ()) for address in MOST], fill=fill, few=3, many=24)


@pytest.mark.parametrize(("address", "most"), MOST.items())
def test_a_page_of_many_costs_what_a_page_of_few_does(costs_of_pages, db, address, most):
    few, many = costs_of_pages[address, ()]
    assert many == few <= most
