"""The policies that name or except users, groups and roles, as pages list them."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from policies.models import Policy, PolicyEffect, PolicyFacet

#: Most policies that a page about one actor names.
_MAX_POLICIES = 50

_MENTION_FIELDS = (PolicyFacet.Field.ACTOR, PolicyFacet.Field.EXCEPTION)


@dataclass(slots=True)
class PolicyMention:
    """A policy that names or excepts an actor, or both, and allows or denies something, or both."""

    urn: str
    name: str
    state: str
    allows: bool
    denies: bool
    is_named: bool = False
    is_excepted: bool = False

    @property
    def is_active(self) -> bool:
        """Whether the policy takes part in decisions."""
        return self.state == Policy.State.ACTIVE

    @property
    def state_label(self) -> str:
        """The state in words."""
        return Policy.State(self.state).label

    @property
    def is_giving(self) -> bool:
        """Whether the policy names the actor to allow it something."""
        return self.is_named and self.allows and not self.is_excepted

    @property
    def is_denying(self) -> bool:
        """Whether the policy names the actor to deny it something."""
        return self.is_named and self.denies and not self.is_excepted


def list_mentions(*, actor: str) -> list[PolicyMention]:
    """Return the first policies that name or except a user, group or role, ordered by name; one query."""
    return load_mentions(actors=[actor], limit=_MAX_POLICIES)[actor]


def load_mentions(*, actors: Collection[str], limit: int | None = None) -> dict[str, list[PolicyMention]]:
    """Return actor URN → the policies that name or except it, ordered by name; one query, of `limit` policies."""
    facets = PolicyFacet.objects.filter(field__in=_MENTION_FIELDS, value__in=actors)
    # One policy can name and except the same actor.
    rows = facets.order_by("policy__name", "policy__urn", "field").values_list(
        "value",
        "field",
        "policy__urn",
        "policy__name",
        "policy__state",
        _effect_condition(PolicyEffect.ALLOW),
        _effect_condition(PolicyEffect.DENY),
    )
    mentions_by_actor: dict[str, dict[str, PolicyMention]] = {urn: {} for urn in actors}
    for actor, field, urn, name, state, allows, denies in rows if limit is None else rows[: 2 * limit]:
        mention = mentions_by_actor[actor].setdefault(urn, PolicyMention(urn, name, state, allows, denies))
        mention.is_named = mention.is_named or field == PolicyFacet.Field.ACTOR
        mention.is_excepted = mention.is_excepted or field == PolicyFacet.Field.EXCEPTION
    return {actor: list(mentions.values())[:limit] for actor, mentions in mentions_by_actor.items()}


def _effect_condition(effect: PolicyEffect) -> Exists:
    facets = PolicyFacet.objects.filter(policy=OuterRef("policy"), field=PolicyFacet.Field.EFFECT, value=effect)
    return Exists(facets)
