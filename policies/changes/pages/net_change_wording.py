"""Wording of a net change: sentences that name who gains, who loses, and through what somebody keeps access."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from policies.changes import preview
from policies.changes.comparison import MAX_ENTITIES, MAX_PEOPLE, SAMPLED_ENTITIES, SAMPLED_PEOPLE, EffectQuestion
from policies.changes.kinds import Change, read_change
from policies.changes.net_change import ChangeSide, KeptAccess, NetChange, PlatformAccess, Tally
from policies.changes.preview import Preview
from policies.engine import families
from policies.engine.families import cdap
from policies.engine.model import Actor
from policies.engine.wording import word_count
from policies.errors import Busy, Conflict, Forbidden, Invalid, NotFound, PolicyAppError
from policies.http.pages.change_effect import ProposedChange
from policies.pdp import authorizer

#: Most people, privileges and sentences that are named for each of what is gained, lost and kept.
MAX_NAMED = 5

#: Most pairs of a person and a privilege that these are chosen from, those with most entities first.
MAX_ITEMS = 500

#: Privileges that are named before others, in this order.
_FIRST_PRIVILEGES = {
    name: rank
    for rank, name in enumerate(
        (
            "MANAGE_POLICIES",
            "MANAGE_USERS_AND_GROUPS",
            "DELETE_ENTITY",
            "EDIT_ENTITY",
            "EDIT_ENTITY_OWNERS",
            "VIEW_ENTITY_PAGE",
        )
    )
}

#: Refusals that a page shows in place of a preview.
REFUSALS = (Busy, Conflict, Forbidden, Invalid, NotFound)

#: A verb for one person, and for several.
_Verbs = tuple[str, str]

_Rest = TypeVar("_Rest", bound=Hashable)

NOBODY = "No one's access changes today (other policies included)."
#: For readers who may not learn what others hold on the platform.
NOBODY_ON_ENTITIES = "No one's access to the entities of today's catalog changes."
REST = "More people or privileges are affected than are named here."
CONCEALED = "Only numbers are shown: names need the privilege Check Access."
NOBODY_COUNTED = "No one's access changes among the people who are counted."
NOT_EXACT = (
    "There is too much to count it all here: these are the numbers of at most the first"
    f" {MAX_ENTITIES:,} entities and {MAX_PEOPLE:,} people."
)

#: Through what somebody keeps access, for readers who may not see policies.
_OTHER_WAYS = "in another way"

#: What stands for all grants among the policies through which somebody keeps access.
_GRANT_NAMES = dict.fromkeys((cdap.GRANTS_POLICY_URN, cdap.CHANGED_GRANTS_URN), "a CDAP grant")

SAMPLED = (
    f"This is a first look at about {SAMPLED_ENTITIES:,} entities and {SAMPLED_PEOPLE:,} people."
    " The exact answer follows."
)


class ChangeWording(NamedTuple):
    """Sentences on changes, whether these are about a sample, and the report that counts what they leave out."""

    sentences: list[str]
    is_sampled: bool = False
    report: Mapping[str, Any] | None = None


def describe_changes(*, changes: Sequence[Change], by: Actor) -> list[str]:
    """Return sentences on what changes would give and take; for changes that would be refused, why."""
    return word_changes(changes=changes, by=by).sentences


def word_changes(*, changes: Sequence[Change], by: Actor, is_sampled: bool = False) -> ChangeWording:
    """Return the sentences of `describe_changes`; with `is_sampled` for the first entities and people only."""
    try:
        result = preview.preview_changes(
            changes=changes, by=by, question=EffectQuestion(MAX_ITEMS, is_sampled=is_sampled)
        )
    except REFUSALS as refusal:
        return word_refusal(refusal)
    return word_preview(result, is_sampled=is_sampled)


def word_refusal(refusal: PolicyAppError) -> ChangeWording:
    """Return why there is no preview."""
    if isinstance(refusal, Invalid):
        return ChangeWording([problem.detail for problem in refusal.problems[:MAX_NAMED]])
    return ChangeWording([refusal.detail])


def word_preview(result: Preview, *, is_sampled: bool = False) -> ChangeWording:
    """Return the sentences of a preview, one of the first entities and people with `is_sampled`."""
    sentences = describe_net_change(result.change)
    if is_sampled and not result.change.is_exact:
        # In place of the sentence that says that these numbers are a part.
        return ChangeWording([*sentences[:-1], SAMPLED], is_sampled=True)
    return ChangeWording(sentences, report=result.report)


def describe_proposed_changes(changes: Iterable[ProposedChange], *, by: Actor) -> list[str]:
    """Return the sentences of changes in their form in the API."""
    return describe_changes(changes=[read_change(change) for change in changes], by=by)


def describe_net_change(change: NetChange) -> list[str]:
    """Return the sentences of a net change."""
    names = _load_names(change)
    has_names = change.disclosure.tells_others
    sentences = [
        *_describe_side(change.lost, ("loses", "lose"), names, has_names=has_names),
        *_describe_platform(change.platform_lost, ("loses", "lose"), names),
        *_describe_side(change.gained, ("gains", "gain"), names, has_names=has_names),
        *_describe_platform(change.platform_gained, ("gains", "gain"), names),
    ]
    if not sentences and change.is_exact:
        sentences = [NOBODY] if has_names else [NOBODY_ON_ENTITIES]
    elif not has_names and (change.lost.total.pairs or change.gained.total.pairs):
        sentences.append(CONCEALED)
    sentences += _describe_kept(change.kept_items, names, has_policies=change.disclosure.tells_policies)
    # Nothing is confirmed without a number.
    return sentences if change.is_exact else [*(sentences or [NOBODY_COUNTED]), NOT_EXACT]


def _describe_side(side: ChangeSide, verbs: _Verbs, names: Mapping[str, str], *, has_names: bool) -> Iterator[str]:
    if not side.total.pairs:
        return
    yield f"{_word_tally(side.total, verbs, 'access')} to {_word_entities(side.total)}."
    if not has_names:
        yield from _describe_numbers(side, verbs)
    rows = [(item.actor, item.privilege, (item.entities, item.examples)) for item in side.items]
    groups = _group_items(rows)
    for actors, privileges, (number, examples) in groups[:MAX_NAMED]:
        examples_text = ", ".join(_name(names, urn) for urn in examples)
        prefix = "for example " if number > len(examples) else ""
        suffix = f", {prefix}{examples_text}" if examples_text else ""
        yield (
            f"{_join_people(actors, names)} {_choose_verb(verbs, len(actors))} {_join_privileges(privileges)}"
            f" on {word_count(number, 'entity', 'entities')}{suffix}."
        )
    yield from _describe_rest(groups, rows)


def _describe_numbers(side: ChangeSide, verbs: _Verbs) -> Iterator[str]:
    """Yield the numbers of the first privileges, by which most is gained or lost."""
    rows = sorted(side.by_privilege.items(), key=lambda row: (_rank_privilege(row[0]), -row[1].pairs, row[0]))
    for privilege, tally in rows[:MAX_NAMED]:
        yield f"{_word_tally(tally, verbs, families.display_privilege(privilege))} on {_word_entities(tally)}."
    if len(rows) > MAX_NAMED:
        yield f"So it is with {word_count(len(rows) - MAX_NAMED, 'other privilege', 'other privileges')}."


def _word_tally(tally: Tally, verbs: _Verbs, thing: str) -> str:
    return f"{word_count(tally.people, 'person', 'people')} {_choose_verb(verbs, tally.people)} {thing}"


def _word_entities(tally: Tally) -> str:
    return word_count(tally.entities, "entity", "entities")


def _describe_platform(items: Sequence[PlatformAccess], verbs: _Verbs, names: Mapping[str, str]) -> Iterator[str]:
    rows = [(item.actor, item.privilege, None) for item in items]
    groups = _group_items(rows)
    for actors, privileges, _ in groups[:MAX_NAMED]:
        noun = "privilege" if len(privileges) == 1 else "privileges"
        yield (
            f"{_join_people(actors, names)} {_choose_verb(verbs, len(actors))}"
            f" the platform {noun} {_join_privileges(privileges)}."
        )
    yield from _describe_rest(groups, rows)


def _describe_kept(items: Sequence[KeptAccess], names: Mapping[str, str], *, has_policies: bool) -> Iterator[str]:
    rows = [(item.actor, item.privilege, (item.entities, item.through)) for item in items]
    groups = _group_items(rows)
    for actors, privileges, (number, through) in groups[:MAX_NAMED]:
        through_names = dict.fromkeys(_GRANT_NAMES.get(urn) or _name(names, urn) for urn in through)
        way = f"through {', '.join(through_names) or 'a grant'}" if has_policies else _OTHER_WAYS
        verb = _choose_verb(("keeps", "keep"), len(actors))
        yield (
            f"{_join_people(actors, names)} {verb} {_join_privileges(privileges)}"
            f" on {word_count(number, 'entity', 'entities')}, {way}."
        )
    yield from _describe_rest(groups, rows)


def _describe_rest(groups: Sequence[object], rows: Sequence[object]) -> Iterator[str]:
    """Yield a sentence where more is known than is named."""
    if len(groups) > MAX_NAMED or len(rows) >= MAX_ITEMS:
        yield REST


def _group_items(rows: Iterable[tuple[str, str, _Rest]]) -> list[tuple[list[str], tuple[str, ...], _Rest]]:
    """Return people of whom the same is said, with the privileges and what else is said of both."""
    privileges_by_person: dict[tuple[str, _Rest], list[str]] = defaultdict(list)
    for actor, privilege, rest in rows:
        privileges_by_person[actor, rest].append(privilege)
    people: dict[tuple[tuple[str, ...], _Rest], list[str]] = defaultdict(list)
    for (actor, rest), privileges in privileges_by_person.items():
        people[tuple(privileges), rest].append(actor)
    return [(actors, privileges_of_all, rest) for (privileges_of_all, rest), actors in people.items()]


def _join_people(actors: Sequence[str], names: Mapping[str, str]) -> str:
    return _join([_name(names, urn) for urn in actors])


def _join_privileges(privileges: Sequence[str]) -> str:
    """Return the first few privileges, those that matter most before the others, which stay in their order."""
    sorted_names = sorted(privileges, key=_rank_privilege)
    return _join([families.display_privilege(name) for name in sorted_names])


def _rank_privilege(name: str) -> int:
    return _FIRST_PRIVILEGES.get(name, len(_FIRST_PRIVILEGES))


def _join(texts: Sequence[str]) -> str:
    """Return the first few texts in one, and how many more there are."""
    if len(texts) > MAX_NAMED:
        return f"{', '.join(texts[:MAX_NAMED])} and {len(texts) - MAX_NAMED:,} more"
    return " and ".join(part for part in (", ".join(texts[:-1]), texts[-1]) if part)


def _choose_verb(verbs: _Verbs, number: int) -> str:
    return verbs[0] if number == 1 else verbs[1]


def _load_names(change: NetChange) -> Mapping[str, str]:
    urns = {item.actor for side in (change.gained, change.lost) for item in side.items}
    urns |= {urn for side in (change.gained, change.lost) for item in side.items for urn in item.examples}
    urns |= {item.actor for item in (*change.platform_gained, *change.platform_lost)}
    urns |= {urn for item in change.kept_items for urn in (item.actor, *item.through)}
    return {**authorizer.load_names(urns=urns), **_name_implicit_policies()}


@cache
def _name_implicit_policies() -> Mapping[str, str]:
    """Return the names of the policies in force that are not stored."""
    return {
        policy: statement.origin.name for policy, statements in families.implicit_policies() for statement in statements
    }


def _name(names: Mapping[str, str], urn: str) -> str:
    return names.get(urn) or urn
