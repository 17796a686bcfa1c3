"""Rules that the form of a guardrail can show, complete or not; what it cannot say is written as JSON."""

from typing import Any

from policies.authoring.pages.datahub_draft import MAX_VISIBLE_CRITERIA
from policies.authoring.pages.datahub_wording import ACTOR_LISTS, EXCLUDED_ACTOR_LISTS
from policies.engine import wording
from policies.engine.families import datahub
from policies.engine.guardrails.rules import EVERYBODY_EXCEPT, RuleKind
from policies.engine.selectors import Condition

_LISTS = tuple(key for key, _, _ in (*ACTOR_LISTS, *EXCLUDED_ACTOR_LISTS))

_SCOPE_KEYS = {"actors", "privileges", "resources"}


def is_showable(rule: Any) -> bool:
    """Whether the form has a place for everything that the JSON of a rule says."""
    if not isinstance(rule, dict) or len(rule) != 1:
        return False
    kind, body = next(iter(rule.items()))
    if kind not in tuple(RuleKind) or not isinstance(body, dict):
        return False
    match RuleKind(kind):
        case RuleKind.AT_LEAST:
            number = body.get("number")
            is_number = isinstance(number, int | str | None) and not isinstance(number, bool)
            return is_number and _is_scope(body, {"number", "privileges"})
        case RuleKind.NOT_BOTH:
            has_parts = all(_is_scope(body.get(part, {}), {"privileges", "resources"}) for part in ("first", "second"))
            return has_parts and _has_keys(body, {"first", "second", "except"}) and _is_people(body.get("except"))
        case RuleKind.ALWAYS:
            actors = body.get("actors", {})
            return _has_keys(actors, {"users"}) and _is_people(actors) and _is_scope(body, _SCOPE_KEYS)
        case _:
            return _is_audience(body.get("actors", {})) and _is_scope(body, _SCOPE_KEYS)


def _is_audience(actors: Any) -> bool:
    if _has_keys(actors, {EVERYBODY_EXCEPT}) or _has_keys(actors, {"allUsers"}):
        return _is_people(actors.get(EVERYBODY_EXCEPT))
    return _is_people(actors)


def _is_people(actors: Any) -> bool:
    """Whether these are lists of actors, and members of groups; None: no one is chosen."""
    if actors is None:
        return True
    return (
        _has_keys(actors, {*_LISTS, "allGroups"})
        and all(_is_texts(actors.get(key)) for key in _LISTS)
        and actors.get("allGroups") in (None, True, False)
    )


def _is_scope(body: Any, keys: set[str]) -> bool:
    if not _has_keys(body, keys) or not _is_texts(body.get("privileges")):
        return False
    block = body.get("resources")
    if block is None:
        return True
    if not _has_keys(block, {"filter"}) or not _has_keys(block.get("filter"), {"criteria"}):
        return False
    criteria = block["filter"].get("criteria")
    return isinstance(criteria, list) and len(criteria) <= MAX_VISIBLE_CRITERIA and all(map(_is_criterion, criteria))


def _is_criterion(criterion: Any) -> bool:
    if not _has_keys(criterion, {"field", "condition", "values"}):
        return False
    name = criterion.get("field")
    is_known = isinstance(name, str) and (name in datahub.FIELDS or bool(wording.split_property(name)[0]))
    return is_known and criterion.get("condition") in (None, *Condition) and _is_texts(criterion.get("values"))


def _has_keys(value: Any, keys: set[str]) -> bool:
    return isinstance(value, dict) and value.keys() <= keys


def _is_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))
