"""Builders: a world of users, entities and policies in ten lines, and the ways it reaches an engine.

A `World` is the raw data that `tests.oracle` reads. `actor`, `resource`, `snapshot` and `relatives` translate it for
the engine; they close hierarchies by repeated union, so that the oracle, which walks, and they share no mistake.

Names are short in tests: `steward` is a user, `dataset:orders` a dataset; see `urn`.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from policies.engine import model, selectors
from policies.engine.errors import InvalidPolicy
from policies.engine.families import datahub, vocabulary
from policies.engine.named_actors import find_named_actors
from policies.engine.postings import Postings
from policies.engine.selectors import Owner, Resource
from policies.engine.snapshot import Snapshot
from tests import oracle

ROOT = "urn:li:corpuser:datahub"
ANY_SUBRESOURCE = "urn:li:allEntities:all"

_CAST = {"root": ROOT, "system": oracle.SYSTEM_ACTOR, "any": ANY_SUBRESOURCE}
_SHAPES = {
    "user": "urn:li:corpuser:{}",
    "group": "urn:li:corpGroup:{}",
    "role": "urn:li:dataHubRole:{}",
    "ownership": "urn:li:ownershipType:__system__{}",
    "dataset": "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)",
    "dashboard": "urn:li:dashboard:(looker,{})",
    "chart": "urn:li:chart:(looker,{})",
    "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,{})",
    "term": "urn:li:glossaryTerm:{}",
    "node": "urn:li:glossaryNode:{}",
    "product": "urn:li:dataProduct:{}",
}

_POLICY = "urn:li:dataHubPolicy:"
_BOOT_POLICIES = Path(__file__).parents[1] / "policies" / "fixtures" / "boot_policies.json"

#: Which facet each list of a raw entity yields, and for which type of entity it holds the entity itself (a.4).
_FACETS = {
    selectors.DOMAIN: ("domains", ("domain",)),
    selectors.CONTAINER: ("containers", ("container",)),
    selectors.GLOSSARY: ("terms", ("glossaryTerm", "glossaryNode")),
    selectors.TAG: ("tags", ()),
    selectors.DATA_PLATFORM_INSTANCE: ("instances", ("dataPlatformInstance",)),
}
#: Fields of the engine's resources that come from elsewhere.
_OTHERS = (selectors.OWNER, selectors.GROUP_MEMBERSHIP)


def urn(name: str) -> str:
    """Spell a short name out: `jo`, `group:x`, `dataset:x`, `field:x.column`, `any` (some tag); a URN stays one."""
    if name.startswith("urn:"):
        return name
    if name in _CAST:
        return _CAST[name]
    kind, _, rest = name.partition(":")
    if not rest:
        return _SHAPES["user"].format(kind)
    if kind == "field":
        table, _, column = rest.partition(".")
        return f"urn:li:schemaField:({urn('dataset:' + table)},{column})"
    return _SHAPES.get(kind, f"urn:li:{kind}:{{}}").format(rest)


def urns(names: Iterable[str], kind: str = "") -> list[str]:
    """Spell names out; `kind` is put before those that name none."""
    return [urn(name if ":" in name or not kind else f"{kind}:{name}") for name in names]


def document(**changes: object) -> dict:
    """Return a valid active metadata policy without actors, privileges or resources, with these fields changed."""
    return {
        "displayName": "A policy",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [],
        "actors": {},
        "editable": True,
    } | changes


def criterion(name: str, *values: str, condition: str | None = None) -> dict:
    """Return one criterion of a filter; without `condition` the document does not say one."""
    said = {} if condition is None else {"condition": condition}
    return {"field": name, **said, "values": list(values)}


def matching_all(*criteria: dict, constraints: Iterable[dict] | None = None) -> dict:
    """Return a resources block with a filter of these criteria, and constraints on sub-resources when given."""
    block: dict = {"filter": {"criteria": list(criteria)}}
    if constraints is not None:
        block["privilegeConstraints"] = {"criteria": list(constraints)}
    return block


def boot_policies() -> list[tuple[str, dict]]:
    """Return DataHub's default policies as they are shipped; generated ones hold every privilege of their kind."""
    registry = vocabulary.load_datahub()
    generated = {"platform": registry.platform_privileges(), "metadata": registry.metadata_privileges()}
    found = []
    for entry in json.loads(_BOOT_POLICIES.read_text(encoding="utf-8")):
        if "family" in entry:
            continue
        names = [privilege.name for privilege in generated.get(entry.get("generated"), ())]
        found.append((entry["urn"].removeprefix(_POLICY), entry["info"] | ({"privileges": names} if names else {})))
    return found


def denying(raw: dict) -> dict:
    """Return the policy that denies what the document allows."""
    return raw | {"effect": "DENY"}


def _empty() -> dict:
    return {
        "users": [],
        "suspended": [],
        "groups": [],
        "memberships": [],
        "roles": [],
        "entities": {},
        "parents": {},
        "known": {},
        "action": {},
    }


