"""Edits of an entity: what is written, what stays, and what is refused with nothing typed lost."""

import json
from urllib.parse import quote

import pytest

from catalog.access import aspect_documents
from catalog.entities import annotations
from catalog.entities.annotations import AnnotationEdit, compute_fingerprint
from catalog.entities.pages.aspect_forms import SEVERAL_DOMAINS
from catalog.models import Facet
from policies.changes.pages.net_change_wording import NOBODY
from policies.pdp import authorizer
from tests.web.catalog.conftest import (
    BOARD,
    EUROPE,
    GOLD,
    ORDERS,
    OUTSIDER,
    OWNER,
    PII,
    REVENUE,
    SALES,
    SECRET,
    STEWARD,
    TECHNICAL,
    WRITER,
    hide,
    store,
)

PART = {"HX-Request": "true"}
BUSINESS = "urn:li:ownershipType:__system__business_owner"


def said(aspect, urn=ORDERS):
    found = aspect_documents.load_aspect(urn=urn, name=aspect)
    return None if found is None else found.value


def send(client, what, data, urn=ORDERS, **more):
    """Open the form and send it."""
    address = f"/catalog/edit/{what}/{quote(urn, safe='')}"
    seen = client.get(address).context["seen"]
    return client.post(address, {"seen": seen, **data}, **more)


def links(*rows):
    found = {"links-TOTAL_FORMS": len(rows), "links-INITIAL_FORMS": 0}
    for number, (url, label) in enumerate(rows):
        found |= {f"links-{number}-url": url, f"links-{number}-label": label}
    return found


def test_tags_come_and_go_and_the_rest_of_their_entries_stays(shelves):
    client = shelves("steward")
    answer = send(client, "tags", {"tags": [PII, GOLD]}, follow=True)
    assert answer.redirect_chain
    assert [str(message) for message in answer.context["messages"]] == ["Tags saved."]
    assert said("globalTags") == {"tags": [{"tag": PII, "context": "kept"}, {"tag": GOLD}]}
    written = aspect_documents.load_aspect(urn=ORDERS, name="globalTags")
    assert written is not None
    assert written.created_by == STEWARD
    assert set(Facet.objects.filter(entity__urn=ORDERS, field="TAG").values_list("value", flat=True)) == {PII, GOLD}
    send(client, "tags", {"tags_pasted": f"  {GOLD}\n\n"})
    assert said("globalTags") == {"tags": [{"tag": GOLD}]}
    send(client, "tags", {})
    assert said("globalTags") == {"tags": []}


def test_terms_domains_and_roles(shelves):
    client = shelves("owner")
    send(client, "terms", {"terms": [REVENUE]})
    document = said("glossaryTerms")
    assert document["terms"] == [{"urn": REVENUE}]
    assert document["auditStamp"]["actor"] == OWNER
    send(client, "domains", {"domains": [EUROPE]})
    assert said("domains") == {"domains": [EUROPE]}
    send(client, "access", {"roles": [WRITER]})
    assert said("access") == {"roles": [{"urn": WRITER}]}


def test_newer_associations_of_domains_follow(shelves):
    store({(ORDERS, "domains"): {"domains": [SALES], "domainAssociations": [{"domain": SALES, "context": 1}]}})
    send(shelves("owner"), "domains", {"domains": [SALES, EUROPE]})
    assert said("domains") == {
        "domains": [SALES, EUROPE],
        "domainAssociations": [{"domain": SALES, "context": 1}, {"domain": EUROPE}],
    }


@pytest.mark.parametrize("urn", [ORDERS, "urn:li:dataProduct:sales"])
@pytest.mark.parametrize("associations", [[], None])
def test_an_empty_list_of_associations_loses_no_domain(shelves, urn, associations):
    """Of a data product the associations count as soon as there is one."""
    store({(urn, "domains"): {"domains": [SALES], "domainAssociations": associations}})

    def domains_after(**edit):
        annotations.edit_urns(AnnotationEdit([urn], authorizer.SYSTEM, "test"), "domains", **edit)
        return set(Facet.objects.filter(entity__urn=urn, field="DOMAIN").values_list("value", flat=True))

    assert domains_after(add=[EUROPE]) == {SALES, EUROPE}
    assert domains_after(remove=[EUROPE]) == {SALES}
    assert domains_after(remove=[SALES]) == set()


