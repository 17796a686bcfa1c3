"""Fine-grained lineage during a patch: clients address one upstream of one downstream at a time."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from catalog.ingest.json_patch.keyed_arrays import KeyedArray

#: The keys of such a list, as path steps: `/fineGrainedLineages/<operation>/<downstream>/<query>/<upstream>`.
LINEAGE_KEYS = (("transformOperation",), ("downstreams",), ("query",), ("upstreams",))

#: Path step for no operation or no query.
_NO_VALUE = "NONE"

_LINEAGE_TYPES = {"upstreamType": "FIELD_SET", "downstreamType": "FIELD"}


class FineGrainedLineage(KeyedArray):
    """A list of lineages, each split into its upstreams; one that no path can name stays unchanged."""

    def __init__(self, entries: Sequence[Any]) -> None:
        super().__init__((), LINEAGE_KEYS)
        self._other_entries: list[tuple[int, Any]] = []
        for entry in entries:
            paths = _split_paths(entry)
            if not paths:
                self._other_entries.append((self._take_number(), entry))
            for path in paths:
                rest = {key: value for key, value in entry.items() if key not in ("downstreams", "upstreams")}
                self._ensure_leaf(path).append((self._take_number(), rest))

    def entries(self) -> Iterator[Any]:
        """Yield the lineages in order; upstreams that differ in nothing else are combined into one lineage."""
        lineages_by_key: dict[tuple[str, ...], tuple[int, Any]] = {}
        for number, (operation, downstream, query, upstream), rest in sorted(
            self._list_leaves(), key=lambda leaf: leaf[0]
        ):
            lineage = {**_LINEAGE_TYPES, **(rest if isinstance(rest, dict) else {})}
            if operation != _NO_VALUE:
                lineage = {"transformOperation": operation} | lineage
            if query != _NO_VALUE:
                lineage = {"query": query} | lineage
            key = (operation, downstream, query, json.dumps(lineage, sort_keys=True))
            first = {**lineage, "upstreams": [], "downstreams": [downstream]}
            lineages_by_key.setdefault(key, (number, first))[1]["upstreams"].append(upstream)
        numbered_entries = sorted([*self._other_entries, *lineages_by_key.values()], key=lambda pair: pair[0])
        return (entry for _, entry in numbered_entries)


def _split_paths(entry: Any) -> list[tuple[str, ...]]:
    """Return the path of each upstream; none for a lineage with several downstreams or of another shape."""
    if not isinstance(entry, dict):
        return []
    upstreams, downstreams = entry.get("upstreams"), entry.get("downstreams")
    if not isinstance(upstreams, list) or not isinstance(downstreams, list) or len(downstreams) != 1:
        return []
    operation, query = entry.get("transformOperation") or _NO_VALUE, entry.get("query") or _NO_VALUE
    paths: list[tuple[Any, ...]] = [(operation, downstreams[0], query, upstream) for upstream in upstreams]
    return paths if all(isinstance(step, str) for path in paths for step in path) else []
