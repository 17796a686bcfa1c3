"""Assertions checked against one partition of the catalog after another (docs/assertions.md).

Each partition yields one row for each claim, privilege and person for which the claim fails, and one for each expected
answer. Each partition explains the first people of each claim, so the first people of the whole result are always
explained, however the catalog is partitioned.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyroaring import FrozenBitMap

from catalog.reports.kinds.dataset_access_check.tables import MAX_EXPLAINED_PEOPLE
from catalog.reports.snapshot.partition_facts import PartitionFacts
from policies.engine import explain, near_misses, selectors
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Question
from policies.engine.selectors import Condition, Criterion, Resource, Selector
from policies.engine.snapshot import Snapshot

NOBODY, EVERY, EXPECT = "nobody", "every", "expect"
PASS, FAIL = "PASS", "FAIL"
ALLOW, DENY = "ALLOW", "DENY"


class ClaimRow(NamedTuple):
    """The result of one partition for a claim; `answer_index` numbers the expected answers, -1 for other claims."""

    claim_index: int
    answer_index: int
    privilege: str
    person: str
    is_allowed: bool
    entities: int
    entity_number: int
    entity: str
    policy: str | None = None
    because: str | None = None
    nearest: str | None = None
    lacks: str | None = None


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """One expected answer; `entity` is "" for a question about the platform, `is_known` whether the user exists."""

    actor: Actor
    privilege: str
    entity: str
    is_allowed: bool
    is_known: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """An assertion with the people it is about: for NOBODY those who must not have access, for EVERY those who must."""

    name: str
    line: int
    kind: str
    people: tuple[Actor, ...]
    privileges: tuple[str, ...]
    platform_privileges: tuple[str, ...]
    scope: Selector
    answers: tuple[ExpectedAnswer, ...]


def build_claims(
    assertions: Iterable[Mapping[str, Any]], actors: Sequence[Actor], roles: Mapping[str, frozenset[str]]
) -> tuple[Claim, ...]:
    """Return the claims of assertions.json; `roles` are the roles of each group and user."""
    actors_by_urn = {actor.urn: actor for actor in actors}
    return tuple(_build_claim(assertion, actors_by_urn, roles) for assertion in assertions)


def check_partition(facts: PartitionFacts, claims: Sequence[Claim]) -> Iterator[ClaimRow]:
    """Yield the rows of every claim for one partition."""
    for claim_index, claim in enumerate(claims):
        yield from _check_answers(facts, claim_index, claim)
        scope = facts.postings.find_extent(claim.scope) if claim.privileges else FrozenBitMap()
        for privilege in claim.privileges if scope else ():
            yield from _find_failures(facts, claim_index, claim, privilege, scope)


def check_platform(snapshot: Snapshot, claims: Sequence[Claim]) -> Iterator[ClaimRow]:
    """Yield the rows of every claim about the platform."""
    for claim_index, claim in enumerate(claims):
        for privilege in claim.platform_privileges:
            questions = (Question(actor, privilege) for actor in claim.people)
            failed_questions = [
                candidate for candidate in questions if decide(snapshot, candidate).is_allowed == (claim.kind == NOBODY)
            ]
            for index, question in enumerate(failed_questions):
                row = ClaimRow(claim_index, -1, privilege, question.actor.urn, claim.kind == NOBODY, 1, -1, "")
                yield _explain_row(row, snapshot, question) if index < MAX_EXPLAINED_PEOPLE else row
        for index, answer in enumerate(claim.answers):
            if not answer.entity:
                yield _check_answer(snapshot, claim_index, index, answer, None)


def check_unknown_entities(
    snapshot: Snapshot, claims: Sequence[Claim], answered_indexes: frozenset[tuple[int, int]]
) -> Iterator[ClaimRow]:
    """Yield the answers about entities that are in no partition, decided by URN and type alone."""
    for claim_index, claim in enumerate(claims):
        for answer_index, answer in enumerate(claim.answers):
            if answer.entity and (claim_index, answer_index) not in answered_indexes:
                fields = snapshot.tested_fields([answer.privilege])
                empty_facets = dict.fromkeys(fields | {selectors.OWNER}, frozenset[str]())
                constants = {name: frozenset((value,)) for name, value in selectors.CONSTANT_FACETS.items()}
                entity_type = answer.entity.split(":", 3)[2]
                yield _check_answer(
                    snapshot,
                    claim_index,
                    answer_index,
                    answer,
                    Resource(answer.entity, entity_type, empty_facets | constants),
                )


def aggregate_rows(
    claims: Sequence[Claim], rows: Iterable[ClaimRow]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a row for each claim, and for the first `MAX_EXPLAINED_PEOPLE` people for whom each fails.

    Rows of all partitions are summed by claim, person and privilege; expected answers are compared one by one.
    """
    failure_rows: dict[tuple[int, str, str], ClaimRow] = {}
    answer_rows: dict[tuple[int, int], ClaimRow] = {}
    for row in rows:
        if row.answer_index >= 0:
            answer_rows[row.claim_index, row.answer_index] = row
            continue
        key = (row.claim_index, row.person, row.privilege)
        earlier_row = failure_rows.get(key)
        if earlier_row is not None:
            first_row = min(row, earlier_row, key=lambda candidate: candidate.entity_number)
            row = first_row._replace(entities=row.entities + earlier_row.entities)
        failure_rows[key] = row
    rows_by_claim: dict[int, list[ClaimRow]] = defaultdict(list)
    for _, row in sorted(failure_rows.items()):
        rows_by_claim[row.claim_index].append(row)
    lines, failures = [], []
    for claim_index, claim in enumerate(claims):
        claim_failures = rows_by_claim[claim_index]
        answers = [
            (answer, answer_rows[claim_index, answer_index]) for answer_index, answer in enumerate(claim.answers)
        ]
        claim_failures += [row for answer, row in answers if row.is_allowed != answer.is_allowed]
        lines.append(_claim_line(claim, claim_failures))
        failures += [_failure_line(claim, row) for row in claim_failures[:MAX_EXPLAINED_PEOPLE]]
    return lines, failures


