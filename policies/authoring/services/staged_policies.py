"""Policies as proposed changes would leave them, each checked as its own write checks it. Nothing is stored."""

from collections.abc import Sequence

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.authoring.services.policies import MANAGE_POLICIES
from policies.authoring.services.policy_drafts import PolicyInput
from policies.authoring.services.proposed_changes import (
    POLICY_KINDS,
    Change,
    GrantChange,
    MemberChange,
    PolicyPut,
    RoleHolderChange,
    StateChange,
)
from policies.authoring.services.staged_facts import FactChange
from policies.engine import families
from policies.engine.families.validity import Phase
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.errors import NotFound
from policies.models import Policy
from policies.pdp import authorizer


class StagedPolicies:
    """The policies that changes concern, as the changes would leave them; None for those that would be gone.

    Raises Forbidden for policies that the actor may not write.
    """

    def __init__(self, changes: Sequence[Change], by: Actor) -> None:
        self._by = by
        policy_changes = [change for change in changes if change.kind in POLICY_KINDS]
        if policy_changes:
            authorizer.require(by=by, any_of=MANAGE_POLICIES)
        urns = [urn for change in policy_changes if (urn := _find_urn(change)) is not None]
        self.policies: dict[str, Policy | None] = dict.fromkeys(urns)
        self.policies |= {policy.urn: policy for policy in policy_queries.find_policies(urns=urns)}

    def apply(self, change: Change) -> None:
        """Apply one more change."""
        match change.value:
            case PolicyPut(urn, draft, begins, ends):
                urn = urn or policies.generate_urn()
                if begins is not None or ends is not None:
                    draft, _ = policy_drafts.validate_draft_with_times(draft, begins=begins, ends=ends)
                self._stage(urn, self.policies.get(urn), draft)
            case StateChange(urn, state):
                policy = self._get(urn)
                self._stage(urn, policy, policy_drafts.draft_with_state(policy, state))
            case str(urn):
                policies.check_deletion(self._get(urn), by=self._by)
                self.policies[urn] = None
            case MemberChange() | RoleHolderChange() | FactChange() | GrantChange():
                raise TypeError(f"{change.kind} is no change of a policy.")

    def compile(self) -> dict[str, tuple[Statement, ...]]:
        """Return the statements of each policy, none for one that is gone or inactive."""
        return {urn: () if policy is None else _compile_active(policy) for urn, policy in self.policies.items()}

    def _stage(self, urn: str, policy: Policy | None, draft: PolicyInput) -> None:
        self.policies[urn] = policies.stage_write(urn=urn, policy=policy, draft=draft, by=self._by)

    def _get(self, urn: str) -> Policy:
        policy = self.policies.get(urn)
        if policy is None:
            raise NotFound(f"There is no policy {urn!r}.")
        return policy


def _find_urn(change: Change) -> str | None:
    if isinstance(change.value, PolicyPut | StateChange):
        return change.value.urn
    return change.value if isinstance(change.value, str) else None


def _compile_active(policy: Policy) -> tuple[Statement, ...]:
    if policy.state != Policy.State.ACTIVE or policy.phase != Phase.CURRENT:
        return ()
    return families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name))
