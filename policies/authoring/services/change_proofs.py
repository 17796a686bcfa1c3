"""Proofs about a change of policies: whether it gives, or takes, anything in any catalog there could ever be."""

from dataclasses import dataclass, replace

from policies.engine.model import Actor
from policies.engine.proofs.prover import allows_more
from policies.engine.proofs.verdicts import Proof, ProofUnavailable, Verdict
from policies.engine.snapshot import Snapshot
from policies.writes.preview_disclosure import PreviewDisclosure

#: Seconds after which a verdict is unknown.
MAX_SECONDS = 0.5

UNKNOWN = Proof(Verdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class ChangeProofs:
    """Whether a change allows anybody more than before, and less."""

    allows_more: Proof = UNKNOWN
    allows_less: Proof = UNKNOWN


def find_change_proofs(before: Snapshot, after: Snapshot, *, by: Actor) -> ChangeProofs:
    """Return the proofs of a change of policies; unknown without a solver, and where the time is over.

    Examples are for who may ask about others.
    """
    has_examples = PreviewDisclosure.load(by).tells_others
    proofs = (_find_gain_proof(*sides) for sides in ((before, after), (after, before)))
    return ChangeProofs(*(proof if has_examples else replace(proof, question=None) for proof in proofs))


def _find_gain_proof(before: Snapshot, after: Snapshot) -> Proof:
    try:
        return allows_more(before, after, seconds=MAX_SECONDS)
    except ProofUnavailable:
        return UNKNOWN
