"""The catalog's pages: who gets them, what they show, and what they cost."""

from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from catalog import urls as catalog_urls
from tests.finished import EARLIER, FAILED, FOUND, KIND, NONE, READY, RUNNING
from tests.web.catalog.conftest import BOARD, DATABASE, EUROPE, ORDERS, OWNER, PII, READER, REVENUE, SALES, SHOP, store
from tests.web.test_markup import HOSTILE, check

TO_SIGN_IN = "/login?next="
PEOPLE = ("anonymous", "outsider", "owner", "steward", "root")
FORMS = ("tags", "terms", "owners", "domains", "description", "links", "deprecation", "access")


def page(urn):
    return f"/catalog/{quote(urn, safe='')}"


def form(what, urn):
    return f"/catalog/edit/{what}/{quote(urn, safe='')}"


def role(urn, verb=""):
    return f"/external-roles/{verb}{quote(urn, safe='')}"


def run(identifier):
    return f"/reports/runs/{identifier}"


def managed(address, status=200):
    """A page for who manages policies."""
    return {address: (403, 403, 403, status)}


def led(*addresses):
    """Addresses that lead everybody who is signed in to another one."""
    return dict.fromkeys(addresses, (302, 302, 302, 302))


#: Route → address → what outsider, owner, steward and root get; anonymous is led to the sign-in page everywhere.
TABLE = {
    "home": {"/": (200, 200, 200, 200)},
    "my-access": {
        f"/my/access{query}": (200, 200, 200, 200)
        for query in ("", "?show=ending", "?show=domains", "?show=owned", "?show=requests", "?show=house", "?show=none")
    },
    "catalog": {"/catalog": (200, 200, 200, 200), "/catalog?q=orders&type=dataset": (200, 200, 200, 200)},
    "catalog-browse": {
        "/catalog/browse/domains": (200, 200, 200, 200),
        "/catalog/browse/containers": (200, 200, 200, 200),
        "/catalog/browse/platforms": (200, 200, 200, 200),
        "/catalog/browse/tags": (200, 200, 200, 200),
        "/catalog/browse/colours": (404, 404, 404, 404),
        "/catalog/browse/domains?under=urn:li:domain:none": (404, 404, 404, 404),
    },
    "catalog-pick": {
        "/catalog/pick/tags?q=pi": (200, 200, 200, 200),
        "/catalog/pick/owners?q=o": (200, 200, 200, 200),
        "/catalog/pick/colours?q=x": (404, 404, 404, 404),
    },
    "catalog-edit": {
        form("tags", ORDERS): (403, 200, 200, 200),
        form("terms", ORDERS): (403, 200, 403, 200),
        form("owners", ORDERS): (403, 200, 403, 200),
        form("domains", ORDERS): (403, 200, 403, 200),
        form("description", ORDERS): (403, 200, 403, 200),
        form("links", ORDERS): (403, 200, 403, 200),
        form("deprecation", ORDERS): (403, 200, 403, 200),
        form("access", ORDERS): (403, 200, 403, 200),
        form("tags", BOARD): (403, 403, 403, 200),
        form("tags", "urn:li:dataset:none"): (404, 404, 404, 404),
        form("access", SALES): (404, 404, 404, 404),
        form("colours", ORDERS): (404, 404, 404, 404),
    },
    # What these show of CDAP's entities stands in tests/web/cdap.
    **{
        f"entity-{part}": {f"/catalog/{part}/{quote(ORDERS, safe='')}": (404, 404, 404, 404)}
        for part in ("grants", "patterns", "revoke", "operations", "tree")
    },
    "why-restrictions": {
        "/why/restrictions": (200, 200, 200, 200),
        f"/why/restrictions?resource={quote(ORDERS)}": (200, 200, 200, 200),
        f"/why/restrictions?resource={quote(ORDERS)}&actor=ada": (403, 403, 200, 200),
    },
    "entity": {
        page(ORDERS): (200, 200, 200, 200),
        page("urn:li:dataset:none"): (404, 404, 404, 404),
        page("nothing"): (404, 404, 404, 404),
    },
    "external-roles": {"/external-roles": (200, 200, 200, 200)},
    "external-role": {role(READER): (200, 200, 200, 200), role(ORDERS): (404, 404, 404, 404)},
    "external-role-new": {"/external-roles/new": (403, 403, 403, 200)},
    "external-role-edit": {role(READER, "edit/"): (403, 403, 403, 200)},
    "external-role-delete": {role(READER, "delete/"): (403, 403, 403, 200)},
    "external-roles-held": {
        role(OWNER, "held/"): (200, 200, 200, 200),
        role("urn:li:corpuser:none", "held/"): (404, 404, 404, 404),
    },
    "assertions": managed("/reports/assertions"),
    "assertions-version": managed("/reports/assertions/1", 404),
    "findings": managed("/reports/findings")
    | managed("/reports/findings?state=ANY&severity=none&type=grant_missing&assignee=otto&q=x"),
    "finding": managed(f"/reports/findings/{FOUND}") | managed("/reports/findings/1", 404),
    "reports": managed("/reports") | managed("/reports?kind=none&status=READY&page=9"),
    "report-new": managed(f"/reports/new/{KIND}")
    | managed(f"/reports/new/{KIND}?again={READY}")
    | managed("/reports/new/none", 404),
    "report": managed(run(READY)) | managed(run(FAILED)) | managed(run(RUNNING)) | managed(run(NONE), 404),
    "report-access": managed(f"{run(READY)}/access")
    | managed(f"{run(READY)}/access?ask=who&urn=urn:li:tag:PII")
    | managed(f"{run(READY)}/access?ask=changed&urn=nothing&since=none")
    | managed(f"{run(FAILED)}/access", 404),
    "warehouse-access": managed("/reports/warehouse")
    | managed(f"/reports/warehouse?dataset={quote(ORDERS)}&person=otto&tag=none&page=9"),
    "warehouse-access-file": managed("/reports/warehouse.csv") | managed("/reports/warehouse.csv?person=otto"),
    "report-cancel": managed(f"{run(RUNNING)}/cancel"),
    "report-script": managed(f"{run(READY)}/script?export=none", 404),
    "report-compare": managed(f"{run(READY)}/compare")
    | managed(f"{run(READY)}/compare?other={EARLIER}&table=none&show=lost")
    | managed(f"{run(FAILED)}/compare", 404),
    "report-table": managed(f"{run(READY)}/tables/people")
    | managed(f"{run(READY)}/tables/people?q=some&of_privilege=none&sort=-entities&size=10")
    | managed(f"{run(READY)}/tables/none", 404)
    | managed(f"{run(RUNNING)}/tables/people", 302),
    "report-file": managed(f"{run(READY)}/tables/people.csv")
    | managed(f"{run(READY)}/tables/people.json?q=some")
    | managed(f"{run(READY)}/tables/people.xml", 404)
    | managed(f"{run(FAILED)}/tables/people.csv", 404),
    "connections": managed("/settings/connections"),
    "connection": managed("/settings/connections/none", 404),
    "connection-snapshot": managed("/settings/connections/none/snapshot", 404),
    "connection-repairs": managed("/settings/connections/none/repairs", 404),
    "connection-change": managed(f"/settings/connections/none/changes/{NONE}", 404),
    "connection-change-confirm": managed(f"/settings/connections/none/changes/{NONE}/confirm", 404),
    "connection-change-discard": managed(f"/settings/connections/none/changes/{NONE}/discard", 404),
    # Where these lead stands in tests/web/test_datahub_addresses.py.
    "settings": led("/settings"),
    "settings-section": led("/settings/permissions", "/settings/identities"),
    "datahub-section": led("/permissions", "/identities"),
    "datahub-policies": led("/policies"),
    "datahub-settings-policies": led("/settings/policies"),
    "datahub-permissions-policies": led("/permissions/policies"),
    "datahub-settings-personal": led("/settings/personal"),
    "datahub-datasets": led("/datasets"),
    "datahub-glossary": led("/glossary"),
    "datahub-domains": led("/domains"),
    "datahub-authenticate": led("/authenticate"),
    "datahub-search": led("/search"),
    "datahub-search-kind": led("/search/dataset"),
    "datahub-browse": led("/browse"),
    "datahub-browse-kind": led("/browse/dataset/prod"),
    "datahub-entity": led(f"/dataset/{ORDERS}", "/tag/urn:li:tag:none"),
    "datahub-role": led(f"/role/{READER}"),
    "datahub-user": led("/user/urn:li:corpuser:none"),
    "datahub-group": led("/group/urn:li:corpGroup:none"),
}


