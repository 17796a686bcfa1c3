"""What the catalog holds: names and descriptions, and which external roles open what (source 003).

Nothing is told of an entity that the caller may not view; whoever speaks of it names its URN.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ariadne import ObjectType, QueryType

from catalog import queries, urns
from catalog.doors.graphql import nodes
from catalog.doors.graphql.context import Context, Info
from catalog.doors.graphql.entities import stored
from catalog.doors.graphql.nodes import Node
from catalog.queries import external_roles
from catalog.queries.external_roles import ExternalRole
from policies import authority

query = QueryType()
role = ObjectType("Role")
actor = ObjectType("Actor")
#: Types whose entities name external roles, and those that are told of alike beside that.
_OPENED = ("Dataset", "Dashboard", "Container")
_OTHERS = ("DataPlatform", "Chart", "Domain", "Tag", "GlossaryTerm", "GlossaryNode", "DataProduct")
kinds = {name: ObjectType(name) for name in (*_OPENED, *_OTHERS)}

#: Ends of the names of the aspects that describe an entity.
_DESCRIBING = ("Properties", "Info")


@dataclass(frozen=True, slots=True)
class Told:
    """What is stored of an entity: its name, what it is said to be, and the external roles it names."""

    name: str
    description: str | None
    roles: tuple[str, ...]


@query.field("dataset")
def dataset(_root: None, info: Info, *, urn: str) -> Node:
    """Return a dataset. Raises NotFound, and Forbidden where the caller may not view it."""
    return stored(urn, info, "dataset")


@query.field("role")
def external_role(_root: None, info: Info, *, urn: str) -> Node:
    """Return an external role. Raises NotFound."""
    return stored(urn, info, external_roles.TYPE)


def name(node: Node, info: Info) -> str | None:
    """Return what people call the entity."""
    found = _told(node, info)
    return None if found is None else found.name


def exists(node: Node, info: Info) -> bool:
    """Whether it is stored, as far as the caller may know."""
    return _told(node, info) is not None


def properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what the entity is called and said to be."""
    found = _told(node, info)
    return None if found is None else {"name": found.name, "description": found.description}


def platform(node: Node, info: Info) -> Node | None:
    """Return the platform that its URN names."""
    found = urns.parse(node.urn).platform
    return None if found is None else nodes.one(found, info)


def access(node: Node, info: Info) -> dict[str, Any] | None:
    """Return the external roles that open the entity, in the order in which it names them."""
    found = _told(node, info)
    if found is None or not found.roles:
        return None
    return {"roles": [{"role": one, "associatedUrn": node.urn} for one in nodes.many(found.roles, info)]}


for _name, _kind in kinds.items():
    _kind.set_field("name", name)
    _kind.set_field("exists", exists)
    if _name != "DataPlatform":
        _kind.set_field("properties", properties)
    if _name in (*_OPENED, "Chart"):
        _kind.set_field("platform", platform)
    if _name in _OPENED:
        _kind.set_field("access", access)


@role.field("id")
def identifier(node: Node, _info: Info) -> str:
    """Return the part of the URN behind its type."""
    return urns.parse(node.urn).key


@role.field("properties")
def role_properties(node: Node, info: Info) -> Mapping[str, Any] | None:
    """Return what the role is called, what it is for, and where it is asked for."""
    found = _role(node, info)
    if found is None:
        return None
    said = {"description": found.description, "type": found.type, "requestUrl": found.request_url}
    return {"name": found.name} | {key: value or None for key, value in said.items()}


@role.field("actors")
def actors(node: Node, info: Info) -> ExternalRole | None:
    """Return who holds the role."""
    return _role(node, info)


@role.field("isAssignedToMe")
def is_assigned_to_me(node: Node, info: Info) -> bool:
    """Whether the caller holds the role, alone or in a group."""
    found = _role(node, info)
    return found is not None and found.is_mine


@role.field("exists")
def role_exists(node: Node, info: Info) -> bool:
    """Whether somebody described the role."""
    return _told(node, info) is not None


@actor.field("users")
def users(found: ExternalRole, info: Info) -> list[dict[str, Node]]:
    """Return the users that hold a role."""
    return [{"user": one} for one in nodes.many(found.users, info)]


@actor.field("groups")
def groups(found: ExternalRole, info: Info) -> list[dict[str, Node]]:
    """Return the groups that hold a role."""
    return [{"group": one} for one in nodes.many(found.groups, info)]


def _told(node: Node, info: Info) -> Told | None:
    here = info.context
    return here.look_up(node.urn, "catalogue", lambda asked: _catalogue(asked, here))


def _role(node: Node, info: Info) -> ExternalRole | None:
    here = info.context
    return here.look_up(node.urn, "external roles", lambda asked: _external_roles(asked, here))


def _catalogue(asked: Collection[str], here: Context) -> Mapping[str, Told]:
    mine = {urn for urn in asked if urns.type_of(urn) not in urns.PEOPLE_TYPES}
    mine -= queries.hidden(urns=mine, by=here.by)
    documents = queries.documents(urns=sorted(mine))
    names = authority.directory().names(urns=sorted(documents))
    found = {urn: Told(names.get(urn) or urn, _description(said), _roles_of(said)) for urn, said in documents.items()}
    # Noted here, so that the roles of all of them are looked up at once.
    here.note([one for told in found.values() for one in told.roles])
    return found


def _external_roles(asked: Collection[str], here: Context) -> Mapping[str, ExternalRole]:
    mine = [urn for urn in asked if urns.type_of(urn) == external_roles.TYPE]
    found = {one.urn: one for one in external_roles.described(urns=mine, by=here.by)} if mine else {}
    here.note([urn for one in found.values() for urn in (*one.users, *one.groups)])
    return found


def _description(said: Mapping[str, queries.StoredAspect]) -> str | None:
    for one in _describing(said):
        text = one.get("description") or one.get("definition")
        if isinstance(text, str):
            return text
    return None


def _describing(said: Mapping[str, queries.StoredAspect]) -> Iterable[Mapping[str, Any]]:
    # What people wrote goes before what the source delivered.
    ordered = sorted(said.items(), key=lambda item: (not item[0].startswith("editable"), item[0]))
    documents = (one.value for name, one in ordered if name.endswith(_DESCRIBING))
    return (document for document in documents if isinstance(document, dict))


def _roles_of(said: Mapping[str, queries.StoredAspect]) -> tuple[str, ...]:
    if "access" not in said:
        return ()
    named = (entry["urn"] for entry in said["access"].value.get("roles") or ())
    return tuple(dict.fromkeys(named))


BINDABLES = (query, role, actor, *kinds.values())
