"""A signed-in outsider tries every generic write door to make himself administrator (clients.md 2.6).

After `bootstrap --restricted`. Each attempt is sent in every way that a door knows for it, alone and beside something
harmless that he may write; all are refused and nothing is written.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

from catalog.protocols.datahub_rest import pegasus_names
from tests.doors.conftest import ROOT, calling, proposal, refreshing_at_once
from tests.doors.test_gms_access import (
    ADMIN,
    ADMINS,
    ATTEMPTS,
    HARMLESS,
    IMPOSSIBLE,
    ME,
    ORDINARY,
    make_outsider,
    standing,
)

pytestmark = pytest.mark.django_db

V3 = "/openapi/v3/entity"
SEPARATOR = "\u241f"


@pytest.fixture(scope="module", autouse=True)
def stored_outsider(_root_token):
    with refreshing_at_once():
        return make_outsider()


@pytest.fixture
def outsider(stored_outsider, installed):
    """A signed-in user who may write tags, in an installation with a group of administrators."""
    return calling(stored_outsider.urn, stored_outsider.token)


Call = tuple[str, str, object]
Way = Callable[[list[dict[str, Any]]], Iterator[Call]]

WRITES = {name: one for name, one in ATTEMPTS.items() if one["changeType"] != "DELETE"}


def told(one: dict[str, Any]) -> tuple[str, str, Any]:
    return one["entityUrn"], one["aspectName"], json.loads(one["aspect"]["value"])


def adding(document: Any) -> list[dict[str, Any]]:
    """A patch that makes the document of whatever is there."""
    return [
        {"op": "add", "path": "/" + key.replace("~", "~0").replace("/", "~1"), "value": value}
        for key, value in document.items()
    ]


def by_type(entries: list[dict[str, Any]], value: Callable[[Any], Any]) -> dict[str, list[dict[str, Any]]]:
    """Bodies of OpenAPI by entity type: a call is about one type, so what is harmless comes beside only its own."""
    found: dict[str, list[dict[str, Any]]] = {}
    for urn, aspect, document in map(told, entries):
        found.setdefault(urn.split(":")[2], []).append({"urn": urn, aspect: {"value": value(document)}})
    return found


def written(entries: list[dict[str, Any]]) -> Iterator[Call]:
    for type_, body in by_type(entries, lambda document: document).items():
        yield from (("post", f"{V3}/{type_}{query}", body) for query in ("", "?async=false", "?createIfNotExists=true"))
        yield "post", f"{V3}/{type_.upper()}/", body


def written_one_by_one(entries: list[dict[str, Any]]) -> Iterator[Call]:
    for urn, aspect, document in map(told, entries):
        yield "post", f"{V3}/{urn.split(':')[2]}/{quote(urn, safe='')}/{aspect}?async=false", {"value": document}


def patched(entries: list[dict[str, Any]]) -> Iterator[Call]:
    for form in (adding, lambda document: {"patch": adding(document), "arrayPrimaryKeys": {}}):
        for type_, body in by_type(entries, form).items():
            yield "patch", f"{V3}/{type_}?async=false", body
        for urn, aspect, document in map(told, entries):
            yield "patch", f"{V3}/{urn.split(':')[2]}/{quote(urn, safe='')}/{aspect}", {"value": form(document)}


def patched_by_keys(entries: list[dict[str, Any]]) -> Iterator[Call]:
    """Every list of texts by its values, as an outsider would join a group that others are in already."""
    for urn, aspect, document in map(told, entries):
        lists: dict[str, list[str]] = {key: [] for key, value in document.items() if isinstance(value, list)}
        operations = [
            {"op": "add", "path": f"/{key}/{quote(str(one), safe=':')}", "value": one}
            for key in lists
            for one in document[key]
            if isinstance(one, str)
        ]
        if operations:
            body = {"arrayPrimaryKeys": lists, "patch": operations}
            yield "patch", f"{V3}/{urn.split(':')[2]}?async=false", [{"urn": urn, aspect: {"value": body}}]


def patched_by_proposals(entries: list[dict[str, Any]]) -> Iterator[Call]:
    proposals = [
        one | {"changeType": "PATCH", "aspect": {"value": json.dumps(adding(told(one)[2]))}} for one in entries
    ]
    yield "post", "/aspects?action=ingestProposalBatch", {"proposals": proposals}
    for one in proposals:
        yield "post", "/aspects/?action=ingestProposal", {"proposal": one}


def created_if_new(entries: list[dict[str, Any]]) -> Iterator[Call]:
    for change in ("CREATE", "CREATE_ENTITY"):
        made = [one | {"changeType": change, "headers": {"If-None-Match": "*"}} for one in entries]
        yield "post", "/aspects?action=ingestProposalBatch", {"proposals": made}


def as_snapshots(entries: list[dict[str, Any]]) -> Iterator[Call]:
    for urn, aspect, document in map(told, entries):
        snapshot = {"urn": urn, "aspects": [{pegasus_names.full_name(aspect): document}]}
        value = {"com.linkedin.metadata.snapshot.AnySnapshot": snapshot}
        yield "post", "/entities?action=ingest", {"entity": {"value": value}}


WAYS: dict[str, Way] = {
    "written": written,
    "written one by one": written_one_by_one,
    "patched": patched,
    "patched by keys": patched_by_keys,
    "patched by proposals": patched_by_proposals,
    "created if new": created_if_new,
    "as snapshots": as_snapshots,
}


def send(caller, call: Call):
    method, path, body = call
    return caller.client.generic(method.upper(), path, json.dumps(body), content_type="application/json")


@pytest.mark.parametrize("attempt", WRITES)
@pytest.mark.parametrize("way", WAYS)
def test_an_outsider_gains_nothing(outsider, settings, way, attempt):
    before = standing()
    one = WRITES[attempt]
    # With the switch off the way in is the same for all, so one way of each kind says it.
    is_open = attempt not in ORDINARY and way in ("written", "patched by proposals")
    for is_guarded in (True, False) if is_open else (True,):
        settings.REST_API_AUTHORIZATION = is_guarded
        for call in WAYS[way]([one]):
            answer = send(outsider, call)
            # What cannot be patched into what is there says so; what could be is forbidden.
            refused = {400, 403} if attempt in IMPOSSIBLE or "patched" in way else {403}
            assert answer.status_code in refused, (call, answer.content)
        assert standing() == before


@pytest.mark.parametrize("attempt", WRITES)
def test_nothing_of_a_batch_is_written_with_something_forbidden_in_it(outsider, attempt):
    before = standing()
    one = WRITES[attempt]
    for entries in ([HARMLESS, one], [one, HARMLESS]):
        for way in (patched_by_proposals, created_if_new):
            call = next(way(entries))
            assert send(outsider, call).status_code in (400, 403), call
    urn, aspect, document = told(one)
    mixed = [{"urn": urn, aspect: {"value": document}, "madeUp": {"value": {}}}]
    assert send(outsider, ("post", f"{V3}/{urn.split(':')[2]}?async=false", mixed)).status_code in (400, 403)
    assert standing() == before


def test_what_is_harmless_goes_through_in_every_way(outsider):
    """The ways are ways: they bring in what may be written."""
    for way in ("written", "written one by one", "patched", "patched by proposals", "as snapshots"):
        statuses = [send(outsider, call).status_code for call in WAYS[way]([HARMLESS])]
        assert set(statuses) & {200, 202}, way
        assert not set(statuses) - {200, 202, 400}, way


GUARDED = ["urn:li:dataHubSecret:x", "urn:li:dataHubAccessToken:x", "urn:li:inviteToken:x"]
TARGETS = ["urn:li:dataHubPolicy:7", "urn:li:dataHubPolicy:0", ADMIN, ADMINS, ROOT, *GUARDED]
ASPECTS = ["dataHubPolicyInfo", "roleMembership", "corpUserInfo", "corpGroupInfo", "dataHubRoleInfo", "status"]


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize("urn", TARGETS)
def test_an_outsider_deletes_nothing(outsider, settings, urn, is_guarded):
    settings.REST_API_AUTHORIZATION = is_guarded
    before = standing()
    type_ = urn.split(":")[2]
    paths = [f"{V3}/{type_}/{urn}", f"{V3}/{type_.lower()}/{quote(urn, safe='')}"]
    paths += [f"{V3}/{type_}/{urn}/{aspect}" for aspect in ASPECTS]
    paths += [f"{V3}/{type_}/{urn}?aspects={','.join(ASPECTS)}", f"{V3}/{type_}/{urn}?aspects=status"]
    for path in paths:
        assert outsider.client.delete(path).status_code in (400, 403), path
    for action in ("delete", "deleteReferences"):
        assert outsider.post(f"/entities?action={action}", {"urn": urn}).status_code == 403
    assert standing() == before


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize("urn", GUARDED)
def test_an_outsider_takes_no_secret_away_by_its_key(outsider, root, settings, urn, is_guarded):
    """A proposal that deletes the key aspect deletes the entity, with all that a DELETE of OpenAPI would."""
    type_ = urn.split(":")[2]
    assert root.write(proposal(urn, "madeUp", {})).status_code == 200
    settings.REST_API_AUTHORIZATION = is_guarded
    before = standing()
    for aspect in (f"{type_}Key", "madeUp"):
        deletion = proposal(urn, aspect, None, changeType="DELETE")
        for batch in ([deletion], [deletion, deletion]):
            answer = outsider.write(*batch)
            assert answer.status_code == 403, (aspect, answer.content)
    assert standing() == before


def test_nobody_joins_by_taking_references_away(outsider):
    """Taking himself, or what he may write, out of the documents of others changes nobody's power either."""
    before = standing()
    for urn in (ME, ADMINS, ADMIN):
        assert outsider.post("/entities?action=deleteReferences", {"urn": urn}).status_code == 403
    assert standing() == before


def test_a_patch_of_ones_own_profile_changes_the_profile_and_no_address(outsider):
    mine = f"{V3}/corpuser/{ME}/corpUserEditableInfo?async=false"
    title = [{"op": "add", "path": "/title", "value": "Owner of all"}]
    assert send(outsider, ("patch", mine, {"patch": title})).status_code == 200
    before = standing()
    for email in ("datahub@example.com", ""):
        address = [{"op": "add", "path": "/email", "value": email or "root@example.com"}]
        assert send(outsider, ("patch", mine, {"patch": address})).status_code == 403
    assert standing() == before