def test_owners_with_types(shelves):
    client = shelves("owner")
    kept = json.dumps([OWNER, TECHNICAL])
    send(client, "owners", {"kept": [kept], "owners": [OUTSIDER, "urn:li:corpGroup:analysts"], "type": BUSINESS})
    document = said("ownership")
    assert document["owners"] == [
        {"owner": OWNER, "type": "TECHNICAL_OWNER", "typeUrn": TECHNICAL, "attribution": {"kept": 1}},
        {"owner": OUTSIDER, "type": "BUSINESS_OWNER", "typeUrn": BUSINESS},
        {"owner": "urn:li:corpGroup:analysts", "type": "BUSINESS_OWNER", "typeUrn": BUSINESS},
    ]
    assert document["lastModified"]["actor"] == OWNER
    send(client, "owners", {"kept": [kept]})
    assert [entry["owner"] for entry in said("ownership")["owners"]] == [OWNER]
    answer = send(client, "owners", {"kept": [kept], "owners": [OUTSIDER], "type": "urn:li:ownershipType:none"})
    assert answer.status_code == 422
    assert "There is no such ownership type." in answer.content.decode()
    assert OUTSIDER in answer.content.decode()


def test_who_was_put_away_is_not_made_an_owner_and_may_stay_one(shelves):
    client = shelves("owner")
    send(client, "owners", {"kept": [json.dumps([OWNER, TECHNICAL])], "owners": [OUTSIDER]})
    analysts = "urn:li:corpGroup:analysts"
    store({(urn, "status"): {"removed": True} for urn in (OUTSIDER, analysts)})
    kept = [json.dumps([OWNER, TECHNICAL]), json.dumps([OUTSIDER, ""])]
    told = send(client, "owners", {"kept": kept, "owners": [analysts]})
    assert (told.status_code, f"There is no {analysts}." in told.content.decode()) == (422, True)
    send(client, "owners", {"kept": kept})
    assert [entry["owner"] for entry in said("ownership")["owners"]] == [OWNER, OUTSIDER]


def test_description_and_where_each_type_keeps_it(shelves):
    send(shelves("owner"), "description", {"text": "New words"})
    document = said("editableDatasetProperties")
    assert document["description"] == "New words"
    assert document["created"] == document["lastModified"]
    assert shelves("outsider").get(f"/catalog/{quote(ORDERS, safe='')}").context["description"] == "New words"
    send(shelves("root"), "description", {"text": "We sell"}, urn=SALES)
    assert said("domainProperties", SALES) == {"name": "Sales", "description": "We sell", "parentDomain": EUROPE}


def test_links(shelves):
    client = shelves("owner")
    send(client, "links", links(("https://wiki.example/orders", "Made so"), ("http://x.example", ""), ("", "")))
    first, second = said("institutionalMemory")["elements"]
    assert first == {"url": "https://wiki.example/orders", "description": "Made so", "createStamp": {"time": 1}}
    assert (second["url"], second["createStamp"]["actor"]) == ("http://x.example", OWNER)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://x.example", "//x.example", "x", "https://", "https:// x", "data:text/html,x"]
)
def test_only_web_addresses_become_links(shelves, url):
    answer = send(shelves("owner"), "links", links((url, "typed words")))
    assert answer.status_code == 422
    assert "typed words" in answer.content.decode()
    assert [entry["url"] for entry in said("institutionalMemory")["elements"]] == ["https://wiki.example/orders"]