@dataclass
class World:
    """Users, entities and policies as raw data; `raw` has the shape that `tests.oracle` describes."""

    raw: dict = field(default_factory=_empty)
    policies: list[tuple[str, dict]] = field(default_factory=list)

    # -- building ---------------------------------------------------------------------------------------------------

    def user(
        self, name: str, *, groups: Iterable[str] = (), roles: Iterable[str] = (), is_suspended: bool = False
    ) -> str:
        """Add a user, its memberships and its roles."""
        who = urn(name)
        self.raw["users"].append(who)
        self.raw["suspended"].extend([who] if is_suspended else [])
        self.raw["memberships"].extend([who, group] for group in urns(groups, "group"))
        self.raw["roles"].extend([who, role] for role in urns(roles, "role"))
        return who

    def group(self, name: str, *, roles: Iterable[str] = ()) -> str:
        """Add a group and its roles."""
        (group,) = urns([name], "group")
        self.raw["groups"].append(group)
        self.raw["roles"].extend([group, role] for role in urns(roles, "role"))
        return group

    def entity(
        self,
        name: str,
        *,
        owners: Iterable[str] = (),
        domains: Iterable[str] = (),
        containers: Iterable[str] = (),
        terms: Iterable[str] = (),
        tags: Iterable[str] = (),
        instances: Iterable[str] = (),
        subjects: Iterable[str] = (),
    ) -> str:
        """Add an entity. An owner is `name` or `name/ownership type`."""
        known = urn(name)
        self.raw["entities"][known] = {
            "type": known.split(":")[2],
            "owners": [_ownership(owner) for owner in owners],
            "domains": urns(domains, "domain"),
            "containers": urns(containers, "container"),
            "terms": urns(terms, "term"),
            "tags": urns(tags, "tag"),
            "instances": urns(instances, "instance"),
            "subjects": urns(subjects),
            "properties": {},
        }
        return known

    def describe(self, name: str, **properties: str) -> None:
        """Give an entity properties."""
        self.raw["entities"][urn(name)]["properties"] |= {key: [value] for key, value in properties.items()}

    def knows(self, name: str, **properties: str) -> None:
        """Note properties of a user."""
        self.raw["known"].setdefault(urn(name), {}).update({key: [value] for key, value in properties.items()})

    def under(self, child: str, parent: str) -> None:
        """Put a domain, container, term or term group under another."""
        self.raw["parents"][urn(child)] = urn(parent)

    def policy(self, name: str, document: dict) -> None:
        """Add a policy under a short id."""
        self.policies.append((name, document))

    def having(self, policies: Iterable[tuple[str, dict]]) -> "World":
        """Return the same world with other policies."""
        return replace(self, policies=list(policies))

    # -- for the engine ---------------------------------------------------------------------------------------------

    def actor(self, who: str) -> model.Actor:
        """Return the engine's actor: groups, and roles of its own and of its groups."""
        groups = frozenset(group for user, group in self.raw["memberships"] if user == who)
        holders = groups | {who}
        roles = frozenset(role for holder, role in self.raw["roles"] if holder in holders)
        told = [("ACTOR", self.raw.get("known", {}).get(who, {})), ("ACTION", self.raw.get("action", {}))]
        circumstances = frozenset(
            (f"{party}.PROPERTY.{name}", value)
            for party, found in told
            for name, values in found.items()
            for value in values
        )
        return model.Actor(who, groups, roles, who not in self.raw["suspended"], circumstances)

    @property
    def properties(self) -> frozenset[str]:
        """The fields of all properties that entities have, and of those that policies test."""
        found = {name for entity in self.raw["entities"].values() for name in entity.get("properties", ())}
        return frozenset(f"PROPERTY.{name}" for name in found) | {
            one["field"] for _, raw in self.policies for one in _criteria(raw) if one["field"].startswith("PROPERTY.")
        }

    def resource(self, name: str = "", type: str | None = None, fields: Iterable[str] | None = None) -> Resource:
        """Return the engine's resource with these facets (None: all); without a name, a type alone."""
        entity = self.raw["entities"].get(name, {})
        kind = type or entity.get("type") or name.split(":")[2]
        wanted = {*_FACETS, *self.properties, *_OTHERS} if fields is None else set(fields)
        owners = frozenset(Owner(actor, owner_type) for actor, owner_type in entity.get("owners", ()))
        facets = {facet: self._facet(facet, name, entity) for facet in wanted & _FACETS.keys()}
        for field_name in (one for one in wanted if one.startswith("PROPERTY.")):
            values = entity.get("properties", {}).get(field_name.removeprefix("PROPERTY."), ())
            facets[field_name] = frozenset(values)
        if selectors.OWNER in wanted:
            facets[selectors.OWNER] = frozenset(owner.actor for owner in owners)
        if selectors.GROUP_MEMBERSHIP in wanted:
            is_user = name.startswith("urn:li:corpuser:")
            memberships = self.raw["memberships"] if is_user else ()
            facets[selectors.GROUP_MEMBERSHIP] = frozenset(group for user, group in memberships if user == name)
        return Resource(name, kind, facets, owners if selectors.OWNER in wanted else frozenset())

    def _facet(self, facet: str, name: str, entity: Mapping) -> frozenset[str]:
        key, types_with_itself = _FACETS[facet]
        kind = entity.get("type") or name.split(":")[2] if name else ""
        direct = frozenset({name} if kind in types_with_itself else entity.get(key, ()))
        return self._closed(direct) if facet in selectors.HIERARCHICAL_FIELDS else direct

    def _closed(self, nodes: frozenset[str]) -> frozenset[str]:
        parents = self.raw["parents"]
        while True:
            wider = nodes | {parents[node] for node in nodes if node in parents}
            if wider == nodes:
                return nodes
            nodes = wider

    def statements(self) -> list[tuple[str, tuple[model.Statement, ...]]]:
        """Return each policy's URN and what it compiles to. Only what would be stored goes through `parse`."""
        return [(f"{_POLICY}{name}", compiled(name, raw)) for name, raw in self.policies]

    def snapshot(self, version: int = 1) -> Snapshot:
        """Return a snapshot of all policies and of what holds without being stored."""
        return Snapshot.build(version, [*self.statements(), *datahub.implicit_policies()])

    def postings(self) -> Postings:
        """Return the posting of every facet of every entity, hierarchies closed."""
        names = sorted(self.raw["entities"])
        resources = [self.resource(name) for name in names]
        rows = []
        for number, found in enumerate(resources):
            rows += [(number, facet, value, "") for facet, values in found.facets.items() for value in values]
            rows += [(number, selectors.OWNER, owner.actor, owner.type) for owner in found.owners]
        fields = {*_FACETS, *self.properties, *_OTHERS}
        return Postings(urns=names, types=[found.type for found in resources], fields=fields, rows=rows)

    def relatives(self, name: str | None, related: Mapping[str, Iterable[str]]) -> dict[str, list[Resource | None]]:
        """Return the resources that stand for each relative a derived operation may name."""
        entity = self.raw["entities"].get(name or "", {})
        known = self.raw["entities"]
        domains = related.get("domains", entity.get("domains", ()))
        sides = {"child": [name] if name else [], "parent": list(related.get("parent", ()))}
        subjects = related.get("subjects", entity.get("subjects", ()))
        found = {
            "self": [name],
            "domains": domains if all(domain in known for domain in domains) else (),
            "assets": related.get("assets", ()),
            "subjects": [_dataset(subject) or subject for subject in subjects],
            **{side: [*ends, *filter(None, map(_dataset, ends))] for side, ends in sides.items()},
        }
        return {
            relative: [self.resource(found_urn) if found_urn else None for found_urn in named]
            for relative, named in found.items()
        }


