"""Lineage aspects of datasets, jobs, charts and dashboards, each with the entities that it names directly.

None may be rejected for its shape, since documents of any shape are stored already; non-URN values are ignored.
"""

from collections.abc import Iterator
from typing import Any

from catalog import urns
from catalog.aspects.base import AspectFacts, FacetValue, OwnedAspect, facet_values
from catalog.aspects.facet_fields import DOWNSTREAM, UPSTREAM
from catalog.urns import Urn

#: Keys of the other side in a list entry; `string` is Avro's name for a union member.
_URN_KEYS = ("dataset", "destinationUrn", "string")


class UpstreamLineage(OwnedAspect):
    """The datasets from which a dataset is made."""

    upstreams: Any = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(upstream_facets(self.upstreams))


class DataJobInputOutput(OwnedAspect):
    """The inputs of a job, the jobs that precede it, and its outputs."""

    inputDatasets: Any = None  # noqa: N815 - DataHub's key
    inputDatasetEdges: Any = None  # noqa: N815 - DataHub's key
    inputDatajobs: Any = None  # noqa: N815 - DataHub's key
    inputDatajobEdges: Any = None  # noqa: N815 - DataHub's key
    outputDatasets: Any = None  # noqa: N815 - DataHub's key
    outputDatasetEdges: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        inputs = (self.inputDatasets, self.inputDatasetEdges, self.inputDatajobs, self.inputDatajobEdges)
        outputs = (urn for part in (self.outputDatasets, self.outputDatasetEdges) for urn in _list_urns(part))
        return AspectFacts((*upstream_facets(*inputs), *facet_values(DOWNSTREAM, outputs)))


def upstream_facets(*parts: Any) -> tuple[FacetValue, ...]:
    """Return a facet value for each upstream URN in the lists of a document."""
    return facet_values(UPSTREAM, (urn for part in parts for urn in _list_urns(part)))


def _list_urns(part: Any) -> Iterator[str]:
    for entry in part if isinstance(part, list) else ():
        texts = [entry.get(key) for key in _URN_KEYS] if isinstance(entry, dict) else [entry]
        yield from (text for text in texts if isinstance(text, str) and urns.find_problem(text, "") is None)
