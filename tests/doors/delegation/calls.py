"""One caller of bounded delegation, and every way to send something."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.doors.delegation.world import GROUP, ROLE, USER, World

JSON = "application/json"


@dataclass(frozen=True)
class Calling:
    """One caller and one privilege, and every way to send something."""

    world: World
    name: str
    privilege: str

    def user(self, prefix: str) -> str:
        return f"{USER}{prefix}-{self.privilege}"

    def group(self, prefix: str) -> str:
        return f"{GROUP}{prefix}-{self.privilege}"

    @property
    def role(self) -> str:
        return f"{ROLE}role-{self.privilege}"

    def api(self, method: str, path: str, body: object) -> Any:
        return self.world.tokens[self.name].generic(
            method, f"/api/v1/{path}", json.dumps(body), content_type=JSON, headers={"accept": JSON}
        )

    def add_members(self, *members: str) -> Any:
        """Put these into the group that holds the privilege, by the API."""
        return self.api("POST", f"groups/{quote_urn(self.group('in'))}/members/", {"members": members})

    def page(self, path: str, **posted: object) -> Any:
        return self.world.pages[self.name].post(path, posted)

    def token_page(self, owner: str) -> Any:
        """Make a token of this account by the page."""
        return self.page(f"/settings/tokens/new?owner={quote_urn(owner)}", name="x", duration="ONE_DAY")

    def gms(self, *proposals: dict[str, Any]) -> Any:
        client = self.world.tokens[self.name]
        if len(proposals) == 1:
            body: object = {"proposal": proposals[0], "async": "false"}
            return client.post("/aspects?action=ingestProposal", json.dumps(body), content_type=JSON)
        body = {"proposals": proposals, "async": "false"}
        return client.post("/aspects?action=ingestProposalBatch", json.dumps(body), content_type=JSON)

    def snapshot(self, urn: str, kind: str, **aspects: object) -> Any:
        body = {"entity": {"value": {kind: {"urn": urn, "aspects": [{key: value} for key, value in aspects.items()]}}}}
        return self.world.tokens[self.name].post("/entities?action=ingest", json.dumps(body), content_type=JSON)

    def openapi(self, type_: str, urn: str, **aspects: object) -> Any:
        body = [{"urn": urn, **{name: {"value": value} for name, value in aspects.items()}}]
        client = self.world.tokens[self.name]
        return client.post(f"/openapi/v3/entity/{type_}?async=false", json.dumps(body), content_type=JSON)

    def patch(self, urn: str, aspect: str, operations: list[dict[str, object]]) -> Any:
        client = self.world.tokens[self.name]
        body = [{"urn": urn, aspect: {"value": {"patch": operations, "arrayPrimaryKeys": {}}}}]
        return client.generic("PATCH", "/openapi/v3/entity/corpuser?async=false", json.dumps(body), content_type=JSON)

    def graphql(self, query: str, **variables: object) -> Any:
        body = json.dumps({"query": query, "variables": variables})
        return self.world.tokens[self.name].post("/api/graphql", body, content_type=JSON)

    def scim_call(self, method: str, path: str, body: object) -> Any:
        client = self.world.tokens[self.name]
        return client.generic(method, f"/scim/v2{path}", json.dumps(body), content_type="application/scim+json")

    def scim_id(self, urn: str) -> str:
        return self.world.scim[urn]

    def invitation(self) -> str:
        made = self.api("POST", "invite-tokens/", {})
        assert made.status_code == 201, made.content
        return str(made.json()["token"])


def quote_urn(urn: str) -> str:
    """Return a URN as a part of an address."""
    return quote(urn, safe="")


def refusal_of(answer: Any, form: str) -> tuple[str, list[dict[str, object]] | None]:
    """Return the words of a refusal, checked to be in the form of its door, and what it lists as missing."""
    if form == "graphql":
        (error,) = answer.json()["errors"]
        assert error["extensions"]["code"] == 403, answer.content
        return error["message"], None
    assert answer.status_code == 403, (answer.status_code, answer.content)
    if form == "api":
        assert answer["Content-Type"] == "application/problem+json"
        return answer.json()["detail"], answer.json()["missing"]
    if form == "gms":
        return answer.json()["message"], None
    if form == "scim":
        assert answer["Content-Type"] == "application/scim+json"
        return answer.json()["detail"], None
    assert answer["Content-Type"].startswith("text/html")
    return answer.content.decode(), None


def has_passed(answer: Any, form: str) -> bool:
    """Whether an answer is in the form that its door has for what was done."""
    if form == "graphql":
        return answer.status_code == 200 and "errors" not in answer.json()
    return answer.status_code in (200, 201, 204, 302)


Path = Callable[[Calling], Any]
#: Path → (who calls, the form of a refusal, what is called).
Paths = dict[str, tuple[str, str, Path]]
