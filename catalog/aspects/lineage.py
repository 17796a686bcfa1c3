"""Aspects that say what data comes from: datasets, jobs, charts and dashboards, each with what it names directly.

None of them may be refused for its shape, since documents of any shape are stored already: what is no URN is left out.
"""

from collections.abc import Iterator
from typing import Any

from catalog import urns
from catalog.aspects.base import DOWNSTREAM, UPSTREAM, AspectFacts, FacetValue, OwnedAspect, facet_values
from catalog.urns import Urn

#: Keys under which an entry of a list names the other side; `string` is how Avro writes a member of a union.
_URN_KEYS = ("dataset", "destinationUrn", "string")


class UpstreamLineage(OwnedAspect):
    """The datasets that a dataset is made from."""

    upstreams: Any = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return what is upstream."""
        return AspectFacts(upstream_facets(self.upstreams))


class DataJobInputOutput(OwnedAspect):
    """What a job reads and after which jobs it runs, and what it writes."""

    inputDatasets: Any = None  # noqa: N815 - DataHub's key
    inputDatasetEdges: Any = None  # noqa: N815 - DataHub's key
    inputDatajobs: Any = None  # noqa: N815 - DataHub's key
    inputDatajobEdges: Any = None  # noqa: N815 - DataHub's key
    outputDatasets: Any = None  # noqa: N815 - DataHub's key
    outputDatasetEdges: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return what is upstream and what is downstream."""
        inputs = (self.inputDatasets, self.inputDatasetEdges, self.inputDatajobs, self.inputDatajobEdges)
        outputs = (urn for part in (self.outputDatasets, self.outputDatasetEdges) for urn in _list_urns(part))
        return AspectFacts((*upstream_facets(*inputs), *facet_values(DOWNSTREAM, outputs)))


def upstream_facets(*parts: Any) -> tuple[FacetValue, ...]:
    """Return a facet value for each URN that the lists of a document name as upstream."""
    return facet_values(UPSTREAM, (urn for part in parts for urn in _list_urns(part)))


def _list_urns(part: Any) -> Iterator[str]:
    for entry in part if isinstance(part, list) else ():
        texts = [entry.get(key) for key in _URN_KEYS] if isinstance(entry, dict) else [entry]
        yield from (text for text in texts if isinstance(text, str) and urns.find_problem(text, "") is None)
