"""Preview of changes: what several changes, taken as one, would give and take (api-next.md section 2).

Nothing is stored.

Each change is checked as its own write checks it, so a preview needs what the changes need and is refused for the same
reasons; problems have the place of the change they belong to.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import net_change, policies, policy_storage
from policies.authoring.services.change_guardrails import GuardrailVerdict, judge_guardrails
from policies.authoring.services.change_proofs import ChangeProofs, find_change_proofs
from policies.authoring.services.net_change import NetChange
from policies.authoring.services.policies import MANAGE_POLICIES, PolicyInput
from policies.authoring.services.replay import Replay, replay_log
from policies.authoring.services.staged_facts import FACT_KINDS, FactChange, read_fact_change, stage_fact_change
from policies.engine import families
from policies.engine.errors import Problem
from policies.engine.fact_changes import FactChanges
from policies.engine.families.validity import Phase
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.snapshot import Snapshot
from policies.errors import Conflict, Invalid, NotFound
from policies.identity.services.staged_people import ChangedActor, StagedPeople
from policies.models import Policy
from policies.pdp import authorizer, ports, snapshot_store
from policies.pdp.ports import GrantStage

#: Most changes in one preview.
MAX_CHANGES = 100

PUT_POLICY, DELETE_POLICY, SET_STATE = "put_policy", "delete_policy", "set_state"
ADD_MEMBERS, REMOVE_MEMBERS = "add_members", "remove_members"
ASSIGN_ROLES, UNASSIGN_ROLES = "assign_roles", "unassign_roles"
SUSPEND, ACTIVATE = "suspend", "activate"
GRANT, REVOKE = "grant", "revoke"
#: Deletions of people, which the pages that ask before them preview.
DELETE_USER, DELETE_GROUP, DELETE_ROLE = "delete_user", "delete_group", "delete_role"

_POLICY_KINDS = frozenset({PUT_POLICY, DELETE_POLICY, SET_STATE})

#: The field of a change that names what it changes, where the change is an object.
_SUBJECT_POINTERS = {
    SET_STATE: "/urn",
    ADD_MEMBERS: "/group",
    REMOVE_MEMBERS: "/group",
    ASSIGN_ROLES: "/role",
    UNASSIGN_ROLES: "/role",
    REVOKE: "/entity",
} | dict.fromkeys(FACT_KINDS, "/entity")

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


class MemberChange(NamedTuple):
    """Users (URNs) who would enter or leave a group; the kind of the change says which."""

    group: str
    members: Sequence[str]


class RoleHolderChange(NamedTuple):
    """Users and groups (URNs) who would get or lose a role; the kind of the change says which."""

    role: str
    actors: Sequence[str]


class GrantChange(NamedTuple):
    """CDAP privileges that a principal would get or lose on an entity or pattern; None: all that it has.

    `is_confirmed` lets the last ADMIN that is revoked pass to the administrators of the instance.
    """

    principal: str
    entity: str
    privileges: Sequence[str] | None = None
    is_confirmed: bool = False


class Change(NamedTuple):
    """One change by its name in the API; a deletion has the URN of what is deleted, a suspension that of the user."""

    kind: str
    value: PolicyPut | StateChange | MemberChange | RoleHolderChange | FactChange | GrantChange | str


_VALUE_TYPES: Mapping[str, Callable[..., StateChange | MemberChange | RoleHolderChange | GrantChange]] = {
    SET_STATE: StateChange,
    ADD_MEMBERS: MemberChange,
    REMOVE_MEMBERS: MemberChange,
    ASSIGN_ROLES: RoleHolderChange,
    UNASSIGN_ROLES: RoleHolderChange,
    GRANT: GrantChange,
    REVOKE: GrantChange,
}


def read_change(change: Mapping[str, Any]) -> Change:
    """Return the change that an object of the API with one key states, kind → value; its shape has been checked."""
    ((kind, value),) = change.items()
    if isinstance(value, str):
        return Change(kind, value)
    if kind in _VALUE_TYPES:
        return Change(kind, _VALUE_TYPES[kind](**value))
    if kind in FACT_KINDS:
        return Change(kind, read_fact_change(**value))
    draft = PolicyInput(value["family"], value["document"], state=value.get("state"))
    return Change(kind, PolicyPut(value.get("urn"), draft, value.get("valid_from"), value.get("valid_until")))


@dataclass(frozen=True, slots=True)
class Preview:
    """The net change, and the report that would find it exactly, with its parameters, where there is one.

    `proofs`, `guardrails` and `replay` are there if they were asked for.
    """

    change: NetChange
    report: Mapping[str, Any] | None = None
    proofs: ChangeProofs | None = None
    guardrails: Sequence[GuardrailVerdict] = ()
    replay: Replay | None = None


def preview_changes(
    *,
    changes: Sequence[Change],
    by: Actor,
    privileges: Collection[str] | None = None,
    limit: int,
    is_proved: bool = False,
    is_guarded: bool = False,
    replay_days: int | None = None,
    is_sampled: bool = False,
) -> Preview:
    """Return what these changes together would give and take; of `privileges` only, if given.

    With `is_proved` also whether they do in any catalog; changes of people are not proved. With `is_guarded` also which
    guardrails they would break, with `replay_days` which requests of these days they would answer differently. With
    `is_sampled` only the first entities and people are looked at (`NetChange.is_exact` says if these are all). Raises
    Forbidden, or Invalid with every problem of every change, each with its place.
    """
    staged = stage_changes(changes=changes, by=by)
    change_found = net_change.compare_snapshots(
        before=staged.before,
        after=staged.after,
        policies=list(staged.policies),
        people=staged.people,
        facts=staged.facts,
        grants=staged.grants,
        privileges=privileges,
        limit=limit,
        is_sampled=is_sampled,
    )
    if not staged.has_everybody:
        change_found = replace(change_found, is_exact=False)
    has_report = staged.is_about_policies and not change_found.is_exact and not is_sampled
    return Preview(
        change_found,
        _describe_report(staged.policies) if has_report else None,
        staged.prove() if is_proved else None,
        staged.judge() if is_guarded else (),
        staged.replay(days=replay_days, privileges=privileges, limit=limit) if replay_days is not None else None,
    )


@dataclass(frozen=True, slots=True)
class StagedChange:
    """Changes that are checked, as one: the snapshots, and what they leave of policies, people and facts.

    `policies` are None where they would be gone. Unless it `has_everybody`, `people` are a part of
    those whom it concerns. `by` is who would make the changes.
    """

    before: Snapshot
    after: Snapshot
    policies: Mapping[str, Policy | None]
    people: Mapping[str, ChangedActor]
    facts: FactChanges
    grants: GrantStage
    is_about_policies: bool
    has_grant_changes: bool
    has_everybody: bool
    by: Actor

    def prove(self) -> ChangeProofs:
        """Return whether the changes allow more or less in any catalog; unknown for changes of people."""
        return find_change_proofs(self.before, self.after) if self.is_about_policies else ChangeProofs()

    def judge(self) -> list[GuardrailVerdict]:
        """Return the verdict on each guardrail after the changes."""
        return judge_guardrails(
            before=self.before,
            after=self.after,
            policies=self.policies,
            people=self.people,
            has_fact_changes=self.facts.has_changes,
            by=self.by,
        )

    def replay(self, *, days: int, privileges: Collection[str] | None = None, limit: int) -> Replay:
        """Return which requests of the last days would be answered differently. Raises Forbidden.

        Raises Invalid for changes of grants, which are not replayed.
        """
        if self.has_grant_changes:
            detail = "Requests are not replayed against changes of grants: leave this out."
            raise Invalid.from_problem(code="replay.grants", pointer="/replay_days", detail=detail)
        return replay_log(
            before=self.before,
            after=self.after,
            policies=list(self.policies),
            people=self.people,
            facts=self.facts,
            privileges=privileges,
            days=days,
            limit=limit,
            by=self.by,
        )


def stage_changes(*, changes: Sequence[Change], by: Actor) -> StagedChange:
    """Check changes and return what they leave. Raises Forbidden, or Invalid with every problem of every change."""
    policies_after, people = _StagedPolicies(changes, by), StagedPeople(by)
    catalog, grants = ports.stage_catalog(by), ports.stage_grants(by)
    problems: list[Problem] = []
    for index, change in enumerate(changes):
        pointer = f"/changes/{index}/{change.kind}"
        try:
            if change.kind in _POLICY_KINDS:
                policies_after.apply(change)
            elif isinstance(change.value, FactChange):
                stage_fact_change(catalog, change.kind, change.value)
            elif isinstance(change.value, GrantChange):
                _apply_to_grants(grants, change.kind, change.value)
            else:
                _apply_to_people(people, change)
        except Invalid as error:
            problems += [_move_problem(problem, pointer, change.kind) for problem in error.problems]
        except (Conflict, NotFound) as error:
            code = "not_found" if isinstance(error, NotFound) else "conflict"
            problems.append(Problem(code, pointer + _SUBJECT_POINTERS.get(change.kind, ""), error.detail))
    if problems:
        raise Invalid(problems)
    grants.hand_over(departing=people.deleted_urns)
    before = snapshot_store.get_current()
    return StagedChange(
        before,
        before.replace(before.version, policies_after.compile()),
        policies_after.policies,
        people.load_actors(),
        catalog.load_changes(),
        grants,
        all(change.kind in _POLICY_KINDS for change in changes),
        any(isinstance(change.value, GrantChange) for change in changes),
        people.is_complete,
        by,
    )


def _apply_to_grants(grants: GrantStage, kind: str, change: GrantChange) -> None:
    if kind == GRANT:
        grants.grant(principal=change.principal, entity=change.entity, privileges=change.privileges or ())
    else:
        grants.revoke(**change._asdict())


def _apply_to_people(people: StagedPeople, change: Change) -> None:
    match change.value:
        case MemberChange(group, members):
            change_members = people.add_members if change.kind == ADD_MEMBERS else people.remove_members
            change_members(group=group, members=members)
        case RoleHolderChange(role, actors):
            change_roles = people.assign_roles if change.kind == ASSIGN_ROLES else people.unassign_roles
            change_roles(role=role, actors=actors)
        case str(urn) if change.kind == DELETE_USER:
            people.delete_user(user=urn)
        case str(urn) if change.kind == DELETE_GROUP:
            people.delete_group(group=urn)
        case str(urn) if change.kind == DELETE_ROLE:
            people.delete_role(role=urn)
        case str(user):
            people.set_active(user=user, is_active=change.kind == ACTIVATE)
        case PolicyPut() | StateChange() | FactChange() | GrantChange():
            raise TypeError(f"{change.kind} is no change of people.")


class _StagedPolicies:
    """The policies that changes concern, as the changes would leave them; None for those that would be gone.

    Raises Forbidden for policies that the actor may not write.
    """

    def __init__(self, changes: Sequence[Change], by: Actor) -> None:
        self._by = by
        policy_changes = [change for change in changes if change.kind in _POLICY_KINDS]
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
                    draft, _ = policies.validate_draft_with_times(draft, begins=begins, ends=ends)
                self._stage(urn, self.policies.get(urn), draft)
            case StateChange(urn, state):
                policy = self._get(urn)
                self._stage(urn, policy, policies.draft_with_state(policy, state))
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


def _describe_report(policies: Mapping[str, Policy | None]) -> dict[str, Any]:
    """Return the report that finds the net change of these policies, however large it is."""
    proposed = [
        {"urn": policy.urn, "family": policy.family, **policy_storage.policy_snapshot(policy)}
        for policy in policies.values()
        if policy is not None
    ]
    removed = [urn for urn, policy in policies.items() if policy is None]
    return {"kind": REPORT_KIND, "parameters": {"proposed": proposed, "removed": removed}}


def _find_urn(change: Change) -> str | None:
    if isinstance(change.value, PolicyPut | StateChange):
        return change.value.urn
    return change.value if isinstance(change.value, str) else None


def _compile_active(policy: Policy) -> tuple[Statement, ...]:
    if policy.state != Policy.State.ACTIVE or policy.phase != Phase.CURRENT:
        return ()
    return families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name))


def _move_problem(problem: Problem, pointer: str, kind: str) -> Problem:
    """Return a problem of a change with its place among the changes."""
    is_in_document = kind in _POLICY_KINDS and not (
        problem.pointer in _DRAFT_POINTERS or problem.code.endswith(_DISAGREEMENT_SUFFIX)
    )
    local_pointer = f"/document{problem.pointer}" if is_in_document else problem.pointer
    return Problem(problem.code, f"{pointer}{local_pointer}", problem.detail)