def _build_claim(
    assertion: Mapping[str, Any], actors_by_urn: Mapping[str, Actor], roles: Mapping[str, frozenset[str]]
) -> Claim:
    holders = frozenset(assertion["holders"])
    if assertion["kind"] == NOBODY:
        people = [item for item in actors_by_urn.values() if item.is_active and item.tokens.isdisjoint(holders)]
    else:
        people = [item for item in actors_by_urn.values() if item.is_active and not item.tokens.isdisjoint(holders)]
        people += (
            stand_in
            for item in sorted(holders)
            if (stand_in := _build_stand_in(item, people, actors_by_urn, roles)) is not None
        )
    criteria = (
        Criterion(item["field"], Condition(item["condition"]), frozenset(item["values"])) for item in assertion["on"]
    )
    answers = (
        ExpectedAnswer(
            actors_by_urn.get(item["actor"], Actor(item["actor"])),
            item["privilege"],
            item["entity"],
            item["is_allowed"],
            item["actor"] in actors_by_urn,
        )
        for item in assertion["expected"]
    )
    return Claim(
        name=assertion["name"],
        line=assertion["line"],
        kind=assertion["kind"],
        people=tuple(sorted(people, key=lambda item: item.urn)),
        privileges=tuple(assertion["privileges"]),
        platform_privileges=tuple(assertion["platform"]),
        scope=Selector(tuple(criteria)),
        answers=tuple(answers),
    )


