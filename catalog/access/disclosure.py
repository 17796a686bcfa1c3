"""Refusals about entities that the caller may not view: the same text as for an entity that is not stored.

To a caller who may neither view nor edit an entity, a refusal shows neither its existence nor its relatives.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from catalog.access import entity_lists, view_permissions
from catalog.access.aspect_documents import DocumentSource
from policies.engine.model import Actor, MissingPrivilege
from policies.errors import Forbidden, NotFound
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest
from policies.pdp.ports import facet_source

#: Relatives that the catalog stores, used where the question names none.
_STORED_RELATIVES = ("domains", "subjects", "logical_parent", "parent", "term_group", "term_groups")


#: Relatives found by going up from the relatives that a question or document names.
_GROUP_RELATIVES = frozenset({"term_group", "term_groups", "new_term_group", "new_term_groups"})


@dataclass(frozen=True, slots=True)
class VisibleDocuments:
    """Documents as if the hidden entities were not stored."""

    documents: DocumentSource
    hidden_urns: Collection[str]

    def document(self, urn: str, aspect: str) -> str | None:
        """Return the text of a document, None when it does not exist or its entity is hidden."""
        return None if urn in self.hidden_urns else self.documents.document(urn, aspect)


def require_visible(*, urn: str, by: Actor) -> None:
    """Raise NotFound for an entity that the caller may not view, as for one that is not stored."""
    if view_permissions.find_hidden(urns=[urn], by=by):
        raise NotFound(f"There is no entity {urn}.")


def require_stored(*, urn: str, by: Actor) -> None:
    """Raise NotFound for an entity of the catalog that is not stored, or that the caller may not view."""
    require_visible(urn=urn, by=by)
    if not entity_lists.list_stored_urns(urns=[urn]):
        raise NotFound(f"There is no entity {urn}.")


def find_refusal(*, by: Actor, requests: Sequence[AccessRequest]) -> Forbidden | None:
    """Return the refusal of these changes, None when all are allowed.

    It names no hidden term group. For a data product in no domain and a query about nothing, which nobody may manage
    (source 000), it says what would help: no privilege does.
    """
    refusal = authorizer.find_refusal(by=by, requests=requests)
    for relative, explain in _INDISPENSABLE_RELATIVES.items():
        if refusal and (helpless_requests := _list_without(relative, requests)):
            other_refusal = find_refusal(
                by=by, requests=[request for request in requests if request not in helpless_requests]
            )
            return Forbidden.join(
                [
                    Forbidden((), explain(_first_urn(helpless_requests))),
                    *([other_refusal] if other_refusal else []),
                ]
            )
    group_requests = (
        [request for request in requests if not _GROUP_RELATIVES.isdisjoint(request.requirement.other_relatives)]
        if refusal
        else []
    )
    if not group_requests:
        return refusal
    urns = {request.resource.urn for request in group_requests if request.resource is not None}
    stored_relatives = facet_source().load_relatives(urns=urns, names=("term_group", "term_groups"))
    group_urns = {urn for relatives in stored_relatives.values() for groups in relatives.values() for urn in groups}
    group_urns |= {
        urn
        for request in group_requests
        for name in _GROUP_RELATIVES & request.relatives.keys()
        for urn in request.relatives[name]
    }
    hidden_urns = view_permissions.find_hidden(urns=group_urns, by=by)
    return (
        authorizer.find_refusal(
            by=by, requests=[_without_groups(request, hidden_urns, stored_relatives) for request in requests]
        )
        if hidden_urns
        else refusal
    )


def _first_urn(requests: Sequence[AccessRequest]) -> str:
    return next(request.resource.urn for request in requests if request.resource is not None)


def _explain_without_domain(urn: str) -> str:
    return (
        f"{urn} is in no domain, so nobody manages it. Put it into a domain first, which needs EDIT_DOMAINS_PRIVILEGE "
        "or EDIT_ENTITY on it; then MANAGE_DATA_PRODUCTS on that domain is enough."
    )


def _explain_without_subjects(urn: str) -> str:
    return (
        f"{urn} has no subjects, so nobody may write it. Name its datasets in querySubjects of the same call, and hold "
        "EDIT_ENTITY_QUERIES or EDIT_ENTITY on each of them."
    )


#: Relatives without which no privilege helps, each with the sentence about an entity that has none.
_INDISPENSABLE_RELATIVES: Mapping[str, Callable[[str], str]] = {
    "domains": _explain_without_domain,
    "subjects": _explain_without_subjects,
}


def _list_without(relative: str, requests: Sequence[AccessRequest]) -> list[AccessRequest]:
    """Return the requests that only these relatives of their entity could allow, when the entity has none."""
    relative_requests = [
        request for request in requests if request.requirement.relatives == {relative} and request.resource is not None
    ]
    urns = {request.resource.urn for request in relative_requests if request.resource is not None}
    stored_relatives = facet_source().load_relatives(urns=urns, names=(relative,)) if urns else {}
    return [
        request
        for request in relative_requests
        if request.resource is not None
        and not request.relatives.get(relative, stored_relatives[request.resource.urn][relative])
    ]


def _without_groups(
    request: AccessRequest, hidden_urns: Collection[str], stored_relatives: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> AccessRequest:
    own_relatives = stored_relatives.get(request.resource.urn, {}) if request.resource is not None else {}
    groups = {
        name: request.relatives.get(name, own_relatives.get(name, ()))
        for name in _GROUP_RELATIVES & request.requirement.other_relatives
    }
    visible_groups = {
        name: tuple(urn for urn in group_urns if urn not in hidden_urns) for name, group_urns in groups.items()
    }
    return request._replace(relatives={**request.relatives, **visible_groups})


def find_write_refusal(
    *,
    by: Actor,
    requests: Sequence[AccessRequest],
    urns: Collection[str],
    build_absent_requests: Callable[[Collection[str]], Sequence[AccessRequest]] | None = None,
) -> Forbidden | None:
    """Return the refusal of these changes to entities, None when all are allowed.

    If some entities are hidden from the caller, it is the refusal of `build_absent_requests`, which get their URNs and
    return what would be needed if these were not stored (by default the same).
    """
    refusal = find_refusal(by=by, requests=requests)
    hidden_urns = view_permissions.find_hidden(urns=urns, by=by) if refusal else ()
    if not hidden_urns:
        return refusal
    absent_requests = requests if build_absent_requests is None else build_absent_requests(hidden_urns)
    return find_refusal_as_absent(by=by, requests=absent_requests, hidden_urns=hidden_urns)


def find_refusal_as_absent(*, by: Actor, requests: Sequence[AccessRequest], hidden_urns: Collection[str]) -> Forbidden:
    """Return the refusal of these changes as if the hidden entities were not stored; `requests` are those of that case.

    When nothing would refuse them (the caller may create such entities), EDIT_ENTITY is reported as missing.
    """
    refusal = find_refusal(by=by, requests=[_without_stored(request, hidden_urns) for request in requests])
    return refusal or Forbidden([MissingPrivilege(urn, "EDIT_ENTITY") for urn in sorted(hidden_urns)])


def _without_stored(request: AccessRequest, hidden_urns: Collection[str]) -> AccessRequest:
    if request.resource is None or request.resource.urn not in hidden_urns:
        return request
    empty_relatives = {name: () for name in _STORED_RELATIVES if name in request.requirement.other_relatives}
    return request._replace(relatives={**empty_relatives, **request.relatives})
