"""Proposed changes, checked and taken as one: what they leave, to be compared, proved, judged and replayed.

Nothing is stored. Each change is checked as its own write checks it, so staging needs what the changes need and is
refused for the same reasons; problems have the place of the change they belong to.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from policies import deadlines
from policies.authoring.services.change_guardrails import GuardrailVerdict, judge_guardrails
from policies.authoring.services.change_proofs import ChangeProofs, find_change_proofs
from policies.authoring.services.proposed_changes import (
    ACTIVATE,
    ADD_MEMBERS,
    ASSIGN_ROLES,
    DELETE_GROUP,
    DELETE_ROLE,
    DELETE_USER,
    GRANT,
    POLICY_KINDS,
    REMOVE_MEMBERS,
    REVOKE,
    SET_STATE,
    UNASSIGN_ROLES,
    Change,
    GrantChange,
    MemberChange,
    PolicyPut,
    RoleHolderChange,
    StateChange,
)
from policies.authoring.services.replay import Replay, replay_log
from policies.authoring.services.staged_facts import FACT_KINDS, FactChange, stage_fact_change
from policies.authoring.services.staged_policies import StagedPolicies
from policies.engine.errors import Problem
from policies.engine.fact_changes import FactChanges
from policies.engine.model import Actor
from policies.engine.snapshot import Snapshot
from policies.errors import Conflict, Invalid, NotFound, Unavailable
from policies.identity.services.staged_people import ChangedActor, StagedPeople
from policies.models import Policy
from policies.pdp import ports, snapshot_store
from policies.pdp.ports import GrantStage

#: The field of a change that names what it changes, where the change is an object.
_SUBJECT_POINTERS = {
    SET_STATE: "/urn",
    ADD_MEMBERS: "/group",
    REMOVE_MEMBERS: "/group",
    ASSIGN_ROLES: "/role",
    UNASSIGN_ROLES: "/role",
    REVOKE: "/entity",
} | dict.fromkeys(FACT_KINDS, "/entity")

#: Seconds for which changes are checked, one after the other: longer than a hundred of any kind take.
STAGING_SECONDS = 30.0

#: Problems of a draft that are not in its document.
_DRAFT_POINTERS = frozenset({"/family", "/urn", "/valid_from", "/valid_until"})
_DISAGREEMENT_SUFFIX = ".disagrees"


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
        if not self.is_about_policies:
            return ChangeProofs()
        return find_change_proofs(self.before, self.after, by=self.by)

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
        """Return the requests of the last days that would be answered differently. Raises Forbidden.

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
    """Check changes and return what they leave.

    Raises Forbidden, Invalid with every problem of every change, and Unavailable where it takes too long.
    """
    policies_after, people = StagedPolicies(changes, by), StagedPeople(by)
    catalog, grants = ports.stage_catalog(by), ports.stage_grants(by)
    problems: list[Problem] = []
    ends_at = time.monotonic() + STAGING_SECONDS
    for index, change in enumerate(changes):
        _refuse_late(index, len(changes), ends_at)
        pointer = f"/changes/{index}/{change.kind}"
        try:
            if change.kind in POLICY_KINDS:
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
    problems += _list_document_problems(changes, catalog.check())
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
        all(change.kind in POLICY_KINDS for change in changes),
        any(isinstance(change.value, GrantChange) for change in changes),
        people.is_complete,
        by,
    )


def _refuse_late(index: int, count: int, ends_at: float) -> None:
    """Raise Unavailable before a change that there is no time left for: a preview that cannot end is not begun."""
    seconds_left = deadlines.find_seconds_left()
    if index and (time.monotonic() >= ends_at or seconds_left == 0):
        raise Unavailable(f"Only {index} of {count} changes could be looked at in time; ask about fewer of them.")


def _list_document_problems(changes: Sequence[Change], errors: Mapping[str, Invalid]) -> list[Problem]:
    """Return the problems of what the changes leave of entities, each with the place of the last change of one."""
    places = {
        change.value.entity: f"/changes/{index}/{change.kind}"
        for index, change in enumerate(changes)
        if isinstance(change.value, FactChange)
    }
    return [
        Problem(problem.code, f"{places[urn]}{problem.pointer}", problem.detail)
        for urn, error in errors.items()
        for problem in error.problems
    ]


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


def _move_problem(problem: Problem, pointer: str, kind: str) -> Problem:
    """Return a problem of a change with its place among the changes."""
    is_in_document = kind in POLICY_KINDS and not (
        problem.pointer in _DRAFT_POINTERS or problem.code.endswith(_DISAGREEMENT_SUFFIX)
    )
    local_pointer = f"/document{problem.pointer}" if is_in_document else problem.pointer
    return Problem(problem.code, f"{pointer}{local_pointer}", problem.detail)
