"""Coverage of grants as one WHERE clause: `grant_source` in SQL, for lists and for questions about many entities.

Both follow `cdap.grant_reach` (rules/cdap.md CD-5, CD-18, CD-20). Instance administrators hold every privilege on the
instance.
"""

from collections.abc import Callable, Collection

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Length, Substr

from catalog.access.grant_rows import is_instance_administrator, select_grants
from catalog.models import Facet, prefix_range
from policies.engine.families import cdap
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor, Coverage
from policies.engine.selectors import URN, Condition


def build_grant_conditions(coverage: Coverage) -> list[Q]:
    """Return alternative conditions under which a grant of the coverage's privilege reaches an entity.

    Costs one query for the patterns that the actor holds; the conditions become part of the caller's query.
    """
    if not coverage.granted_privilege:
        return []
    actor, privileges = coverage.actor, (coverage.granted_privilege,)
    _, _, patterns = select_grants(actor.holders | actor.roles, privileges)
    prefixes = list(patterns.values_list("prefix", flat=True))
    return _build_reach_conditions(
        actor, privileges, (lambda column: prefix_range(column, prefixes)) if prefixes else None
    )


def build_held_grant_condition(actor: Actor, privileges: Collection[str]) -> Q:
    """Return the condition that the actor holds any of these privileges on an entity; no query of its own.

    Meant for few or already filtered rows: patterns are compared row by row.
    """
    condition = Q(pk__in=[])
    if actor.is_active:
        _, _, patterns = select_grants(actor.holders | actor.roles, privileges)
        for alternative in _build_reach_conditions(
            actor,
            privileges,
            lambda column: Q(Exists(patterns.filter(prefix=Substr(OuterRef(column), 1, Length("prefix"))))),
        ):
            condition |= alternative
    return condition


def _build_reach_conditions(
    actor: Actor, privileges: Collection[str], match_pattern: Callable[[str], Q] | None
) -> list[Q]:
    """Return a condition for each way in which a grant of the actor reaches an entity.

    `match_pattern` returns the condition that the URN in a column matches a pattern that the actor holds; None without.
    """
    users, groups, _ = select_grants(actor.holders | actor.roles, privileges)
    conditions: list[Q] = []
    for field, condition in cdap.grant_reach(is_inherited=settings.INHERIT_PRIVILEGES):
        column, matches = "urn" if field == URN else "value", []
        key, granted = ("pk", "content_object") if field == URN else ("value", "content_object__urn")
        if condition is Condition.STARTS_WITH:
            matches += [match_pattern(column)] if match_pattern is not None else []
        else:
            matches += [Q(**{f"{key}__in": rows.values(granted)}) for rows in (users, groups)]
            matches += [Q(**{column: INSTANCE_URN})] if is_instance_administrator(actor) else []
        conditions += (
            matches
            if field == URN
            else [Q(pk__in=Facet.objects.filter(match, field=field).values("entity")) for match in matches]
        )
    return conditions
