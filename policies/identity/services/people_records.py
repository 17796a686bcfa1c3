"""Visibility of user records: the users whose address, title, state, groups and roles a caller may see.

The rule is `required_privileges.user_record`. The public part of every user is visible to all callers: user name,
display names, whether the user is active, and whether it is a service account.
"""

from collections.abc import Collection

from django.conf import settings
from django.db.models import Q

from policies.engine.model import Actor
from policies.identity.services.users import ENTITY_TYPE
from policies.models import User
from policies.models.fields import filter_storable
from policies.pdp import authorizer, per_snapshot
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.writes import required_privileges
from policies.writes.required_privileges import is_met


def list_visible(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these user URNs, stored or not, whose records the caller may see.

    Answers as `required_privileges.user_record` for each; at most one query beside those of the decisions.
    """
    if is_met(required_privileges.user_records(), by=by):
        return frozenset(urns)
    person = required_privileges.user_record(is_service=False)
    unique_urns = list(dict.fromkeys(urns))
    asks = [(by, AccessRequest(person, ResourceRef(urn, ENTITY_TYPE))) for urn in unique_urns]
    decisions = authorizer.answer_many(requests=asks) if asks else []
    visible_urns = {urn for urn, decision in zip(unique_urns, decisions, strict=True) if decision.is_allowed}
    if len(visible_urns) < len(unique_urns) and is_met(required_privileges.MANAGE_SERVICE_TOKENS, by=by):
        services = User.objects.filter(urn__among=filter_storable(unique_urns), kind=User.Kind.SERVICE).order_by()
        visible_urns.update(services.values_list("urn", flat=True))
    return frozenset(visible_urns)


def build_condition(*, by: Actor) -> Q:
    """Return the condition on users whose records the caller may see; an empty Q when the caller may see all.

    Memoized for each snapshot. EDIT_ENTITY on single users is added by `catalog.access.people_records`.
    """
    return per_snapshot.memoize((__name__, by, settings.AUTH_POLICIES_ENABLED), lambda: _build(by))


def _build(by: Actor) -> Q:
    if is_met(required_privileges.user_records(), by=by):
        return Q()
    own_record = Q(urn=by.urn)
    return (
        own_record | Q(kind=User.Kind.SERVICE)
        if is_met(required_privileges.MANAGE_SERVICE_TOKENS, by=by)
        else own_record
    )
