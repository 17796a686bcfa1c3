"""Ways of access as pages draw them: policy → group, role or owner, since, until (templates/components/way.html)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from policies.engine import wording
from policies.engine.families import vocabulary
from policies.engine.selectors import (
    EVERYONE,
    IN_ANY_GROUP,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    TYPE,
    URN,
    Condition,
    Criterion,
    Selector,
    owner_type,
)
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX

#: Until so long before its end what ends is marked.
SOON = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class ShownWay:
    """One way as the component draws it; what is empty is not drawn.

    `through` has a dictionary for each step from the policy to the person: kind (group, role, user, owner, everyone),
    name, url, and via (the name of the group that gives a role). `left` is how long it lasts, in words.
    """

    policy: str = ""
    policy_url: str = ""
    through: tuple[Mapping[str, str], ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    left: str = ""
    is_soon: bool = False


def build_way(
    *,
    now: datetime,
    policy: str = "",
    policy_url: str = "",
    through: Iterable[Mapping[str, str]] = (),
    since: datetime | None = None,
    until: datetime | None = None,
) -> ShownWay:
    """Return a way with the words for the time that is left."""
    return ShownWay(
        policy,
        policy_url,
        tuple(through),
        since,
        until,
        "" if until is None else word_left(until, now),
        until is not None and now <= until <= now + SOON,
    )


def word_until(until: datetime, now: datetime) -> str:
    """Return an end as the component draws it: `until 11 Dec 2026, 18:00 UTC (in 13 days)`."""
    return f"until {until.astimezone(UTC):%-d %b %Y, %H:%M} UTC ({word_left(until, now)})"


def word_left(until: datetime, now: datetime) -> str:
    """Return how far an instant is, as `in 13 days` or `2 hours ago`."""
    seconds = (until - now).total_seconds()
    words = _word_seconds(abs(seconds))
    return f"in {words}" if seconds >= 0 else f"{words} ago"


def _word_seconds(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600)):
        # Until two of a unit are full, the smaller one says more.
        if seconds >= 2 * length:
            return wording.word_count(int(seconds // length), unit, f"{unit}s")
    minutes = max(1, int(seconds // 60))
    return wording.word_count(minutes, "minute", "minutes")


def build_through(
    tokens: Collection[str],
    *,
    names: Mapping[str, str],
    get_url: Callable[[str], str] = lambda _urn: "",
    groups_by_role: Mapping[str, str] | None = None,
) -> list[dict[str, str]]:
    """Return the steps that tokens of an actor clause name, the most personal first.

    `groups_by_role` names the group by which a role is held, where it is not held by the person itself.
    """
    steps = [_build_step(token, names, get_url, groups_by_role or {}) for token in tokens]
    return sorted(steps, key=lambda step: (_KIND_ORDER.index(step["kind"]), step["name"].casefold()))


_KIND_ORDER = ("user", "owner", "group", "role", "everyone")


def _build_step(
    token: str, names: Mapping[str, str], get_url: Callable[[str], str], groups_by_role: Mapping[str, str]
) -> dict[str, str]:
    if token == EVERYONE:
        return {"kind": "everyone", "name": "All users"}
    if token == IN_ANY_GROUP:
        return {"kind": "everyone", "name": "Members of any group"}
    if token == ONESELF:
        return {"kind": "user", "name": "Own account"}
    if token.startswith(OWNER_OF_ANY_TYPE):
        type_ = owner_type(token)
        return {"kind": "owner", "name": f"Owner ({names.get(type_, type_)})" if type_ else "Owner"}
    if token.startswith(USER_PREFIX):
        return {"kind": "user", "name": "Named in person"}
    kind = "group" if token.startswith(GROUP_PREFIX) else "role"
    name = names.get(token) or token.removeprefix(GROUP_PREFIX).removeprefix(ROLE_PREFIX)
    return {"kind": kind, "name": name, "url": get_url(token), "via": groups_by_role.get(token, "")}


def list_through_urns(tokens: Iterable[str]) -> set[str]:
    """Return the URNs that the steps of tokens name: groups, roles and types of owners."""
    urns = {token for token in tokens if token.startswith((GROUP_PREFIX, ROLE_PREFIX))}
    types = (owner_type(token) for token in tokens if token.startswith(OWNER_OF_ANY_TYPE))
    return urns | {type_ for type_ in types if type_}


def list_selector_urns(selector: Selector) -> set[str]:
    """Return the URNs that the words of a selector name."""
    return {
        value
        for criterion in selector.criteria
        for value in sorted(criterion.values)[: wording.MAX_LISTED_NAMES]
        if value.startswith("urn:li:")
    }


def describe_selector(selector: Selector, names: Mapping[str, str]) -> str:
    """Return the entities that a selector covers in words, as `datasets in the domain Finance`.

    A URN that has no name in `names` is not written: its reader may not view it.
    """
    nouns = [criterion for criterion in selector.criteria if _is_noun(criterion)]
    noun = min(nouns, key=lambda criterion: criterion.field != URN, default=None)
    # Entities that are named need no type beside their names.
    types = [criterion for criterion in nouns if criterion.field == TYPE] if noun and noun.field == URN else []
    clauses = [
        _word_criterion(criterion, names)
        for criterion in selector.criteria
        if criterion is not noun and criterion not in types
    ]
    return " ".join([_word_noun(noun, names), ", ".join(clauses)]).strip()


def _is_noun(criterion: Criterion) -> bool:
    return criterion.field in (TYPE, URN) and criterion.condition is Condition.EQUALS and bool(criterion.values)


def _word_noun(criterion: Criterion | None, names: Mapping[str, str]) -> str:
    if criterion is None:
        return "everything"
    return _word_types(criterion) if criterion.field == TYPE else _join_values(criterion, names, "and")


def _join_values(criterion: Criterion, names: Mapping[str, str], conjunction: str) -> str:
    """Return the first values by name; those that may not be named are counted with the rest."""
    values = sorted(criterion.values)
    named_values = [value for value in values if not value.startswith("urn:li:") or value in names]
    shown_names = [names.get(value, value) for value in named_values[: wording.MAX_LISTED_NAMES]]
    return wording.join_words(shown_names, conjunction, len(values) - len(shown_names))


def _word_types(criterion: Criterion) -> str:
    labels = vocabulary.load_datahub().resource_types
    types = sorted(labels.get(value, value).lower() for value in criterion.values)
    return wording.join_words(
        types[: wording.MAX_LISTED_NAMES], "and", len(types) - len(types[: wording.MAX_LISTED_NAMES])
    )


def _word_criterion(criterion: Criterion, names: Mapping[str, str]) -> str:
    text = _join_values(criterion, names, "or")
    if wording.get_property_label(criterion.field):
        return wording.word_property_clause(criterion.field, criterion.condition, text)
    words = wording.get_field_words(criterion.field)
    if not criterion.values:
        return f"of no {words.noun}"
    if criterion.condition is Condition.STARTS_WITH:
        return f"whose {words.noun} begins with {text}"
    phrase = words.selecting.format(text)
    return f"not {phrase}" if criterion.condition is Condition.NOT_EQUALS else phrase
