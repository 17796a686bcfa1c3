"""A client of the API, of the standard library alone: copy it, or use it as it is.

    AUTHZSITE_URL=http://127.0.0.1:8000 AUTHZSITE_TOKEN=... python client.py

asks who may tag a dashboard, gives Jenny the privilege by a policy, asks again, and takes the policy away.
"""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urljoin

#: Answers after which the same call may go well later; nothing was stored.
_LATER = (429, 503)


class Refused(Exception):
    """The site said no; `problem` is its application/problem+json: `detail`, `errors`, `missing`."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.status: int = problem["status"]
        self.problem = problem
        told = [f"{error['pointer'] or '/'}: {error['detail']}" for error in problem.get("errors", ())]
        super().__init__("; ".join([f"{self.status} {problem['detail']}", *told]))


class Client:
    """One caller: the address of the site and a token.

    After a write of policies, questions ask for an answer from that version or a later one, whichever process answers.
    """

    def __init__(self, address: str, token: str, *, timeout: float = 30, attempts: int = 4) -> None:
        self.address = address.rstrip("/") + "/"
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.timeout = timeout
        self.attempts = attempts
        self.version: int | None = None

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return what a call answers, None where that is nothing; raises Refused, and OSError where nobody answers."""
        data = None if body is None else json.dumps(body).encode()
        url = urljoin(self.address, path)
        for attempt in range(1, self.attempts + 1):
            request = urllib.request.Request(url, data, self.headers | headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                    if version := answer.headers.get("Policy-Version"):
                        self.version = int(version)
                    text = answer.read()
                    return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                problem = json.loads(error.read())
                if error.code not in _LATER or attempt == self.attempts:
                    raise Refused(problem) from None
                time.sleep(float(error.headers.get("Retry-After", attempt)))
        raise AssertionError("unreachable")

    def decide(
        self, privilege: str, urn: str | None = None, *, actor: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """Return the decision with its reasons; without an actor it is about the caller."""
        question = {"privilege": privilege, **more}
        if urn is not None:
            question["resource"] = {"urn": urn}
        if actor is not None:
            question["actor"] = actor
        answer: dict[str, Any] = self.call("POST", "api/v1/authorize", self._of_version(question))
        return answer

    def allows(self, privilege: str, urn: str | None = None, *, actor: str | None = None) -> bool:
        """Whether the actor may; a site that cannot say raises, so nothing is let pass by mistake."""
        return bool(self.decide(privilege, urn, actor=actor)["decision"] == "ALLOW")

    def decide_many(self, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return decisions in order, up to 10,000; a question that makes no sense has `error` in its place."""
        answer = self.call("POST", "api/v1/authorize/batch", self._of_version({"questions": questions}))
        decisions: list[dict[str, Any]] = answer["decisions"]
        return decisions

    def who(self, privilege: str, urn: str) -> dict[str, Any]:
        """Return who may: users, groups and roles by URN, and whether everybody."""
        found: dict[str, Any] = self.call("POST", "api/v1/who", {"privilege": privilege, "resource": {"urn": urn}})
        return found

    def listed(self, path: str) -> Iterator[dict[str, Any]]:
        """Go through a list to its end, page by page: `listed("api/v1/users/?page_size=200")`."""
        following: str | None = path
        while following:
            page = self.call("GET", following)
            yield from page["results"]
            following = page["next"]

    def put_policy(self, identifier: str, document: dict[str, Any], *, family: str = "datahub") -> str:
        """Store a policy under an id of one's own, made or replaced; its URN."""
        urn = f"urn:li:dataHubPolicy:{identifier}"
        body = {"urn": urn, "family": family, "document": document}
        try:
            self.call("POST", "api/v1/policies/", body)
        except Refused as refusal:
            if refusal.status != 409:
                raise
            # With the version that is replaced: an edit of somebody else meanwhile is refused (412), not overwritten.
            self.call("PUT", self.path_of(urn), body, **{"If-Match": self.version_of(urn)})
        return urn

    def version_of(self, urn: str) -> str:
        """Return the version of a policy as If-Match wants it."""
        return f'"{self.call("GET", self.path_of(urn))["version"]}"'

    def path_of(self, urn: str) -> str:
        """Return the path of a policy."""
        return f"api/v1/policies/{quote(urn, safe='')}/"

    def _of_version(self, body: dict[str, Any]) -> dict[str, Any]:
        return body if self.version is None else body | {"at_least_version": self.version}


def main() -> None:
    """Show it on the sample company, or on any other."""
    client = Client(os.environ["AUTHZSITE_URL"], os.environ["AUTHZSITE_TOKEN"])
    jenny, dashboard = "urn:li:corpuser:jenny", "urn:li:dashboard:(looker,sales.of_the_example)"
    document = {
        "displayName": "Jenny tags a dashboard",
        "description": "Made by an example",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"users": [jenny]},
        "resources": {"filter": {"criteria": [{"field": "URN", "values": [dashboard]}]}},
    }
    print("before:", client.decide("EDIT_ENTITY_TAGS", dashboard, actor=jenny)["decision"])
    urn = client.put_policy("example-client", document)
    print("with the policy:", client.decide("EDIT_ENTITY_TAGS", dashboard, actor=jenny)["decision"])
    print("who may:", jenny in client.who("EDIT_ENTITY_TAGS", dashboard)["users"])
    client.call("DELETE", client.path_of(urn), **{"If-Match": client.version_of(urn)})
    print("after:", client.decide("EDIT_ENTITY_TAGS", dashboard, actor=jenny)["decision"])
    print("users:", sum(1 for _ in client.listed("api/v1/users/?page_size=200")))


if __name__ == "__main__":
    main()
