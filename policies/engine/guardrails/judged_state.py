"""A state in which a rule is judged."""

from dataclasses import dataclass

from policies.engine.proofs.population import Population
from policies.engine.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class JudgedState:
    """Policies, and people as they are beside them."""

    snapshot: Snapshot
    people: Population
