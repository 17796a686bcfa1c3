"""Running the tests of a bundle: every claim is answered by the engine, over the facts of its file or of a snapshot.

The policies are those of the bundle, in place of those of the snapshot that have the same URN: what applying it would
leave in force.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from catalog.assertions.parser import Assertion, AssertionKind
from catalog.bundle_tests.case_reader import CaseFile
from catalog.reports.kinds.dataset_access_check import absent_names, checks
from catalog.reports.kinds.dataset_access_check.spec import serialize_assertion
from catalog.reports.snapshot import partitions, reader
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.snapshot.partitions import SnapshotState
from catalog.reports.snapshot.reader import SCHEMA_VERSION, CorruptSnapshot
from policies.engine import families
from policies.engine.errors import Problem
from policies.engine.model import Actor, Statement
from policies.engine.snapshot import Snapshot
from policies.errors import Invalid

#: Failures of one claim that are told.
MAX_FAILURES = 20

_HELD_PREFIXES = ("urn:li:corpGroup:", "urn:li:dataHubRole:")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one claim; without failures it holds. Each failure has its line and what is wrong."""

    file: str
    line: int
    name: str
    failures: tuple[tuple[int, str], ...]


class CaseFacts(NamedTuple):
    """The facts that some claims are about: people, the roles bound to each user and group, and entities."""

    actors: Sequence[Actor]
    roles_by_holder: Mapping[str, frozenset[str]]
    partitions: Iterable[PartitionFacts]


class CaseWorld(Protocol):
    """The facts for files that have none of their own: a snapshot on disk, or the stored ones."""

    @property
    def snapshot(self) -> Snapshot:
        """Return the policies before those of the bundle."""

    def load_facts(
        self, snapshot: Snapshot, placed_claims: Sequence["PlacedClaim"], fields: Collection[str], /
    ) -> CaseFacts:
        """Return the facts that the claims are about, under the policies of a snapshot, with these facets."""


@dataclass(frozen=True, slots=True)
class SnapshotWorld:
    """A snapshot on disk."""

    state: SnapshotState

    @property
    def snapshot(self) -> Snapshot:
        """Return its policies."""
        return self.state.snapshot

    def load_facts(
        self, snapshot: Snapshot, _placed_claims: Sequence["PlacedClaim"], fields: Collection[str], /
    ) -> CaseFacts:
        """Return everybody and everything, part by part."""
        state = replace(self.state, snapshot=snapshot)
        return CaseFacts(state.actors, reader.load_roles(state.source), _iterate_partitions(state, fields))


@dataclass(frozen=True, slots=True)
class PlacedClaim:
    """A claim with the file that it is in."""

    file: str
    assertion: Assertion


def load_world(source: str) -> SnapshotWorld:
    """Return the snapshot on disk that has this URL. Raises Invalid if it cannot be read."""
    try:
        manifest = reader.read_json(source, "manifest.json")
        if manifest.get("schema") != SCHEMA_VERSION:
            raise CorruptSnapshot(f"The snapshot has schema {manifest.get('schema')}; this reads {SCHEMA_VERSION}.")
        return SnapshotWorld(partitions.load_state(source, manifest["policy_version"]))
    except (CorruptSnapshot, KeyError) as error:
        raise Invalid.from_problem(code="snapshot.unreadable", pointer=source, detail=str(error)) from None


def run_case_files(
    case_files: Sequence[CaseFile],
    assertions: Mapping[str, Assertion],
    statements_by_policy: Mapping[str, tuple[Statement, ...]],
    *,
    world: CaseWorld | None,
    bundle_texts: Collection[str] = (),
) -> list[CaseResult]:
    """Return the result of every claim, by file; `assertions` (by path) are checked against the world, if any.

    Groups and roles that `bundle_texts` name are known, whether or not anybody is in them yet.

    Raises Invalid for files without facts where there is no world.
    """
    if world is None and (problems := _find_unanswerable(case_files)):
        raise Invalid(problems)
    snapshot = (
        Snapshot.build(0, [*families.implicit_policies(), *statements_by_policy.items()])
        if world is None
        else world.snapshot.replace(world.snapshot.version, statements_by_policy)
    )
    results: list[CaseResult] = []
    for case_file in case_files:
        if case_file.facts is not None:
            placed_claims = [PlacedClaim(case_file.path, claim) for claim in case_file.claims]
            fields = _list_tested_fields(snapshot, placed_claims)
            facts = case_file.facts.build_partition(snapshot, fields)
            case_facts = CaseFacts(facts.actors, case_file.facts.roles_by_group, [facts])
            results += _check_claims(placed_claims, snapshot, case_facts, bundle_texts)
    if world is not None:
        placed_claims = [PlacedClaim(path, assertion) for path, assertion in assertions.items()]
        placed_claims += [
            PlacedClaim(case_file.path, claim)
            for case_file in case_files
            if case_file.facts is None
            for claim in case_file.claims
        ]
        if placed_claims:
            fields = _list_tested_fields(snapshot, placed_claims)
            world_facts = world.load_facts(snapshot, placed_claims, fields)
            results += _check_claims(placed_claims, snapshot, world_facts, bundle_texts)
    return sorted(results, key=lambda result: (result.file, result.line))


