"""Ways in words: what would be changed, and what that gives and takes beside what was asked for."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policies.engine.proofs.verdicts import Verdict
from policies.pdp import authorizer
from policies.requests.request_sources import IDENTITY, WAREHOUSE
from policies.requests.ways.candidates import WayKind
from policies.requests.ways.finding import AccessWay

#: What is changed, by kind; the name of a group or role stands where there is one.
_SENTENCES = {
    WayKind.POLICY: "A policy of its own gives it.",
    WayKind.GRANT: "A grant gives it.",
    WayKind.MEMBERSHIP: "Members of the group {name} have it.",
    WayKind.ROLE: "Holders of the role {name} have it.",
    WayKind.OWNER: "Owners of it have it.",
    WayKind.STATEMENT: "A Datazone statement for a role of its own gives it.",
    WayKind.EXTERNAL_ROLE: "The external role gives it.",
    WayKind.EXCEPTION: "An exception from what denies it gives it.",
}

#: What is said of the system that owns who has it.
_SOURCES = {
    IDENTITY: "The identity source owns the list of members, and has to be asked.",
    WAREHOUSE: "The warehouse owns the role, and has to be asked.",
}


class WordedWay(NamedTuple):
    """A way as sentences: what is changed, and its cost."""

    sentence: str
    cost: tuple[str, ...]


def word_way(way: AccessWay) -> WordedWay:
    """Return a way in words."""
    return WordedWay(_SENTENCES[way.kind].format(name=_name_subject(way)), tuple(_iterate_cost(way)))


def _name_subject(way: AccessWay) -> str:
    values: list[Mapping[str, Any]] = [value for change in way.changes for value in change.values()]
    urn = next((value[key] for value in values for key in ("group", "role") if key in value), "")
    return authorizer.load_names(urns=[urn]).get(urn, urn) if urn else ""


def _iterate_cost(way: AccessWay) -> Iterator[str]:
    if way.further:
        least = "" if way.is_exact else "at least "
        yield f"It gives {least}{way.further:,} more beside."
    elif way.is_exact and way.gives_only_this.verdict is Verdict.YES:
        yield "It gives only this, whatever the catalog will hold."
    elif way.is_exact:
        yield "It gives only this in the catalog as it is."
    if way.losses.size:
        yield f"It takes {way.losses.size:,}."
    if way.source is not None:
        yield _SOURCES[way.source]
    for guardrail in way.guardrails:
        verb = "forbids" if way.is_forbidden else "warns of"
        yield f"The guardrail {guardrail.name} {verb} it."
