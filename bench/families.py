"""The cost of the families to one another: decisions among 10,000 DataHub policies, with and without company.

Three snapshots answer the same questions, a few at a time in turn: DataHub's policies alone, beside two families that
nobody uses, and beside a handful of Datazone policies that speak to whoever asks. CDAP has grants and no policies: a
question brings those that were loaded for it. The quietest round counts, and a ratio is of two figures of one run.
"""

import gc
import statistics
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from bench.tables import Table, median_us
from bench.worlds import ROLES, Asked, Company, Document
from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.families import cdap, datahub, datazone
from policies.engine.model import Actor, Question, Statement, StatementOrigin
from policies.engine.selectors import BRANCH, CREATION, ID, MAIN_BRANCH, NO, PROJECT, Resource
from policies.engine.snapshot import Snapshot

ROUNDS, TURN = 7, 50
DATASET, IN_PROJECT = "a" * 24, "1" * 24
STREAM = "urn:li:stream:ns1.clicks"
EVERY_ROLE = [f"urn:li:dataHubRole:r{number}" for number in range(ROLES)]


@dataclass(frozen=True)
class Measured:
    """Questions to a snapshot: how each is made ready, and the grants that come with it."""

    snapshot: Snapshot
    ready: Callable[[Asked], Question]
    grants: tuple[Statement, ...] = ()


def run(*, is_quick: bool) -> list[Table]:
    """Measure questions about DataHub's privileges in each company, then those of the other families."""
    company = Company(1_000 if is_quick else 10_000)
    asked = company.asked(300 if is_quick else 2_000)
    empty = Snapshot.build(1, [*families.implicit_policies(), *company.compiled])
    worlds = {
        "DataHub alone": Snapshot.build(1, [*datahub.implicit_policies(), *company.compiled]),
        "beside two empty families": empty,
        "beside a handful of both": empty.replace(1, _handful()),
    }
    return [_about_datahub(worlds, company.policies, asked), _about_the_others(worlds, asked)]


def _about_datahub(worlds: Mapping[str, Snapshot], policies: int, asked: list[Asked]) -> Table:
    table = Table(
        f"One decision about DataHub, among {policies:,} of its policies: median µs",
        ("snapshot", "statements", "cold", "warm", "cold / alone", "warm / alone"),
    )
    answers = [[decide(world, one.question()).is_allowed for one in asked] for world in worlds.values()]
    if any(given != answers[0] for given in answers):
        raise AssertionError("The families change one another's answers.")
    found = _quietest({name: Measured(world, Asked.question) for name, world in worlds.items()}, asked)
    alone = found["DataHub alone"]
    for name, (cold, warm) in found.items():
        table.rows.append((name, len(worlds[name]), cold, warm, cold / alone[0], warm / alone[1]))
    table.notes.append("Cold: the actor was never asked about. Warm: the same questions again. All answer alike.")
    return table


def _about_the_others(worlds: Mapping[str, Snapshot], asked: list[Asked]) -> Table:
    table = Table(
        "One decision about the other families, in the same snapshots: median µs", ("question", "cold", "warm")
    )
    empty, used = worlds["beside two empty families"], worlds["beside a handful of both"]
    measured = {
        "Datazone, no policies": Measured(empty, _datazone),
        "Datazone, a handful": Measured(used, _datazone),
        "CDAP, no grants": Measured(empty, _cdap),
        "CDAP, a handful": Measured(used, _cdap, _grants()),
    }
    table.rows.extend((name, *medians) for name, medians in _quietest(measured, asked).items())
    return table


def _quietest(measured: Mapping[str, Measured], asked: list[Asked]) -> dict[str, tuple[float, float]]:
    """Return for each the medians of its quietest round, cold and warm."""
    rounds = [_round(measured, asked) for _ in range(ROUNDS)]
    return {name: (min(one[name][0] for one in rounds), min(one[name][1] for one in rounds)) for name in measured}


def _round(measured: Mapping[str, Measured], asked: list[Asked]) -> dict[str, tuple[float, float]]:
    """Return for each the medians, cold and warm; all take turns after a few questions, so noise meets them alike."""
    turns = deque(measured)
    asks = {
        name: partial(decide, one.snapshot.replace(one.snapshot.version, {}), grants=one.grants)
        for name, one in measured.items()
    }
    gc.collect()
    gc.disable()
    passes: list[dict[str, float]] = []
    for _ in ("cold", "warm"):
        spent: dict[str, list[float]] = {name: [] for name in measured}
        for start in range(0, len(asked), TURN):
            for name in turns:
                spent[name].append(median_us(asks[name], asked[start : start + TURN], measured[name].ready))
            # Who is first finds the facts of these questions out of the processor's reach, so everybody is in turn.
            turns.rotate()
        passes.append({name: statistics.median(medians) for name, medians in spent.items()})
    gc.enable()
    return {name: (passes[0][name], passes[1][name]) for name in measured}


# -- the company ------------------------------------------------------------------------------------------------------


def _handful() -> dict[str, tuple[Statement, ...]]:
    """Return five Datazone policies, each bound to every role: wide and narrow, a deny, rows and columns."""
    parts = {"row_level_restrictions": ["region = 'EMEA'"], "column_level_restrictions": ["id", "name"]}
    statements: dict[str, list[Document]] = {
        "all": [_said("dataset:*", "dataset:read"), _said("dataset", "dataset:create")],
        "project": [_said(f"project:{IN_PROJECT}:*", "*:*")],
        "one": [_said(f"dataset:{DATASET}", "dataset:read", extra_constraints=parts)],
        "no": [_said("dataset:*", "dataset:delete", effect="deny")],
        "branch": [_said("notebook:*", "notebook:manage", branch="dev")],
    }
    return {
        (urn := f"urn:li:dataHubPolicy:{name}"): datazone.compile(
            datazone.parse({"name": name, "statements": said, "roles": EVERY_ROLE}), StatementOrigin(urn, name)
        )
        for name, said in statements.items()
    }


def _said(resource: str, action: str, *, effect: str = "allow", **more: object) -> Document:
    return {"resource": resource, "actions": [action], "effect": effect, **more}


def _grants() -> tuple[Statement, ...]:
    holders = ("urn:li:corpuser:somebody", "urn:li:corpGroup:g1", *EVERY_ROLE[:3])
    return tuple(cdap.build_grant(holder, ["READ", "WRITE"], STREAM, STREAM) for holder in holders)


def _datazone(one: Asked) -> Question:
    """Ask about a dataset in a project, in the name of a person who holds a role."""
    facets = {
        ID: frozenset((DATASET,)),
        PROJECT: frozenset((IN_PROJECT,)),
        CREATION: frozenset((NO,)),
        BRANCH: frozenset((MAIN_BRANCH,)),
    }
    return Question(_holder(one), "dataset:read", Resource(f"urn:li:dataset:{DATASET}", "dataset", facets))


def _cdap(one: Asked) -> Question:
    return Question(_holder(one), "READ", Resource(STREAM, "stream", {}))


def _holder(one: Asked) -> Actor:
    return Actor(one.person.urn, frozenset(one.person.groups), frozenset(EVERY_ROLE[:1]))
