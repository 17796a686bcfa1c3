"""Wording of a net change: sentences that name who gains, who loses, and through what somebody keeps access."""

from collections.abc import Iterator, Mapping, Sequence

from policies.authoring.services import preview
from policies.authoring.services.net_change import ChangeSide, NetChange, PlatformAccess
from policies.authoring.services.preview import Change
from policies.engine import families
from policies.engine.model import Actor
from policies.errors import Forbidden, Invalid, NotFound
from policies.pdp import authorizer

#: Most people that are named for each of what is gained, lost and kept.
MAX_NAMED = 5

NOBODY = "Nobody gains or loses anything on what the catalog holds today, every other policy considered."
NOT_EXACT = "There is too much to count it all here: these numbers are a part. The impact report finds everything."


def describe_changes(*, changes: Sequence[Change], by: Actor) -> list[str]:
    """Return sentences on what changes would give and take; for changes that would be refused, why."""
    try:
        return describe_net_change(preview.preview_changes(changes=changes, by=by, limit=MAX_NAMED).change)
    except Invalid as refusal:
        return [problem.detail for problem in refusal.problems[:MAX_NAMED]]
    except (Forbidden, NotFound) as refusal:
        return [refusal.detail]


def describe_net_change(change: NetChange) -> list[str]:
    """Return the sentences of a net change."""
    names = _load_names(change)
    sentences = [
        *_describe_side(change.lost, "loses", "lose", names),
        *_describe_platform(change.platform_lost, "loses", names),
        *_describe_side(change.gained, "gains", "gain", names),
        *_describe_platform(change.platform_gained, "gains", names),
    ]
    if not sentences and change.is_exact:
        sentences = [NOBODY]
    for item in change.kept_items[:MAX_NAMED]:
        through = ", ".join(_name(names, urn) for urn in item.through) or "a grant"
        privilege = families.display_privilege(item.privilege)
        entities = _count(item.entities, "entity", "entities")
        sentences.append(f"{_name(names, item.actor)} keeps {privilege} on {entities}, through {through}.")
    return sentences if change.is_exact else [*sentences, NOT_EXACT]


def _describe_side(side: ChangeSide, verb: str, plural_verb: str, names: Mapping[str, str]) -> Iterator[str]:
    if not side.total.pairs:
        return
    people, entities = side.total.people, _count(side.total.entities, "entity", "entities")
    yield f"{_count(people, 'person', 'people')} {verb if people == 1 else plural_verb} access to {entities}."
    for item in side.items[:MAX_NAMED]:
        privilege = families.display_privilege(item.privilege)
        examples = ", ".join(_name(names, urn) for urn in item.examples)
        example_text = f", {'for example ' if item.entities > len(item.examples) else ''}{examples}" if examples else ""
        entities = _count(item.entities, "entity", "entities")
        yield f"{_name(names, item.actor)} {verb} {privilege} on {entities}{example_text}."


def _describe_platform(items: Sequence[PlatformAccess], verb: str, names: Mapping[str, str]) -> Iterator[str]:
    for item in items[:MAX_NAMED]:
        yield f"{_name(names, item.actor)} {verb} the platform privilege {families.display_privilege(item.privilege)}."


def _load_names(change: NetChange) -> Mapping[str, str]:
    urns = {item.actor for side in (change.gained, change.lost) for item in side.items}
    urns |= {urn for side in (change.gained, change.lost) for item in side.items for urn in item.examples}
    urns |= {item.actor for item in (*change.platform_gained, *change.platform_lost)}
    urns |= {urn for item in change.kept_items for urn in (item.actor, *item.through)}
    return authorizer.load_names(urns=urns)


def _name(names: Mapping[str, str], urn: str) -> str:
    return names.get(urn) or urn


def _count(number: int, noun: str, plural_noun: str) -> str:
    return f"{number:,} {noun if number == 1 else plural_noun}"
