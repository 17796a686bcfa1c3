"""Proofs about a change of policies: whether it gives, or takes, anything in any catalog there could ever be."""

from dataclasses import dataclass, replace

from policies.changes.worlds import ChangedWorld
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


def find_change_proofs(world: ChangedWorld) -> ChangeProofs:
    """Return the proofs of changes; unknown for changes of people, without a solver, and where the time is over.

    Examples are for authors who may ask about others.
    """
    if not world.is_provable:
        return ChangeProofs()
    has_examples = PreviewDisclosure.load(world.by).tells_others
    sides = ((world.before, world.after), (world.after, world.before))
    proofs = (_find_gain_proof(*side) for side in sides)
    return ChangeProofs(*(proof if has_examples else replace(proof, question=None) for proof in proofs))


def _find_gain_proof(before: Snapshot, after: Snapshot) -> Proof:
    try:
        return allows_more(before, after, seconds=MAX_SECONDS)
    except ProofUnavailable:
        return UNKNOWN
