"""Promises: *always* and *at_least*, judged on the entities of today, now and at every later boundary.

A change adds a breach where it breaks a promise that was kept at that time before it: a breach that was already due
then is reported, and holds up nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.guardrails.rules import Rule, RuleKind, RuleScope
from policies.engine.model import Actor, Cover, Coverage, Effect, Question
from policies.engine.ports import Directory
from policies.engine.selectors import Resource, Selector
from policies.engine.snapshot import Snapshot
from policies.models import User
from policies.pdp.ports import import_port
from policies.writes.guardrail_worlds import USER_BATCH_SIZE, JudgedWorld, list_present


@dataclass(frozen=True, slots=True)
class TodaysBreach:
    """A breach of a rule about today's catalog: who lacks a privilege, on which entity; or how many hold it.

    `missing` is how many holders are missing, of *at_least*, whose `people` are those who are left. `at` is the later
    instant at which it breaks; None: now.
    """

    privilege: str
    people: tuple[str, ...]
    question: Question | None
    missing: int = 0
    at: datetime | None = None


@dataclass(slots=True)
class PromiseJudge:
    """Judges a promise in the world `after`, by itself or beside the world `before`."""

    rule: Rule
    after: JudgedWorld
    before: JudgedWorld | None = None
    _lacking: dict[tuple[object, ...], Question | None] = field(default_factory=dict)

    @property
    def _scope(self) -> RuleScope:
        return self.rule.scopes[0]

    def find_breaches(self) -> Iterator[TodaysBreach]:
        """Yield what breaks it: of *always* the first break of each user and privilege, of *at_least* the first."""
        known_keys: set[object] = set()
        for breach in self._find_all():
            key = (breach.people if self.rule.kind is RuleKind.ALWAYS else (), breach.privilege)
            if key not in known_keys:
                known_keys.add(key)
                yield breach

    def find_added(self) -> TodaysBreach | None:
        """Return a break that there was not before at its time, the earliest; None if there is none."""
        return next(self._find_all(), None)

    def _find_all(self) -> Iterator[TodaysBreach]:
        if self.rule.kind is RuleKind.AT_LEAST:
            yield from self._find_too_few()
        else:
            yield from self._find_without()

    # -- always -----------------------------------------------------------------------------------------------------

    def _find_without(self) -> Iterator[TodaysBreach]:
        urns = sorted(self.rule.people.match.tokens)
        present = set(list_present(urns))
        for world in self._worlds:
            world.load_actors(sorted(present))
        for at in self._list_times(sorted(present)):
            for urn in urns:
                for privilege in sorted(self._scope.privileges):
                    question = self._find_lacking(urn, privilege, at, is_present=urn in present)
                    if question is not None:
                        yield TodaysBreach(privilege, (urn,), question, at=at)

    def _find_lacking(self, urn: str, privilege: str, at: datetime | None, *, is_present: bool) -> Question | None:
        """Return a question about an entity of today that a user is refused, and was not in the state before."""
        actor = self.after.find_actor(urn, at) if is_present else Actor(urn, is_active=False)
        question = Question(actor, privilege)
        is_lost = self.before is not None
        earlier_actor = actor if self.before is None else self._find_earlier_actor(urn, at, is_present=is_present)
        if _is_platform(privilege):
            if decide(self.after.find_snapshot(at), question).is_allowed:
                return None
            earlier = None if self.before is None else self.before.find_snapshot(at)
            is_kept = earlier is None or decide(earlier, question._replace(actor=earlier_actor)).is_allowed
            return question if is_kept else None
        coverage = self.after.find_snapshot(at).compute_coverage(actor, privilege)
        promised = self._find_promised(earlier_actor, privilege, at) if is_lost else _build_coverage(self._scope)
        key = (coverage.actor, coverage.allows, coverage.denies, promised.actor, promised.allows, promised.denies)
        if key not in self._lacking:
            entries = _get_directory().sample_covered(coverage=promised, excluded=coverage, limit=1)
            self._lacking[key] = next(
                (question._replace(resource=Resource(entry.urn, entry.type, {})) for entry in entries), None
            )
        return self._lacking[key]

    def _find_earlier_actor(self, urn: str, at: datetime | None, *, is_present: bool) -> Actor:
        if self.before is None or not (is_present or urn in self.before.changed_actors):
            return Actor(urn, is_active=False)
        return self.before.find_actor(urn, at)

    def _find_promised(self, actor: Actor, privilege: str, at: datetime | None) -> Coverage:
        """Return the part of the rule's reach that the actor had before."""
        if self.before is None:
            return _build_coverage(self._scope)
        coverage = self.before.find_snapshot(at).compute_coverage(actor, privilege)
        allows = tuple(_narrow(cover, self._scope.resources) for cover in coverage.allows)
        return replace(coverage, allows=allows)

    # -- at least ---------------------------------------------------------------------------------------------------

    def _find_too_few(self) -> Iterator[TodaysBreach]:
        urns = self._list_candidates()
        if self._has_enough_for_ever(urns):
            return
        for world in self._worlds:
            world.load_actors(urns)
        for at in self._list_times(urns):
            holders = self._list_holders(self.after, urns, at)
            missing = self.rule.number - len(holders)
            if missing <= 0:
                continue
            earlier = [] if self.before is None else self._list_holders(self.before, urns, at)
            if self.before is None or len(earlier) > len(holders):
                privilege = min(self._scope.privileges)
                # Who is left; where nobody is, who was.
                example = (*holders, *(self.after.find_actor(actor.urn, at) for actor in earlier))[:1]
                question = next((Question(actor, privilege) for actor in example), None)
                yield TodaysBreach(privilege, tuple(actor.urn for actor in holders), question, missing, at)

    def _has_enough_for_ever(self, urns: Sequence[str]) -> bool:
        """Whether so many of the first people hold all privileges at all times, as they are now."""
        times, count = self._list_policy_times(), 0
        snapshots = {id(snapshot): snapshot for snapshot in map(self.after.find_snapshot, times)}.values()
        for start in range(0, len(urns), USER_BATCH_SIZE):
            for actor in self.after.load_actors(urns[start : start + USER_BATCH_SIZE]):
                if not self.after.list_later(actor.urn):
                    count += all(_holds(snapshot, actor, self._scope) for snapshot in snapshots)
                if count == self.rule.number:
                    return True
        return False

    def _list_candidates(self) -> list[str]:
        """Return the people whom an allow of the first privilege reaches, in any state."""
        privilege = min(self._scope.privileges)
        times = self._list_policy_times()
        statements = [
            statement
            for world in self._worlds
            for at in times
            for statement in world.find_snapshot(at).list_statements(privilege)
            if statement.effect is Effect.ALLOW
        ]
        named_urns = {urn for world in self._worlds for urn in (*world.list_reached(statements), *world.changed_actors)}
        people = User.objects.filter(urn__in=named_urns, kind=User.Kind.PERSON, is_removed=False)
        known_people = (urn for world in self._worlds for urn in world.known_people)
        return sorted({*people.values_list("urn", flat=True), *known_people})

    def _list_holders(self, world: JudgedWorld, urns: Sequence[str], at: datetime | None) -> list[Actor]:
        """Return people who hold all privileges at an instant, as many as are needed."""
        snapshot, holders = world.find_snapshot(at), list[Actor]()
        for urn in urns:
            actor = world.find_actor(urn, at)
            if _holds(snapshot, actor, self._scope):
                holders.append(actor)
            if len(holders) == self.rule.number:
                break
        return holders

    # -- times ------------------------------------------------------------------------------------------------------

    @property
    def _worlds(self) -> list[JudgedWorld]:
        return [self.after] if self.before is None else [self.after, self.before]

    def _list_policy_times(self) -> list[datetime | None]:
        boundaries = (world.list_boundaries(self._scope.privileges) for world in self._worlds)
        return [None, *sorted(set[datetime]().union(*boundaries))]

    def _list_times(self, urns: Sequence[str]) -> list[datetime | None]:
        """Return now, and every later boundary of policies and of these people."""
        times = {at for at in self._list_policy_times() if at is not None}
        times |= {state.begins for world in self._worlds for urn in urns for state in world.list_later(urn)}
        return [None, *sorted(times)]


def _holds(snapshot: Snapshot, actor: Actor, scope: RuleScope) -> bool:
    return all(decide(snapshot, Question(actor, name)).is_allowed for name in scope.privileges)


def _is_platform(privilege: str) -> bool:
    info = vocabulary.load_datahub().get(privilege)
    return info is not None and info.scope == vocabulary.PLATFORM


def _build_coverage(scope: RuleScope) -> Coverage:
    return Coverage(Actor(""), (Cover.from_resources(scope.resources),))


def _narrow(cover: Cover, resources: Selector) -> Cover:
    """Return the part of a cover that lies within these resources."""
    statement = cover.statement
    criteria = tuple(dict.fromkeys((*statement.resources.criteria, *resources.criteria)))
    selector = Selector(criteria, statement.resources.needs_resource or resources.needs_resource)
    return replace(cover, statement=replace(statement, resources=selector))


def _get_directory() -> Directory:
    """Return the directory of the system, which sees everything, whoever writes."""
    directory: Directory = import_port("Directory")(viewer=None)
    return directory
