"""/catalog/operations/<urn>: the viewer's permission for each operation on a CDAP entity, and missing privileges."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from catalog.access.entity_context import Reference, load_references
from catalog.cdap.entity_tabs import OPERATIONS, CdapPage
from catalog.entities.pages import type_labels
from policies.engine.families import cdap, cdap_entity_ids, cdap_requests
from policies.engine.families.cdap import CdapOperation, OperationEffect
from policies.engine.families.cdap_entity_ids import CdapName
from policies.engine.families.cdap_requests import OperationRequest, ResolvedOperation
from policies.engine.model import Decision
from policies.engine.requirements import SELF, privilege_requirement
from policies.http.guard import signed_in
from policies.http.pages.list_and_form_pages import build_columns, page_view
from policies.http.pages.request_links import build_missing_url
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

_COLUMNS = build_columns("Operation", "Needs", "Answer", "Missing")

#: Labels of relatives in the needs of an operation, where they differ from the relative's name.
_RELATIVE_LABELS = {SELF: "it", cdap.ARTIFACT: "the artifact"}


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation: its needs in words, whether it is allowed, each missing (privilege, entity), and how to ask."""

    name: str
    rule: str
    needs: tuple[str, ...]
    is_allowed: bool
    missing: tuple[tuple[str, Reference], ...]
    request_url: str = ""


@page_view(signed_in)
def show_operations(request: HttpRequest, urn: str) -> HttpResponse:
    """Show every operation of the entity's kind, and the create operations possible in it."""
    page = CdapPage.load(request, urn)
    name = page.name
    own_operations = [
        operation for operation in cdap.list_operations(name.kind) if operation.effect is not OperationEffect.CREATE
    ]
    create_operations = [
        operation
        for kind in _creatable_kinds(name)
        for operation in cdap.list_operations(kind)
        if operation.effect is OperationEffect.CREATE
    ]
    access_requests = [_build_request(operation, name) for operation in own_operations] + [
        _build_create_request(operation, name) for operation in create_operations
    ]
    access_requests += [
        AccessRequest(privilege_requirement(privilege), ResourceRef(name.urn, name.kind))
        for privilege in cdap.PRIVILEGES
    ]
    decisions = authorizer.answer_many(requests=[(page.by, access_request) for access_request in access_requests])
    own_end, create_end = len(own_operations), len(own_operations) + len(create_operations)
    held_privileges = [
        privilege
        for privilege, decision in zip(cdap.PRIVILEGES, decisions[create_end:], strict=True)
        if decision.is_allowed
    ]
    references = load_references(
        {
            missing_privilege.entity
            for decision in decisions[:create_end]
            for missing_privilege in decision.missing
            if missing_privilege.entity
        }
    )
    return page.render(
        OPERATIONS,
        "operations",
        columns=_COLUMNS,
        held=held_privileges,
        rows=_build_rows(own_operations, decisions[:own_end], references),
        making=_build_rows(create_operations, decisions[own_end:create_end], references),
        hints=[
            *_explain_missing_elsewhere(name, own_operations, decisions[:own_end], references),
            *_explain_missing_on_container(name, create_operations, decisions[own_end:create_end], held_privileges),
        ],
    )


def _build_request(operation: CdapOperation, name: CdapName) -> AccessRequest:
    return _to_access_request(
        cdap_requests.resolve(OperationRequest(operation.name, name.urn)), ResourceRef(name.urn, name.kind)
    )


def _build_create_request(operation: CdapOperation, name: CdapName) -> AccessRequest:
    return _to_access_request(
        cdap_requests.resolve(OperationRequest(operation.name, kind=operation.kind, parent=name.urn)), None
    )


def _to_access_request(operation: ResolvedOperation, resource: ResourceRef | None) -> AccessRequest:
    return AccessRequest(operation.requirement, resource, relatives=operation.relatives)


