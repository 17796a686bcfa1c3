"""What the scenarios share: a decision point that is asked, people with what is known of them, things and policies."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.doors.conftest import Caller, give, proposal

EVALUATION, EVALUATIONS = "/access/v1/evaluation", "/access/v1/evaluations"
SUBJECT, RESOURCE, ACTION = (f"/access/v1/search/{sought}" for sought in ("subject", "resource", "action"))

Json = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """An enforcement point, and what it learns."""

    caller: Caller
    root: Caller

    def decides(self, subject: Json, action: Json, resource: Json) -> bool:
        """Ask one evaluation."""
        answer = self.caller.post(EVALUATION, {"subject": subject, "action": action, "resource": resource})
        assert answer.status_code == 200, answer.content
        return bool(answer.json()["decision"])

    def decides_all(self, asked: Sequence[tuple[Json, Json, Json]]) -> list[bool]:
        """Ask all in one call."""
        items = [{"subject": subject, "action": action, "resource": resource} for subject, action, resource in asked]
        answer = self.caller.post(EVALUATIONS, {"evaluations": items})
        assert answer.status_code == 200, answer.content
        return [one["decision"] for one in answer.json()["evaluations"]]

    def finds(self, path: str, limit: int = 4, **body: Json) -> list[Json]:
        """Search, and follow the pages."""
        found: list[Json] = []
        token = ""
        while True:
            answer = self.caller.post(path, {**body, "page": {"token": token, "limit": limit}})
            assert answer.status_code == 200, answer.content
            found += answer.json()["results"]
            token = answer.json()["page"]["next_token"]
            if not token:
                assert len({str(one) for one in found}) == len(found)
                return found

    def tell(self, type_: str, properties: Mapping[str, Mapping[str, str]], owners: Mapping[str, str]) -> None:
        """Store things of a type by their ids, with properties and an owner."""
        proposals = [
            proposal(f"urn:li:{type_}:{key}", "structuredProperties", _assigned(properties[key])) for key in properties
        ]
        for key, owner in owners.items():
            ownership = {"owners": [{"owner": f"urn:li:corpuser:{owner}", "type": "DATAOWNER"}]}
            proposals.append(proposal(f"urn:li:{type_}:{key}", "ownership", ownership))
        assert self.root.write(*proposals).status_code == 200


def _assigned(properties: Mapping[str, str]) -> Json:
    return {
        "properties": [
            {"propertyUrn": f"urn:li:structuredProperty:{name}", "values": [{"string": value}]}
            for name, value in properties.items()
        ]
    }


def where(*criteria: tuple[str, str, str]) -> Json:
    """Return a resources block: (field, condition, value) each."""
    listed = [{"field": field, "condition": condition, "values": [value]} for field, condition, value in criteria]
    return {"filter": {"criteria": listed}}


def allow(privileges: Iterable[str], resources: Json, **actors: object) -> None:
    """Store a policy for everybody, unless told for whom."""
    name = hashlib.sha256(repr((actors, resources)).encode()).hexdigest()
    give(name, *privileges, resources=resources, actors=actors or {"allUsers": True})


@pytest.fixture
def point(person: Callable[..., Caller], root: Caller, settings: Any) -> Callable[..., Point]:
    """Make a decision point that knows these actions, by the privileges they need, and these people."""

    def make(actions: Mapping[str, str], people: Mapping[str, Json]) -> Point:
        settings.AUTHZEN_ACTIONS = dict(actions)
        settings.CUSTOM_PRIVILEGES = list(actions.values())
        caller = person("pep", "CHECK_ACCESS", type="PLATFORM")
        told = [
            proposal(f"urn:li:corpuser:{name}", "corpUserInfo", {"active": True, "displayName": name, **info})
            for name, info in people.items()
        ]
        assert root.write(*told).status_code == 200
        return Point(caller, root)

    return make