def test_deprecation(shelves):
    client = shelves("owner")
    send(client, "deprecation", {"is_deprecated": "on", "note": "Old", "leaves_on": "2027-01-31"})
    assert said("deprecation") == {
        "deprecated": True,
        "note": "Old",
        "actor": OWNER,
        "decommissionTime": 1_801_353_600_000,
    }
    assert "2027-01-31" in client.get(f"/catalog/{quote(ORDERS, safe='')}").content.decode()
    answer = send(client, "deprecation", {"note": "Still typed", "leaves_on": "soon"})
    assert answer.status_code == 422
    assert "Still typed" in answer.content.decode()
    send(client, "deprecation", {"note": ""})
    assert said("deprecation") == {"deprecated": False, "note": "", "actor": OWNER}


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pasted", "sentence"),
    [
        ("urn:li:tag:Nobody", "There is no urn:li:tag:Nobody."),
        ("no urn", "no urn is not the URN of one of the tags."),
        (EUROPE, f"{EUROPE} is not the URN of one of the tags."),
        ("urn:li:tag:" + "x" * 600, "is not the URN of one of the tags."),
        ("urn:li:tag:<script>alert(1)</script>", "There is no urn:li:tag:&lt;script&gt;alert(1)&lt;/script&gt;."),
        ("\n".join(f"urn:li:tag:t{number}" for number in range(5000)), "And 4,980 more like these."),
        ("\n".join(f"urn:li:tag:t{number}" for number in range(10_001)), "At most 10,000 at once, not 10,00"),
    ],
)
def test_what_is_no_tag_is_said_beside_the_picker_and_comes_back(shelves, pasted, sentence):
    before = said("globalTags")
    answer = send(shelves("steward"), "tags", {"tags": [PII], "tags_pasted": pasted})
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert answer.context["editor"].picker["pasted"] == pasted
    assert PII in [chip["urn"] for chip in answer.context["editor"].picker["chosen"]]
    assert said("globalTags") == before


def test_who_comes_second_is_told_and_sees_what_is_stored(shelves):
    client = shelves("steward")
    address = f"/catalog/edit/tags/{quote(ORDERS, safe='')}"
    seen = client.get(address).context["seen"]
    store({(ORDERS, "globalTags"): {"tags": []}})
    answer = client.post(address, {"seen": seen, "tags": [PII, GOLD]})
    assert answer.status_code == 409
    assert "Somebody else changed this in the meantime." in answer.content.decode()
    assert answer.context["stored"] == []
    assert {chip["urn"] for chip in answer.context["editor"].picker["chosen"]} == {PII, GOLD}
    assert said("globalTags") == {"tags": []}
    assert client.post(address, {"seen": answer.context["seen"], "tags": [GOLD]}).status_code == 302
    assert said("globalTags") == {"tags": [{"tag": GOLD}]}


def test_a_form_that_was_made_up_changes_nothing(shelves):
    before = said("globalTags")
    address = f"/catalog/edit/tags/{quote(ORDERS, safe='')}"
    assert shelves("steward").post(address, {"tags": [GOLD]}).status_code == 409
    assert shelves("outsider").post(address, {"seen": "x", "tags": [GOLD]}).status_code == 403
    assert shelves("anonymous").post(address, {"tags": [GOLD]}).status_code == 302
    assert said("globalTags") == before


def test_constraints_on_tags_refuse_a_change_that_the_privilege_allows(shelves, write):
    write(
        "constrained",
        displayName="Only gold",
        privileges=["EDIT_ENTITY_TAGS"],
        actors={"users": [OUTSIDER]},
        resources={
            "filter": {"criteria": [{"field": "URN", "values": [BOARD]}]},
            "privilegeConstraints": {"criteria": [{"field": "URN", "values": [GOLD]}]},
        },
    )
    client = shelves("outsider")
    answer = send(client, "tags", {"tags": [PII, GOLD]}, urn=BOARD)
    assert answer.status_code == 403
    assert "Your privileges do not cover this change." in answer.content.decode()
    assert {chip["urn"] for chip in answer.context["editor"].picker["chosen"]} == {PII, GOLD}
    assert said("globalTags", BOARD) is None
    assert send(client, "tags", {"tags": [GOLD]}, urn=BOARD).status_code == 302
    assert said("globalTags", BOARD) == {"tags": [{"tag": GOLD}]}


