"""/catalog/operations/<urn>: what the reader may do with a CDAP entity, operation by operation, and what is missing."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog.access.entity_context import Reference, Subject, references
from catalog.cdap import entity_tabs
from catalog.entities.pages import entity, type_labels
from policies.engine.families import cdap, cdap_entity_ids, cdap_requests
from policies.engine.families.cdap import Applied, Operation
from policies.engine.families.cdap_entity_ids import CdapName
from policies.engine.families.cdap_requests import Read, Said
from policies.engine.model import Decision
from policies.engine.requirements import SELF, one
from policies.http.guard import signed_in
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked

_COLUMNS = ({"label": "Operation"}, {"label": "Needs"}, {"label": "Answer"}, {"label": "Missing"})

#: How the needs of an operation call what they are judged on, beside the relatives' own names.
_WHERE = {SELF: "it", cdap.ARTIFACT: "the artifact"}


@dataclass(frozen=True, slots=True)
class Row:
    """One operation: what it needs in words, whether it is allowed, and each (privilege, entity) that is missing."""

    name: str
    rule: str
    needs: tuple[str, ...]
    is_allowed: bool
    missing: tuple[tuple[str, Reference], ...]


@require_GET
@never_cache
@signed_in
def matrix(request: HttpRequest, urn: str) -> HttpResponse:
    """Every operation of the entity's kind, and of what can be made in it."""
    subject = Subject.of(request, urn)
    name = entity_tabs.name_of(subject)
    own = [found for found in cdap.operations_on(name.kind) if found.applied is not Applied.CREATE]
    makes = [found for kind in _made_in(name) for found in cdap.operations_on(kind) if found.applied is Applied.CREATE]
    asks = [_about(found, name) for found in own] + [_making(found, name) for found in makes]
    asks += [Ask(one(privilege), Asked(name.urn, name.kind)) for privilege in cdap.PRIVILEGES]
    decisions = authorizer.answer_many(asks=[(subject.by, ask) for ask in asks])
    at, end = len(own), len(own) + len(makes)
    held = [
        privilege for privilege, decision in zip(cdap.PRIVILEGES, decisions[end:], strict=True) if decision.is_allowed
    ]
    named = references({lack.entity for decision in decisions[:end] for lack in decision.missing if lack.entity})
    context: dict[str, Any] = {
        "columns": _COLUMNS,
        "held": held,
        "rows": _rows(own, decisions[:at], named),
        "making": _rows(makes, decisions[at:end], named),
        "hints": [
            *_owned_but_out_of_reach(name, own, decisions[:at], named),
            *_made_but_out_of_reach(name, makes, decisions[at:end], held),
        ],
    }
    return entity.draw(
        request, subject, tab=entity_tabs.OPERATIONS, template="catalog/grants/operations.html", **context
    )


def _about(operation: Operation, name: CdapName) -> Ask:
    return _ask(cdap_requests.read(Said(operation.name, name.urn)), Asked(name.urn, name.kind))


def _making(operation: Operation, name: CdapName) -> Ask:
    return _ask(cdap_requests.read(Said(operation.name, kind=operation.kind, parent=name.urn)), None)


def _ask(read: Read, asked: Asked | None) -> Ask:
    return Ask(read.requirement, asked, relatives=read.relatives)


def _made_in(name: CdapName) -> Sequence[str]:
    """Return the kinds that can be made directly in an entity."""
    if name.kind == cdap_entity_ids.INSTANCE:
        return (cdap_entity_ids.NAMESPACE,)
    outside = (cdap_entity_ids.NAMESPACE, cdap_entity_ids.PROGRAM)
    return (
        [kind for kind in cdap.listed_kinds() if kind not in outside] if name.kind == cdap_entity_ids.NAMESPACE else ()
    )


def _rows(operations: Sequence[Operation], decisions: Sequence[Decision], named: dict[str, Reference]) -> list[Row]:
    return [
        Row(
            name=operation.name,
            rule=operation.rule,
            needs=tuple(_said(operation)),
            is_allowed=decision.is_allowed,
            missing=tuple((lack.privilege, named[lack.entity]) for lack in decision.missing if lack.entity),
        )
        for operation, decision in zip(operations, decisions, strict=True)
    ]


def _said(operation: Operation) -> list[str]:
    return [
        f"{' or '.join(need.privileges)} on {_WHERE.get(need.on, f'the {need.on}')}"
        + (", if it comes from one" if need.on in operation.optional else "")
        for need in operation.needs
    ]


def _owned_but_out_of_reach(
    name: CdapName, operations: Sequence[Operation], decisions: Sequence[Decision], named: dict[str, Reference]
) -> list[str]:
    """Say what somebody who holds everything an operation needs of the entity itself lacks elsewhere."""
    refused = [
        (operation, decision)
        for operation, decision in zip(operations, decisions, strict=True)
        if not decision.is_allowed and decision.missing and all(lack.entity != name.urn for lack in decision.missing)
    ]
    apart = [(found, decision) for found, decision in refused if any(need.on == SELF for need in found.needs)]
    if not apart:
        return []
    lacks = {(lack.privilege, lack.entity) for _, decision in apart for lack in decision.missing if lack.entity}
    lacking = " and ".join(f"{privilege} on {named[urn].name}" for privilege, urn in sorted(lacks))
    return [
        f"You hold on this {type_labels.one(name.kind).lower()} what these operations need of it, yet may not do them: "
        f"{_verbs(found for found, _ in apart)}. Missing: {lacking}. A privilege on one entity gives none on another."
    ]


def _made_but_out_of_reach(
    name: CdapName, makes: Sequence[Operation], decisions: Sequence[Decision], held: Collection[str]
) -> list[str]:
    """Say what the creator of something in a place could not do with it, although a create gives ALL on it."""
    found: list[str] = []
    for operation, decision in zip(makes, decisions, strict=True):
        others = [other for other in cdap.operations_on(operation.kind) if other.applied is not Applied.CREATE]
        closed = [other for other in others if _lacks_of_place(other, name.kind, held)]
        if decision.is_allowed and closed:
            lacking = {privilege for other in closed for privilege in _lacks_of_place(other, name.kind, held)}
            found.append(
                f"Who makes a {operation.kind} here holds everything on it and may delete it, yet you could not do "
                f"these with it: {_verbs(closed)}. Missing: {', '.join(sorted(lacking))} on the {name.kind}."
            )
    return found


def _lacks_of_place(operation: Operation, kind: str, held: Collection[str]) -> list[str]:
    return [
        " or ".join(need.privileges)
        for need in operation.needs
        if need.on in (kind, cdap.PARENT) and not set(need.privileges) & set(held)
    ]


def _verbs(operations: Iterable[Operation]) -> str:
    return ", ".join(operation.name.partition(".")[2].replace("_", " ") for operation in operations)
