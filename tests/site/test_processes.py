"""Two real web processes behind one address: a write is felt by both, in order, and both say so.

They keep what they looked up: who is in a group, and what is tagged, is felt by both, too.
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.clients.installations import Installation
from tests.site import carriers

POLICY = {
    "displayName": "Tries",
    "description": "",
    "type": "PLATFORM",
    "state": "ACTIVE",
    "privileges": ["MANAGE_TAGS"],
    "actors": {"users": ["urn:li:corpuser:nobody"]},
    "editable": True,
}

TAGGED = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
TAG = "urn:li:tag:open"
JO = "urn:li:corpuser:jo"
TEAM = "urn:li:corpGroup:team"

#: What the team may do depends on a membership and on a tag.
POLICY_OF_TEAM = POLICY | {
    "type": "METADATA",
    "privileges": ["EDIT_ENTITY_TAGS"],
    "actors": {"groups": [TEAM]},
    "resources": {"filter": {"criteria": [{"field": "TAG", "values": [TAG]}]}},
}
QUESTION_OF_TEAM = {"actor": JO, "privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": TAGGED}}

#: More than the two processes can share out among themselves to one of them by chance.
ASKED = 40

BATCHES = re.compile(r'authz_http_requests_total\{[^}]*route="[^"]*authorize/batch')

#: How often something is looked at that comes by itself; each look takes a request.
LOOKS = 2000


@pytest.fixture(params=list(carriers.CARRIERS), scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Two web processes that hear of writes in each of the ways there are."""
    with carriers.running(request.param, tmp_path_factory.mktemp("site")) as found:
        yield found


def call(site: Installation, path: str, body: Any = None, verb: str = "") -> tuple[dict[str, Any], Any]:
    """Answer and headers, over a connection of its own, so that either process may get it."""
    request = urllib.request.Request(
        f"{site.address}/api/v1/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {site.token}", "Content-Type": "application/json"},
        method=verb or None,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "null"), answer.headers


def until(site: Installation, found: Callable[[], bool]) -> None:
    """Look until it is so."""
    assert any(found() for _ in range(LOOKS))


def numbers(site: Installation) -> dict[str, float]:
    with urllib.request.urlopen(f"{site.address}/metrics", timeout=30) as answer:
        lines = [line.rpartition(" ") for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_a_write_is_felt_by_every_process_and_never_undone(site: Installation) -> None:
    question = {"privilege": "MANAGE_TAGS", "actor": "urn:li:corpuser:nobody"}
    made, headers = call(site, "policies/", {"family": "datahub", "document": POLICY})
    version = int(headers["Policy-Version"])
    for state, decision in (("INACTIVE", "DENY"), ("ACTIVE", "ALLOW"), ("INACTIVE", "DENY")):
        _, headers = call(site, f"policies/{urllib.parse.quote(made['urn'], safe='')}/", {"state": state}, "PATCH")
        assert int(headers["Policy-Version"]) == version + 1
        version += 1
        for _ in range(ASKED):
            answer, _ = call(site, "authorize", question | {"at_least_version": version})
            assert (answer["decision"], answer["policy_version"]) == (decision, version)


def test_every_process_shows_its_version_though_it_is_asked_nothing(site: Installation) -> None:
    _, headers = call(site, "policies/", {"family": "datahub", "document": POLICY | {"displayName": "Idle"}})
    version = int(headers["Policy-Version"])

    def is_everywhere() -> bool:
        found = {name: value for name, value in numbers(site).items() if name.startswith("authz_snapshot_version{")}
        return len(found) == 2 and set(found.values()) == {version}

    until(site, is_everywhere)

    def is_told() -> bool:
        told, _ = call(site, "status/")
        web = [one["policy_version"] for one in told["processes"] if one["name"].startswith("web-")]
        return web == [version, version]

    until(site, is_told)


def test_one_scrape_sums_up_both_processes(site: Installation) -> None:
    """A process that does not answer the scrape writes its counts by itself a moment later; nothing is counted twice.

    No other test here asks for a batch.
    """

    def count_batches() -> float:
        return sum(value for name, value in numbers(site).items() if BATCHES.match(name))

    assert count_batches() == 0
    for _ in range(ASKED):
        call(site, "authorize/batch", {"questions": [{"privilege": "MANAGE_TAGS"}]})
    until(site, lambda: count_batches() >= ASKED)
    after = numbers(site)
    assert count_batches() == ASKED
    processes = {found[1] for name in after if (found := re.search(r'authz_snapshot_version\{pid="(\d+)"\}', name))}
    assert len(processes) == 2


def test_a_version_that_is_not_there_is_503_with_the_one_that_is(site: Installation) -> None:
    told, _ = call(site, "status/")
    version = told["policy_version"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(site, "authorize", {"privilege": "MANAGE_TAGS", "at_least_version": version + 1000})
    with refused.value as answer:
        assert answer.code == 503
        assert f"the newest is {version}." in json.loads(answer.read())["detail"]


def ask_about_team(site: Installation) -> str:
    answer, _ = call(site, "authorize", QUESTION_OF_TEAM)
    return str(answer["decision"])


def settle(site: Installation, decision: str) -> None:
    """Ask until both processes answer so, and none of them goes back to the other answer; else say what is known."""
    seen = [ask_about_team(site) for _ in range(ASKED)]
    for _ in range(LOOKS):
        if seen[-ASKED:] == [decision] * ASKED:
            return
        seen.append(ask_about_team(site))
    told, _ = call(site, "status/")
    stored, _ = call(site, f"entities/{urllib.parse.quote(TAGGED, safe='')}/")
    pytest.fail(f"{Counter(seen[-ASKED:])} in place of {decision}; {told['processes']}; {stored['aspects']}")


def set_tags(site: Installation, *tags: str) -> None:
    aspects = {"globalTags": {"tags": [{"tag": one} for one in tags]}}
    path = f"entities/{urllib.parse.quote(TAGGED, safe='')}/"
    call(site, path, {"aspects": aspects}, "PATCH")


def change_membership(site: Installation, verb: str) -> None:
    call(site, f"groups/{urllib.parse.quote(TEAM, safe='')}/members/", {"members": [JO]}, verb)


def test_a_membership_and_a_tag_are_felt_by_every_process(site: Installation) -> None:
    call(site, "users/", {"username": "jo"})
    call(site, "groups/", {"id": "team", "name": "team"})
    call(site, "policies/", {"family": "datahub", "document": POLICY_OF_TEAM})
    call(site, "entities/", {"type": "dataset", "urn": TAGGED, "aspects": {}})
    settle(site, "DENY")
    change_membership(site, "POST")
    set_tags(site, TAG)
    settle(site, "ALLOW")
    set_tags(site)
    settle(site, "DENY")
    set_tags(site, TAG)
    settle(site, "ALLOW")
    change_membership(site, "DELETE")
    settle(site, "DENY")
