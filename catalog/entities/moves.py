"""Moves of domains, terms, term groups and containers under another parent."""

from collections.abc import Mapping
from typing import NamedTuple

from catalog import urns
from catalog.access import view_permissions
from catalog.entities.annotations import AnnotationEdit, AspectDocument
from catalog.ingest import hierarchy_closure
from catalog.models import Entity
from policies.engine.model import Actor
from policies.errors import Invalid


class ParentField(NamedTuple):
    """Aspect and key of the parent of an entity, and the type of the parent."""

    aspect: str
    key: str
    parent_type: str


PARENT_FIELDS: Mapping[str, ParentField] = {
    "container": ParentField("container", "container", "container"),
    "domain": ParentField("domainProperties", "parentDomain", "domain"),
    "glossaryNode": ParentField("glossaryNodeInfo", "parentNode", "glossaryNode"),
    "glossaryTerm": ParentField("glossaryTermInfo", "parentNode", "glossaryNode"),
}

#: The aspect that says nothing but the parent; without one there is none.
_ONLY_PARENT_ASPECT = "container"


def set_parent(
    edit: AnnotationEdit, parent: str | None, *, pointer: str, parents: Mapping[str, str | None] | None = None
) -> None:
    """Set the parent of one entity of `PARENT_FIELDS`; None moves it to the top.

    `parents` are those that moves before this one would give. Raises NotFound, Forbidden, and Invalid with `pointer`
    for an unknown parent and for a loop.
    """
    (urn,) = edit.urns
    # Before its place is looked at, which a hidden entity has, too.
    edit.require_stored([urn])
    field = PARENT_FIELDS[urns.entity_type(urn)]
    if parent is not None:
        require_known(parent, field.parent_type, pointer, by=edit.by)
        ancestors = hierarchy_closure.compute_ancestors(nodes=[parent], parents=parents or {})
        if parent == urn or urn in ancestors[parent]:
            raise Invalid.from_problem(code="parent.loop", pointer=pointer, detail="This lies in what is to be moved.")

    def change(document: AspectDocument, _audit_stamp: AspectDocument) -> None:
        if parent is None and field.aspect == _ONLY_PARENT_ASPECT:
            document.clear()
            return
        if not document and field.aspect != _ONLY_PARENT_ASPECT:
            document["name"] = urns.parse(urn).identifier
        document[field.key] = parent
        if parent is None:
            del document[field.key]

    edit.write(field.aspect, change)


def require_known(urn: str, type_: str, pointer: str, *, by: Actor) -> str:
    """Return the URN of a stored entity of a type that the actor may view; raises Invalid with the pointer."""
    problem = urns.find_problem(urn, pointer, (type_,))
    if problem is not None:
        raise Invalid([problem])
    if not Entity.objects.filter(urn=urn).exists() or view_permissions.find_hidden(urns=[urn], by=by):
        raise Invalid.from_problem(code="unknown", pointer=pointer, detail=f"There is no {type_} {urn}.")
    return urn
