"""The comparison of a world before and after changes: what they can touch is loaded, and compared by the engine."""

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from policies.changes.grant_sides import (
    GRANT_FIELDS,
    MAX_GRANTED_ENTITIES,
    add_grants,
    find_grant_scope,
    find_granted_entities,
)
from policies.changes.worlds import ChangedWorld
from policies.engine import access_change, fact_changes
from policies.engine.access_change import AccessDifference, ChangeScope, PlatformDifference, WorkBudget
from policies.engine.changed_reach import AccessState
from policies.engine.families import cdap
from policies.engine.model import Actor, Statement
from policies.engine.postings import Postings
from policies.engine.selectors import (
    GROUP_MEMBERSHIP,
    ONESELF,
    URN,
    Condition,
    Criterion,
    Selector,
    is_relational,
)
from policies.engine.snapshot import Snapshot
from policies.engine.wider_selectors import widen_selectors
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, ports, users_by_actor_clause

#: Most entities and people that are compared, and most steps of comparing them: some seconds of work. Of more entities
#: and people the first are, by age and by URN.
MAX_ENTITIES, MAX_PEOPLE, MAX_STEPS = 200_000, 20_000, 100_000
#: Entities and people of a sample, the first by age and by URN: what is shown while somebody types.
SAMPLED_ENTITIES, SAMPLED_PEOPLE = 1_000, 300
#: Most different selectors and criteria of changed statements together: the database tests each. More are widened.
MAX_CRITERIA = 1_000


class EffectQuestion(NamedTuple):
    """The limits of a comparison: `privileges` only, if given, and at most `limit` items of each kind that are named.

    With `is_sampled` only the first entities and people are looked at, and it is exact if there are no others.
    """

    limit: int
    privileges: Collection[str] | None = None
    is_sampled: bool = False

    @property
    def max_entities(self) -> int:
        """The most entities that are compared."""
        return SAMPLED_ENTITIES if self.is_sampled else MAX_ENTITIES

    @property
    def max_people(self) -> int:
        """The most people who are compared."""
        return SAMPLED_PEOPLE if self.is_sampled else MAX_PEOPLE


