"""Proofs about all catalogs there could be: one policy of many changes, and all of them are looked at for redundancy.

A change is proved in both directions: whether it gives anybody more, and less. Processor time of the proof alone; the
snapshot after the change is there already, as it is when somebody writes a draft. Each proof starts with nothing.
"""

import statistics
import time
from collections.abc import Callable

from bench.tables import Table
from bench.worlds import Company, Document, dice_of
from policies.engine.families import datahub
from policies.engine.model import StatementOrigin
from policies.engine.proofs import prover
from policies.engine.snapshot import Snapshot

SIZES = (100, 1_000, 10_000)
CHANGED = 100
SECONDS = 60.0

Change = Callable[[Document], Document]


def run(*, is_quick: bool) -> list[Table]:
    """Measure changes of one policy, and the redundancy of all."""
    sizes = SIZES[:2] if is_quick else SIZES
    columns = ("change", "policies", "world", "median ms", "p95 ms", "most ms", "gives more", "gives less")
    changes = Table("One policy is changed: does it give more, does it give less", columns)
    redundant = Table("All policies: which are redundant", ("policies", "world", "s", "us a policy", "redundant"))
    for size in sizes:
        for is_hot in (False, True):
            company = Company(size, is_hot=is_hot)
            world = "hot" if is_hot else "realistic"
            snapshot = Snapshot.build(1, [*company.compiled, *datahub.implicit_policies()])
            for name, change in make_changes(company).items():
                changes.rows.append((name, size, world, *measure_changes(company, snapshot, change)))
            spent, number = measure_redundancy(company, snapshot)
            redundant.rows.append((size, world, spent, spent / size * 1e6, number))
    changes.notes.append(f"{CHANGED} policies each; the last columns say in how many the answer was yes.")
    return [changes, redundant]


def make_changes(company: Company) -> dict[str, Change]:
    """Return how a policy is changed, by name."""
    dice = dice_of("changes")

    def criteria_of(document: Document) -> list[Document]:
        criteria: list[Document] = document["resources"]["filter"]["criteria"]
        return criteria

    def with_criteria(document: Document, criteria: list[Document]) -> Document:
        return document | {"resources": {"filter": {"criteria": criteria}}}

    tag = {"field": "TAG", "values": ["urn:li:tag:t3"]}
    return {
        "another policy": lambda _: dice.choice(company.documents)[1],
        "one criterion less": lambda document: with_criteria(document, criteria_of(document)[1:]),
        "one criterion more": lambda document: with_criteria(document, [*criteria_of(document), tag]),
        "for all users": lambda document: document | {"actors": {"allUsers": True}},
        "a deny instead": lambda document: document | {"effect": "DENY"},
    }


def measure_changes(company: Company, snapshot: Snapshot, change: Change) -> tuple[float, float, float, int, int]:
    """Return median, p95 and most milliseconds of both proofs, and how many changes give more and less."""
    spent, more, less = [], 0, 0
    step = max(1, len(company.documents) // CHANGED)
    for urn, document in company.documents[::step]:
        after = snapshot.replace(2, {urn: datahub.compile(change(document), StatementOrigin(urn, urn))})
        started = time.process_time()
        gain = prover.allows_more(snapshot, after, seconds=SECONDS)
        loss = prover.allows_more(after, snapshot, seconds=SECONDS)
        spent.append((time.process_time() - started) * 1000)
        more, less = more + (gain.verdict == "yes"), less + (loss.verdict == "yes")
    spent.sort()
    return statistics.median(spent), spent[int(len(spent) * 0.95)], spent[-1], more, less


def measure_redundancy(company: Company, snapshot: Snapshot) -> tuple[float, int]:
    """Return the seconds for all policies, and how many of them are redundant."""
    started = time.process_time()
    verdicts = [
        prover.is_redundant(statement, snapshot, seconds=SECONDS).verdict
        for _, statements in company.compiled
        for statement in statements
    ]
    return time.process_time() - started, sum(verdict == "yes" for verdict in verdicts)
