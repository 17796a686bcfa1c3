"""The net change: who gains and who loses which privilege on which entities when policies become others.

Every other policy, grant, role and membership counts, since both sides are whole snapshots and the comparison is the
engine's (`policies.engine.access_change`). Nothing is written.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from django.conf import settings
from pyroaring import BitMap, FrozenBitMap

from policies.authoring.services.grant_sides import (
    GRANT_FIELDS,
    MAX_GRANTED_ENTITIES,
    add_grants,
    find_grant_scope,
    find_granted_entities,
)
from policies.engine import access_change, fact_changes
from policies.engine.access_change import AccessDifference, ChangeScope, WorkBudget
from policies.engine.changed_reach import AccessState
from policies.engine.fact_changes import NO_FACT_CHANGES, FactChanges
from policies.engine.families import cdap
from policies.engine.gc_pause import pause_gc
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
from policies.identity.services.staged_people import ChangedActor
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, ports, users_by_actor_clause
from policies.pdp.ports import GrantStage
from policies.writes.preview_disclosure import PreviewDisclosure

#: Most entities and people that are compared, and most steps of comparing them: some seconds of work. Of more entities
#: and people the first are, by age and by URN.
MAX_ENTITIES, MAX_PEOPLE, MAX_STEPS = 200_000, 20_000, 100_000
#: Entities and people of a sample, the first by age and by URN: what is shown while somebody types.
SAMPLED_ENTITIES, SAMPLED_PEOPLE = 1_000, 300
#: Most different selectors and criteria of changed statements together: the database tests each. More are widened.
MAX_CRITERIA = 1_000

#: Entities that stand for those of one person and privilege, and policies through which somebody keeps access.
MAX_EXAMPLES, MAX_THROUGH = 3, 10


#: Types whose entities are the first examples of a change, and the type of which none is an example.
_EXAMPLE_TYPES = ("dataset", "dashboard", "chart", "dataJob", "dataFlow", "dataProduct", "container", "domain")
_NO_EXAMPLE = "ownershipType"


class Tally(NamedTuple):
    """Pairs of a person and an entity, one for each privilege, and the people and entities in them, each once."""

    pairs: int
    people: int
    entities: int


class ChangedAccess(NamedTuple):
    """One person who gains or loses one privilege on so many entities, with the first of them."""

    actor: str
    privilege: str
    entities: int
    examples: tuple[str, ...]


class KeptAccess(NamedTuple):
    """One person who keeps one privilege on so many entities, through these policies."""

    actor: str
    privilege: str
    entities: int
    through: tuple[str, ...]


class PlatformAccess(NamedTuple):
    """One person who gains or loses one privilege on the platform."""

    actor: str
    privilege: str


_NOTHING = Tally(0, 0, 0)


@dataclass(frozen=True, slots=True)
class ChangeSide:
    """What is gained, or what is lost: numbers, numbers by privilege, and the largest items."""

    total: Tally = _NOTHING
    by_privilege: Mapping[str, Tally] = field(default_factory=dict)
    items: Sequence[ChangedAccess] = ()


@dataclass(frozen=True, slots=True)
class NetChange:
    """The net change; unless `is_exact`, it is what was found in a sample, or before the work became too much.

    `platform_gained` and `platform_lost` are cut off as the other items are. Items and policies are those that the
    `disclosure` of its reader lets be told; numbers count everything.
    """

    policy_version: int
    is_exact: bool
    disclosure: PreviewDisclosure
    gained: ChangeSide = field(default_factory=ChangeSide)
    lost: ChangeSide = field(default_factory=ChangeSide)
    kept_items: Sequence[KeptAccess] = ()
    platform_gained: Sequence[PlatformAccess] = ()
    platform_lost: Sequence[PlatformAccess] = ()


@pause_gc()
def compare_snapshots(
    *,
    before: Snapshot,
    after: Snapshot,
    policies: Collection[str],
    by: Actor,
    people: Mapping[str, ChangedActor] = MappingProxyType({}),
    facts: FactChanges = NO_FACT_CHANGES,
    grants: GrantStage | None = None,
    privileges: Collection[str] | None = None,
    limit: int,
    is_sampled: bool = False,
) -> NetChange:
    """Return the net change between two snapshots that differ in these policies, of these people, facts and grants.

    Without `grants` none count. Of `privileges` only, if given. At most `limit` items of each kind are named, and only
    what `by` may learn of others. With `is_sampled` only the first entities and people are looked at, and it is exact
    if there are no others.
    """
    disclosure = PreviewDisclosure.load(by)
    scope = _find_scope(before, after, policies, people, privileges)
    if facts.has_changes:
        statements = _list_statements(before, after)
        scope = access_change.join_scopes([scope, fact_changes.find_fact_scope(statements, facts, privileges)])
    grant_scope = None if grants is None else find_grant_scope(grants, people, privileges)
    if grant_scope is not None:
        scope = access_change.join_scopes([scope, grant_scope])
    if not settings.AUTH_POLICIES_ENABLED:
        return NetChange(before.version, is_exact=True, disclosure=disclosure)
    max_people = SAMPLED_PEOPLE if is_sampled else MAX_PEOPLE
    max_entities = SAMPLED_ENTITIES if is_sampled else MAX_ENTITIES
    postings, has_all_entities = _load_postings(scope, before, after, max_entities, is_sampled=is_sampled)
    if grants is not None and grant_scope is not None and grant_scope.privileges:
        if len(find_granted_entities(grant_scope, postings)) > MAX_GRANTED_ENTITIES:
            postings, has_all_entities = _load_postings(scope, before, after, MAX_GRANTED_ENTITIES, is_sampled=True)
        before, after = add_grants(grants, grant_scope, postings, before, after)
    changed_postings = fact_changes.apply_fact_changes(_move_members(postings, people), facts)
    actors = _load_people(scope, (postings, changed_postings), max_people)
    budget = WorkBudget(MAX_STEPS)
    states = (
        AccessState(before, postings, actors | {urn: changed.was for urn, changed in people.items()}),
        AccessState(after, changed_postings, actors | {urn: changed.now for urn, changed in people.items()}),
    )
    differences = list(access_change.compare_access(*states, scope.privileges, scope.policies, budget))
    platform_differences = list(access_change.compare_platform(*states, scope.platform_privileges))
    platform_gained, platform_lost = (
        nsmallest(
            limit,
            (
                PlatformAccess(urn, difference.privilege)
                for difference in platform_differences
                if difference.is_gained is is_gained
                for urn in difference.people
                if disclosure.tells_others or urn == by.urn
            ),
        )
        for is_gained in (True, False)
    )
    return NetChange(
        before.version,
        is_exact=has_all_entities and len(actors) <= max_people and not budget.is_exhausted,
        disclosure=disclosure,
        gained=_sum_side([(item, item.gained) for item in differences], postings, limit, disclosure),
        lost=_sum_side([(item, item.lost) for item in differences], postings, limit, disclosure),
        kept_items=_list_kept(differences, states[1], limit, disclosure),
        platform_gained=platform_gained,
        platform_lost=platform_lost,
    )


def _find_scope(
    before: Snapshot,
    after: Snapshot,
    policies: Collection[str],
    people: Mapping[str, ChangedActor],
    privileges: Collection[str] | None,
) -> ChangeScope:
    changed_statements = access_change.list_changed_statements(before, after, policies)
    scope = access_change.find_scope(changed_statements, privileges)
    if not people:
        return scope
    statements = _list_statements(before, after)
    moved = Criterion(URN, Condition.EQUALS, frozenset(_list_moved(people)))
    # Whoever enters or leaves a group is another entity for statements about members of groups.
    about_members = [
        replace(statement, resources=Selector((moved,), needs_resource=True))
        for statement in statements
        if moved.values and GROUP_MEMBERSHIP in statement.resources.fields
    ]
    return access_change.join_scopes(
        [
            scope,
            access_change.find_people_scope(statements, people.values(), privileges),
            access_change.find_scope(about_members, privileges),
        ]
    )


def _list_statements(before: Snapshot, after: Snapshot) -> Collection[Statement]:
    """Return the statements of both sides; a snapshot that replaces another one shares most of its statements."""
    return {id(statement): statement for statement in (*before.statements, *after.statements)}.values()


def _list_moved(people: Mapping[str, ChangedActor]) -> list[str]:
    return [urn for urn, changed in people.items() if changed.was.groups != changed.now.groups]


def _move_members(postings: Postings, people: Mapping[str, ChangedActor]) -> Postings:
    """Return the entities, of which people have the groups that they are in after the change."""
    groups_by_number = {
        number: people[urn].now.groups for urn in _list_moved(people) if (number := postings.number(urn)) is not None
    }
    return postings.replace_values(GROUP_MEMBERSHIP, groups_by_number) if groups_by_number else postings


def _load_postings(
    scope: ChangeScope, before: Snapshot, after: Snapshot, limit: int, *, is_sampled: bool
) -> tuple[Postings, bool]:
    """Return the entities that can differ, at least, and whether these are all: else they are the first ones.

    With `is_sampled` the first ones are read at once, and it is not known whether there are more when the limit is met.
    """
    if not scope.privileges:
        return Postings(urns=(), types=(), fields=()), True
    covering = widen_selectors(scope.selectors, MAX_CRITERIA)
    fields = before.tested_fields(scope.privileges) | after.tested_fields(scope.privileges)
    if cdap.is_granted(scope.privileges):
        fields |= GRANT_FIELDS
    source = ports.postings_source()
    if not is_sampled:
        postings = source.load_postings(covering=covering, fields=fields, limit=limit, with_people=True)
        if postings is not None:
            return postings, True
    postings = source.load_sample(covering=covering, fields=fields, limit=limit)
    return postings, len(postings.urns) < limit


def _load_people(scope: ChangeScope, sides: tuple[Postings, Postings], limit: int) -> dict[str, Actor]:
    """Return the active people that changed statements can reach, one more than the limit at most."""
    tokens = {token for token in scope.tokens if not is_relational(token)}
    if ONESELF in scope.tokens:
        tokens.update(urn for urn in sides[0].urns if urn.startswith(USER_PREFIX))
    if any(is_relational(token) and token != ONESELF for token in scope.tokens):
        for postings in sides:
            tokens.update(postings.owners(None))
    users = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens)
    return actor_resolution.load_actors(urns=list(users.values_list("urn", flat=True)[: limit + 1]))


class _Row(NamedTuple):
    """People who are alike, the privileges, and the entities on one side of a difference."""

    people: tuple[str, ...]
    privileges: tuple[str, ...]
    entities: FrozenBitMap


def _sum_side(
    differences: Iterable[tuple[AccessDifference, FrozenBitMap]],
    postings: Postings,
    limit: int,
    disclosure: PreviewDisclosure,
) -> ChangeSide:
    rows = [
        _Row(difference.people, difference.privileges, entities) for difference, entities in differences if entities
    ]
    rows_by_privilege: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        for privilege in row.privileges:
            rows_by_privilege[privilege].append(row)
    by_privilege = {privilege: _count(rows_by_privilege[privilege], 1) for privilege in sorted(rows_by_privilege)}
    total = _count(rows, None)
    items = (
        ChangedAccess(actor, privilege, len(entities), _list_examples(postings, entities))
        for actor, privilege, entities in _list_largest(_select_told(rows, disclosure), limit)
    )
    return ChangeSide(total, by_privilege, _redact_examples(list(items), disclosure))


def _select_told(rows: Sequence[_Row], disclosure: PreviewDisclosure) -> Sequence[_Row]:
    """Return the rows as far as their people may be named to the reader."""
    if disclosure.tells_others:
        return rows
    reader = disclosure.by.urn
    return [row._replace(people=(reader,)) for row in rows if reader in row.people]


def _count(rows: Iterable[_Row], privilege_count: int | None) -> Tally:
    """Return the numbers of rows, each sorted_rows for so many privileges (None: for all of its own)."""
    pairs, people, entities = 0, set[str](), BitMap()
    for row in rows:
        pairs += len(row.people) * len(row.entities) * (privilege_count or len(row.privileges))
        people.update(row.people)
        entities |= row.entities
    return Tally(pairs, len(people), len(entities))


def _list_largest(rows: Sequence[_Row], limit: int) -> Iterator[tuple[str, str, FrozenBitMap]]:
    """Yield the people and privileges with most entities, in the order of their URNs where these are as many."""
    sorted_rows = sorted(rows, key=lambda row: -len(row.entities))
    number, size = 0, 0
    while number < len(sorted_rows) and (
        size < limit or len(sorted_rows[number].entities) == len(sorted_rows[number - 1].entities)
    ):
        size += len(sorted_rows[number].people) * len(sorted_rows[number].privileges)
        number += 1
    items = (
        (-len(row.entities), actor, privilege, index)
        for index, row in enumerate(sorted_rows[:number])
        for actor, privilege in product(row.people, row.privileges)
    )
    for _, actor, privilege, index in nsmallest(limit, items):
        yield actor, privilege, sorted_rows[index].entities


def _list_examples(postings: Postings, entities: FrozenBitMap) -> tuple[str, ...]:
    """Return the first entities of the types that people know best; never ownership types, which nobody looks for."""
    others = entities - postings.with_type(_NO_EXAMPLE)
    numbers: list[int] = []
    for type_name in _EXAMPLE_TYPES:
        if len(numbers) == MAX_EXAMPLES or not others:
            break
        entities_of_type = others & postings.with_type(type_name)
        numbers += entities_of_type[: MAX_EXAMPLES - len(numbers)]
        others -= entities_of_type
    numbers += others[: MAX_EXAMPLES - len(numbers)]
    return tuple(postings.urns[number] for number in numbers)


def _redact_examples(items: Sequence[ChangedAccess], disclosure: PreviewDisclosure) -> Sequence[ChangedAccess]:
    """Return the items without examples that the reader may not view."""
    urns = {urn for item in items for urn in item.examples}
    concealed_urns = disclosure.find_concealed(urns) if urns else frozenset()
    if not concealed_urns:
        return items
    return [item._replace(examples=tuple(urn for urn in item.examples if urn not in concealed_urns)) for item in items]


def _list_kept(
    differences: Iterable[AccessDifference], after: AccessState, limit: int, disclosure: PreviewDisclosure
) -> list[KeptAccess]:
    rows = [_Row(item.people, item.privileges, item.kept_entities) for item in differences if item.kept_entities]
    return [
        KeptAccess(
            actor,
            privilege,
            len(entities),
            access_change.find_policies_of(after, after.actors[actor], privilege, entities)[:MAX_THROUGH]
            if disclosure.tells_policies
            else (),
        )
        for actor, privilege, entities in _list_largest(_select_told(rows, disclosure), limit)
    ]
