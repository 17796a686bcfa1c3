"""What grants reach, as one WHERE: `grant_source` in SQL, for lists and for what somebody may do on what.

Settings: CDAP_INSTANCE_ADMINS names who holds everything on the instance, INHERIT_PRIVILEGES lets a grant reach what
lies in its entity (rules/cdap.md CD-5, CD-18).
"""

from collections.abc import Collection

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Length, Substr

from catalog.aspects.base import VERSION_OF, WITHIN
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, Facet, WildcardGrant, prefix_range
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor, Coverage
from policies.models.fields import storable
from policies.models.people import ROOT_USERNAME, USER_PREFIX


def instance_administrators() -> frozenset[str]:
    """Return the URNs of who administers the instance: those the settings name, else the root user."""
    named = settings.CDAP_INSTANCE_ADMINS or [ROOT_USERNAME]
    return frozenset(one if one.startswith("urn:li:") else f"{USER_PREFIX}{one}" for one in named)


def is_instance_administrator(actor: Actor) -> bool:
    """Whether the actor, one of its groups or one of its roles administers the instance."""
    return actor.is_active and not instance_administrators().isdisjoint(actor.tokens)


def reached(coverage: Coverage) -> list[Q]:
    """Return the conditions, any of which suffices, that an entity is reached by a grant of the coverage's privilege.

    Costs one query for the patterns that the actor holds; the rest is part of the statement it becomes a part of.
    """
    if not coverage.granted:
        return []
    actor, privilege = coverage.actor, coverage.granted
    own = EntityUserGrant.objects.filter(user__urn=actor.urn, permission__codename=privilege)
    through = EntityGroupGrant.objects.filter(of_groups(actor.groups | actor.roles), permission__codename=privilege)
    holders = Q(user__urn=actor.urn) | of_groups(actor.groups | actor.roles)
    prefixes = list(WildcardGrant.objects.filter(holders, privilege=privilege).values_list("prefix", flat=True))
    direct = [rows.values("content_object__urn") for rows in (own, through)]
    found = [Q(pk__in=own.values("content_object")), Q(pk__in=through.values("content_object"))]
    found += [Q(pk__in=Facet.objects.filter(field=VERSION_OF, value__in=urns).values("entity")) for urns in direct]
    found += [prefix_range("urn", prefixes)] if prefixes else []
    found += [Q(urn=INSTANCE_URN)] if is_instance_administrator(actor) else []
    return [*found, *_below(found, prefixes)] if settings.INHERIT_PRIVILEGES else found


def holding(actor: Actor, privileges: Collection[str]) -> Q:
    """Return the condition that the actor holds some of these privileges on an entity, without a query of its own.

    For rows that are few, or filtered beforehand: patterns are compared row by row.
    """
    if not actor.is_active:
        return Q(pk__in=[])
    holders = of_groups(actor.groups | actor.roles)
    own = EntityUserGrant.objects.filter(user__urn=actor.urn, permission__codename__in=privileges)
    through = EntityGroupGrant.objects.filter(holders, permission__codename__in=privileges)
    wide = WildcardGrant.objects.filter(Q(user__urn=actor.urn) | holders, privilege__in=privileges)
    direct = [rows.values("content_object__urn") for rows in (own, through)]
    named = Facet.objects.filter(field=VERSION_OF).filter(Q(value__in=direct[0]) | Q(value__in=direct[1]))
    found = Q(pk__in=own.values("content_object")) | Q(pk__in=through.values("content_object"))
    found |= Q(pk__in=named.values("entity")) | Q(Exists(wide.filter(prefix=_beginning("urn"))))
    if settings.INHERIT_PRIVILEGES:
        place = Q(value__in=direct[0]) | Q(value__in=direct[1]) | Q(Exists(wide.filter(prefix=_beginning("value"))))
        found |= Q(pk__in=Facet.objects.filter(place, field=WITHIN).values("entity"))
    return found


def _beginning(column: str) -> Substr:
    """Return as much of a column of the outer statement as the prefix of a pattern is long."""
    return Substr(OuterRef(column), 1, Length("prefix"))


def of_groups(urns: frozenset[str]) -> Q:
    """Return the condition that a row is about one of these groups or roles; removed groups are none."""
    wanted = storable(sorted(urns))
    in_force = Q(group__profile__urn__in=wanted, group__profile__is_removed=False)
    return in_force | Q(group__role__urn__in=wanted)


def _below(found: list[Q], prefixes: list[str]) -> list[Q]:
    """Return the conditions that something an entity lies in is reached, whether or not that is stored."""
    stored = Entity.objects.filter(pk__in=[])
    for condition in found:
        stored = stored | Entity.objects.filter(condition)
    named = Q(value__in=stored.order_by().values("urn"))
    named |= prefix_range("value", prefixes) if prefixes else Q(pk__in=[])
    return [Q(pk__in=Facet.objects.filter(named, field=WITHIN).values("entity"))]
