"""The check of guardrails at the end of a write, before it commits, by whatever door it came (docs/adr/0032).

It runs behind the gate of writers, on the rows as the whole write leaves them: of two concurrent writes that only
together break a guardrail, the second sees the first. Only breaches that the write adds refuse it. The system actor is
exempt, as it is from the check of the last administrator: an operator who runs its commands can change guardrails, too.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils import timezone

from policies import registries
from policies.engine.families import datahub
from policies.engine.families.validity import Validity
from policies.engine.guardrails.breaches import Breach
from policies.engine.guardrails.sentences import add_example, describe_rule, list_rule_urns, word_added_breach
from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.engine.proofs.verdicts import describe_question
from policies.errors import GuardrailBroken
from policies.models import (
    EventType,
    Guardrail,
    Membership,
    Policy,
    RoleAssignment,
    ScheduledMembership,
    ScheduledRoleAssignment,
    User,
)
from policies.models.fields import filter_storable
from policies.models.guardrail import LOCKOUT_URN
from policies.models.outbox import build_event
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.models.writes import WriteTransaction, get_open_write
from policies.pdp import actor_resolution, later_actors, snapshot_store
from policies.pdp.later_actors import LaterActor
from policies.writes.guardrail_judgment import GuardedChange, Judgment
from policies.writes.guardrail_worlds import JudgedWorld, TimedPolicy, build_timed_policy, load_timed_policies
from policies.writes.preview_disclosure import PreviewDisclosure
from policies.writes.promises import TodaysBreach

_NAME = "guardrails"

#: Most people that one serialized breach names.
_MAX_NAMED_PEOPLE = 20


@dataclass(slots=True)
class GuardrailCheck:
    """The changes of one write, as far as guardrails need to know: whether policies, and which people.

    `earlier_actors` are these people as they were, and `earlier_later` as they were going to be: what they could do
    before is not added. `newcomers` were no users before, `earlier_people` people who were there. `earlier_policies`
    are the changed policies as they were, in the form of the change log (None: new). `by` is who writes, and is told
    why nothing was stored.
    """

    guardrails: tuple[Guardrail, ...]
    by: Actor
    has_policies: bool = False
    user_urns: set[str] = field(default_factory=set)
    earlier_actors: dict[str, Actor] = field(default_factory=dict)
    earlier_later: dict[str, tuple[LaterActor, ...]] = field(default_factory=dict)
    newcomers: set[str] = field(default_factory=set)
    earlier_people: set[str] = field(default_factory=set)
    earlier_policies: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)

    def note_policies(self, earlier_policies: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Note policies that the write changes, each as it was before."""
        self.has_policies = True
        self.earlier_policies = {**earlier_policies, **self.earlier_policies}

    def announce(self, urns: Iterable[str]) -> None:
        """Announce, before or after it is written, that these users, groups or roles may change."""
        if not self.guardrails:
            return
        new_urns = list_users(urns) - self.user_urns
        self.user_urns |= new_urns
        if new_urns:
            new_actors = actor_resolution.load_actors(urns=new_urns)
            self.earlier_actors |= new_actors
            users = User.objects.filter(urn__in=filter_storable(new_urns))
            rows = users.values_list("urn", "kind", "is_removed")
            self.newcomers |= new_urns.difference(urn for urn, _, _ in rows)
            self.earlier_people |= {
                urn for urn, kind, is_removed in rows if kind == User.Kind.PERSON and not is_removed
            }
            self.earlier_later |= later_actors.load_later_states(actors=new_actors.values())

    def run(self) -> None:
        """Raise GuardrailBroken if the write breaks a guardrail; report it where the guardrail only warns.

        Either is an event: the refusal after the write is undone.
        """
        if not self.guardrails or not (self.has_policies or self.user_urns):
            return
        earlier_snapshot = snapshot_store.get_current()
        snapshot, changed_policies = (
            snapshot_store.load_uncommitted() if self.has_policies else (earlier_snapshot, frozenset[str]())
        )
        timed_policies = load_timed_policies()
        present_urns = User.objects.filter(urn__in=filter_storable(self.user_urns)).values_list("urn", flat=True)
        change = GuardedChange(
            JudgedWorld(
                earlier_snapshot,
                self._find_earlier_times(timed_policies),
                self.earlier_actors,
                self.earlier_later,
                self.newcomers,
                self.earlier_people,
            ),
            JudgedWorld(snapshot, timed_policies),
            changed_policies | self.earlier_policies.keys(),
            # Whom the write deletes, too: a promise may count them.
            frozenset(present_urns) | (self.user_urns - self.newcomers),
        )
        for guardrail in self.guardrails:
            breach = change.find_added_breach(guardrail)
            if breach is not None:
                _refuse_or_report(guardrail, breach, self.by)

    def _find_earlier_times(self, timed_policies: Mapping[str, TimedPolicy]) -> dict[str, TimedPolicy]:
        """Return the policies that began or ended later before the write; rules are about DataHub's alone."""
        earlier = {urn: policy for urn, policy in timed_policies.items() if urn not in self.earlier_policies}
        now = timezone.now()
        for urn, values in self.earlier_policies.items():
            if values is None or values["state"] != Policy.State.ACTIVE or "displayName" not in values["document"]:
                continue
            columns = datahub.column_values(values["document"])
            validity = Validity(columns["valid_from"], columns["valid_until"])
            if validity.list_boundaries(validity.find_phase(now)):
                earlier[urn] = build_timed_policy(
                    urn, columns["name"], Policy.Family.DATAHUB, values["document"], validity
                )
        return earlier