def compiled(name: str, raw: dict) -> tuple[model.Statement, ...]:
    """Compile one raw policy of a world. A document that `parse` refuses is compiled as an old stored one would be."""
    document = raw
    with suppress(InvalidPolicy):
        document = datahub.parse(raw)
    return datahub.compile(document, model.StatementOrigin(f"{_POLICY}{name}", name))


def name_actors(snapshot: Snapshot, privilege: str, resource: Resource | None) -> dict[str, Any]:
    """Return whom stored policies name for a privilege, in the shape of `oracle.who`."""
    statements = snapshot.list_covering_statements(privilege, resource)
    named = find_named_actors([one for one in statements if one.origin != datahub.VIEW_SELF], resource)

    def by_kind(names: Iterable[str]) -> dict[str, list[str]]:
        return {
            kind: sorted(name for name in names if name.startswith(f"urn:li:{type_}:"))
            for kind, type_ in (("users", "corpuser"), ("groups", "corpGroup"), ("roles", "dataHubRole"))
        }

    return {
        "all_users": selectors.EVERYONE in named.names,
        "all_groups": selectors.IN_ANY_GROUP in named.names,
        **by_kind(named.names),
        "except": by_kind(named.exceptions),
    }


def short(statements: Iterable[model.Statement]) -> list[str]:
    """Return the sorted short ids of the policies that statements come from."""
    view_self = datahub.VIEW_SELF.policy
    policies = {statement.origin.policy for statement in statements}
    return sorted(oracle.SELF_POLICY if name == view_self else name.removeprefix(_POLICY) for name in policies)


def _criteria(raw: dict) -> list[dict]:
    block = raw.get("resources") or {}
    return (block.get("filter") or {}).get("criteria") or []


def _ownership(owner: str) -> list[str]:
    name, _, owner_type = owner.partition("/")
    return [urn(name), urn(f"ownership:{owner_type}") if owner_type else ""]


def _dataset(field_urn: str) -> str | None:
    """Return the dataset that a schema field belongs to, None for anything else."""
    prefix = "urn:li:schemaField:("
    return field_urn.removeprefix(prefix).rpartition("),")[0] + ")" if field_urn.startswith(prefix) else None