@pytest.mark.parametrize(("place", "name"), list(enumerate(PEOPLE)))
def test_everybody_gets_what_the_table_says(shelves, place, name):
    client = shelves(name)
    found, expected = {}, {}
    for address, answers in ((address, answers) for rows in TABLE.values() for address, answers in rows.items()):
        answer = client.get(address)
        if name == "anonymous":
            assert answer.status_code == 302, address
            assert answer.headers["Location"].startswith(TO_SIGN_IN)
            continue
        expected[address] = answers[place - 1]
        found[address] = answer.status_code
    assert found == expected


def test_the_table_names_every_page():
    assert {pattern.name for pattern in catalog_urls.urlpatterns} == TABLE.keys()


def test_a_refused_form_names_the_missing_privilege(shelves):
    answer = shelves("outsider").get(form("tags", ORDERS))
    named = [[need["privilege"] for need in lacking] for lacking in answer.context["missing_any"]]
    assert named == [["EDIT_ENTITY_TAGS"], ["EDIT_ENTITY"]]
    text = answer.content.decode()
    assert "any one of these" in text
    assert text.index("EDIT_ENTITY_TAGS") < text.index("EDIT_ENTITY</code>")
    assert "privilege=EDIT_ENTITY_TAGS" in answer.context["why_url"]
    assert quote(ORDERS, safe="") in answer.context["why_url"]


