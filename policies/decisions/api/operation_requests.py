"""Requirement of a question about an operation: a rule of a family's table, or one resolved from an entity (CDAP)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from policies.engine import families
from policies.engine.errors import InvalidQuestion, Problem, UnknownOperation
from policies.engine.families import cdap_requests
from policies.engine.families.cdap import ResultingGrant
from policies.engine.families.cdap_requests import OperationRequest
from policies.engine.requirements import Requirement
from policies.errors import Invalid
from policies.pdp.access_requests import NO_RELATIVES, ResourceRef

#: JSON pointers of the parts in a question.
_POINTERS = {"entity": "/resource/urn", "parent": "/resource/parent"}
#: Keys of `related` that an operation on a named entity uses.
_ALLOWED_RELATED = ("artifact", "programs")


class QuestionRequirement(NamedTuple):
    """Requirement and resource of an operation; `resulting_grants` are the grants it would give to the actor."""

    requirement: Requirement
    resource: ResourceRef | None
    relatives: Mapping[str, tuple[str, ...]] = NO_RELATIVES
    resulting_grants: tuple[ResultingGrant, ...] = ()


def find_derived_requirement(name: str) -> Requirement | None:
    """Return the requirement of an operation in a family's table; None for one that depends on a named entity."""
    return next(
        (requirement for family in families.FAMILIES.values() if (requirement := family.load_operations().get(name))),
        None,
    )


def resolve_named_operation(
    *, question: Mapping[str, Any], resource: ResourceRef | None, actor: str
) -> QuestionRequirement:
    """Return the requirement of an operation on a named entity; raises Invalid with every problem."""
    related = question.get("related") or {}
    operation_request = _build_operation_request(
        question["operation"], resource, question.get("resource") or {}, related
    )
    unused_problems = [
        Problem("related.unused", f"/related/{name}", f"{operation_request.operation} does not look at this.")
        for name in related
        if name not in _ALLOWED_RELATED
    ]
    resolved_operation = _resolve_operation(operation_request, _POINTERS, unused_problems)
    target = resource
    if resolved_operation.container is not None:
        target = None
    elif resource is not None and resolved_operation.entity is not None:
        target = resource._replace(urn=resolved_operation.entity.urn)
    return QuestionRequirement(
        resolved_operation.requirement, target, resolved_operation.relatives, resolved_operation.resulting_grants(actor)
    )


def _build_operation_request(
    operation: str, resource: ResourceRef | None, resource_payload: Mapping[str, Any], related: Mapping[str, Any]
) -> OperationRequest:
    """Return the parts of a question; `resource` already has the URN that was found for an object id."""
    return OperationRequest(
        operation=operation,
        entity=resource.urn or None if resource is not None else None,
        kind=resource.type if resource is not None else "",
        parent=resource_payload.get("parent"),
        artifact=related.get("artifact"),
        programs=tuple(related.get("programs") or ()),
    )


def _resolve_operation(
    operation_request: OperationRequest, pointers: Mapping[str, str], problems: list[Problem]
) -> cdap_requests.ResolvedOperation:
    """Return the resolved operation; raises Invalid with every problem, `problems` among them."""
    try:
        resolved_operation = cdap_requests.resolve(operation_request, pointers)
    except UnknownOperation as error:
        raise Invalid([Problem(error.code, "/operation", str(error))]) from None
    except InvalidQuestion as error:
        raise Invalid([*error.problems, *problems]) from None
    if problems:
        raise Invalid(problems)
    return resolved_operation
