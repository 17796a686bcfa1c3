"""One decision in process, the facts in hand.

Cold: the actor was never asked about before, so nothing about its tokens is kept. Warm: the same questions again.
Allowed: those that are allowed. Named: these with every policy that decided. Bit sets are the line to approach
(`bench/bit_sets.py`) and take turns with ours. Every round starts from a snapshot that remembers nothing; the quietest
of the rounds counts, because the machine is not ours alone.
"""

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from bench import engines
from bench.bit_sets import BitSets, facts_of
from bench.tables import Table, median_us, seconds
from bench.worlds import Asked, Company, Document
from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.families import datahub
from policies.engine.gc_pause import pause_gc
from policies.engine.model import Question, StatementOrigin
from policies.engine.snapshot import Snapshot

SIZES = (10, 100, 1_000, 10_000)
ROUNDS = 5
BASELINES = {
    "plain loop": engines.plain_loop,
    "oracle": engines.naive_oracle,
    "cedarpy": engines.cedar,
    "casbin": engines.fast_casbin,
}


def run(*, is_quick: bool) -> list[Table]:
    """Measure the realistic and the hot world, edits of a snapshot and what it weighs."""
    sizes = SIZES[:3] if is_quick else SIZES
    questions = 300 if is_quick else 2000
    columns = ("policies", "compile s", "build s", "replace one ms", "index MiB", "all MiB")
    edits = Table("Editing and keeping a snapshot", columns)
    edits.notes.append("Compile: from documents to statements. Build: from statements to their index.")
    edits.notes.append("Replacing compiles the new document too. All: the index with statements and their texts.")
    tables = [_decisions("realistic", sizes, questions), _decisions("hot", sizes, questions), edits]
    for size in sizes[1:]:
        edits.rows.append(_edited(Company(size)))
    return tables


def snapshot_of(company: Company) -> Snapshot:
    """Return the snapshot of a world."""
    return Snapshot.build(1, [*families.implicit_policies(), *company.compiled])


def _decisions(name: str, sizes: tuple[int, ...], questions: int) -> Table:
    table = Table(
        f"One decision, {name} world: median µs",
        (
            *("policies", "bit sets", "cold", "warm", "allowed", "named", "cold / bit sets", "allowed %"),
            *(*BASELINES, "best baseline / cold", "agreed"),
        ),
    )
    for size in sizes:
        company = Company(size, is_hot=name == "hot")
        asked = company.asked(questions)
        snapshot = snapshot_of(company)
        bit_sets = BitSets(company)
        _check_agreement(bit_sets, snapshot, asked)
        ours = _ours(snapshot, asked, bit_sets)
        cold = ours.cold
        allowed = sum(decide(snapshot, one.question()).is_allowed for one in asked)
        few = asked[: max(20, min(200, 200_000 // size))]
        theirs = {label: _theirs(make(company), few, snapshot) for label, make in BASELINES.items()}
        ratio = min(theirs.values()) / cold
        table.rows.append(
            (
                *(size, *ours, cold / ours.bit_sets, 100 * allowed / len(asked)),
                *(*theirs.values(), ratio, len(few) * len(theirs) + len(asked)),
            )
        )
    growth = {row[0]: float(row[2]) for row in table.rows}
    table.notes.append(
        f"From 100 to {sizes[-1]:,} policies a cold decision grows {growth[sizes[-1]] / growth[100]:.1f} times."
    )
    table.notes.append("Agreed: answers of the baselines that were compared with ours; one that differs ends the run.")
    return table


class Ours(NamedTuple):
    """The line to approach, and our medians: microseconds."""

    bit_sets: float
    cold: float
    warm: float
    allowed: float
    named: float


def _ours(snapshot: Snapshot, asked: list[Asked], bit_sets: BitSets) -> Ours:
    rounds = []
    allowed = [one for one in asked[50:] if bit_sets.is_allowed(facts_of(one))]
    for _ in range(ROUNDS):
        fresh = snapshot.replace(snapshot.version, {})
        for one in asked[:50]:
            decide(fresh, one.question())
        gc.collect()
        gc.disable()
        ask = partial(decide, fresh)
        rounds.append(
            Ours(
                median_us(bit_sets.is_allowed, asked[50:], facts_of),
                median_us(ask, asked[50:], Asked.question),
                median_us(ask, asked[50:], Asked.question),
                median_us(ask, allowed, Asked.question),
                median_us(partial(_decide_and_name, fresh), allowed, Asked.question),
            )
        )
        gc.enable()
    return Ours(*map(min, zip(*rounds, strict=True)))


def _decide_and_name(snapshot: Snapshot, question: Question) -> str:
    return decide(snapshot, question).statements[0].origin.policy


def _check_agreement(bit_sets: BitSets, snapshot: Snapshot, asked: list[Asked]) -> None:
    for one in asked:
        if bit_sets.is_allowed(facts_of(one)) != decide(snapshot, one.question()).is_allowed:
            raise AssertionError(f"The bit sets disagree about {one}")


def _theirs(engine: engines.Engine, asked: list[Asked], snapshot: Snapshot) -> float:
    ready, ask = engine
    for one in asked:
        if ask(ready(one)) != decide(snapshot, one.question()).is_allowed:
            raise AssertionError(f"{ask} disagrees about {one}")
    return min(median_us(ask, asked, ready) for _ in range(ROUNDS))


def _edited(company: Company) -> tuple[int, float, float, float, float, float]:
    documents = company.documents
    with pause_gc():  # as when a process loads its policies
        compiling, _ = seconds(lambda: [datahub.compile(one, StatementOrigin(urn, urn)) for urn, one in documents])
        company.compiled  # noqa: B018 - made here, so that building does not make them
        building, snapshot = seconds(lambda: snapshot_of(company))
    others = Company(company.policies, is_hot=True).documents[:20]

    def replace(edit: tuple[str, Document]) -> Snapshot:
        urn, document = edit
        return snapshot.replace(2, {urn: datahub.compile(document, StatementOrigin(urn, urn))})

    return (
        company.policies,
        compiling,
        building,
        median_us(replace, others, lambda edit: edit) / 1000,
        _weight(lambda: snapshot_of(company)),
        _weight(lambda: snapshot_of(Company(company.policies))),
    )


def _weight(make: Callable[[], Snapshot]) -> float:
    """Return what a snapshot and all that came with it hold, in MiB."""
    tracemalloc.start()
    made = make()
    weight = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    del made
    return weight
