"""What the product offers, as sorted lines: addresses and their answers, documents of its APIs, migrations, metrics."""

import hashlib
import io
import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import ResolverMatch, URLPattern, get_resolver
from graphql import build_client_schema, get_introspection_query, print_schema

from tests.goldens import product, world

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

#: Methods by which pages are asked; programs use all.
PAGE_METHODS = ("GET", "POST")

#: Whose answers the table of addresses has.
ASKING = ("root", "outsider", "anonymous")

#: Documents that each call makes anew, by whatever method.
MADE_ANEW = {"/api/v1/openapi.json"}

#: What stands for a part of an address: by a word of the address for URNs, by the name of the part for others.
URNS = {
    "policies": "urn:li:dataHubPolicy:sales-domain-team",
    "groups": "urn:li:corpGroup:sales-analytics",
    "external-roles": "urn:li:role:none",
    "roles": "urn:li:dataHubRole:Reader",
    "domain": "urn:li:domain:sales",
    "": "urn:li:corpuser:jenny",
}
NAMES = {"username": "jenny", "kind": "effective_access", "table": "people", "entity_type": "domain"}
RUN = "00000000-0000-0000-0000-000000000002"


def list_routes() -> list[tuple[str, URLPattern]]:
    """Return the path of every address of the product and its pattern, in order."""
    found = [(path, part) for path, part in product.list_routes(get_resolver()) if not path.startswith("admin/")]
    return sorted(found, key=lambda one: (one[0], one[1].name or ""))


def list_addresses() -> Iterator[str]:
    """Yield every address with its name."""
    for path, part in list_routes():
        yield f"/{path}  {part.name or '-'}"


def list_channels() -> Iterator[str]:
    """Yield the channel that records name for what comes in by each address."""
    for path, part in list_routes():
        yield f"/{path}  {product.get_channel(_match(path, part))}"


def list_access() -> Iterator[str]:
    """Yield what everybody gets by each address and method without a body; nothing that is written stays.

    What root does not find, or not by this method, nobody else is asked about.
    """
    clients = {}
    for person in ASKING:
        headers = {"authorization": f"Bearer {world.issue_token(person)}"} if world.PEOPLE[person] else {}
        clients[person] = (world.sign_in(person), Client(headers=headers, raise_request_exception=False))
    yield f"methods: {' '.join(METHODS)} (pages: {' '.join(PAGE_METHODS)}); people: {' '.join(ASKING)}"
    for path, part in list_routes():
        is_page = product.get_channel(_match(path, part)) == "pages"
        for address in fill_in(path, part):
            cells = []
            for method in ("GET",) if address in MADE_ANEW else PAGE_METHODS if is_page else METHODS:
                answers: list[str] = []
                for person in ASKING:
                    answers.append(_answer(clients[person][not is_page], method, address))
                    if answers[0] in {"404", "405"}:
                        break
                cells.append(" ".join(answers))
            yield f"{address}  {' | '.join(cells)}"


def _match(path: str, part: URLPattern) -> ResolverMatch:
    return ResolverMatch(part.callback, (), {}, app_names=["admin"] if path.startswith("admin/") else [])


def _answer(client: Client, method: str, address: str) -> str:
    with transaction.atomic():
        answer = client.generic(method, address, b"", content_type="application/json")
        if hasattr(answer, "streaming_content"):
            answer.close()
        transaction.set_rollback(True)
    return str(answer.status_code)


def fill_in(path: str, part: URLPattern) -> list[str]:
    """Return the addresses of a pattern, each part that varies filled by what stands for it."""
    ways = [way for ways, *_ in get_resolver().reverse_dict.getlist(part.name or part.callback) for way in ways]
    urn = next(urn for word, urn in URNS.items() if word in path)
    found = []
    for template, names in ways:
        values = {
            name: urn if "urn" in name else RUN if name == "identifier" else NAMES.get(name, "1") for name in names
        }
        found.append(f"/{template % values}")
    return sorted(found)


def print_openapi() -> str:
    """Return the document of the API."""
    printed = io.StringIO()
    call_command("spectacular", format="openapi-json", stdout=printed)
    return json.dumps(json.loads(printed.getvalue()), indent=1, sort_keys=True)


def print_graphql() -> str:
    """Return the schema that a client of the GraphQL address is told, in the language of schemas."""
    client = Client(headers={"authorization": f"Bearer {world.issue_token('root')}"})
    query = {"query": get_introspection_query(descriptions=True)}
    answer = client.post("/api/graphql", json.dumps(query), content_type="application/json")
    assert answer.status_code == HTTPStatus.OK, answer.content
    return print_schema(build_client_schema(answer.json()["data"]))


def list_metrics() -> list[str]:
    """Return names, types and meanings of the metrics of the product, with the labels of those that were counted."""
    answer = Client().get("/metrics")
    assert answer.status_code == HTTPStatus.OK
    text = answer.content.decode()
    described = [line for line in text.splitlines() if re.match(r"# (HELP|TYPE) authz", line)]
    labels = {
        f"{name} {', '.join(re.findall(r'([a-z_]+)=', labels))}"
        for name, labels in re.findall(r"^(authz[a-z_]+)\{(.*)\} ", text, re.MULTILINE)
    }
    return sorted([*described, *labels])


def list_files() -> Iterator[str]:
    """Yield the sha256 of the sample catalog."""
    yield f"{world.SAMPLE.name} {hashlib.sha256(Path(world.SAMPLE).read_bytes()).hexdigest()}"
