"""The beginning and the end of policies, written when they come due."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Min, Q

from policies.authoring.services import policy_storage
from policies.engine.families.validity import Phase
from policies.models import Policy, Verb
from policies.models.event import CLOCK_CHANNEL
from policies.models.writes import WriteTransaction
from policies.pdp import authorizer

_VERBS = {Phase.CURRENT: Verb.BEGAN, Phase.ENDED: Verb.ENDED}


class PolicyDueChanges:
    """Policies as a source of due changes (`policies.pdp.due_changes`)."""

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:
        """Put every policy that has begun or ended into that phase, as one version of all policies."""
        due = Q(phase=Phase.PENDING, valid_from__lte=now) | (~Q(phase=Phase.ENDED) & Q(valid_until__lte=now))
        policies_by_phase: dict[Phase, list[Policy]] = {}
        for policy in Policy.objects.filter(due).order_by("urn"):
            policies_by_phase.setdefault(policy.validity.find_phase(now), []).append(policy)
        if not policies_by_phase:
            return
        version = write.bump_version()
        for phase, policies in policies_by_phase.items():
            Policy.objects.filter(due, pk__in=[policy.pk for policy in policies]).update(phase=phase)
        policy_storage.record(
            {_VERBS[phase]: policies for phase, policies in policies_by_phase.items()},
            version,
            before={
                policy.urn: policy.build_snapshot() for policies in policies_by_phase.values() for policy in policies
            },
            by=authorizer.SYSTEM,
            channel=CLOCK_CHANNEL,
        )

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest beginning and the earliest end of policies, if there are any."""
        boundaries = Policy.objects.aggregate(
            begins=Min("valid_from", filter=Q(phase=Phase.PENDING)),
            ends=Min("valid_until", filter=~Q(phase=Phase.ENDED)),
        )
        return [boundary for boundary in boundaries.values() if boundary is not None]
