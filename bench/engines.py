"""Other ways to answer the questions of a measured world, each translated faithfully and set up as fast as it can be.

Every engine gets its policies and the facts of a question ready-made; what is measured is the answer alone.
"""

import json
from collections.abc import Callable
from typing import Any

import casbin
import cedarpy
from casbin.model import FastModel

from bench.worlds import Asked, Company, Document, actor, closed, containers_of, parent_of, resource
from policies.engine.evaluate import matches
from policies.engine.model import Actor
from policies.engine.selectors import Resource
from tests import oracle

Ask = Callable[[Any], bool]
Engine = tuple[Callable[[Asked], Any], Ask]


def plain_loop(company: Company) -> Engine:
    """Our own compiled statements, one after the other, until one matches."""
    statements = [statement for _, compiled in company.compiled for statement in compiled]
    return Asked.question, (lambda question: any(matches(one, question) for one in statements))


def naive_oracle(company: Company) -> Engine:
    """The judge of the tests on raw documents, in a world that holds the facts of the question and nothing else."""
    policies = company.documents

    def ready(asked: Asked) -> tuple[dict[str, Any], Asked]:
        person, thing = asked.person, asked.thing
        parents = {node: parent_of(node) for node in closed(thing.domain) | closed(thing.schema)}
        world = {
            "memberships": [[person.urn, group] for group in person.groups],
            "roles": [[person.urn, role] for role in person.roles],
            "entities": {
                thing.urn: {
                    "type": thing.type,
                    "owners": [list(owner) for owner in thing.owners],
                    "domains": [thing.domain],
                    "containers": [thing.schema],
                    "tags": list(thing.tags),
                }
            },
            "parents": {thing.urn: thing.schema, **{node: above for node, above in parents.items() if above}},
        }
        return world, asked

    def ask(prepared: tuple[dict[str, Any], Asked]) -> bool:
        world, asked = prepared
        return bool(oracle.authorize(world, policies, asked.person.urn, asked.privilege, asked.thing.urn)[0])

    return ready, ask


# -- Cedar ------------------------------------------------------------------------------------------------------------


def cedar(company: Company) -> Engine:
    """Cedar, its policies parsed once, the entities of a question beforehand.

    Cedar walks all policies it is given, so the host gives it those of the question's type and privilege alone.
    """
    slices: dict[tuple[str, str], cedarpy.PolicySet] = {}

    def ready(asked: Asked) -> tuple[dict[str, Any], cedarpy.PolicySet, cedarpy.Entities]:
        key = asked.thing.type, asked.privilege
        if key not in slices:
            slices[key] = cedarpy.PolicySet.from_str("\n".join(map(_cedar_policy, slice_policies(company, *key))))
        return _cedar_request(asked), slices[key], cedarpy.Entities.from_json_str(json.dumps(_cedar_entities(asked)))

    return ready, lambda prepared: bool(cedarpy.is_authorized(*prepared).allowed)


def slice_policies(company: Company, kind: str, privilege: str) -> list[Document]:
    """Return the documents that list a privilege and do not name other types only."""
    documents = (document for _, document in company.documents if privilege in document["privileges"])
    return [document for document in documents if kind in (types_of(document) or (kind,))]


def types_of(document: Document) -> list[str] | None:
    """Return the types that a document names, None when it names none."""
    criteria = document["resources"]["filter"]["criteria"]
    return next((one["values"] for one in criteria if one["field"] == "TYPE"), None)


def _cedar_policy(document: Document) -> str:
    criteria = [one for one in document["resources"]["filter"]["criteria"] if one["field"] != "TYPE"]
    tests = [_cedar_actors(document["actors"]), *map(_cedar_test, criteria)]
    return f"permit(principal, action, resource) when {{ {' && '.join(tests)} }};"


def _cedar_actors(actors: Document) -> str:
    if actors.get("resourceOwners"):
        types = actors.get("resourceOwnersTypes")
        return "principal in resource.owners" if types is None else f"principal in resource.{_cedar_owner(types[0])}"
    named = [_cedar_uid(urn) for key in ("users", "groups", "roles") for urn in actors.get(key, ())]
    return f"principal in [{', '.join(named)}]"


