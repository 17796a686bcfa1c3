"""Assertions, asked of one slice of the catalog after another (docs/assertions.md).

Of each slice comes one row for a claim, a privilege and a person where the claim does not hold, and one for every
expected answer. The first people of each claim are explained; since every slice explains its first ones, the first ones
of the whole are among them, however the catalog is cut.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyroaring import FrozenBitMap

from catalog.reports.spark.partition_facts import Facts
from policies.engine import explain, selectors
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Question
from policies.engine.selectors import Condition, Criterion, Resource, Selector
from policies.engine.snapshot import Snapshot

NOBODY, EVERY, EXPECT = "nobody", "every", "expect"
PASS, FAIL = "PASS", "FAIL"
ALLOW, DENY = "ALLOW", "DENY"

#: How many people of a claim are named and explained.
NAMED = 200

#: The tables of results.
ASSERTIONS = pa.schema(
    [
        ("assertion", pa.string()),
        ("state", pa.string()),
        ("people", pa.int64()),
        ("entities", pa.int64()),
        ("line", pa.int64()),
        ("claim", pa.string()),
    ]
)
FAILURES = pa.schema(
    [
        *((name, pa.string()) for name in ("assertion", "person", "privilege", "decision")),
        ("entities", pa.int64()),
        *((name, pa.string()) for name in ("entity", "policy", "because", "nearest", "lacks")),
    ]
)


class Row(NamedTuple):
    """What one slice says about a claim; `answer` is which of the expected answers, -1 for other claims."""

    claim: int
    answer: int
    privilege: str
    person: str
    is_allowed: bool
    entities: int
    place: int
    entity: str
    policy: str | None = None
    because: str | None = None
    nearest: str | None = None
    lacks: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One expected answer; without `entity` it is about the platform."""

    actor: Actor
    privilege: str
    entity: str
    is_allowed: bool
    is_known: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """An assertion with the people it is about: of NOBODY those who must not, of EVERY those who must be able to."""

    name: str
    line: int
    kind: str
    people: tuple[Actor, ...]
    privileges: tuple[str, ...]
    platform: tuple[str, ...]
    on: Selector
    answers: tuple[Answer, ...]


def claims_of(
    assertions: Iterable[Mapping[str, Any]], actors: Sequence[Actor], roles: Mapping[str, frozenset[str]]
) -> tuple[Claim, ...]:
    """Return what assertions.json of a snapshot claims; `roles` are those of each group and user."""
    known = {actor.urn: actor for actor in actors}
    return tuple(_claim(one, known, roles) for one in assertions)


def checked(facts: Facts, claims: Sequence[Claim]) -> Iterator[Row]:
    """Ask every claim of one slice."""
    for number, claim in enumerate(claims):
        yield from _answered(facts, number, claim)
        scope = facts.postings.extent(claim.on) if claim.privileges else FrozenBitMap()
        for privilege in claim.privileges if scope else ():
            yield from _broken(facts, number, claim, privilege, scope)


def checked_platform(snapshot: Snapshot, claims: Sequence[Claim]) -> Iterator[Row]:
    """Ask what claims say about the platform."""
    for number, claim in enumerate(claims):
        for privilege in claim.platform:
            questions = (Question(actor, privilege) for actor in claim.people)
            wrong = [one for one in questions if decide(snapshot, one).is_allowed == (claim.kind == NOBODY)]
            for place, question in enumerate(wrong):
                row = Row(number, -1, privilege, question.actor.urn, claim.kind == NOBODY, 1, -1, "")
                yield _explained(row, snapshot, question) if place < NAMED else row
        for place, answer in enumerate(claim.answers):
            if not answer.entity:
                yield _told(snapshot, number, place, answer, None)


def checked_unknown(snapshot: Snapshot, claims: Sequence[Claim], seen: frozenset[tuple[int, int]]) -> Iterator[Row]:
    """Ask the answers about entities that no slice holds: they are judged by URN and type alone, as anywhere."""
    for number, claim in enumerate(claims):
        for place, answer in enumerate(claim.answers):
            if answer.entity and (number, place) not in seen:
                fields = snapshot.fields_for([answer.privilege])
                nothing = dict.fromkeys(fields | {selectors.OWNER}, frozenset[str]())
                constants = {name: frozenset((value,)) for name, value in selectors.CONSTANTS.items()}
                kind = answer.entity.split(":", 3)[2]
                yield _told(snapshot, number, place, answer, Resource(answer.entity, kind, nothing | constants))