def test_external_roles_lead_nowhere_while_they_are_switched_off(shelves, settings):
    settings.SHOW_ACCESS_MANAGEMENT = False
    client = shelves("root")
    for address in (
        "/external-roles",
        "/external-roles/new",
        role(READER),
        role(OWNER, "held/"),
        form("access", ORDERS),
    ):
        assert client.get(address).status_code == 404, address
    shown = client.get(page(ORDERS))
    assert [tab["label"] for tab in shown.context["tabs"]] == ["About", "Columns", "Documents"]
    assert "External roles" not in client.get("/catalog").content.decode()


# -- the list and the ways in -----------------------------------------------------------------------------------------


def names(answer):
    return [row["name"] for row in answer.context["rows"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "ord"}, ["orders"]),
        ({"q": "sales", "type": "dashboard"}, ["Sales board"]),
        ({"q": ORDERS}, ["orders"]),
        ({"domain": EUROPE, "type": "dataset"}, ["orders"]),
        ({"domain": SALES, "type": "dataset"}, ["orders"]),
        ({"container": DATABASE, "type": "dataset"}, ["orders"]),
        ({"tag": PII}, ["orders"]),
        ({"platform": "urn:li:dataPlatform:snowflake", "type": "dataset"}, ["orders", "salaries"]),
        ({"platform": "urn:li:dataPlatform:none"}, []),
        ({"q": "%"}, []),
        ({"q": "\x00"}, []),
        ({"type": "dataset", "page": "99"}, ["orders", "salaries"]),
    ],
)
def test_search_and_filters(shelves, query, found):
    answer = shelves("outsider").get("/catalog", query)
    assert answer.status_code == 200
    if query == {"q": "%"}:
        found = names(shelves("outsider").get("/catalog"))
    if query == {"q": "\x00"}:
        assert answer.context["form"].errors
        return
    assert names(answer) == found
    assert answer.context["page"].paginator.count == len(found)


def test_the_list_leaves_out_what_was_removed_and_marks_what_is_deprecated(shelves):
    store({("urn:li:dataset:(urn:li:dataPlatform:hive,gone,PROD)", "status"): {"removed": True}})
    answer = shelves("outsider").get("/catalog")
    assert "gone" not in names(answer)
    assert [row["name"] for row in answer.context["rows"] if row["is_deprecated"]] == ["Sales board"]


def test_a_fragment_is_the_list_alone(shelves):
    answer = shelves("outsider").get("/catalog", {"q": "ord"}, headers={"HX-Request": "true"})
    assert "<html" not in answer.content.decode()
    assert "orders" in answer.content.decode()
    assert "HX-Request" in answer.headers["Vary"]