def _creatable_kinds(name: CdapName) -> Sequence[str]:
    """Return the kinds that can be created directly in an entity."""
    if name.kind == cdap_entity_ids.INSTANCE:
        return (cdap_entity_ids.NAMESPACE,)
    excluded_kinds = (cdap_entity_ids.NAMESPACE, cdap_entity_ids.PROGRAM)
    return (
        [kind for kind in cdap.list_kinds() if kind not in excluded_kinds]
        if name.kind == cdap_entity_ids.NAMESPACE
        else ()
    )


def _build_rows(
    operations: Sequence[CdapOperation], decisions: Sequence[Decision], references: dict[str, Reference]
) -> list[OperationRow]:
    return [
        OperationRow(
            name=operation.name,
            rule=operation.rule,
            needs=tuple(_word_needs(operation)),
            is_allowed=decision.is_allowed,
            missing=tuple(
                (missing_privilege.privilege, references[missing_privilege.entity])
                for missing_privilege in decision.missing
                if missing_privilege.entity
            ),
            request_url=build_missing_url(decision.missing),
        )
        for operation, decision in zip(operations, decisions, strict=True)
    ]


def _word_needs(operation: CdapOperation) -> list[str]:
    return [
        f"{' or '.join(need.privileges)} on {_RELATIVE_LABELS.get(need.relative, f'the {need.relative}')}"
        + (", if it comes from one" if need.relative in operation.optional else "")
        for need in operation.needs
    ]


def _explain_missing_elsewhere(
    name: CdapName, operations: Sequence[CdapOperation], decisions: Sequence[Decision], references: dict[str, Reference]
) -> list[str]:
    """Return a hint on operations refused only for privileges missing on other entities."""
    refused_operations = [
        (operation, decision)
        for operation, decision in zip(operations, decisions, strict=True)
        if not decision.is_allowed
        and decision.missing
        and all(missing_privilege.entity != name.urn for missing_privilege in decision.missing)
    ]
    owned_operations = [
        (operation, decision)
        for operation, decision in refused_operations
        if any(need.relative == SELF for need in operation.needs)
    ]
    if not owned_operations:
        return []
    missing_pairs = {
        (missing_privilege.privilege, missing_privilege.entity)
        for _, decision in owned_operations
        for missing_privilege in decision.missing
        if missing_privilege.entity
    }
    missing_text = " and ".join(f"{privilege} on {references[urn].name}" for privilege, urn in sorted(missing_pairs))
    return [
        f"You hold on this {type_labels.singular_label(name.kind).lower()} what these operations need of it, "
        f"yet may not do them: {_join_verbs(operation for operation, _ in owned_operations)}. "
        f"Missing: {missing_text}. A privilege on one entity gives none on another."
    ]


def _explain_missing_on_container(
    name: CdapName,
    create_operations: Sequence[CdapOperation],
    decisions: Sequence[Decision],
    held_privileges: Collection[str],
) -> list[str]:
    """Return hints on operations that the creator of an entity here could not perform, despite ALL on it."""
    hints: list[str] = []
    for operation, decision in zip(create_operations, decisions, strict=True):
        other_operations = [
            other_operation
            for other_operation in cdap.list_operations(operation.kind)
            if other_operation.effect is not OperationEffect.CREATE
        ]
        blocked_operations = [
            other_operation
            for other_operation in other_operations
            if _missing_container_needs(other_operation, name.kind, held_privileges)
        ]
        if decision.is_allowed and blocked_operations:
            missing_needs = {
                privilege
                for other_operation in blocked_operations
                for privilege in _missing_container_needs(other_operation, name.kind, held_privileges)
            }
            hints.append(
                f"Who makes a {operation.kind} here holds everything on it and may delete it, yet you could not do "
                f"these with it: {_join_verbs(blocked_operations)}. "
                f"Missing: {', '.join(sorted(missing_needs))} on the {name.kind}."
            )
    return hints


def _missing_container_needs(operation: CdapOperation, kind: str, held_privileges: Collection[str]) -> list[str]:
    return [
        " or ".join(need.privileges)
        for need in operation.needs
        if need.relative in (kind, cdap.PARENT) and not set(need.privileges) & set(held_privileges)
    ]


def _join_verbs(operations: Iterable[CdapOperation]) -> str:
    return ", ".join(operation.name.partition(".")[2].replace("_", " ") for operation in operations)