def results(claims: Sequence[Claim], rows: Iterable[Row]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Add the rows of all slices up: one line for each claim, and one for each person where it fails (the first ones).

    Answers come one by one, whether they are as expected or not.
    """
    broken: dict[tuple[int, str, str], Row] = {}
    told: dict[tuple[int, int], Row] = {}
    for row in rows:
        if row.answer >= 0:
            told[row.claim, row.answer] = row
            continue
        key = (row.claim, row.person, row.privilege)
        other = broken.get(key)
        if other is not None:
            first = min(row, other, key=lambda one: one.place)
            row = first._replace(entities=row.entities + other.entities)
        broken[key] = row
    by_claim: dict[int, list[Row]] = defaultdict(list)
    for _, row in sorted(broken.items()):
        by_claim[row.claim].append(row)
    lines, failures = [], []
    for number, claim in enumerate(claims):
        wrong = by_claim[number]
        answers = [(answer, told[number, place]) for place, answer in enumerate(claim.answers)]
        wrong += [row for answer, row in answers if row.is_allowed != answer.is_allowed]
        lines.append(_line(claim, wrong))
        failures += [_failure(claim, row) for row in wrong[:NAMED]]
    return lines, failures


def _claim(said: Mapping[str, Any], known: Mapping[str, Actor], roles: Mapping[str, frozenset[str]]) -> Claim:
    holders = frozenset(said["holders"])
    if said["kind"] == NOBODY:
        people = [one for one in known.values() if one.is_active and one.tokens.isdisjoint(holders)]
    else:
        people = [one for one in known.values() if one.is_active and not one.tokens.isdisjoint(holders)]
        people += (bare for one in sorted(holders) if (bare := _bare(one, people, known, roles)) is not None)
    criteria = (Criterion(one["field"], Condition(one["condition"]), frozenset(one["values"])) for one in said["on"])
    answers = (
        Answer(
            known.get(one["actor"], Actor(one["actor"])),
            one["privilege"],
            one["entity"],
            one["is_allowed"],
            one["actor"] in known,
        )
        for one in said["expected"]
    )
    return Claim(
        name=said["name"],
        line=said["line"],
        kind=said["kind"],
        people=tuple(sorted(people, key=lambda one: one.urn)),
        privileges=tuple(said["privileges"]),
        platform=tuple(said["platform"]),
        on=Selector(tuple(criteria)),
        answers=tuple(answers),
    )


def _bare(
    holder: str, people: Sequence[Actor], known: Mapping[str, Actor], roles: Mapping[str, frozenset[str]]
) -> Actor | None:
    """Return somebody who has nothing but this group or role when nobody has it, and a user who is not among people."""
    if any(holder in one.tokens for one in people):
        return None
    bound = roles.get(holder, frozenset())
    if holder.startswith("urn:li:corpGroup:"):
        return Actor(holder, frozenset((holder,)), bound)
    if holder.startswith("urn:li:dataHubRole:"):
        return Actor(holder, roles=frozenset((holder,)))
    return known.get(holder, Actor(holder))


def _broken(facts: Facts, number: int, claim: Claim, privilege: str, scope: FrozenBitMap) -> Iterator[Row]:
    explained = 0
    for actor in claim.people:
        allowed = facts.may(actor, privilege, scope)
        wrong = allowed if claim.kind == NOBODY else scope - allowed
        if not wrong:
            continue
        first = wrong.min()
        row = Row(
            number, -1, privilege, actor.urn, claim.kind == NOBODY, len(wrong), facts.numbers[first], facts.urns[first]
        )
        if explained < NAMED:
            row = _explained(row, facts.snapshot, facts.question(actor, privilege, first))
        explained += 1
        yield row


def _answered(facts: Facts, number: int, claim: Claim) -> Iterator[Row]:
    for place, answer in enumerate(claim.answers):
        found = facts.postings.number(answer.entity) if answer.entity else None
        if found is not None:
            yield _told(facts.snapshot, number, place, answer, facts.postings.resource(found))


def _told(snapshot: Snapshot, number: int, place: int, answer: Answer, resource: Resource | None) -> Row:
    question = Question(answer.actor, answer.privilege, resource)
    is_allowed = decide(snapshot, question).is_allowed
    row = Row(number, place, answer.privilege, answer.actor.urn, is_allowed, 1, -1, answer.entity)
    if is_allowed == answer.is_allowed:
        return row
    row = _explained(row, snapshot, question)
    return row if answer.is_known else row._replace(lacks=f"There is no such person. {row.lacks or ''}".strip())


def _explained(row: Row, snapshot: Snapshot, question: Question) -> Row:
    """Add what decided, and to a refusal by nobody the statement that came closest."""
    said = explain.reasons(decide(snapshot, question), question, str)
    if said:
        return row._replace(policy=said[0].policy, because=said[0].because)
    if not question.actor.is_active:
        return row._replace(lacks="This person may not act at all.")
    for miss in explain.misses(snapshot, question, limit=1):
        near = miss.worded(str)
        return row._replace(nearest=near.policy, lacks=" ".join(lack.sentence for lack in near.lacks))
    return row._replace(lacks="No policy gives this privilege to anybody.")


def _line(claim: Claim, wrong: Sequence[Row]) -> dict[str, Any]:
    return {
        "assertion": claim.name,
        "state": FAIL if wrong else PASS,
        "people": len({row.person for row in wrong}),
        "entities": sum(row.entities for row in wrong),
        "line": claim.line,
        "claim": _in_words(claim),
    }


def _failure(claim: Claim, row: Row) -> dict[str, Any]:
    return {
        "assertion": claim.name,
        "person": row.person,
        "privilege": row.privilege,
        "decision": ALLOW if row.is_allowed else DENY,
        "entities": row.entities,
        "entity": row.entity or None,
        "policy": row.policy,
        "because": row.because,
        "nearest": row.nearest,
        "lacks": row.lacks,
    }


def _in_words(claim: Claim) -> str:
    """Say what is claimed, without whom it is about: names are the reader's to look up in the text."""
    if claim.kind == EXPECT:
        return f"{len(claim.answers)} answers are as expected."
    names = ", ".join((*claim.privileges, *claim.platform))
    return f"Nobody else may {names}." if claim.kind == NOBODY else f"All of them may {names}."
