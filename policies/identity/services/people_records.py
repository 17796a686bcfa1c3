"""Whose records a caller may see: addresses, titles, states, groups and roles of users (the rule of `services.needs`).

Of other users everybody sees the public part: the user name, the names they are called by, whether they may act, and
whether they are service accounts.
"""

from collections.abc import Collection

from django.conf import settings
from django.db.models import Q

from policies.engine.model import Actor
from policies.engine.requirements import Requirement
from policies.identity.services.users import TYPE
from policies.models import User
from policies.models.fields import storable
from policies.pdp import authorizer, per_snapshot
from policies.pdp.authorizer import Ask, Asked
from policies.writes import required_privileges


def list_visible(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these users, stored or not, whose records the caller may see.

    The answer for each is that of `needs.user_record`; at most one query beside those of the decisions.
    """
    if _is_allowed(required_privileges.user_records(), by):
        return frozenset(urns)
    person = required_privileges.user_record(is_service=False)
    asked = list(dict.fromkeys(urns))
    asks = [(by, Ask(person, Asked(urn, TYPE))) for urn in asked]
    decisions = authorizer.answer_many(asks=asks) if asks else []
    found = {urn for urn, decision in zip(asked, decisions, strict=True) if decision.is_allowed}
    if len(found) < len(asked) and _is_allowed(required_privileges.TOKENS_OF_SERVICES, by):
        services = User.objects.filter(urn__among=storable(asked), kind=User.Kind.SERVICE).order_by()
        found.update(services.values_list("urn", flat=True))
    return frozenset(found)


def build_condition(*, by: Actor) -> Q:
    """Return the condition on users that the caller may see their records, as far as it needs no look at entities.

    Empty where every record may be seen. EDIT_ENTITY on a single user is left to `catalog.access.people_records`.
    """
    return per_snapshot.kept((__name__, by, settings.AUTH_POLICIES_ENABLED), lambda: _build(by))


def _build(by: Actor) -> Q:
    if _is_allowed(required_privileges.user_records(), by):
        return Q()
    own = Q(urn=by.urn)
    return own | Q(kind=User.Kind.SERVICE) if _is_allowed(required_privileges.TOKENS_OF_SERVICES, by) else own


def _is_allowed(requirement: Requirement, by: Actor) -> bool:
    return authorizer.answer(actor=by, ask=Ask(requirement)).is_allowed
