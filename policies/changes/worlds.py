"""The world as changes would leave it: policies, people, grants and facts, beside what is stored."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from policies.changes.people import ChangedActor, StagedPeople
from policies.engine import families
from policies.engine.fact_changes import NO_FACT_CHANGES, FactChanges
from policies.engine.families.validity import Phase
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.selectors import EVERYTHING, OWNER
from policies.engine.snapshot import Snapshot
from policies.errors import Invalid, NotFound
from policies.models import Policy
from policies.models.fields import filter_storable
from policies.models.policy import POLICY_PREFIX
from policies.pdp import ports, snapshot_store
from policies.pdp.later_actors import LaterActor
from policies.pdp.ports import GrantStage


class FactStage(Protocol):
    """The entities as changes leave them so far."""

    def __init__(self, by: Actor) -> None:
        """Begin with what is stored, for changes by this actor."""

    def check(self) -> Mapping[str, Invalid]:
        """Return what is wrong with what the changes leave, by entity. Raises Forbidden; constant queries."""

    def load_changes(self) -> FactChanges:
        """Return the facts that entities would have; a constant number of queries."""


FactStageT = TypeVar("FactStageT", bound=FactStage)
GrantStageT = TypeVar("GrantStageT", bound=GrantStage)


@dataclass(frozen=True, slots=True)
class ChangedWorld:
    """The world as changes leave it, to be compared, proved, judged and replayed.

    `before` and `after` differ in the policies `policy_urns`; `policies` are those that were staged, as they would be
    (None: gone). `people` are the users whom the changes concern, a part of them unless it `has_everybody`, and
    `staged_people` tells how these will be later. Without `grants` none count. `is_provable` says that nothing but
    policies changes, `is_replayable` that no grant does. `by` is who would make the changes, and reads of them.
    """

    by: Actor
    before: Snapshot
    after: Snapshot
    policy_urns: Collection[str] = ()
    policies: Mapping[str, Policy | None] = field(default_factory=dict)
    people: Mapping[str, ChangedActor] = field(default_factory=dict)
    staged_people: StagedPeople = field(default_factory=StagedPeople)
    facts: FactChanges = NO_FACT_CHANGES
    grants: GrantStage | None = None
    is_provable: bool = True
    is_replayable: bool = True

    @property
    def has_everybody(self) -> bool:
        """Whether nobody whom the changes concern was left out for being one too many."""
        return self.staged_people.is_complete

    @property
    def moved_people(self) -> list[str]:
        """The users who would be in other groups, which is a fact about them as resources, too."""
        return [urn for urn, changed in self.people.items() if changed.was.groups != changed.now.groups]

    def build_later_states(self, later: Mapping[str, tuple[LaterActor, ...]]) -> dict[str, tuple[LaterActor, ...]]:
        """Return the later states of `people` after the changes; `later` are those without them."""
        return self.staged_people.build_later_states(self.people, later)


def build_policy_world(
    statements_by_urn: Mapping[str, tuple[Statement, ...]],
    *,
    by: Actor,
    policies: Mapping[str, Policy | None] | None = None,
) -> ChangedWorld:
    """Return the world in which these policies have these statements (none: gone, or not in force)."""
    before = snapshot_store.get_current()
    after = before.replace(before.version, statements_by_urn)
    return ChangedWorld(by, before, after, list(statements_by_urn), policies or {})


class StagedWorld:
    """The world as changes by one actor leave it so far: each is checked against the result of those before it."""

    def __init__(self, by: Actor, named_urns: Iterable[str] = ()) -> None:
        self.by = by
        #: URNs of what will change, as far as that is known: policies among them are loaded together.
        self._named_urns = tuple(named_urns)
        #: The policies that changes concern, as they would be; None for those that are not stored, or would be gone.
        self.policies: dict[str, Policy | None] = {}
        self.people = StagedPeople()
        #: URNs of roles that would be created.
        self.new_roles: set[str] = set()
        self._grants = ports.stage_grants()
        self._fact_stages: dict[type[FactStage], FactStage] = {}

    def join_grants(self, stage: type[GrantStageT]) -> GrantStageT:
        """Return the grants as they would be, as the class of which they are. Raises TypeError for another one."""
        if not isinstance(self._grants, stage):
            raise TypeError(f"The grants are no {stage}.")
        return self._grants

    def load_policies(self, urns: Iterable[str]) -> None:
        """Load those of these policies that are stored and were not loaded yet; one query."""
        new_urns = filter_storable(urn for urn in urns if urn.startswith(POLICY_PREFIX) and urn not in self.policies)
        if new_urns:
            self.policies |= dict.fromkeys(new_urns)
            self.policies |= {policy.urn: policy for policy in Policy.objects.filter(urn__in=new_urns)}

    def find_policy(self, urn: str) -> Policy | None:
        """Return a policy as it would be; None if there would be none."""
        self.load_policies([urn, *self._named_urns])
        return self.policies.get(urn)

    def get_policy(self, urn: str) -> Policy:
        """Return a policy as it would be; raises NotFound."""
        policy = self.find_policy(urn)
        if policy is None:
            raise NotFound(f"There is no policy {urn!r}.")
        return policy

    def join_facts(self, stage: type[FactStageT]) -> FactStageT:
        """Return the stage of facts of this class, which all changes share."""
        joined = self._fact_stages.setdefault(stage, stage(self.by))
        if not isinstance(joined, stage):
            raise TypeError(f"{joined} is no {stage}.")
        return joined

    def check_facts(self) -> dict[str, Invalid]:
        """Return what is wrong with what the changes leave of entities, by entity. Raises Forbidden."""
        return {urn: error for stage in self._fact_stages.values() for urn, error in stage.check().items()}

    def finish(self, *, is_provable: bool = True, is_replayable: bool = True) -> ChangedWorld:
        """Return the world that all changes together leave."""
        self._grants.hand_over(departing=self.people.deleted_urns)
        before = snapshot_store.get_current()
        statements_by_urn = {urn: _compile_current(policy) for urn, policy in self.policies.items()}
        stages = [stage.load_changes() for stage in self._fact_stages.values()]
        # Deletions take people out of the owners of entities, which is not worked out for each entity.
        self.people.is_complete &= not any(
            _is_about_owner(statement, self.people.deleted_owners) for statement in before.statements
        )
        return ChangedWorld(
            self.by,
            before,
            before.replace(before.version, statements_by_urn),
            list(self.policies),
            self.policies,
            self.people.load_actors(),
            self.people,
            stages[0] if stages else NO_FACT_CHANGES,
            self._grants,
            is_provable=is_provable,
            is_replayable=is_replayable,
        )


def _is_about_owner(statement: Statement, urns: Collection[str]) -> bool:
    """Whether a statement covers other entities once these people own nothing."""
    return any(
        criterion.field == OWNER and criterion.holds(frozenset((urn,))) != criterion.holds(frozenset())
        for urn in urns
        for selector in (statement.resources, statement.subresources or EVERYTHING)
        for criterion in selector.criteria
    )


def _compile_current(policy: Policy | None) -> tuple[Statement, ...]:
    """Return the statements of a policy that count now: none of one that is gone, inactive or out of its time."""
    if policy is None or policy.state != Policy.State.ACTIVE or policy.phase != Phase.CURRENT:
        return ()
    return families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name))
