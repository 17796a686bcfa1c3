"""Audit stamps in DataHub's documents."""

from datetime import datetime
from typing import Any

from policies.engine.model import Actor


def stamp(*, by: Actor, at: datetime) -> dict[str, Any]:
    """Return actor and time in DataHub's format: milliseconds since 1970."""
    return {"time": int(at.timestamp() * 1000), "actor": by.urn}
