"""The ways to what was refused: worked out, ranked, and told to a reader as far as that reader may know of them.

They take the account's one preview (`policies.pdp.account_turns`), since each is a preview.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from policies.engine.model import Actor
from policies.engine.proofs.verdicts import Proof
from policies.models import Guardrail
from policies.pdp import authorizer, ports, snapshot_store
from policies.pdp.account_turns import hold_turn
from policies.requests.ways import candidates
from policies.requests.ways.asked_items import AskedAccess, AskedItem
from policies.requests.ways.candidates import Candidate, Changes, WayKind
from policies.requests.ways.effects import BrokenGuardrail, Gains, stage_way
from policies.requests.ways.proofs import prove_only_this
from policies.writes.preview_disclosure import PreviewDisclosure


@dataclass(frozen=True, slots=True)
class AccessWay:
    """One way, worked out. Unless `is_exact`, `gains` and `losses` are what was found before it became too much.

    `rank` counts from 1. `source` is the kind of system that has to make the changes; None: they are written here.
    `further` is how much it gives beside what was asked for and what that implies.
    """

    id: str
    kind: WayKind
    changes: Changes
    gains: Gains
    losses: Gains
    is_exact: bool
    gives_only_this: Proof
    guardrails: tuple[BrokenGuardrail, ...] = ()
    source: str | None = None
    rank: int = 0
    further: int = 0

    @property
    def is_only_this(self) -> bool:
        """Whether it gives nothing but what was asked for, and what that implies, in the catalog as it is."""
        return self.is_exact and not self.further

    @property
    def needs_policy(self) -> bool:
        """Whether it makes a policy."""
        return any("urn" not in change["put_policy"] for change in self.changes if "put_policy" in change)

    @property
    def is_forbidden(self) -> bool:
        """Whether a guardrail refuses it."""
        return any(guardrail.mode == Guardrail.Mode.ENFORCE for guardrail in self.guardrails)

    @property
    def sort_key(self) -> tuple[bool, bool, bool, int, bool, str]:
        """The key by which ways are ranked: forbidden ones last, then those that take; else by gains."""
        return (
            self.is_forbidden,
            self.losses.size > 0,
            not self.is_exact,
            self.gains.size,
            self.needs_policy,
            self.id,
        )


@dataclass(frozen=True, slots=True)
class FoundWays:
    """The ways to an item, best first, and the policies (URNs) that deny it, as far as their reader may know."""

    ways: Sequence[AccessWay] = ()
    denied_by: Sequence[str] = ()


def find_ways(*, item: AskedItem, by: Actor, until: datetime | None = None) -> FoundWays:
    """Return all ways to an item, for this reader; none where the actor has it, or no change would help.

    `until` is the end that they get where they can have one. Raises Busy while the reader has another preview.
    """
    if not item.is_changeable or _is_concealed(item, by):
        return FoundWays()
    with hold_turn(by.urn):
        proposed = [*candidates.list_own(item, until), *candidates.list_others(item, until)]
        return limit_to_reader(measure_all(item, proposed, by), item, by)


def find_smallest_way(*, item: AskedItem, by: Actor) -> AccessWay | None:
    """Return the first of all ways; the others are looked at only where the own policy or grant is not the smallest.

    Raises Busy while the reader has another preview.
    """
    if not item.is_changeable or _is_concealed(item, by):
        return None
    with hold_turn(by.urn):
        ways = measure_all(item, candidates.list_own(item, None), by)
        if not any(way.is_only_this and not way.is_forbidden and not way.losses.size for way in ways):
            ways += measure_all(item, candidates.list_others(item, None), by)
        return next(iter(limit_to_reader(ways, item, by).ways), None)


def measure_all(item: AskedItem, proposed: Iterable[Candidate], by: Actor) -> list[AccessWay]:
    """Return the candidates that are enough, each with its gains, losses, proof and guardrails."""
    with ports.bind_shared_postings(fields=snapshot_store.get_current().all_tested_fields):
        return [way for candidate in proposed if (way := _measure(item, candidate, by)) is not None]


def _measure(item: AskedItem, candidate: Candidate, by: Actor) -> AccessWay | None:
    """Return a candidate with gains, losses, proof and guardrails; None if it is not enough, or cannot be written."""
    staged = stage_way(item, candidate)
    if staged is None or not staged.is_enough():
        return None
    gains, losses, is_exact = staged.compare()
    return AccessWay(
        candidate.id,
        candidate.kind,
        candidate.changes,
        gains,
        losses,
        is_exact,
        prove_only_this(staged),
        staged.list_broken(by),
        candidate.source,
        further=max(0, gains.size - item.count_new()),
    )


# -- the reader -----------------------------------------------------------------------------------------------------


def _is_concealed(item: AskedItem, by: Actor) -> bool:
    """Whether the reader may not view something that the item is about: the answer is empty then."""
    urns = item.list_entities()
    with authorizer.bind_viewer(lambda: by):
        return bool(urns) and bool(authorizer.directory().find_hidden_urns(urns=urns))


def limit_to_reader(
    ways: Iterable[AccessWay], item: AskedItem, by: Actor, *, known_urns: Collection[str] = ()
) -> FoundWays:
    """Return the ways in their order, without those that name what the reader may not know of.

    `known_urns` are those that the reader has named.
    """
    disclosure = PreviewDisclosure.load(by)
    ranked = sorted(ways, key=lambda way: way.sort_key)
    urns = {urn for way in ranked for urn in _list_named(way)}
    concealed = disclosure.find_concealed(urns.difference(known_urns)) if urns else frozenset[str]()
    told_ways = [way for way in ranked if concealed.isdisjoint(_list_named(way))]
    denies = item.denies if isinstance(item, AskedAccess) and disclosure.tells_policies else ()
    return FoundWays(
        [
            replace(way, rank=rank, gives_only_this=_redact_example(way.gives_only_this, disclosure))
            for rank, way in enumerate(told_ways, start=1)
        ],
        sorted({statement.origin.policy for statement in denies}),
    )


def _redact_example(proof: Proof, disclosure: PreviewDisclosure) -> Proof:
    """Return a proof whose example is only for who may ask about others."""
    return proof if disclosure.tells_others else replace(proof, question=None, earlier=None)


def _list_named(way: AccessWay) -> list[str]:
    """Return the groups, roles and policies that a way names beside its actor, but for roles that it makes."""
    named_urns = [
        value[key]
        for change in way.changes
        for value in change.values()
        for key in ("group", "role", "urn", "policy")
        if key in value
    ]
    made_urns = {change["put_role"]["urn"] for change in way.changes if "put_role" in change}
    return [urn for urn in named_urns if urn not in made_urns]


def describe_way(way: AccessWay) -> dict[str, Any]:
    """Return a way as it is sent (contract of requests, section 3)."""
    proof = way.gives_only_this
    return {
        "id": way.id,
        "kind": way.kind.value,
        "changes": list(way.changes),
        "gains": way.gains._asdict(),
        "losses": {"pairs": way.losses.pairs, "platform": way.losses.platform},
        "is_exact": way.is_exact,
        "gives_only_this": {"verdict": proof.verdict.value, "example": proof.example},
        "guardrails": [guardrail._asdict() for guardrail in way.guardrails],
        "source": way.source,
        "rank": way.rank,
    }
