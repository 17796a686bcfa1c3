"""The audit stamps that DataHub's documents carry."""

from datetime import datetime
from typing import Any

from policies.engine.model import Actor


def stamp(*, by: Actor, at: datetime) -> dict[str, Any]:
    """Return who and when, as DataHub writes it: milliseconds since 1970."""
    return {"time": int(at.timestamp() * 1000), "actor": by.urn}
