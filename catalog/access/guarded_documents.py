"""Documents that a privilege of their own guards, beside the one to read their entity: profile, usage, operations.

Where a call returns several documents the guarded ones are left out; a call that names one is refused.
"""

from collections.abc import Collection, Mapping
from typing import TypeVar

from catalog import urns as catalog_urns
from catalog.access import entity_lists
from policies.engine.families.privilege_effects import load_effects
from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

DocumentT = TypeVar("DocumentT")


def remove_guarded(
    documents_by_urn: Mapping[str, dict[str, DocumentT]], *, by: Actor
) -> dict[str, dict[str, DocumentT]]:
    """Return the documents, by URN and aspect, without those that the caller may not read; decided all at once."""
    requests = {
        (urn, name): request
        for urn, documents_by_aspect in documents_by_urn.items()
        for name in load_effects().guarded_aspects & documents_by_aspect.keys()
        if (request := _build_view_request(urn, name)) is not None
    }
    if not requests:
        return dict(documents_by_urn)
    decisions = authorizer.answer_and_count(requests=[(by, request) for request in requests.values()])
    refused_keys = {key for key, decision in zip(requests, decisions, strict=True) if not decision.is_allowed}
    return {
        urn: {name: document for name, document in documents_by_aspect.items() if (urn, name) not in refused_keys}
        for urn, documents_by_aspect in documents_by_urn.items()
    }


def require_viewing(*, names_by_urn: Mapping[str, Collection[str]], by: Actor) -> None:
    """Raise Forbidden unless the caller may read the guarded ones among these documents of stored entities.

    The documents themselves need not exist. Of an entity that is not stored there is nothing to guard, and it must
    not be told from a hidden one.
    """
    guarded_names = {
        urn: sorted(load_effects().guarded_aspects.intersection(names)) for urn, names in names_by_urn.items()
    }
    named_urns = [urn for urn, names in guarded_names.items() if names]
    requests = [
        request
        for urn in (sorted(entity_lists.list_stored_urns(urns=named_urns)) if named_urns else ())
        for name in guarded_names[urn]
        if (request := _build_view_request(urn, name)) is not None
    ]
    if requests and (refusal := authorizer.find_refusal(by=by, requests=requests)):
        raise refusal


def require_call(call: str, *, by: Actor, urn: str = "", type_: str = "") -> None:
    """Raise Forbidden unless the caller may make a call about an entity, or about a type."""
    resource = ResourceRef(urn, type_) if urn or type_ else None
    requirement = privilege_requirement(load_effects().call_privileges[call])
    authorizer.require(by=by, requirement=requirement, resource=resource)


def _build_view_request(urn: str, name: str) -> AccessRequest | None:
    type_ = catalog_urns.entity_type(urn)
    privilege = load_effects().find_view_privilege(type_, name)
    return None if privilege is None else AccessRequest(privilege_requirement(privilege), ResourceRef(urn, type_))
