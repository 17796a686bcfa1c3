"""The effects of a way: the world before and after its changes, who gains and loses by them, and guardrails.

Everything is worked out as the system would write it: whoever
asks need not be allowed to make the changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from policies.changes.comparison import EffectQuestion
from policies.changes.guardrail_verdicts import GuardrailVerdict, judge_guardrails
from policies.changes.net_change import ChangeSide, PlatformAccess, find_net_change
from policies.changes.people import GAINED, ChangedActor, StagedPeople
from policies.changes.shapes import load_changes
from policies.changes.staging import stage_changes
from policies.changes.worlds import ChangedWorld
from policies.engine import families
from policies.engine.model import Actor
from policies.engine.selectors import GROUP_MEMBERSHIP, OWNER, Owner, Resource
from policies.engine.snapshot import Snapshot
from policies.errors import PolicyAppError
from policies.pdp import authorizer, ports
from policies.requests.request_sources import IDENTITY
from policies.requests.ways.asked_items import AskedItem
from policies.requests.ways.candidates import Candidate

#: The policy that stands for stored grants in a snapshot.
_GRANTS = families.grant_origin().policy

#: Most platform privileges that are counted: more than there are, for one person.
_MAX_PLATFORM = 1_000


class Gains(NamedTuple):
    """Access gained or lost: pairs of a person and an entity for each privilege, and privileges on the platform."""

    pairs: int = 0
    people: int = 0
    entities: int = 0
    platform: int = 0

    @property
    def size(self) -> int:
        """Everything together."""
        return self.pairs + self.platform


class BrokenGuardrail(NamedTuple):
    """A guardrail that a way would break."""

    urn: str
    name: str
    mode: str
    sentence: str


@dataclass(frozen=True)
class StagedWay:
    """The world before and after a way, for the actor of an item."""

    item: AskedItem
    staged: ChangedWorld

    @property
    def actor(self) -> Actor:
        """The actor as the way leaves it; what is known of it for this question stays."""
        changed = self.staged.people.get(self.item.actor.urn)
        if changed is None:
            return self.item.actor
        return replace(self.item.actor, groups=changed.now.groups, roles=changed.now.roles)

    @property
    def people(self) -> Mapping[str, ChangedActor]:
        """The people whom the way changes."""
        return self.staged.people

    @cached_property
    def owners(self) -> Mapping[str, tuple[frozenset[Owner], frozenset[Owner]]]:
        """The entities whose owners the way changes, each with its owners before and after."""
        owners_after = self.staged.facts.owners
        resources = ports.facet_source().load(urns=list(owners_after), fields=[OWNER]) if owners_after else {}
        return {urn: (resources[urn].owners, frozenset(owners)) for urn, owners in owners_after.items()}

    @cached_property
    def snapshots(self) -> tuple[Snapshot, Snapshot]:
        """The snapshots before and after, with the grants of the actor and of all that it gains."""
        tokens = self.item.actor.holders | self.item.actor.roles | self.actor.holders | self.actor.roles
        stage, sides = self.staged.grants, (self.staged.before, self.staged.after)
        grants = () if stage is None else stage.list_touching(tokens=tokens)
        if not grants:
            return sides
        by_policy: dict[str, list[Any]] = {}
        for grant in grants:
            by_policy.setdefault(grant.origin.policy, []).append(grant)
        held_grants = {_GRANTS: tuple(by_policy.get(_GRANTS, ()))}
        given_grants = {policy: tuple(statements) for policy, statements in by_policy.items()}
        return sides[0].replace(sides[0].version, held_grants), sides[1].replace(sides[1].version, given_grants)

    def is_enough(self) -> bool:
        """Whether the actor has afterwards what was asked for."""
        return self.item.is_given(self.actor, self.snapshots[1], self._stage_facts)

    def compare(self) -> tuple[Gains, Gains, bool]:
        """Return what is gained and lost, and whether these are all."""
        change = find_net_change(self.staged, EffectQuestion(_MAX_PLATFORM))
        gained = count_gains(change.gained, change.platform_gained)
        return gained, count_gains(change.lost, change.platform_lost), change.is_exact

    def list_broken(self, by: Actor) -> tuple[BrokenGuardrail, ...]:
        """Return the guardrails that the way breaks, in words for this reader."""
        return list_added_breaches(judge_guardrails(replace(self.staged, by=by)))

    def _stage_facts(self, resources: Mapping[str, Resource]) -> Mapping[str, Resource]:
        return {urn: self._stage_fact(resource) for urn, resource in resources.items()}

    def _stage_fact(self, resource: Resource) -> Resource:
        if resource.urn in self.owners:
            owners = self.owners[resource.urn][1]
            facets = {**resource.facets, OWNER: frozenset(owner.actor for owner in owners)}
            resource = replace(resource, facets=facets, owners=owners)
        if resource.urn in self.people and GROUP_MEMBERSHIP in resource.facets:
            facets = {**resource.facets, GROUP_MEMBERSHIP: self.people[resource.urn].now.groups}
            resource = replace(resource, facets=facets)
        return resource


def stage_way(item: AskedItem, candidate: Candidate) -> StagedWay | None:
    """Return the world that a candidate leaves; None where it cannot be written."""
    if candidate.source == IDENTITY:
        return StagedWay(item, _stage_joining(item.actor, candidate))
    try:
        return StagedWay(item, _stage(candidate.changes))
    except PolicyAppError:
        return None


def _stage(changes: Iterable[Mapping[str, Any]]) -> ChangedWorld:
    return stage_changes(changes=load_changes(list(changes)), by=authorizer.SYSTEM)


def _stage_joining(actor: Actor, candidate: Candidate) -> ChangedWorld:
    """Return the world with the actor in the groups of changes that another system has to make."""
    people = StagedPeople()
    people.memberships[actor.urn].update((change["add_members"]["group"], GAINED) for change in candidate.changes)
    return replace(_stage(()), people=people.load_actors(), staged_people=people)


def list_added_breaches(verdicts: Iterable[GuardrailVerdict]) -> tuple[BrokenGuardrail, ...]:
    """Return the guardrails that changes break, of the verdicts about them."""
    return tuple(
        BrokenGuardrail(verdict.urn, verdict.name, verdict.mode, verdict.sentence)
        for verdict in verdicts
        if verdict.is_added
    )


def count_gains(side: ChangeSide, platform: Sequence[PlatformAccess]) -> Gains:
    """Return one side of a net change as numbers."""
    named_people = {access.actor for access in side.items}
    further_people = {access.actor for access in platform} - named_people
    # Where not everybody is named, whoever gains on the platform may be among the others.
    people = side.total.people + (len(further_people) if len(named_people) == side.total.people else 0)
    return Gains(side.total.pairs, people, side.total.entities, len(platform))
