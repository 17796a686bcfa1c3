"""Who is told: active people by name, by their groups and roles, and those who may manage policies."""

from collections.abc import Iterable
from itertools import islice

from django.conf import settings
from django.db.models import QuerySet

from policies.engine.model import Effect
from policies.engine.requirements import privilege_requirement
from policies.events.sources import NoticeDraft
from policies.models import User
from policies.pdp import actor_resolution, authorizer, snapshot_store, users_by_actor_clause
from policies.pdp.access_requests import AccessRequest

#: Most people who are told as administrators, and of whom it is asked whether they are.
MAX_ADMINISTRATORS = 200
_MAX_CANDIDATES = 5_000

_BATCH_SIZE = 500
_MANAGE_POLICIES = "MANAGE_POLICIES"


def list_receivers(draft: NoticeDraft) -> tuple[list[User], list[str]]:
    """Return the people and the addresses that are told of this, each once."""
    users = {user.pk: user for user in _list_named_users(draft)}
    if draft.to_administrators:
        users |= {user.pk: user for user in list_administrators()}
    addresses = list(dict.fromkeys(settings.ALERT_RECIPIENTS)) if draft.to_alert_recipients else []
    return [user for user in users.values() if user.urn not in draft.untold_urns], addresses


def list_administrators() -> list[User]:
    """Return the people who may manage policies, in order, up to MAX_ADMINISTRATORS of them.

    Where everybody may, as in a trial, the first _MAX_CANDIDATES are asked about.
    """
    snapshot = snapshot_store.get_current()
    statements = snapshot.list_statements(_MANAGE_POLICIES)
    tokens = frozenset[str]().union(*(item.actors.tokens for item in statements if item.effect is Effect.ALLOW))
    candidates = _list_people(users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens))[:_MAX_CANDIDATES]
    return list(islice(_iterate_managers(candidates.iterator(chunk_size=_BATCH_SIZE)), MAX_ADMINISTRATORS))


def _iterate_managers(candidates: Iterable[User]) -> Iterable[User]:
    request = AccessRequest(privilege_requirement(_MANAGE_POLICIES))
    iterator = iter(candidates)
    while batch := list(islice(iterator, _BATCH_SIZE)):
        actors = actor_resolution.load_actors(urns=[user.urn for user in batch])
        decisions = authorizer.answer_many(requests=[(actors[user.urn], request) for user in batch])
        yield from (user for user, decision in zip(batch, decisions, strict=True) if decision.is_allowed)


def _list_named_users(draft: NoticeDraft) -> QuerySet[User]:
    tokens = draft.user_urns | draft.group_urns | draft.role_urns
    return _list_people(users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens))


def _list_people(users: QuerySet[User]) -> QuerySet[User]:
    """Return the active people among these users, without the columns that can be long."""
    people = users.filter(kind=User.Kind.PERSON, state=User.State.ACTIVE, is_removed=False)
    return people.only("pk", "urn", "username", "display_name", "email").order_by("pk")