class Comparison:
    """The entities, people and grants that changes can concern, on both sides: `before` and `after`.

    Entities are numbered as in `postings`. Unless it `is_exact`, they are the first ones, or the work became too much.
    """

    def __init__(self, world: ChangedWorld, question: EffectQuestion) -> None:
        self._world = world
        self._question = question
        self._grant_scope = self._find_grant_scope()
        self._scope = self._find_scope()
        self.postings, self._has_all_entities = self._load_postings(self._question.max_entities)
        snapshots = self._add_grants()
        changed_postings = fact_changes.apply_fact_changes(self._move_members(), world.facts)
        actors = self._load_people(changed_postings)
        self._has_all_people = len(actors) <= self._question.max_people
        people_before = {urn: changed.was for urn, changed in world.people.items()}
        people_after = {urn: changed.now for urn, changed in world.people.items()}
        self.before = AccessState(snapshots[0], self.postings, actors | people_before)
        self.after = AccessState(snapshots[1], changed_postings, actors | people_after)
        self._budget = WorkBudget(MAX_STEPS)

    @property
    def is_exact(self) -> bool:
        """Whether everything was compared."""
        has_all = self._has_all_entities and self._has_all_people and not self._budget.is_exhausted
        return has_all and self._world.has_everybody

    def list_differences(self) -> list[AccessDifference]:
        """Return the differences on entities."""
        scope = self._scope
        return list(
            access_change.compare_access(self.before, self.after, scope.privileges, scope.policies, self._budget)
        )

    def list_platform_differences(self) -> list[PlatformDifference]:
        """Return the differences on the platform."""
        return list(access_change.compare_platform(self.before, self.after, self._scope.platform_privileges))

    # -- what can differ ----------------------------------------------------------------------------------------------

    def _find_grant_scope(self) -> ChangeScope | None:
        grants = self._world.grants
        return None if grants is None else find_grant_scope(grants, self._world.people, self._question.privileges)

    def _find_scope(self) -> ChangeScope:
        world = self._world
        privileges = self._question.privileges
        changed_statements = access_change.list_changed_statements(world.before, world.after, world.policy_urns)
        scopes = [access_change.find_scope(changed_statements, privileges)]
        if world.people:
            moved = Criterion(URN, Condition.EQUALS, frozenset(world.moved_people))
            # Whoever enters or leaves a group is another entity for statements about members of groups.
            about_members = [
                replace(statement, resources=Selector((moved,), needs_resource=True))
                for statement in self._list_statements()
                if moved.values and GROUP_MEMBERSHIP in statement.resources.fields
            ]
            scopes += [
                access_change.find_people_scope(self._list_statements(), world.people.values(), privileges),
                access_change.find_scope(about_members, privileges),
            ]
        if world.facts.has_changes:
            scopes.append(fact_changes.find_fact_scope(self._list_statements(), world.facts, privileges))
        if self._grant_scope is not None:
            scopes.append(self._grant_scope)
        return access_change.join_scopes(scopes)

    def _list_statements(self) -> Collection[Statement]:
        """Return the statements of both sides; a snapshot that replaces another one shares most of its statements."""
        statements = (*self._world.before.statements, *self._world.after.statements)
        return {id(statement): statement for statement in statements}.values()

    # -- what is loaded -----------------------------------------------------------------------------------------------

    def _load_postings(self, limit: int, *, is_cut: bool = False) -> tuple[Postings, bool]:
        """Return the entities that can differ, at least, and whether these are all: else they are the first ones.

        Of a sample, and where there are known to be too many (`is_cut`), the first ones are read at once; then it is
        not known whether there are more when the limit is met.
        """
        names = self._scope.privileges
        if not names:
            return Postings(urns=(), types=(), fields=()), True
        covering = widen_selectors(self._scope.selectors, MAX_CRITERIA)
        fields = self._world.before.tested_fields(names) | self._world.after.tested_fields(names)
        if cdap.is_granted(names):
            fields |= GRANT_FIELDS
        source = ports.postings_source()
        if not is_cut and not self._question.is_sampled:
            postings = source.load_postings(covering=covering, fields=fields, limit=limit, with_people=True)
            if postings is not None:
                return postings, True
        postings = source.load_sample(covering=covering, fields=fields, limit=limit)
        return postings, len(postings.urns) < limit

    def _add_grants(self) -> tuple[Snapshot, Snapshot]:
        """Return both snapshots with the grants that can differ; there are no more entities then than can be read."""
        world, scope = self._world, self._grant_scope
        if world.grants is None or scope is None or not scope.privileges:
            return world.before, world.after
        if len(find_granted_entities(scope, self.postings)) > MAX_GRANTED_ENTITIES:
            self.postings, self._has_all_entities = self._load_postings(MAX_GRANTED_ENTITIES, is_cut=True)
        return add_grants(world.grants, scope, self.postings, world.before, world.after)

    def _move_members(self) -> Postings:
        """Return the entities, where people have the groups that they are in after the changes."""
        numbers = ((self.postings.number(urn), urn) for urn in self._world.moved_people)
        groups = {number: self._world.people[urn].now.groups for number, urn in numbers if number is not None}
        return self.postings.replace_values(GROUP_MEMBERSHIP, groups) if groups else self.postings

    def _load_people(self, changed_postings: Postings) -> dict[str, Actor]:
        """Return the active people that changed statements can reach, one more than the limit at most."""
        tokens = {token for token in self._scope.tokens if not is_relational(token)}
        if ONESELF in self._scope.tokens:
            tokens.update(urn for urn in self.postings.urns if urn.startswith(USER_PREFIX))
        if any(is_relational(token) and token != ONESELF for token in self._scope.tokens):
            for postings in (self.postings, changed_postings):
                tokens.update(postings.owners(None))
        users = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens)
        return actor_resolution.load_actors(
            urns=list(users.values_list("urn", flat=True)[: self._question.max_people + 1])
        )