def test_the_tree_of_domains(shelves):
    client = shelves("outsider")
    top = client.get("/catalog/browse/domains")
    assert [(row["name"], row["nodes"], row["count"]) for row in top.context["rows"]] == [
        ("Europe", 1, 0),
        ("Secret plans", 0, 1),
    ]
    below = client.get("/catalog/browse/domains", {"under": EUROPE})
    assert [(row["name"], row["nodes"], row["count"]) for row in below.context["rows"]] == [("Sales", 0, 1)]
    assert names(client.get(below.context["rows"][0]["list_url"] + "&type=dataset")) == ["orders"]
    assert client.get("/catalog/browse/domains", {"under": PII}).status_code == 404


def test_platforms_and_tags_in_use(shelves):
    client = shelves("outsider")
    counted = [(row["name"], row["count"]) for row in client.get("/catalog/browse/platforms").context["rows"]]
    assert counted == [("Snowflake", 2), ("looker", 1)]
    assert [(row["name"], row["count"]) for row in client.get("/catalog/browse/tags").context["rows"]] == [("PII", 1)]


# -- one entity -------------------------------------------------------------------------------------------------------


def test_what_an_entity_is(shelves):
    answer = shelves("outsider").get(page(ORDERS))
    context = answer.context
    assert (context["name"], context["word"], context["description"]) == ("orders", "Dataset", "One row for each order")
    assert [(row["owner"].name, row["as"]) for row in context["owners"]] == [("Olga Owner", "Technical Owner")]
    assert [one.name for one in context["tags"]] == ["PII"]
    assert [one.name for one in context["domains"]] == ["Sales"]
    assert [one["label"] for one in context["trail"]] == ["warehouse", "shop"]
    assert {"label": "layer", "value": "core"} in context["properties"]
    text = answer.content.decode()
    assert 'href="https://wiki.example/orders"' in text
    assert "Use the new one." in shelves("outsider").get(page(BOARD)).content.decode()


def test_columns_with_what_people_added(shelves):
    rows = shelves("outsider").get(page(ORDERS), {"show": "columns"}).context["rows"]
    assert [(row["column"].name, row["column"].is_key, row["column"].description) for row in rows] == [
        ("id", True, ""),
        ("mail", False, "Where to write to"),
    ]
    assert [one.name for one in rows[1]["named"]] == ["PII"]
    found = shelves("outsider").get(page(ORDERS), {"show": "columns", "q": "MAI"}).context["rows"]
    assert [row["column"].name for row in found] == ["mail"]


@pytest.mark.parametrize(
    ("urn", "found"),
    [
        (EUROPE, ["Sales", "orders"]),
        (DATABASE, ["orders", "shop"]),
        (PII, ["orders"]),
        (REVENUE, []),
        ("urn:li:dataPlatform:snowflake", ["orders", "salaries"]),
    ],
)
def test_contents(shelves, urn, found):
    assert names(shelves("outsider").get(page(urn), {"show": "contents"})) == found


def test_assets_of_a_data_product(shelves):
    product = "urn:li:dataProduct:sales"
    store({(product, "dataProductProperties"): {"name": "Sales", "assets": [{"destinationUrn": ORDERS}]}})
    assert names(shelves("outsider").get(page(product), {"show": "contents"})) == ["orders"]


@pytest.mark.parametrize(
    ("name", "edits"),
    [("outsider", set()), ("steward", {"tags"}), ("owner", set(FORMS)), ("root", set(FORMS))],
)
def test_controls_appear_by_privilege(shelves, name, edits):
    answer = shelves(name).get(page(ORDERS))
    assert set(answer.context["edits"]) == edits
    text = answer.content.decode()
    assert {what for what in FORMS if reverse("catalog-edit", args=[what, ORDERS]) in text} == edits - {"access"}


def test_with_policies_off_every_control_opens(shelves, settings):
    settings.AUTH_POLICIES_ENABLED = False
    assert set(shelves("outsider").get(page(ORDERS)).context["edits"]) == set(FORMS)


