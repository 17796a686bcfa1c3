"""Proofs about policies over all actors, entities and facts there could be, by a SAT solver (docs/adr/0029).

The functions of `prover` are for callers: `allows_more`, `are_equivalent`, `is_redundant`, `matches_nothing` and
`find_access`. Their answers are a `Proof` (`verdicts`). Grants are no statements of policies and are left out.
"""
