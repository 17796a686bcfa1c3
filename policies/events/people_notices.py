"""Notices to people about ends of memberships, roles and policies; to administrators about guardrails and refusals."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from django.db.models import Q, QuerySet
from django.urls import reverse

from policies.engine.families.validity import Phase
from policies.engine.wording import word_time
from policies.events.sources import Ending, NoticeDraft
from policies.models import EventType, Membership, OutboxEvent, Policy, PolicyFacet, RoleAssignment
from policies.models.people import USER_PREFIX
from policies.pdp import display_names

_CHUNK_SIZE = 500


class PeopleNotices:
    """The source of this app."""

    @property
    def rules(self) -> Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]]:
        """Type of an event → what is told of it."""
        return _RULES

    def iterate_endings(self, *, after: datetime, until: datetime) -> Iterator[Ending]:
        """Yield memberships, roles and policies that end in this time, of users themselves."""
        is_due = Q(valid_until__gt=after, valid_until__lte=until)
        path = reverse("profile")
        memberships = Membership.objects.filter(is_due).order_by("pk")
        columns = ("group__profile__urn", "group__profile__name", "user__urn", "valid_until")
        for urn, name, user, at in memberships.values_list(*columns).iterator(chunk_size=_CHUNK_SIZE):
            yield Ending("membership", urn, f"Your membership of {name}", user, at, path)
        assignments = RoleAssignment.objects.filter(is_due, user__isnull=False).order_by("pk")
        columns = ("role__urn", "role__name", "user__urn", "valid_until")
        for urn, name, user, at in assignments.values_list(*columns).iterator(chunk_size=_CHUNK_SIZE):
            yield Ending("role", urn, f"Your role {name}", user, at, path)
        policies = Policy.objects.filter(is_due, state=Policy.State.ACTIVE).exclude(phase=Phase.ENDED)
        facets = _list_named_users().filter(policy__in=policies).order_by("policy", "value")
        columns = ("policy__urn", "policy__name", "value", "policy__valid_until")
        for urn, name, user, at in facets.values_list(*columns).iterator(chunk_size=_CHUNK_SIZE):
            yield Ending("policy", urn, f"The policy {name}, which names you,", user, at, reverse("why"))


def _describe_membership_end(event: OutboxEvent) -> NoticeDraft:
    group = event.data["group"]
    name = event.data.get("group_name") or _load_name(group)
    return _describe_end(event, f"Your membership of {name}", reverse("profile"))


def _describe_role_end(event: OutboxEvent) -> NoticeDraft:
    return _describe_end(event, f"Your role {_load_name(event.data['role'])}", reverse("profile"))


def _describe_end(event: OutboxEvent, thing: str, path: str) -> NoticeDraft:
    """Return the notice to a user that something has ended; nobody is told for groups."""
    when = word_time(event.time)
    return NoticeDraft(f"{thing} has ended", f"It ended on {when}.", path, frozenset({event.subject}))


def _describe_policy_end(event: OutboxEvent) -> NoticeDraft | None:
    if event.data.get("state") != "ENDED":
        return None
    facets = _list_named_users().filter(policy__urn=event.subject)
    return NoticeDraft(
        f"The policy {event.data['name']}, which names you, has ended",
        path=reverse("why"),
        user_urns=frozenset(facets.values_list("value", flat=True)),
    )


def _describe_broken_guardrail(event: OutboxEvent) -> NoticeDraft:
    return NoticeDraft(
        f"The guardrail {event.data['name']} is broken",
        "Its page says by whom, and through what.",
        reverse("guardrail", args=[event.subject]),
        to_administrators=True,
    )


def _describe_refusals(event: OutboxEvent) -> NoticeDraft:
    count, minutes, usual = (event.data[name] for name in ("refusals", "minutes", "usual"))
    return NoticeDraft(
        f"{count:,} refusals in {minutes} minutes",
        f"Usually there are {usual:,}. The decision log shows who was refused what.",
        f"{reverse('audit')}?decision=DENY",
        to_administrators=True,
    )


def _list_named_users() -> QuerySet[PolicyFacet]:
    return PolicyFacet.objects.filter(field=PolicyFacet.Field.ACTOR, value__startswith=USER_PREFIX)


def _load_name(urn: str) -> str:
    return display_names.load_names(urns=[urn]).get(urn, urn)


_RULES: Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]] = {
    EventType.MEMBERSHIP_ENDED: _describe_membership_end,
    EventType.ROLE_ENDED: _describe_role_end,
    EventType.POLICY_STATE: _describe_policy_end,
    EventType.GUARDRAIL_BROKEN: _describe_broken_guardrail,
    EventType.REFUSAL_SPIKE: _describe_refusals,
}

#: What the registry `notice_sources` names.
SOURCE = PeopleNotices()
