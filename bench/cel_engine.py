"""CEL (cel-rust): an expression for a few policies each, compiled once; it is yes when one of them holds.

The host gives it the policies of the question's type and privilege alone, as it does for Cedar.
"""

import importlib
import json
from collections.abc import Iterator
from typing import Any

from bench.engines import Engine, slice_policies
from bench.worlds import Asked, Company, Document, closed, containers_of

#: Policies in one expression: with one each the calls into it cost more, with a hundred the depth of its nesting does.
_TOGETHER = 10


def cel(company: Company) -> Engine:
    """Answer with CEL; facts are maps, in which it looks a value up."""
    module: Any = importlib.import_module("cel")
    slices: dict[tuple[str, str], list[Any]] = {}

    def ready(asked: Asked) -> tuple[list[Any], Any]:
        key = asked.thing.type, asked.privilege
        if key not in slices:
            tests = [_test(document) for document in slice_policies(company, *key)]
            slices[key] = [
                module.compile(" || ".join(tests[start : start + _TOGETHER]))
                for start in range(0, len(tests), _TOGETHER)
            ]
        return slices[key], module.Context(_facts(asked))

    return ready, lambda prepared: any(program.execute(prepared[1]) for program in prepared[0])


def _facts(asked: Asked) -> dict[str, Any]:
    person, thing = asked.person, asked.thing
    owners: dict[str, list[str]] = {"owners": [], "technical_owner": [], "business_owner": [], "data_steward": []}
    for holder, owner_type in thing.owners:
        for name in ("owners", _owner(owner_type)):
            owners[name].append(holder)
    facets = {"TAG": thing.tags, "DOMAIN": closed(thing.domain), "CONTAINER": containers_of(thing)}
    return {
        "actor": dict.fromkeys((person.urn, *person.groups, *person.roles), True),
        "urn": thing.urn,
        **{name: dict.fromkeys(values, True) for name, values in facets.items()},
        **owners,
    }


def _test(document: Document) -> str:
    return f"({' && '.join(_conditions(document))})"


def _conditions(document: Document) -> Iterator[str]:
    actors = document["actors"]
    if actors.get("resourceOwners"):
        types = actors.get("resourceOwnersTypes")
        yield f"{'owners' if types is None else _owner(types[0])}.exists(holder, holder in actor)"
    else:
        yield _any_in("actor", [urn for key in ("users", "groups", "roles") for urn in actors.get(key, ())])
    for criterion in document["resources"]["filter"]["criteria"]:
        if criterion["field"] != "TYPE":
            yield _criterion(criterion)


def _criterion(criterion: Document) -> str:
    field, values = criterion["field"], criterion["values"]
    match field, criterion.get("condition", "EQUALS"):
        case "URN", "STARTS_WITH":
            return f"urn.startsWith({json.dumps(values[0])})"
        case "URN", _:
            return f"urn in {json.dumps(values)}"
        case _, "NOT_EQUALS":
            return f"!{_any_in(field, values)}"
        case _:
            return _any_in(field, values)


def _any_in(name: str, values: list[str]) -> str:
    return f"({' || '.join(f'{json.dumps(value)} in {name}' for value in values)})"


def _owner(owner_type: str) -> str:
    return owner_type.removeprefix("urn:li:ownershipType:__system__")