def test_what_the_editor_may_not_view_stays_and_cannot_be_chosen(shelves, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    store({(ORDERS, "domains"): {"domains": [SECRET, SALES]}, (SALES, "ownership"): {"owners": [{"owner": OWNER}]}})
    hide()
    client = shelves("owner")
    shown = client.get(f"/catalog/edit/domains/{quote(ORDERS, safe='')}")
    assert [chip["urn"] for chip in shown.context["editor"].picker["chosen"]] == [SALES]
    assert send(client, "domains", {}).status_code == 302
    assert said("domains") == {"domains": [SECRET]}
    answer = send(client, "domains", {"domains_pasted": SECRET})
    assert answer.status_code == 422
    assert f"There is no {SECRET}." in answer.content.decode()


def test_the_mark_moves_with_the_document(shelves):
    before = compute_fingerprint(aspect_documents.load_aspect(urn=ORDERS, name="globalTags"))
    store({(ORDERS, "globalTags"): {"tags": []}})
    assert compute_fingerprint(aspect_documents.load_aspect(urn=ORDERS, name="globalTags")) != before
    assert compute_fingerprint(None) == ""


def effect(client, what, data, urn=ORDERS):
    asked = client.post(f"/catalog/edit/{what}/{quote(urn, safe='')}", {**data, "go": "look"}, headers=PART)
    assert asked.status_code == 200
    assert "<html" not in asked.content.decode()
    return asked.context["effect"]


def about(name, field, value, privilege="DELETE_ENTITY", **actors):
    block = {"filter": {"criteria": [{"field": field, "condition": "EQUALS", "values": [value]}]}}
    return {"displayName": name, "privileges": [privilege], "actors": actors, "resources": block}


def test_what_an_edit_gives_and_takes_is_said_before_it_is_saved(shelves, write):
    write("gold", **about("Gold", "TAG", GOLD, users=[OUTSIDER]))
    write("pii", **about("PII", "TAG", PII, users=[STEWARD]))
    write("revenue", **about("Revenue", "GLOSSARY", REVENUE, users=[OUTSIDER]))
    write("sales", **about("Sales", "DOMAIN", SALES, users=[STEWARD]))
    write("europe", **about("Europe", "DOMAIN", EUROPE, "EDIT_ENTITY_DOCS", users=[OUTSIDER]))
    root = shelves("root")
    assert effect(root, "tags", {"tags": [PII]}) == [NOBODY]
    retagged = effect(root, "tags", {"tags": [GOLD]})
    assert "Otto Outsider gains Delete on 1 entity, orders." in retagged
    assert not any(line.startswith("Stella Steward loses Delete") for line in retagged), "she has it through the domain"
    assert "Otto Outsider gains Delete on 1 entity, orders." in effect(root, "terms", {"terms": [REVENUE]})
    moved = effect(root, "domains", {"domains": [EUROPE]})
    assert not any(line.startswith("Otto Outsider gains") for line in moved), "Sales lies in Europe: he had it"
    assert effect(root, "domains", {"domains": [SALES, SECRET]}) == [SEVERAL_DOMAINS]
    assert said("globalTags") == {"tags": [{"tag": PII, "context": "kept"}]}, "nothing is stored"


def test_owners_are_said_with_what_they_gain_and_lose(shelves, write):
    owners = {"displayName": "Owners", "privileges": ["DELETE_ENTITY"], "actors": {"resourceOwners": True}}
    write("any-owner", **owners)
    root = shelves("root")
    kept = json.dumps([OWNER, TECHNICAL])
    found = effect(root, "owners", {"kept": [kept], "owners": [OUTSIDER], "type": ""})
    assert any(line.startswith("Otto Outsider gains") and "Delete" in line for line in found)
    found = effect(root, "owners", {"type": ""})
    assert any(line.startswith("Olga Owner loses") and "Delete" in line for line in found)
    assert effect(root, "owners", {"type": "urn:li:ownershipType:none"}) == []


def test_an_edit_that_gives_no_access_says_nothing_of_it(shelves):
    root = shelves("root")
    for what in ("description", "links", "deprecation"):
        page = root.get(f"/catalog/edit/{what}/{quote(ORDERS, safe='')}")
        assert page.context["effect"] is None
        assert "Who gains and who loses" not in page.content.decode()
    page = root.get(f"/catalog/edit/tags/{quote(ORDERS, safe='')}").content.decode()
    assert '<button type="submit" class="btn" name="go" value="look">' in page
