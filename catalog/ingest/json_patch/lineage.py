"""Fine-grained lineages while they are patched: clients speak of one upstream of one downstream at a time."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from catalog.ingest.json_patch.keyed_arrays import Keyed

#: The keys of such a list, as steps of a path: `/fineGrainedLineages/<operation>/<downstream>/<query>/<upstream>`.
KEYS = (("transformOperation",), ("downstreams",), ("query",), ("upstreams",))

#: How a path says that there is no operation or no query.
_NONE = "NONE"

_TYPES = {"upstreamType": "FIELD_SET", "downstreamType": "FIELD"}


class Lineages(Keyed):
    """A list of lineages, each taken apart into its upstreams; one that a path cannot name stays as it is."""

    def __init__(self, entries: Sequence[Any]) -> None:
        super().__init__((), KEYS)
        self._whole: list[tuple[int, Any]] = []
        for entry in entries:
            found = _parts(entry)
            if not found:
                self._whole.append((self._number(), entry))
            for path in found:
                rest = {key: value for key, value in entry.items() if key not in ("downstreams", "upstreams")}
                self._leaf(path).append((self._number(), rest))

    def entries(self) -> Iterator[Any]:
        """Yield lineages in order; upstreams of which nothing else differs are one lineage again."""
        together: dict[tuple[str, ...], tuple[int, Any]] = {}
        for number, (operation, downstream, query, upstream), rest in sorted(self._leaves(), key=lambda leaf: leaf[0]):
            said = {**_TYPES, **(rest if isinstance(rest, dict) else {})}
            if operation != _NONE:
                said = {"transformOperation": operation} | said
            if query != _NONE:
                said = {"query": query} | said
            key = (operation, downstream, query, json.dumps(said, sort_keys=True))
            first = {**said, "upstreams": [], "downstreams": [downstream]}
            together.setdefault(key, (number, first))[1]["upstreams"].append(upstream)
        found = sorted([*self._whole, *together.values()], key=lambda pair: pair[0])
        return (entry for _, entry in found)


def _parts(entry: Any) -> list[tuple[str, ...]]:
    """Return the path of each upstream; none for a lineage with several downstreams or of another shape."""
    if not isinstance(entry, dict):
        return []
    upstreams, downstreams = entry.get("upstreams"), entry.get("downstreams")
    if not isinstance(upstreams, list) or not isinstance(downstreams, list) or len(downstreams) != 1:
        return []
    operation, query = entry.get("transformOperation") or _NONE, entry.get("query") or _NONE
    paths: list[tuple[Any, ...]] = [(operation, downstreams[0], query, upstream) for upstream in upstreams]
    return paths if all(isinstance(step, str) for path in paths for step in path) else []
