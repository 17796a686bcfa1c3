"""Approval rules as sentences, also while they are incomplete: what one is for, who decides, and how long at most."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from policies.authoring.pages.datahub_wording import effective_criteria
from policies.engine import wording
from policies.engine.families import display_privilege
from policies.engine.guardrails.sentences import describe_criteria, list_rule_urns
from policies.pdp import authorizer
from policies.requests.durations import parse_duration
from policies.requests.rules.past_requests import MAX_REQUESTS, DecidedRequests
from policies.requests.rules.terms import ESCALATE, EXPIRE, NEXT, USUAL_LONGEST

_Terms = Mapping[str, Any]

#: Units of durations, the longest first, with one and several of each.
UNITS: tuple[tuple[str, timedelta, str], ...] = (
    ("day", timedelta(days=1), "days"),
    ("hour", timedelta(hours=1), "hours"),
    ("minute", timedelta(minutes=1), "minutes"),
    ("second", timedelta(seconds=1), "seconds"),
)

#: The clause for each end of a step that is due.
THEN_LABELS = {
    NEXT: "the next step decides",
    ESCALATE: "holders of Manage Policies decide",
    EXPIRE: "the request ends",
}

_NAMED_KINDS = (
    ("roles", "the role {}"),
    ("groups", "membership in {}"),
    ("external_roles", "the role {} in a warehouse"),
)
_APPROVER_KINDS = (("users", "{}"), ("groups", "a member of {}"), ("roles", "a holder of the role {}"))

#: Stands for what is not chosen yet.
_MISSING = "…"


def split_duration(duration: timedelta) -> tuple[int, str]:
    """Return a duration of whole seconds as a number of the longest unit that measures it."""
    return next((duration // size, unit) for unit, size, _ in UNITS if not duration % size)


def word_duration(duration: timedelta) -> str:
    """Return a duration as a phrase, such as `3 days`."""
    number, unit = split_duration(duration)
    return wording.word_count(number, unit, f"{unit}s")


def load_names(documents: Iterable[_Terms]) -> dict[str, str]:
    """Return the names of everything that rules name, by URN; one query for each kind of thing."""
    urns = list_rule_urns(list(documents))
    return authorizer.load_names(urns=urns) if urns else {}


def describe_rule(terms: _Terms, names: Mapping[str, str]) -> str:
    """Return the sentences of a rule; what is missing yet is an ellipsis, and what cannot be read is left out."""
    scope = _describe_scope(terms.get("for") or {}, names)
    if terms.get("requestable") is False:
        return f"Nobody may make {scope[0].lower()}{scope[1:]}."
    return " ".join((f"{scope}: {_describe_deciders(terms, names)}.", *_describe_limits(terms)))


def describe_decided(decided: DecidedRequests, *, is_active: bool) -> str:
    """Return how many of the requests of the last 30 days a rule would have decided, as the catalog is today."""
    if not decided.total:
        return "Nobody has asked for anything in the last 30 days."
    which = f"the {decided.total:,} requests" if decided.is_all else f"the newest {MAX_REQUESTS:,} requests"
    condition = "" if is_active else "If it were active, "
    subject = "it" if condition else "It"
    return f"{condition}{subject} would have decided {decided.count:,} of {which} of the last 30 days."


def _describe_scope(scope: _Terms, names: Mapping[str, str]) -> str:
    things = [display_privilege(name) for name in scope.get("privileges") or ()]
    for key, phrase in _NAMED_KINDS:
        things += [phrase.format(names.get(urn, urn)) for urn in scope.get(key) or ()]
    criteria = _list_criteria(scope.get("resources"))
    shown_things = things[: wording.MAX_LISTED_NAMES]
    things_text = wording.join_words(shown_things, "or", len(things) - len(shown_things))
    about = f"anything {describe_criteria(criteria, names)}" if criteria else ""
    permanent = scope.get("permanent")
    ends = "" if permanent is None else " for good" if permanent else " with an end"
    if things_text:
        return f"Requests for {things_text}{f' on {about}' if about else ''}{f', {ends.strip()}' if ends else ''}"
    return f"Requests about {about}{ends}" if about else f"All requests{ends}"


def _list_criteria(resources: Any) -> Sequence[_Terms]:
    if not isinstance(resources, dict):
        return ()
    block = {"filter": resources} if "criteria" in resources else resources
    return effective_criteria({"resources": block})


def _describe_deciders(terms: _Terms, names: Mapping[str, str]) -> str:
    steps = list(terms.get("steps") or ())
    clauses = [_describe_step(step, names) for step in steps]
    ordered = [clauses[0], *(f"then {clause}" for clause in clauses[1:])] if clauses else []
    if not terms.get("auto_approve"):
        return "; ".join(ordered) or _MISSING
    longest = _read_duration(terms.get("auto_approve_longest"))
    bound = f" up to {word_duration(longest)}" if longest else ""
    automatic = f"approved at once{bound} where the way gives only that and nothing on the platform"
    return f"{automatic}; else {'; '.join(ordered) or 'a holder of Manage Policies decides'}"


def _describe_step(step: _Terms, names: Mapping[str, str]) -> str:
    approvers = step.get("approvers") or {}
    people = _list_people(approvers, names)
    shown_people = people[: wording.MAX_LISTED_NAMES]
    people_text = wording.join_words(shown_people, "or", len(people) - len(shown_people)) or _MISSING
    needs = step.get("needs", 1)
    if needs == "all":
        clause = f"each of these agrees: {people_text}"
    elif needs == 1:
        clause = f"{people_text} decides"
    else:
        clause = f"{needs} people agree, each of them {people_text}"
    within = _read_duration(step.get("within"))
    return f"{clause} within {word_duration(within)}, else {_word_then(step)}" if within else clause


def _word_then(step: _Terms) -> str:
    return THEN_LABELS.get(step.get("then") or NEXT, _MISSING)


def _list_people(approvers: _Terms, names: Mapping[str, str]) -> list[str]:
    types = [names.get(urn, urn) for urn in approvers.get("resourceOwnersTypes") or ()]
    kind = f" ({wording.join_words(types, 'or')})" if types else ""
    people = [f"an owner of the entity{kind}"] if approvers.get("resourceOwners") else []
    people += [f"an owner of its domain{kind}"] if approvers.get("domainOwners") else []
    for key, phrase in _APPROVER_KINDS:
        people += [phrase.format(names.get(urn, urn)) for urn in approvers.get(key) or ()]
    privilege = approvers.get("privilege")
    return [*people, f"a holder of {display_privilege(privilege)}"] if privilege else people


def _describe_limits(terms: _Terms) -> list[str]:
    longest = _read_duration(terms.get("longest")) or USUAL_LONGEST
    limits = [f"At most {word_duration(longest)}{', or for good' if terms.get('allows_permanent') else ''}."]
    limits += {"required": ["A ticket is required."], "optional": ["A ticket may be named."]}.get(
        terms.get("ticket") or "", []
    )
    count = len(terms.get("conditions") or ())
    if count:
        verb = "has" if count == 1 else "have"
        limits.append(f"{wording.word_count(count, 'condition', 'conditions')} {verb} to be confirmed.")
    return limits


def _read_duration(text: Any) -> timedelta | None:
    """Return the duration that a text states; None for another text."""
    try:
        return parse_duration(text) if isinstance(text, str) and text else None
    except ValueError:
        return None