def test_what_names_hold_stays_text(shelves):
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,<b>x,PROD)"
    store(
        {
            (urn, "datasetProperties"): {
                "name": HOSTILE,
                "description": HOSTILE,
                "customProperties": {HOSTILE: HOSTILE},
            },
            (urn, "schemaMetadata"): {"fields": [{"fieldPath": HOSTILE, "nativeDataType": HOSTILE}]},
            (urn, "institutionalMemory"): {"elements": [{"url": "javascript:alert(1)", "description": HOSTILE}]},
            (urn, "deprecation"): {"deprecated": True, "note": HOSTILE, "decommissionTime": 10**15},
            (urn, "globalTags"): {"tags": [{"tag": f"urn:li:tag:{HOSTILE}"}]},
            (urn, "domains"): {"domains": [f"urn:li:domain:{HOSTILE}"]},
            (urn, "access"): {"roles": [{"urn": f"urn:li:role:{HOSTILE}"}]},
        }
    )
    client = shelves("root")
    addresses = ["/catalog", "/catalog/browse/tags", *(form(what, urn) for what in FORMS if what != "links")]
    addresses += [f"{page(urn)}?show={tab}" for tab in ("about", "columns", "contents", "access", "documents")]
    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200, address
        check(answer)


# -- costs ------------------------------------------------------------------------------------------------------------


def cost(client, address):
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def fill(count):
    documents: dict = {}
    for number in range(count):
        urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,table{number},PROD)"
        tags = [{"tag": f"urn:li:tag:t{number}"}]
        documents[urn, "globalTags"] = {"tags": tags}
        documents[urn, "domains"] = {"domains": [SALES]}
        documents[urn, "container"] = {"container": SHOP}
        documents[urn, "access"] = {"roles": [{"urn": READER}]}
        documents[f"urn:li:tag:t{number}", "tagProperties"] = {"name": f"t{number}"}
        documents[f"urn:li:domain:d{number}", "domainProperties"] = {"name": f"d{number}"}
        documents[f"urn:li:role:r{number}", "roleProperties"] = {"name": f"r{number}", "type": "READ"}
    store(documents)
    rows = [
        {"fieldPath": f"c{number}", "globalTags": {"tags": [{"tag": f"urn:li:tag:t{number}"}]}}
        for number in range(count)
    ]
    store(
        {
            (ORDERS, "schemaMetadata"): {"fields": rows},
            (ORDERS, "globalTags"): {"tags": [{"tag": f"urn:li:tag:t{number}"} for number in range(count)]},
            (ORDERS, "access"): {"roles": [{"urn": f"urn:li:role:r{number}"} for number in range(count)]},
        }
    )


@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_page_costs_the_same_whatever_its_length(shelves, settings, is_guarded):
    settings.VIEW_AUTHORIZATION_ENABLED = is_guarded
    client = shelves("steward")
    addresses = [
        "/catalog",
        "/catalog?q=table",
        f"/catalog?domain={SALES}",
        *(f"/catalog/browse/{way}" for way in ("domains", "containers", "platforms", "tags")),
        *(f"{page(ORDERS)}?show={tab}" for tab in ("about", "columns", "access", "documents")),
        f"{page(SHOP)}?show=contents",
        form("tags", ORDERS),
        "/external-roles",
        role(READER),
        "/catalog/pick/tags?q=t",
    ]
    fill(5)
    few = {address: cost(client, address) for address in addresses}
    fill(50)
    store({(ORDERS, "dataPlatformInstance"): {"platform": "urn:li:dataPlatform:hive"}})
    assert {address: cost(client, address) for address in addresses} == few
    # Looking at the version before every question, as here, is done once a second otherwise.
    # What names and lists leave out looks once for each privilege that lets view; forms look for drafts of the author.
    assert max(few.values()) <= (45 if is_guarded else 24)


@pytest.mark.parametrize("address", ["/catalog", "/catalog/pick/tags", "/external-roles"])
def test_a_search_for_more_words_than_any_name_has_is_refused_in_words(shelves, address):
    page = shelves("owner").get(address, {"q": " ".join(f"{number:02}" for number in range(60))})
    assert page.status_code == 400
    assert "at most 40 different words" in page.content.decode()
