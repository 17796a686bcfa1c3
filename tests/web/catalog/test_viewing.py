"""With VIEW_AUTHORIZATION_ENABLED nothing that may not be viewed is listed, counted, suggested, named or linked."""

from urllib.parse import quote

import pytest

from tests.web.catalog.conftest import (
    BOARD,
    DATABASE,
    EUROPE,
    ORDERS,
    OUTSIDER,
    PII,
    READER,
    REVENUE,
    SALARIES,
    SALES,
    SECRET,
    SHOP,
    hide,
    store,
)


def page(urn):
    return f"/catalog/{quote(urn, safe='')}"


@pytest.fixture
def curtain(shelves, settings, write):
    """Hide everything from otto but orders."""
    settings.VIEW_AUTHORIZATION_ENABLED = True
    hide()
    write(
        "otto-sees",
        displayName="Otto sees orders",
        privileges=["VIEW_ENTITY_PAGE"],
        actors={"users": [OUTSIDER]},
        resources={"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}},
    )
    store(
        {
            (ORDERS, "glossaryTerms"): {"terms": [{"urn": REVENUE}], "auditStamp": {"time": 0, "actor": OUTSIDER}},
            (ORDERS, "domains"): {"domains": [SALES], "domainAssociations": [{"domain": SALES}]},
            (ORDERS, "upstreamLineage"): {"upstreams": [{"dataset": SALARIES, "type": "COPY"}]},
            (SALARIES, "globalTags"): {"tags": [{"tag": PII}]},
            (SALARIES, "container"): {"container": SHOP},
        }
    )
    return shelves


@pytest.mark.parametrize("urn", [SALARIES, BOARD, SALES, SECRET, REVENUE])
def test_a_hidden_page_is_as_if_it_were_not_there(curtain, urn):
    client = curtain("outsider")
    hidden, absent = client.get(page(urn)), client.get(page("urn:li:dataset:absent"))
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.context["reason"].replace(urn, "") == absent.context["reason"].replace("urn:li:dataset:absent", "")
    for what in ("tags", "owners", "description"):
        assert client.get(f"/catalog/edit/{what}/{quote(urn, safe='')}").status_code == 404
        assert client.post(f"/catalog/edit/{what}/{quote(urn, safe='')}", {}).status_code == 404
    assert curtain("root").get(page(urn)).status_code == 200


def test_lists_and_counts_hold_what_may_be_viewed(curtain):
    client = curtain("outsider")
    answer = client.get("/catalog")
    shown = {row["urn"] for row in answer.context["rows"]}
    assert ORDERS in shown
    assert {SALARIES, BOARD, SALES, SECRET, EUROPE, REVENUE}.isdisjoint(shown)
    assert {SHOP, DATABASE, PII} <= shown
    choices = dict(answer.context["form"].fields["type"].widget.choices)
    assert choices["dataset"] == "Datasets (1)"
    assert "domain" not in choices
    assert dict(answer.context["form"].fields["domain"].widget.choices) == {"": "Any"}
    assert [row["urn"] for row in client.get("/catalog", {"q": "salaries"}).context["rows"]] == []
    assert client.get("/catalog/browse/domains").context["rows"] == []
    containers = client.get("/catalog/browse/containers", {"under": DATABASE}).context["rows"]
    assert [(row["urn"], row["count"]) for row in containers] == [(SHOP, 1)]
    tags = client.get("/catalog/browse/tags").context["rows"]
    assert [(row["urn"], row["count"]) for row in tags] == [(PII, 1)]
    platforms = client.get("/catalog/browse/platforms").context["rows"]
    assert [(row["name"], row["count"]) for row in platforms] == [("Snowflake", 1)]


@pytest.mark.parametrize("name", ["domain", "term"])
def test_a_hidden_filter_finds_nothing(curtain, name):
    asked = {name: {"domain": SALES, "term": REVENUE}[name], "type": "dataset"}
    answer = curtain("outsider").get("/catalog", asked)
    assert answer.context["rows"] == []
    assert "Revenue" not in answer.content.decode()
    assert [row["urn"] for row in curtain("root").get("/catalog", asked).context["rows"]] == [ORDERS]


def test_a_page_that_may_be_viewed_names_nothing_hidden(curtain):
    client = curtain("outsider")
    for tab in ("about", "columns", "access", "documents"):
        text = client.get(page(ORDERS), {"show": tab}).content.decode()
        for name in (SALES, "Sales", REVENUE, "Revenue", SALARIES, "salaries"):
            assert name not in text, (tab, name)
    assert REVENUE in curtain("root").get(page(ORDERS), {"show": "documents"}).content.decode()


def test_contents_and_what_a_role_opens(curtain):
    client = curtain("outsider")
    rows = client.get(page(SHOP), {"show": "contents"}).context["rows"]
    assert [row["urn"] for row in rows] == [ORDERS]
    role = client.get(f"/external-roles/{quote(READER, safe='')}")
    assert [row["urn"] for row in role.context["rows"]] == [ORDERS]
    assert role.context["page"].paginator.count == 1
    assert {row.role.urn: row.count for row in client.get("/external-roles").context["rows"]}[READER] == 1
    assert {row.role.urn: row.count for row in curtain("root").get("/external-roles").context["rows"]}[READER] == 2


def test_nothing_hidden_is_suggested(curtain):
    client = curtain("outsider")
    for kind, text in (("domains", "sales"), ("terms", "revenue"), ("datasets", "salaries")):
        assert "Nothing found." in client.get(f"/catalog/pick/{kind}", {"q": text}).content.decode(), kind
        assert "Nothing found." not in curtain("root").get(f"/catalog/pick/{kind}", {"q": text}).content.decode()
    assert "orders" in client.get("/catalog/pick/datasets", {"q": "orders"}).content.decode()


def test_who_may_view_everything_sees_everything(curtain, settings):
    count = curtain("root").get("/catalog").context["page"].paginator.count
    settings.VIEW_AUTHORIZATION_ENABLED = False
    assert curtain("outsider").get("/catalog").context["page"].paginator.count == count


def test_without_the_switch_everything_is_open(curtain, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = False
    assert curtain("outsider").get(page(SALARIES)).status_code == 200
