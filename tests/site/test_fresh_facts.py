"""Two real web processes that keep what they looked up: who is in a group, and what is tagged, is felt by both."""

import urllib.parse
from collections.abc import Iterator

import pytest

from tests.clients.installations import Installation
from tests.site import carriers
from tests.site.test_processes import ASKED, LOOKS, POLICY, call

TAGGED = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
TAG = "urn:li:tag:open"
JO = "urn:li:corpuser:jo"
TEAM = "urn:li:corpGroup:team"

QUESTION = {"actor": JO, "privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": TAGGED}}


@pytest.fixture(params=list(carriers.CARRIERS), scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Two web processes; what the team may do depends on a membership and on a tag."""
    with carriers.running(request.param, tmp_path_factory.mktemp("site")) as found:
        call(found, "users/", {"username": "jo"})
        call(found, "groups/", {"id": "team", "name": "team"})
        criteria = [{"field": "TAG", "values": [TAG]}]
        document = POLICY | {
            "type": "METADATA",
            "privileges": ["EDIT_ENTITY_TAGS"],
            "actors": {"groups": [TEAM]},
            "resources": {"filter": {"criteria": criteria}},
        }
        call(found, "policies/", {"family": "datahub", "document": document})
        yield found


def told(site: Installation) -> str:
    answer, _ = call(site, "authorize", QUESTION)
    return str(answer["decision"])


def settles(site: Installation, decision: str) -> bool:
    """Whether both processes come to answer so, and none of them goes back to the other answer."""
    seen = [told(site) for _ in range(ASKED)]
    for _ in range(LOOKS):
        if seen[-ASKED:] == [decision] * ASKED:
            return True
        seen.append(told(site))
    return False


def tag(site: Installation, *tags: str) -> None:
    aspects = {"globalTags": {"tags": [{"tag": one} for one in tags]}}
    path = f"entities/{urllib.parse.quote(TAGGED, safe='')}/"
    call(site, path, {"aspects": aspects}, "PATCH")


def member(site: Installation, verb: str) -> None:
    call(site, f"groups/{urllib.parse.quote(TEAM, safe='')}/members/", {"members": [JO]}, verb)


def test_a_membership_and_a_tag_are_felt_by_every_process(site: Installation) -> None:
    call(site, "entities/", {"type": "dataset", "urn": TAGGED, "aspects": {}})
    assert settles(site, "DENY")
    member(site, "POST")
    tag(site, TAG)
    assert settles(site, "ALLOW")
    tag(site)
    assert settles(site, "DENY")
    tag(site, TAG)
    assert settles(site, "ALLOW")
    member(site, "DELETE")
    assert settles(site, "DENY")
