"""Statements that change nothing whatever the catalog holds: they match nothing, or others decide the same (ADR 29).

It is proved on the statements alone, in the process that starts the job; what the catalog holds today is not looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from catalog.reports.kinds.policy_hygiene.hygiene import PolicyStatements
from policies.engine.model import Effect
from policies.engine.proofs.prover import is_redundant
from policies.engine.proofs.verdicts import Proof, ProofUnavailable, Verdict
from policies.engine.snapshot import Snapshot

#: Seconds for one proof, and for all of them.
PROOF_SECONDS, TOTAL_SECONDS = 1.0, 120.0


class Redundancy(NamedTuple):
    """A policy that changes nothing, or one statement of it (its number from 1; 0: the policy).

    `because_of` are the policies that decide the same; with none of these it matches no question there could be.
    `is_deny`: it only denies.
    """

    policy: str
    number: int
    because_of: tuple[str, ...]
    is_deny: bool = False


class RedundancySearch:
    """The proofs about all policies; `unknown_count` is the number of policies of which not all is known.

    `is_over` says when no more is proved.
    """

    def __init__(self, snapshot: Snapshot, is_over: Callable[[], bool]) -> None:
        self._snapshot = snapshot
        self._is_over = is_over
        self.unknown_count = 0

    def find(self, policies: Sequence[PolicyStatements]) -> Iterator[Redundancy]:
        """Yield what changes nothing: a whole policy, else statements of one that has several."""
        for policy in policies:
            # One without actors is reported as that.
            if not policy.tokens:
                continue
            if self._is_over():
                self.unknown_count += 1
                continue
            try:
                yield from self._prove_policy(policy)
            except ProofUnavailable:
                self.unknown_count += 1

    def _prove_policy(self, policy: PolicyStatements) -> Iterator[Redundancy]:
        """Yield what is proved to change nothing; of several statements each is compared with the others, too."""
        has_several = len(policy.statements) > 1
        others = self._snapshot.replace(self._snapshot.version, {policy.urn: ()}) if has_several else self._snapshot
        proofs = [is_redundant(statement, others, seconds=PROOF_SECONDS) for statement in policy.statements]
        if all(proof.verdict is Verdict.YES for proof in proofs):
            yield Redundancy(policy.urn, 0, _join_policies(proofs), policy.is_deny)
            return
        self.unknown_count += any(proof.verdict is Verdict.UNKNOWN for proof in proofs)
        for statement in policy.statements if has_several else ():
            proof = is_redundant(statement, self._snapshot, seconds=PROOF_SECONDS)
            if proof.verdict is Verdict.YES:
                is_deny = statement.effect is Effect.DENY
                yield Redundancy(policy.urn, statement.origin.index + 1, proof.policies, is_deny)


def _join_policies(proofs: Sequence[Proof]) -> tuple[str, ...]:
    return tuple(sorted({urn for proof in proofs for urn in proof.policies}))
