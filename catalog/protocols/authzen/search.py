"""AuthZEN searches: the subjects, resources or actions that would be permitted.

Subjects and resources are read from the database in the order of their URNs, a page at a time. A page token contains
the last result of its page; it is signed, and valid only for the search that issued it.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from django.conf import settings
from django.core import signing

from catalog.access import reachable_resources
from catalog.protocols.authzen import identifiers, request_models
from catalog.protocols.authzen.evaluation import require_ask_about_others
from catalog.protocols.authzen.request_models import (
    MAX_ITEMS,
    Action,
    ActionSearch,
    EntityRef,
    MalformedRequest,
    PageRequest,
    RequestObject,
    ResourceSearch,
    SubjectSearch,
)
from policies.decisions.api import request_serializers
from policies.engine import actor_conditions, families, property_conditions
from policies.engine.families import datazone_resource_patterns
from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.pdp import authorizer, fact_cache, inverse_queries, users_by_actor_clause
from policies.pdp.access_requests import AccessRequest, ResourceRef

#: Results of a page if the request sets no limit.
_DEFAULT_PAGE_SIZE = 100

#: Users decided about at once while a page of subjects is filled.
_USER_CHUNK_SIZE = 500

#: Tokens in use were signed with this salt, so it must not change.
_SALT = "catalog.doors.authzen.searching"

#: Members of the request whose digest is in a token, so that it is valid for no other search.
_TOKEN_MEMBERS = ("subject", "action", "resource", "context")

SearchResponse = dict[str, Any]
PageLoader = Callable[[str, int], Sequence[str]]


def find_resources(members: RequestObject, by: Actor) -> SearchResponse:
    """Return a page of the entities of a type on which the subject may use the action. Raises as `find_actions`.

    `context.scope` tells whether they are all such entities or those that the caller may view.
    """
    search = request_models.parse(ResourceSearch, members)
    page, kind = search.page or PageRequest(), identifiers.entity_type(search.resource)
    _check_action(search.action, kind)
    urn = identifiers.actor_urn(search.subject)
    if urn is None:
        return _render_empty_page(page, members)
    attributes = identifiers.actor_attributes(search.subject, search.action)
    actor = actor_conditions.override_attributes(_load_actor(urn, by), attributes)
    coverage = authorizer.compute_coverage(actor=actor, privilege=identifiers.privilege_name(search.action))
    scope = inverse_queries.find_scope(by)
    viewer = None if scope is inverse_queries.DisclosureScope.ACTOR else by
    rows = reachable_resources.list_reachable(
        coverage=coverage, types=[kind], viewer=viewer, max_count=_DEFAULT_PAGE_SIZE
    )
    page_urns, next_token = _load_page(rows.list_urns_after, page, members)
    results = [{"type": search.resource.type, "id": identifiers.entity_id(urn, kind)} for urn in page_urns]
    return {**_render_page(results, next_token, total=rows.count_all()), "context": {"scope": scope.value}}


def find_subjects(members: RequestObject, by: Actor) -> SearchResponse:
    """Return a page of the users who may use the action on the resource. Raises MalformedRequest and Forbidden.

    There is no total: each page decides about its users only.
    """
    search = request_models.parse(SubjectSearch, members)
    page = search.page or PageRequest()
    require_ask_about_others(by)
    if not identifiers.is_person(search.subject.type):
        return _render_empty_page(page, members)
    privilege = identifiers.privilege_name(search.action)
    resource_ref = _load_resource(search.resource, by)
    if resource_ref is not None:
        _check_action(search.action, resource_ref.type)
    rows = users_by_actor_clause.list_users_by_actor_tokens(
        tokens=inverse_queries.find_candidate_actors(privilege=privilege, resource=resource_ref)
    )
    access_request = AccessRequest(privilege_requirement(privilege), resource_ref)

    def find(after: str, count: int) -> Sequence[str]:
        return list(islice(_find_permitted_urns(rows, after, access_request, search.action), count))

    page_urns, next_token = _load_page(find, page, members)
    results = [{"type": search.subject.type, "id": identifiers.entity_id(urn, "corpuser")} for urn in page_urns]
    return _render_page(results, next_token)


def find_actions(members: RequestObject, by: Actor) -> SearchResponse:
    """Return a page of the actions that the subject may use on the resource. Raises MalformedRequest and Forbidden."""
    search = request_models.parse(ActionSearch, members)
    page = search.page or PageRequest()
    urn = identifiers.actor_urn(search.subject)
    if urn is None:
        return _render_empty_page(page, members)
    actor = actor_conditions.override_attributes(_load_actor(urn, by), identifiers.actor_attributes(search.subject))
    resource_ref = _load_resource(search.resource, by)
    privilege_names = (page_names.names for page_names in families.load_vocabularies().values())
    known_names = frozenset(settings.CUSTOM_PRIVILEGES).union(*privilege_names)
    names = sorted(known_names if resource_ref is None else _filter_by_type(known_names, resource_ref.type))
    decisions = authorizer.answer_many(
        requests=[(actor, AccessRequest(privilege_requirement(name), resource_ref)) for name in names]
    )
    allowed_names = {name: None for name, decision in zip(names, decisions, strict=True) if decision.is_allowed}
    action_names = identifiers.action_names(allowed_names)

    def find(after: str, count: int) -> Sequence[str]:
        return [name for name in action_names if name > after][:count]

    page_names, next_token = _load_page(find, page, members)
    results = [{"name": name} for name in page_names]
    return _render_page(results, next_token, total=len(action_names))


def _check_action(action: Action, resource_type: str) -> None:
    """Raise MalformedRequest for an action about another type."""
    privilege = identifiers.privilege_name(action)
    if problem := datazone_resource_patterns.check_question(privilege, resource_type, ""):
        raise MalformedRequest(problem.detail)


def _filter_by_type(names: Iterable[str], resource_type: str) -> list[str]:
    """Return the privileges that a question about a resource of this type can name."""
    return [name for name in names if datazone_resource_patterns.check_question(name, resource_type, "") is None]


def _load_actor(urn: str, by: Actor) -> Actor:
    if urn == by.urn:
        return by
    require_ask_about_others(by)
    return fact_cache.get_actor(urn=urn)


def _load_resource(resource: EntityRef, by: Actor) -> ResourceRef | None:
    resource_fields = identifiers.parse_resource(resource)
    resource_ref = request_serializers.build_resource_ref(
        resource_fields, request_serializers.load_question_facts(questions=[{"resource": resource_fields}], by=by)
    )
    return None if resource_ref is None else resource_ref._replace(fact_overrides=identifiers.fact_overrides(resource))


def _find_permitted_urns(rows: Any, after: str, access_request: AccessRequest, action: Action) -> Iterable[str]:
    """Yield the URNs after `after` of the users whom the decision permits, decided in chunks of _USER_CHUNK_SIZE."""
    attributes = action.facets(property_conditions.ACTION)
    while chunk := list(rows.filter(urn__gt=after).values_list("urn", flat=True)[:_USER_CHUNK_SIZE]):
        actors = fact_cache.get_actors(urns=chunk)
        access_requests = [
            (actor_conditions.override_attributes(actors[urn], attributes), access_request) for urn in chunk
        ]
        decisions = authorizer.answer_many(requests=access_requests)
        yield from (urn for urn, decision in zip(chunk, decisions, strict=True) if decision.is_allowed)
        after = chunk[-1]


# -- pages ------------------------------------------------------------------------------------------------------------


def _load_page(find: PageLoader, page: PageRequest, members: RequestObject) -> tuple[list[str], str]:
    """Return the results of a page and the token of the next page ('' if there is none)."""
    after = _read_token(page.token, members)
    limit = _DEFAULT_PAGE_SIZE if page.limit is None else min(page.limit, MAX_ITEMS)
    results = list(find(after, limit + 1))
    if len(results) <= limit:
        return results, ""
    return results[:limit], _sign_token(results[limit - 1] if limit else after, members)


def _render_empty_page(page: PageRequest, members: RequestObject) -> SearchResponse:
    _read_token(page.token, members)
    return _render_page([], "", total=0)


def _render_page(results: list[SearchResponse], next_token: str, total: int | None = None) -> SearchResponse:
    counts = {"count": len(results)} if total is None else {"count": len(results), "total": total}
    return {"page": {"next_token": next_token, **counts}, "results": results}


def _sign_token(after: str, members: RequestObject) -> str:
    return signing.dumps([after, _digest(members)], salt=_SALT)


def _read_token(token: str | None, members: RequestObject) -> str:
    """Return the result after which a page begins. Raises MalformedRequest for a token that is not of this search."""
    if not token:
        return ""
    try:
        after, digest = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        raise MalformedRequest("page.token is not one that was given here") from None
    if digest != _digest(members):
        raise MalformedRequest("page.token belongs to another request")
    return str(after)


def _digest(members: RequestObject) -> str:
    text = json.dumps({name: members.get(name) for name in _TOKEN_MEMBERS}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
