"""Preview of changes: what several changes, taken as one, would give and take. Nothing is stored.

Each change is checked as its own write checks it, so a preview needs what the changes need and is refused for the same
reasons; problems have the place of the change they belong to.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import net_change, policies
from policies.authoring.services.net_change import NetChange
from policies.authoring.services.policies import MANAGE_POLICIES, PolicyInput
from policies.engine import families
from policies.engine.errors import Problem
from policies.engine.families.validity import Phase
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.errors import Invalid, NotFound
from policies.models import Policy
from policies.pdp import authorizer, snapshot_store

#: Most changes in one preview.
MAX_CHANGES = 100

PUT_POLICY, DELETE_POLICY, SET_STATE = "put_policy", "delete_policy", "set_state"

#: Problems of a draft that are not in its document.
_DRAFT_POINTERS = frozenset({"/family", "/urn", "/valid_from", "/valid_until"})
_DISAGREEMENT_SUFFIX = ".disagrees"

#: Report that computes what is too large here.
REPORT_KIND = "policy_impact"


class PolicyPut(NamedTuple):
    """A draft that would be stored under a URN (None: a new one), with the JSON values of its times beside it."""

    urn: str | None
    draft: PolicyInput
    begins: Any = None
    ends: Any = None


class StateChange(NamedTuple):
    """The state that a policy would get."""

    urn: str
    state: str


class Change(NamedTuple):
    """One change by its name in the API; a deletion has the URN of the policy."""

    kind: str
    value: PolicyPut | StateChange | str


@dataclass(frozen=True, slots=True)
class Preview:
    """The net change, and the report that would find it exactly, with its parameters, where it is not exact."""

    change: NetChange
    report: Mapping[str, Any] | None = None


def preview_changes(
    *, changes: Sequence[Change], by: Actor, privileges: Collection[str] | None = None, limit: int
) -> Preview:
    """Return what these changes together would give and take; of `privileges` only, if given.

    Raises Forbidden, or Invalid with every problem of every change, each with its place.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    staged = _StagedPolicies(changes, by)
    before = snapshot_store.get_current()
    after = before.replace(before.version, staged.compile())
    change = net_change.compare_snapshots(
        before=before, after=after, policies=list(staged.policies), privileges=privileges, limit=limit
    )
    return Preview(change, None if change.is_exact else staged.describe_report())


class _StagedPolicies:
    """The policies that changes concern, as the changes would leave them; None for those that would be gone."""

    def __init__(self, changes: Sequence[Change], by: Actor) -> None:
        self._by = by
        urns = [urn for change in changes if (urn := _find_urn(change)) is not None]
        self.policies: dict[str, Policy | None] = dict.fromkeys(urns)
        self.policies |= {policy.urn: policy for policy in policy_queries.find_policies(urns=urns)}
        problems: list[Problem] = []
        for index, change in enumerate(changes):
            try:
                self._apply(change)
            except Invalid as error:
                problems += [_move_problem(problem, f"/changes/{index}/{change.kind}") for problem in error.problems]
            except NotFound as error:
                pointer = f"/changes/{index}/{change.kind}{'/urn' if change.kind == SET_STATE else ''}"
                problems.append(Problem("not_found", pointer, error.detail))
        if problems:
            raise Invalid(problems)

    def compile(self) -> dict[str, tuple[Statement, ...]]:
        """Return the statements of each policy, none for one that is gone or inactive."""
        return {urn: () if policy is None else _compile_active(policy) for urn, policy in self.policies.items()}

    def describe_report(self) -> dict[str, Any]:
        """Return the report that finds the net change of these policies, however large it is."""
        proposed = [
            {"urn": policy.urn, "family": policy.family, "state": policy.state, "document": policy.document}
            for policy in self.policies.values()
            if policy is not None
        ]
        removed = [urn for urn, policy in self.policies.items() if policy is None]
        return {"kind": REPORT_KIND, "parameters": {"proposed": proposed, "removed": removed}}

    def _apply(self, change: Change) -> None:
        match change.value:
            case PolicyPut(urn, draft, begins, ends):
                urn = urn or policies.generate_urn()
                if begins is not None or ends is not None:
                    draft, _ = policies.validate_draft_with_times(draft, begins=begins, ends=ends)
                self._stage(urn, self.policies.get(urn), draft)
            case StateChange(urn, state):
                policy = self._get(urn)
                self._stage(urn, policy, policies.draft_with_state(policy, state))
            case urn:
                policies.check_deletion(self._get(urn))
                self.policies[urn] = None

    def _stage(self, urn: str, policy: Policy | None, draft: PolicyInput) -> None:
        self.policies[urn] = policies.stage_write(urn=urn, policy=policy, draft=draft, by=self._by)

    def _get(self, urn: str) -> Policy:
        policy = self.policies.get(urn)
        if policy is None:
            raise NotFound(f"There is no policy {urn!r}.")
        return policy


def _find_urn(change: Change) -> str | None:
    return change.value if isinstance(change.value, str) else change.value.urn


def _compile_active(policy: Policy) -> tuple[Statement, ...]:
    if policy.state != Policy.State.ACTIVE or policy.phase != Phase.CURRENT:
        return ()
    return families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name))


def _move_problem(problem: Problem, pointer: str) -> Problem:
    """Return a problem of a draft with its place among the changes."""
    is_beside_document = problem.pointer in _DRAFT_POINTERS or problem.code.endswith(_DISAGREEMENT_SUFFIX)
    local_pointer = problem.pointer if is_beside_document else f"/document{problem.pointer}"
    return Problem(problem.code, f"{pointer}{local_pointer}", problem.detail)
