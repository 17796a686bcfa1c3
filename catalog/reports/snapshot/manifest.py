"""The manifest of a snapshot: what it contains, and what the next one needs to continue it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from catalog.reports.snapshot.horizon import Horizon
from catalog.reports.storage import StorageFolder

MANIFEST_FILE = "manifest.json"


class EntityRange(NamedTuple):
    """The entities of one file: their first number, and how many have changed since that file was written."""

    first: int
    changed: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a snapshot: schema version, policy version, change number, ISO 8601 time, row counts.

    `generation` is how many snapshots have continued the last full one (0), `base` the token of the one that this
    continues. `changed` entities have their rows in the folder of changes. `ranges` are the files of entities, and
    `horizon` is what the snapshot saw, if later changes can be told from it.
    """

    schema: int
    policy_version: int
    change_seq: int
    as_of: str
    rows: Mapping[str, int] = field(default_factory=dict)
    ranges: tuple[EntityRange, ...] = ()
    horizon: Horizon | None = None
    base: str | None = None
    generation: int = 0
    changed: int = 0

    @classmethod
    def load(cls, folder: StorageFolder) -> "Manifest":
        """Return the manifest of a snapshot. Raises OSError, and ValueError, KeyError or TypeError for another one."""
        document: dict[str, Any] = json.loads(folder.read_bytes(MANIFEST_FILE))
        horizon = document.pop("horizon")
        ranges = tuple(EntityRange(*item) for item in document.pop("ranges"))
        return cls(**document, ranges=ranges, horizon=None if horizon is None else Horizon.parse(horizon))

    def store(self, folder: StorageFolder) -> None:
        """Write the manifest into the folder of its snapshot. Raises OSError."""
        folder.write_text(MANIFEST_FILE, json.dumps(asdict(self), indent=2))