def _build_stand_in(
    holder: str, people: Sequence[Actor], actors_by_urn: Mapping[str, Actor], roles: Mapping[str, frozenset[str]]
) -> Actor | None:
    """Return an actor for a holder that no person has: only this group or role, or the user; else None."""
    if any(holder in person.tokens for person in people):
        return None
    holder_roles = roles.get(holder, frozenset())
    if holder.startswith("urn:li:corpGroup:"):
        return Actor(holder, frozenset((holder,)), holder_roles)
    if holder.startswith("urn:li:dataHubRole:"):
        return Actor(holder, roles=frozenset((holder,)))
    return actors_by_urn.get(holder, Actor(holder))


def _find_failures(
    facts: PartitionFacts, claim_index: int, claim: Claim, privilege: str, scope: FrozenBitMap
) -> Iterator[ClaimRow]:
    explained_count = 0
    for actor in claim.people:
        allowed_entities = facts.find_allowed(actor, privilege, scope)
        failed_entities = allowed_entities if claim.kind == NOBODY else scope - allowed_entities
        if not failed_entities:
            continue
        first_index = failed_entities.min()
        row = ClaimRow(
            claim_index,
            -1,
            privilege,
            actor.urn,
            claim.kind == NOBODY,
            len(failed_entities),
            facts.numbers[first_index],
            facts.urns[first_index],
        )
        if explained_count < MAX_EXPLAINED_PEOPLE:
            row = _explain_row(row, facts.snapshot, facts.build_question(actor, privilege, first_index))
        explained_count += 1
        yield row


def _check_answers(facts: PartitionFacts, claim_index: int, claim: Claim) -> Iterator[ClaimRow]:
    for answer_index, answer in enumerate(claim.answers):
        entity_index = facts.postings.number(answer.entity) if answer.entity else None
        if entity_index is not None:
            yield _check_answer(
                facts.snapshot, claim_index, answer_index, answer, facts.postings.build_resource(entity_index)
            )


def _check_answer(
    snapshot: Snapshot, claim_index: int, answer_index: int, answer: ExpectedAnswer, resource: Resource | None
) -> ClaimRow:
    question = Question(answer.actor, answer.privilege, resource)
    is_allowed = decide(snapshot, question).is_allowed
    row = ClaimRow(claim_index, answer_index, answer.privilege, answer.actor.urn, is_allowed, 1, -1, answer.entity)
    if is_allowed == answer.is_allowed:
        return row
    row = _explain_row(row, snapshot, question)
    return row if answer.is_known else row._replace(lacks=f"There is no such person. {row.lacks or ''}".strip())


def _explain_row(row: ClaimRow, snapshot: Snapshot, question: Question) -> ClaimRow:
    """Return the row with the deciding policy, or for a refusal without one with the statement that came closest."""
    reasons = explain.list_reasons(decide(snapshot, question), question, str)
    if reasons:
        return row._replace(policy=reasons[0].policy, because=reasons[0].explanation)
    if not question.actor.is_active:
        return row._replace(lacks="This person may not act at all.")
    for near_miss in near_misses.list_near_misses(snapshot, question, limit=1):
        near_match = near_miss.to_near_match(str)
        return row._replace(
            nearest=near_match.policy, lacks=" ".join(condition.sentence for condition in near_match.failed_conditions)
        )
    return row._replace(lacks="No policy gives this privilege to anybody.")


def _claim_line(claim: Claim, failure_rows: Sequence[ClaimRow]) -> dict[str, Any]:
    return {
        "assertion": claim.name,
        "state": FAIL if failure_rows else PASS,
        "people": len({row.person for row in failure_rows}),
        "entities": sum(row.entities for row in failure_rows),
        "line": claim.line,
        "claim": _describe_claim(claim),
    }


def _failure_line(claim: Claim, row: ClaimRow) -> dict[str, Any]:
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


def _describe_claim(claim: Claim) -> str:
    """Return the claim as a sentence without URNs; the text of the assertions names them."""
    if claim.kind == EXPECT:
        return f"{len(claim.answers)} answers are as expected."
    names = ", ".join((*claim.privileges, *claim.platform_privileges))
    return f"Nobody else may {names}." if claim.kind == NOBODY else f"All of them may {names}."
