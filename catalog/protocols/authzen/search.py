"""Searches: which subjects, which resources, which actions would be permitted.

Subjects and resources are found in the database and come in the order of their URNs, a page at a time. A token says
after which one the next page begins; it is signed, and good for the search it came from only.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from django.conf import settings
from django.core import signing

from catalog.access import reachable_resources
from catalog.protocols.authzen import identifiers
from catalog.protocols.authzen.evaluation import may_ask
from catalog.protocols.authzen.request_models import Action, Malformed, Members, Page, Party, Reader
from policies.decisions.api import request_serializers
from policies.engine import actor_conditions, families
from policies.engine.model import Actor
from policies.engine.requirements import one
from policies.pdp import authorizer, fact_cache, inverse_queries, users_by_actor_clause
from policies.pdp.authorizer import Ask, Asked

#: How many results a page has that says nothing of it.
_PAGE = 100

#: How many users are asked about at once while a page of subjects fills.
_CHUNK = 500

#: Tokens that are in use were signed under this, so it stays.
_SALT = "catalog.doors.authzen.searching"

#: What goes into a token beside the place, so that it fits no other search.
_SAID = ("subject", "action", "resource", "context")

Answer = dict[str, Any]
Find = Callable[[str, int], Sequence[str]]


def resources(reader: Reader, by: Actor) -> Answer:
    """Return the entities of a type on which the subject may do this. Raises Malformed and Forbidden.

    `context.scope` says whether they are all of these, or of them what the caller may view.
    """
    subject, action, resource = reader.subject(), reader.action(), reader.resource(is_sought=True)
    page = _checked(reader)
    urn = identifiers.actor(subject)
    if urn is None:
        return _nothing(page, reader.members)
    actor = actor_conditions.overridden(_actor(urn, by), {**subject.properties, **action.properties})
    kind = identifiers.type_of(resource)
    coverage = authorizer.visible(actor=actor, privilege=identifiers.privilege(action))
    scope = inverse_queries.scope_of(by)
    viewer = None if scope is inverse_queries.Scope.ACTOR else by
    rows = reachable_resources.reachable(coverage=coverage, types=[kind], viewer=viewer, most=_PAGE)
    found, following = _found(rows.urns_after, page, reader.members)
    results = [{"type": resource.type, "id": identifiers.identifier(urn, kind)} for urn in found]
    return {**_page(results, following, total=rows.total()), "context": {"scope": scope.value}}


def subjects(reader: Reader, by: Actor) -> Answer:
    """Return the users who may do this with the resource. Raises Malformed and Forbidden.

    Without a total: users whom a policy denies are found out page by page.
    """
    subject, action, resource = reader.subject(is_sought=True), reader.action(), reader.resource()
    page = _checked(reader)
    may_ask(by)
    if not identifiers.is_person(subject.type):
        return _nothing(page, reader.members)
    privilege = identifiers.privilege(action)
    asked = _asked(resource, by)
    rows = users_by_actor_clause.reached(tokens=inverse_queries.candidates(privilege=privilege, asked=asked))
    ask = Ask(one(privilege), asked)

    def find(after: str, count: int) -> Sequence[str]:
        return list(islice(_permitted(rows, after, ask, action), count))

    found, following = _found(find, page, reader.members)
    results = [{"type": subject.type, "id": identifiers.identifier(urn, "corpuser")} for urn in found]
    return _page(results, following)


def actions(reader: Reader, by: Actor) -> Answer:
    """Return what the subject may do with the resource. Raises Malformed and Forbidden."""
    subject, resource = reader.subject(), reader.resource()
    page = _checked(reader)
    urn = identifiers.actor(subject)
    if urn is None:
        return _nothing(page, reader.members)
    actor = actor_conditions.overridden(_actor(urn, by), subject.properties)
    asked = _asked(resource, by)
    known = (found.names for found in families.vocabularies().values())
    names = sorted(frozenset(settings.CUSTOM_PRIVILEGES).union(*known))
    decisions = authorizer.answer_many(asks=[(actor, Ask(one(name), asked)) for name in names])
    held = {name: None for name, decision in zip(names, decisions, strict=True) if decision.is_allowed}
    called = identifiers.actions(held)

    def find(after: str, count: int) -> Sequence[str]:
        return [name for name in called if name > after][:count]

    found, following = _found(find, page, reader.members)
    results = [{"name": name} for name in found]
    return _page(results, following, total=len(called))


def _checked(reader: Reader) -> Page:
    reader.context()
    page = reader.page()
    reader.finish()
    return page


def _actor(urn: str, by: Actor) -> Actor:
    if urn == by.urn:
        return by
    may_ask(by)
    return fact_cache.actor(urn=urn)


def _asked(resource: Party, by: Actor) -> Asked | None:
    named = identifiers.asked(resource)
    found = request_serializers.asked(named, request_serializers.look_up(sent=[{"resource": named}], by=by))
    return None if found is None else replace(found, said=identifiers.said(resource))


def _permitted(rows: Any, after: str, ask: Ask, action: Action) -> Iterable[str]:
    """Give the users after this one whom the decision permits, asking about many at once."""
    while chunk := list(rows.filter(urn__gt=after).values_list("urn", flat=True)[:_CHUNK]):
        actors = fact_cache.actors(urns=chunk)
        asks = [(actor_conditions.overridden(actors[urn], action.properties), ask) for urn in chunk]
        decisions = authorizer.answer_many(asks=asks)
        yield from (urn for urn, decision in zip(chunk, decisions, strict=True) if decision.is_allowed)
        after = chunk[-1]


# -- pages ------------------------------------------------------------------------------------------------------------


def _found(find: Find, page: Page, members: Members) -> tuple[list[str], str]:
    """Return the page, and after which result the next one begins ('' when there is none)."""
    after = _place(page.token, members)
    limit = _PAGE if page.limit is None else page.limit
    found = list(find(after, limit + 1))
    if len(found) <= limit:
        return found, ""
    return found[:limit], _token(found[limit - 1] if limit else after, members)


def _nothing(page: Page, members: Members) -> Answer:
    _place(page.token, members)
    return _page([], "", total=0)


def _page(results: list[Answer], following: str, total: int | None = None) -> Answer:
    counts = {"count": len(results)} if total is None else {"count": len(results), "total": total}
    return {"page": {"next_token": following, **counts}, "results": results}


def _token(place: str, members: Members) -> str:
    return signing.dumps([place, _digest(members)], salt=_SALT)


def _place(token: str, members: Members) -> str:
    """Return after which result a page begins. Raises Malformed for a token that is not of this search."""
    if not token:
        return ""
    try:
        place, digest = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        raise Malformed("page.token is not one that was given here") from None
    if digest != _digest(members):
        raise Malformed("page.token belongs to another request")
    return str(place)


def _digest(members: Members) -> str:
    said = json.dumps({name: members.get(name) for name in _SAID}, sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]
