"""Coverage of grants as one WHERE clause: `grant_source` in SQL, for lists and for questions about many entities.

Settings: CDAP_INSTANCE_ADMINS names the actors that hold every privilege on the instance; with INHERIT_PRIVILEGES a
grant reaches the entities inside its entity (rules/cdap.md CD-5, CD-18).
"""

from collections.abc import Collection

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Length, Substr

from catalog.aspects.base import VERSION_OF, WITHIN
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, Facet, WildcardGrant, prefix_range
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor, Coverage
from policies.models.fields import filter_storable
from policies.models.people import ROOT_USERNAME, USER_PREFIX


def instance_administrators() -> frozenset[str]:
    """Return the URNs of the instance administrators: those in the settings, else the root user."""
    admin_names = settings.CDAP_INSTANCE_ADMINS or [ROOT_USERNAME]
    return frozenset(name if name.startswith("urn:li:") else f"{USER_PREFIX}{name}" for name in admin_names)


def is_instance_administrator(actor: Actor) -> bool:
    """Whether the actor, one of its groups or one of its roles administers the instance."""
    return actor.is_active and not instance_administrators().isdisjoint(actor.tokens)


def build_grant_conditions(coverage: Coverage) -> list[Q]:
    """Return alternative conditions under which a grant of the coverage's privilege reaches an entity.

    Costs one query for the patterns that the actor holds; the conditions become part of the caller's query.
    """
    if not coverage.granted_privilege:
        return []
    actor, privilege = coverage.actor, coverage.granted_privilege
    user_grants = EntityUserGrant.objects.filter(user__urn=actor.urn, permission__codename=privilege)
    group_grants = EntityGroupGrant.objects.filter(
        group_condition(actor.groups | actor.roles), permission__codename=privilege
    )
    holders = Q(user__urn=actor.urn) | group_condition(actor.groups | actor.roles)
    prefixes = list(WildcardGrant.objects.filter(holders, privilege=privilege).values_list("prefix", flat=True))
    entity_urns = [rows.values("content_object__urn") for rows in (user_grants, group_grants)]
    conditions = [Q(pk__in=user_grants.values("content_object")), Q(pk__in=group_grants.values("content_object"))]
    conditions += [
        Q(pk__in=Facet.objects.filter(field=VERSION_OF, value__in=urns).values("entity")) for urns in entity_urns
    ]
    conditions += [prefix_range("urn", prefixes)] if prefixes else []
    conditions += [Q(urn=INSTANCE_URN)] if is_instance_administrator(actor) else []
    return [*conditions, *_inherited_conditions(conditions, prefixes)] if settings.INHERIT_PRIVILEGES else conditions


def build_held_grant_condition(actor: Actor, privileges: Collection[str]) -> Q:
    """Return the condition that the actor holds any of these privileges on an entity; no query of its own.

    Meant for few or already filtered rows: patterns are compared row by row.
    """
    if not actor.is_active:
        return Q(pk__in=[])
    holders = group_condition(actor.groups | actor.roles)
    user_grants = EntityUserGrant.objects.filter(user__urn=actor.urn, permission__codename__in=privileges)
    group_grants = EntityGroupGrant.objects.filter(holders, permission__codename__in=privileges)
    pattern_grants = WildcardGrant.objects.filter(Q(user__urn=actor.urn) | holders, privilege__in=privileges)
    entity_urns = [rows.values("content_object__urn") for rows in (user_grants, group_grants)]
    version_facets = Facet.objects.filter(field=VERSION_OF).filter(
        Q(value__in=entity_urns[0]) | Q(value__in=entity_urns[1])
    )
    condition = Q(pk__in=user_grants.values("content_object")) | Q(pk__in=group_grants.values("content_object"))
    condition |= Q(pk__in=version_facets.values("entity")) | Q(
        Exists(pattern_grants.filter(prefix=_column_prefix("urn")))
    )
    if settings.INHERIT_PRIVILEGES:
        ancestor_condition = (
            Q(value__in=entity_urns[0])
            | Q(value__in=entity_urns[1])
            | Q(Exists(pattern_grants.filter(prefix=_column_prefix("value"))))
        )
        condition |= Q(pk__in=Facet.objects.filter(ancestor_condition, field=WITHIN).values("entity"))
    return condition


def _column_prefix(column: str) -> Substr:
    """Return the start of a column of the outer query, as long as the prefix of a pattern."""
    return Substr(OuterRef(column), 1, Length("prefix"))


def group_condition(urns: frozenset[str]) -> Q:
    """Return the condition that a row belongs to one of these groups or roles; removed groups match nothing."""
    storable_urns = filter_storable(sorted(urns))
    active_groups = Q(group__profile__urn__in=storable_urns, group__profile__is_removed=False)
    return active_groups | Q(group__role__urn__in=storable_urns)


def _inherited_conditions(conditions: list[Q], prefixes: list[str]) -> list[Q]:
    """Return the condition that an ancestor of an entity, stored or not, is reached."""
    stored_entities = Entity.objects.filter(pk__in=[])
    for condition in conditions:
        stored_entities = stored_entities | Entity.objects.filter(condition)
    ancestor_condition = Q(value__in=stored_entities.order_by().values("urn"))
    ancestor_condition |= prefix_range("value", prefixes) if prefixes else Q(pk__in=[])
    return [Q(pk__in=Facet.objects.filter(ancestor_condition, field=WITHIN).values("entity"))]
