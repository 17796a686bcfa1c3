"""What a question about an operation needs: a derived rule, or an entity whose name says what it lies in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policies.engine import families
from policies.engine.errors import InvalidQuestion, Problem, UnknownOperation
from policies.engine.families import cdap_requests
from policies.engine.families.cdap import Resultant
from policies.engine.families.cdap_requests import Said
from policies.engine.requirements import Requirement
from policies.errors import Invalid
from policies.pdp.authorizer import Asked

#: Where the parts stand in a question.
_PLACES = {"entity": "/resource/urn", "parent": "/resource/parent"}
#: What an operation on a named entity may look at beside it.
_LOOKED_AT = ("artifact", "programs")


@dataclass(frozen=True, slots=True)
class Needed:
    """What an operation needs, of what; `resultant` are the grants that it would give to the actor."""

    requirement: Requirement
    resource: Asked | None
    relatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resultant: tuple[Resultant, ...] = ()


def derived(name: str) -> Requirement | None:
    """Return the rule of an operation that is in a family's table, None for one that is asked of a named entity."""
    return next((found for one in families.FAMILIES.values() if (found := one.operations().get(name))), None)


def named(*, question: Mapping[str, Any], resource: Asked | None, actor: str) -> Needed:
    """Return what an operation on a named entity needs. Raises Invalid with every problem."""
    related = question.get("related") or {}
    said = _said(question["operation"], resource, question.get("resource") or {}, related)
    unused = [
        Problem("related.unused", f"/related/{name}", f"{said.operation} does not look at this.")
        for name in related
        if name not in _LOOKED_AT
    ]
    read = _read(said, _PLACES, unused)
    itself = resource
    if read.place is not None:
        itself = None
    elif resource is not None and read.entity is not None:
        itself = replace(resource, urn=read.entity.urn)
    return Needed(read.requirement, itself, read.relatives, read.resultant(actor))


def _said(operation: str, resource: Asked | None, sent: Mapping[str, Any], related: Mapping[str, Any]) -> Said:
    """Return the parts of a question; a resource with an object id is named by the URN that was found for it."""
    return Said(
        operation=operation,
        entity=resource.urn or None if resource is not None else None,
        kind=resource.type if resource is not None else "",
        parent=sent.get("parent"),
        artifact=related.get("artifact"),
        programs=tuple(related.get("programs") or ()),
    )


def _read(said: Said, places: Mapping[str, str], problems: list[Problem]) -> cdap_requests.Read:
    """Return a question that can be asked. Raises Invalid with every problem, those found before among them."""
    try:
        read = cdap_requests.read(said, places)
    except UnknownOperation as error:
        raise Invalid([Problem(error.code, "/operation", str(error))]) from None
    except InvalidQuestion as error:
        raise Invalid([*error.problems, *problems]) from None
    if problems:
        raise Invalid(problems)
    return read
