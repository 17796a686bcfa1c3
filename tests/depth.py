"""How deep a run looks: what `make test` draws a part of, `make test-all` does as a whole."""

import os

#: A profile of tests/runs.py that leaves nothing out.
IS_WHOLE = os.environ.get("HYPOTHESIS_PROFILE") in {"all", "deep"}


def count_examples(*, usual: int, whole: int) -> int:
    """Return how many examples are tried of a law of which each takes long."""
    return whole if IS_WHOLE else usual