def join_check(write: WriteTransaction, *, by: Actor) -> GuardrailCheck:
    """Return the check of an open write, which is the same one in all its parts."""

    def build() -> GuardrailCheck:
        guardrails = () if by.urn == SYSTEM_ACTOR else Guardrail.objects.exclude(mode=Guardrail.Mode.OFF)
        # `admin_lockout` judges the built-in one.
        return GuardrailCheck(
            tuple(guardrail for guardrail in guardrails if guardrail.urn != LOCKOUT_URN)
            if settings.AUTH_POLICIES_ENABLED
            else (),
            by,
        )

    return write.join_check(_NAME, build)


def list_users(urns: Iterable[str]) -> set[str]:
    """Return the users among these URNs, the members of the groups and the holders of the roles, those to come too."""
    urn_list = filter_storable(urns)
    users = {urn for urn in urn_list if urn.startswith(USER_PREFIX)}
    groups = {urn for urn in urn_list if urn.startswith(GROUP_PREFIX)}
    if roles := [urn for urn in urn_list if urn.startswith(ROLE_PREFIX)]:
        for model in (RoleAssignment, ScheduledRoleAssignment):
            holders = model._default_manager.filter(role__urn__in=roles)
            for user_urn, group_urn in holders.values_list("user__urn", "group__profile__urn"):
                users |= {user_urn} if user_urn else set()
                groups |= {group_urn} if group_urn else set()
    for membership_model in (Membership, ScheduledMembership) if groups else ():
        members = membership_model._default_manager.filter(group__profile__urn__in=groups)
        users.update(members.values_list("user__urn", flat=True))
    return users


def serialize_judgment(judgment: Judgment, *, limit: int) -> list[dict[str, Any]]:
    """Return the first `limit` breaches as `serialize_breach` has them, those in any catalog before those of today."""
    breaches: tuple[Breach | TodaysBreach, ...] = (*judgment.breaches, *judgment.todays_breaches)
    return [serialize_breach(breach) for breach in breaches[:limit]]


def serialize_breach(breach: Breach | TodaysBreach) -> dict[str, Any]:
    """Return one breach as the API lists it: the policy, the people, the privilege, and an example."""
    people: Collection[str] = breach.people
    if isinstance(breach, TodaysBreach):
        breaks_at = None if breach.at is None else breach.at.isoformat()
        members: Mapping[str, Any] = {"policy": None, "missing": breach.missing, "reason": "", "breaks_at": breaks_at}
    else:
        members = {"policy": breach.policy or None, "missing": 0, "reason": breach.reason, "breaks_at": None}
    other = breach.other if isinstance(breach, Breach) else None
    return {
        **members,
        "privilege": breach.privilege,
        "people": sorted(people)[:_MAX_NAMED_PEOPLE],
        "people_count": len(people),
        "example": None if breach.question is None else describe_question(breach.question),
        "other": None if other is None else describe_question(other),
    }


def _refuse_or_report(guardrail: Guardrail, breach: Breach | TodaysBreach, by: Actor) -> None:
    serialized_breach = serialize_breach(breach)
    if guardrail.mode == Guardrail.Mode.ENFORCE:
        disclosure = PreviewDisclosure.load(by)
        example = disclosure.redact_example(serialized_breach["example"])
        get_open_write().emit_after_refusal(
            build_event(EventType.GUARDRAIL_REFUSED, subject=guardrail.urn, actor=by.urn, data={"name": guardrail.name})
        )
        raise GuardrailBroken(
            _word_refusal(guardrail, breach, example, disclosure), guardrail=guardrail.urn, example=example
        )
    is_later = isinstance(breach, TodaysBreach) and breach.at is not None
    was_broken = guardrail.status == Guardrail.Status.BROKEN
    if _is_certain(breach) and not is_later:
        guardrail.status = Guardrail.Status.BROKEN
    elif not is_later and guardrail.status == Guardrail.Status.HOLDS:
        guardrail.status = Guardrail.Status.UNKNOWN
    known_breaches = [earlier for earlier in guardrail.breaches if earlier != serialized_breach]
    guardrail.breaches = [*known_breaches, serialized_breach][-_MAX_NAMED_PEOPLE:]
    for tell in registries.load_entries("guardrail_hooks").values():
        tell(guardrail=guardrail, breaches=[serialized_breach])
    Guardrail.objects.filter(pk=guardrail.pk).update(status=guardrail.status, breaches=guardrail.breaches)
    emit_if_broken(guardrail, was_broken=was_broken, by=by)


def emit_if_broken(guardrail: Guardrail, *, was_broken: bool, by: Actor) -> None:
    """Store, inside the open write, that a guardrail is broken now, unless it was before."""
    if guardrail.status == Guardrail.Status.BROKEN and not was_broken:
        data = {"name": guardrail.name, "breaches": len(guardrail.breaches)}
        get_open_write().emit([build_event(EventType.GUARDRAIL_BROKEN, subject=guardrail.urn, actor=by.urn, data=data)])


def _is_certain(breach: Breach | TodaysBreach) -> bool:
    return isinstance(breach, TodaysBreach) or breach.is_certain


def _word_refusal(
    guardrail: Guardrail,
    breach: Breach | TodaysBreach,
    example: Mapping[str, Any] | None,
    disclosure: PreviewDisclosure,
) -> str:
    """Return the sentences of a refusal: the guardrail by name, what it says, and the example or why there is none."""
    names = disclosure.load_names(list_rule_urns(guardrail.rule) | list_rule_urns(example))
    clause = word_added_breach(
        f"The guardrail {guardrail.name}",
        is_certain=_is_certain(breach),
        breaks_at=breach.at if isinstance(breach, TodaysBreach) else None,
    )
    sentences = f"{clause}, so nothing is stored. {describe_rule(guardrail.rule, names)}"
    if example is None and isinstance(breach, Breach) and breach.reason:
        return f"{sentences} {breach.reason}"
    return add_example(sentences, example, names)
