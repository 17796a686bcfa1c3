"""How deep a run looks: what `make test` draws a part of, `make test-all` does as a whole."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

CaseT = TypeVar("CaseT")

_PROFILE = os.environ.get("HYPOTHESIS_PROFILE")
#: A profile of tests/runs.py that leaves nothing out.
IS_WHOLE = _PROFILE in {"all", "deep"}
#: `make test` draws among cases. pytest alone, and `make t` after a change, run those that they are asked for.
DRAWS_CASES = _PROFILE in {"quick", "usual"} and not os.environ.get("TEST_CHOICE")


def count_examples(*, usual: int, whole: int) -> int:
    """Return how many examples are tried of a law of which each takes long."""
    return whole if IS_WHOLE else usual


def draw_part(cases: Sequence[CaseT], *, parts: int, seed: str) -> list[CaseT]:
    """Return every `parts`-th of the cases; the seed says where it begins, so that all get their turn."""
    return list(cases[random.Random(seed).randrange(parts) :: parts])