def _cedar_test(criterion: Document) -> str:
    field, values = criterion["field"], criterion["values"]
    listed = f"[{', '.join(json.dumps(value) for value in values)}]"
    match field, criterion.get("condition", "EQUALS"):
        case "URN", "STARTS_WITH":
            return f"resource.urn like {json.dumps(values[0] + '*')}"
        case "URN", _:
            return f"{listed}.contains(resource.urn)"
        case _, "NOT_EQUALS":
            return f"!(resource.{field}.containsAny({listed}))"
        case _:
            return f"resource.{field}.containsAny({listed})"


def _cedar_request(asked: Asked) -> dict[str, Any]:
    return {
        "principal": {"type": "User", "id": asked.person.urn},
        "action": {"type": "Action", "id": asked.privilege},
        "resource": {"type": asked.thing.type, "id": asked.thing.urn},
        "context": {},
    }


def _cedar_entities(asked: Asked) -> list[dict[str, Any]]:
    person, thing = asked.person, asked.thing
    owners: dict[str, list[Any]] = {"owners": [], "technical_owner": [], "business_owner": [], "data_steward": []}
    for holder, owner_type in thing.owners:
        for name in ("owners", _cedar_owner(owner_type)):
            owners[name].append({"__entity": _cedar_id(holder)})
    facets = {"TAG": thing.tags, "DOMAIN": sorted(closed(thing.domain)), "CONTAINER": sorted(containers_of(thing))}
    return [
        {
            "uid": _cedar_id(person.urn),
            "attrs": {},
            "parents": [_cedar_id(urn) for urn in (*person.groups, *person.roles)],
        },
        {"uid": {"type": thing.type, "id": thing.urn}, "attrs": {"urn": thing.urn, **facets, **owners}, "parents": []},
    ]


def _cedar_owner(owner_type: str) -> str:
    return owner_type.removeprefix("urn:li:ownershipType:__system__")


def _cedar_id(urn: str) -> dict[str, str]:
    kinds = {"corpuser": "User", "corpGroup": "Group", "dataHubRole": "Role"}
    return {"type": kinds[urn.split(":")[2]], "id": urn}


def _cedar_uid(urn: str) -> str:
    known = _cedar_id(urn)
    return f"{known['type']}::{json.dumps(known['id'])}"


# -- casbin -----------------------------------------------------------------------------------------------------------

_MODEL = """
[request_definition]
r = type, act, sub, obj
[policy_definition]
p = type, act, rule
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = applies(r.sub, r.obj, p.rule)
"""

#: Rows are looked up by type and privilege, the first two of a request and of a policy.
_CASBIN_KEY = (0, 1)

_CASBIN_TYPES = ("dataset", "chart", "dashboard", "dataJob", "container")


def fast_casbin(company: Company) -> Engine:
    """casbin's FastEnforcer, its rows found by type and privilege; a rule is one set test in Python on our facts."""
    model = FastModel(_CASBIN_KEY)
    model.load_model_from_text(_MODEL)
    enforcer = casbin.FastEnforcer(model, cache_key_order=_CASBIN_KEY)
    rules = {statement.origin.policy: statement for _, compiled in company.compiled for statement in compiled}

    def applies(person: Actor, thing: Resource, rule: str) -> bool:
        statement = rules.get(rule)
        if statement is None:  # casbin tries the matcher on an empty row when it has none for this type and privilege
            return False
        tokens = statement.actors.tokens
        is_named = not tokens.isdisjoint(person.tokens)
        return (is_named or _owns(person, thing, tokens)) and statement.resources.covers(thing)

    enforcer.add_function("applies", applies)
    for urn, document in company.documents:
        for name in document["privileges"]:
            enforcer.add_policies([[kind, name, urn] for kind in types_of(document) or _CASBIN_TYPES])

    def ready(asked: Asked) -> tuple[str, str, Actor, Resource]:
        return asked.thing.type, asked.privilege, actor(asked.person), resource(asked.thing)

    return ready, lambda prepared: bool(enforcer.enforce(*prepared))


def _owns(person: Actor, thing: Resource, tokens: frozenset[str]) -> bool:
    return any(
        owner.actor in person.holders and ("*owner" in tokens or f"*owner:{owner.type}" in tokens)
        for owner in thing.owners
    )
