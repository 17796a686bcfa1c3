"""Rows of grants: those of django-guardian on one entity, and `WildcardGrant` on patterns (rules/cdap.md CD-4, CD-5).

A row belongs to a user or a group; a role holds its grants through its hidden Django group.
"""

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from catalog.models import EntityGroupGrant, EntityUserGrant, ScheduledGrant, WildcardGrant
from policies.engine.model import Actor
from policies.models.people import ROOT_USERNAME, USER_PREFIX

_GROUP_URN = Coalesce(F("group__profile__urn"), F("group__role__urn"))


def select_grants(
    holders: Collection[str] | None = None, privileges: Collection[str] | None = None
) -> tuple[QuerySet[Any], QuerySet[Any], QuerySet[Any]]:
    """Return the rows of grants to users, of those to groups and roles, and of those on patterns; None means all.

    Removed groups hold nothing. Rows are annotated with `source` (URN of the entity or pattern), `granted` (the
    privilege) and `holder`.
    """
    entity_columns = {"source": F("content_object__urn"), "granted": F("permission__codename")}
    users = EntityUserGrant.objects.annotate(**entity_columns, holder=F("user__urn"))
    groups = EntityGroupGrant.objects.annotate(**entity_columns, holder=_GROUP_URN)
    patterns = WildcardGrant.objects.annotate(
        source=F("pattern"), granted=F("privilege"), holder=Coalesce(F("user__urn"), _GROUP_URN)
    )
    groups, patterns = (rows.exclude(group__profile__is_removed=True) for rows in (groups, patterns))
    if privileges is not None:
        users, groups = (rows.filter(permission__codename__in=list(privileges)) for rows in (users, groups))
        patterns = patterns.filter(privilege__in=privileges)
    if holders is not None:
        user_urns = [holder for holder in holders if holder.startswith(USER_PREFIX)]
        other_urns = [holder for holder in holders if not holder.startswith(USER_PREFIX)]
        of_users = Q(user__urn__among=user_urns)
        of_groups = Q(group__profile__urn__among=other_urns) | Q(group__role__urn__among=other_urns)
        users, groups = users.filter(of_users), groups.filter(of_groups)
        patterns = patterns.filter(of_users | of_groups)
    return users, groups, patterns


def select_scheduled_grants(
    holders: Collection[str] | None = None, rows: QuerySet[ScheduledGrant] | None = None
) -> QuerySet[Any]:
    """Return the rows of grants that have not begun (of `rows`), annotated as those of `select_grants`."""
    all_rows = ScheduledGrant.objects.all() if rows is None else rows
    annotated_rows = all_rows.annotate(
        source=F("target"), granted=F("privilege"), holder=Coalesce(F("user__urn"), _GROUP_URN)
    )
    return annotated_rows if holders is None else annotated_rows.filter(holder__in=list(holders))


def instance_administrators() -> frozenset[str]:
    """Return the URNs of the instance administrators: those in the settings, else the root user (CD-18)."""
    admin_names = settings.CDAP_INSTANCE_ADMINS or [ROOT_USERNAME]
    return frozenset(name if name.startswith("urn:li:") else f"{USER_PREFIX}{name}" for name in admin_names)


def is_instance_administrator(actor: Actor) -> bool:
    """Whether the actor, one of its groups or one of its roles administers the instance."""
    return actor.is_active and not instance_administrators().isdisjoint(actor.tokens)