def _find_unanswerable(case_files: Iterable[CaseFile]) -> list[Problem]:
    detail = "This has no `facts`, so it needs a snapshot to be answered."
    return [Problem("facts.missing", f"{file.path}:1", detail) for file in case_files if file.facts is None]


def _iterate_partitions(state: SnapshotState, fields: Collection[str]) -> Iterator[PartitionFacts]:
    loaded_fields = partitions.list_loaded_fields(fields)
    for bounds in partitions.list_bounds(state.source):
        numbers = partitions.read_entity_numbers(state.source, bounds.first, bounds.last)
        yield PartitionFacts(state, partitions.load_partition(state, loaded_fields, numbers))


def _list_tested_fields(snapshot: Snapshot, placed_claims: Iterable[PlacedClaim]) -> frozenset[str]:
    privileges: set[str] = set()
    fields: set[str] = set()
    for placed_claim in placed_claims:
        claim = placed_claim.assertion
        privileges.update(claim.privileges, claim.platform_privileges)
        privileges.update(answer.privilege for answer in claim.expectations)
        fields.update(criterion.field for criterion in claim.scope.criteria)
    return snapshot.tested_fields(privileges) | fields


def _check_claims(
    placed_claims: Sequence[PlacedClaim], snapshot: Snapshot, case_facts: CaseFacts, bundle_texts: Collection[str]
) -> Iterator[CaseResult]:
    """Yield the result of each claim; its number takes the place of its name, which two files may share."""
    documents = [
        serialize_assertion(placed_claim.assertion) | {"name": str(number)}
        for number, placed_claim in enumerate(placed_claims)
    ]
    claims = checks.build_claims(documents, case_facts.actors, case_facts.roles_by_holder)
    absent = {
        name: None
        for name in absent_names.list_sought(documents, case_facts.actors, case_facts.roles_by_holder)
        if not name.value.startswith(_HELD_PREFIXES) or not any(name.value in text for text in bundle_texts)
    }
    rows: list[checks.ClaimRow] = []
    for facts in case_facts.partitions:
        rows += checks.check_partition(facts, claims)
        for name in list(absent_names.find_present(facts, absent)):
            del absent[name]
    answered_indexes = frozenset((row.claim_index, row.answer_index) for row in rows)
    rows += checks.check_platform(snapshot, claims)
    rows += checks.check_unknown_entities(snapshot, claims, answered_indexes)
    _, failure_lines = checks.aggregate_rows(claims, rows)
    failures_by_claim: dict[int, list[tuple[int, str]]] = {}
    for name in absent:
        claim = placed_claims[name.claim_index].assertion
        failures = failures_by_claim.setdefault(name.claim_index, [])
        if len(failures) < MAX_FAILURES:
            failures.append((_find_name_line(claim, name.value), absent_names.describe_absence(name)))
    for failure in failure_lines:
        number = int(failure["assertion"])
        failures = failures_by_claim.setdefault(number, [])
        if len(failures) < MAX_FAILURES:
            claim = placed_claims[number].assertion
            failures.append((_find_line(claim, failure), _describe_failure(claim, failure)))
    for number, placed_claim in enumerate(placed_claims):
        claim = placed_claim.assertion
        yield CaseResult(placed_claim.file, claim.line, claim.name, tuple(failures_by_claim.get(number, ())))


def _find_line(claim: Assertion, failure: Mapping[str, Any]) -> int:
    question = (failure["person"], failure["privilege"], failure["entity"] or "")
    lines = (
        answer.line for answer in claim.expectations if (answer.actor, answer.privilege, answer.entity) == question
    )
    return next(lines, claim.line)


def _find_name_line(claim: Assertion, name: str) -> int:
    lines = (answer.line for answer in claim.expectations if name in (answer.actor, answer.entity))
    return next(lines, claim.line)


def _describe_failure(claim: Assertion, failure: Mapping[str, Any]) -> str:
    """Return the sentences on one wrong answer: question and answer, then the policy that decided or came closest."""
    answer = failure["decision"]
    subject = f"{failure['person']} {failure['privilege']} on {failure['entity'] or 'the platform'}"
    if claim.kind is AssertionKind.EXPECT:
        sentences = [f"{subject}: {answer}, not {'DENY' if answer == 'ALLOW' else 'ALLOW'}."]
    else:
        count = f" (one of {failure['entities']:,})" if failure["entities"] > 1 else ""
        sentences = [f"{subject}{count}: {answer}."]
    if failure["policy"]:
        sentences.append(f"{failure['policy']} decides: {failure['because']}")
    elif failure["nearest"]:
        sentences.append(f"{failure['nearest']} comes closest: {failure['lacks']}")
    elif failure["lacks"]:
        sentences.append(str(failure["lacks"]))
    return " ".join(sentences)
