"""The net change: who gains and who loses which privilege on which entities by changes.

Every other policy, grant, role and membership counts, since both sides are whole worlds (`policies.changes.comparison`)
and the comparison is the engine's (`policies.engine.access_change`). Nothing is written.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import product
from typing import NamedTuple

from django.conf import settings
from pyroaring import BitMap, FrozenBitMap

from policies.changes.comparison import Comparison, EffectQuestion
from policies.changes.worlds import ChangedWorld
from policies.engine import access_change
from policies.engine.access_change import AccessDifference, PlatformDifference
from policies.engine.changed_reach import AccessState
from policies.engine.gc_pause import pause_gc
from policies.engine.postings import Postings
from policies.writes.preview_disclosure import PreviewDisclosure

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
    """The gains, or the losses: numbers, numbers by privilege, and the largest items."""

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
def find_net_change(world: ChangedWorld, question: EffectQuestion) -> NetChange:
    """Return the net change that a question asks for; only what the author of the changes may learn of others."""
    disclosure = PreviewDisclosure.load(world.by)
    if not settings.AUTH_POLICIES_ENABLED:
        return NetChange(world.before.version, is_exact=True, disclosure=disclosure)
    comparison = Comparison(world, question)
    differences, platform_differences = comparison.list_differences(), comparison.list_platform_differences()
    limit, postings = question.limit, comparison.postings
    return NetChange(
        world.before.version,
        is_exact=comparison.is_exact,
        disclosure=disclosure,
        gained=_sum_side([(item, item.gained) for item in differences], postings, limit, disclosure),
        lost=_sum_side([(item, item.lost) for item in differences], postings, limit, disclosure),
        kept_items=_list_kept(differences, comparison.after, limit, disclosure),
        platform_gained=_list_platform(platform_differences, limit, disclosure, is_gained=True),
        platform_lost=_list_platform(platform_differences, limit, disclosure, is_gained=False),
    )


def _list_platform(
    differences: Iterable[PlatformDifference], limit: int, disclosure: PreviewDisclosure, *, is_gained: bool
) -> list[PlatformAccess]:
    items = (
        PlatformAccess(urn, difference.privilege)
        for difference in differences
        if difference.is_gained is is_gained
        for urn in difference.people
        if disclosure.tells_others or urn == disclosure.by.urn
    )
    return nsmallest(limit, items)


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
