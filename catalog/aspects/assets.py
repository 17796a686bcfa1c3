"""Aspects of assets: datasets and their columns, dashboards, charts, pipelines, products, queries."""

from typing import Any

from catalog.aspects.annotations import GlobalTags, GlossaryTerms
from catalog.aspects.base import AnyUrn, AspectFacts, DocumentPart, Name, NamedAspect, OwnedAspect, facet_values
from catalog.aspects.facet_fields import ASSET, LOGICAL_PARENT, SUBJECT
from catalog.aspects.lineage import upstream_facets
from catalog.urns import Urn


class DatasetProperties(NamedAspect):
    """Properties of a dataset from its source."""

    qualifiedName: str | None = None  # noqa: N815 - DataHub's key


class EditableDatasetProperties(NamedAspect):
    """Properties of a dataset edited by people; their name wins over the source's."""


class DataFlowInfo(NamedAspect):
    """Properties of a pipeline."""


class DataJobInfo(NamedAspect):
    """Properties of a task of a pipeline."""


class ApplicationProperties(NamedAspect):
    """Properties of an application."""


class _TitledAspect(OwnedAspect):
    """Properties of an entity with a title."""

    title: Name
    description: str | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(name=self.title)


class DashboardInfo(_TitledAspect):
    """Content of a dashboard."""

    charts: Any = None
    chartEdges: Any = None  # noqa: N815 - DataHub's key
    datasets: Any = None
    datasetEdges: Any = None  # noqa: N815 - DataHub's key
    dashboards: Any = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        upstreams = upstream_facets(self.charts, self.chartEdges, self.datasets, self.datasetEdges, self.dashboards)
        return AspectFacts(upstreams, name=self.title)


class ChartInfo(_TitledAspect):
    """Inputs of a chart."""

    inputs: Any = None
    inputEdges: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(upstream_facets(self.inputs, self.inputEdges), name=self.title)


class SchemaField(DocumentPart):
    """A column with its annotations."""

    fieldPath: str  # noqa: N815 - DataHub's key
    description: str | None = None
    globalTags: GlobalTags | None = None  # noqa: N815 - DataHub's key
    glossaryTerms: GlossaryTerms | None = None  # noqa: N815 - DataHub's key


class SchemaMetadata(OwnedAspect):
    """The columns of a dataset from its source. Their tags are not tags of the dataset (rules/datahub.md a.4)."""

    schemaName: str | None = None  # noqa: N815 - DataHub's key
    fields: list[SchemaField]


class EditableSchemaMetadata(OwnedAspect):
    """Annotations by people on the columns of a dataset."""

    editableSchemaFieldInfo: list[SchemaField]  # noqa: N815 - DataHub's key


class Edge(DocumentPart):
    """A link to another entity."""

    destinationUrn: AnyUrn  # noqa: N815 - DataHub's key


class DataProductProperties(NamedAspect):
    """Name and assets of a data product."""

    assets: list[Edge] | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(facet_values(ASSET, (edge.destinationUrn for edge in self.assets or ())), name=self.name)


class QueryProperties(NamedAspect):
    """Text and name of a query."""


class QuerySubject(DocumentPart):
    """One entity that a query reads."""

    entity: AnyUrn


class QuerySubjects(OwnedAspect):
    """The entities that a query reads."""

    subjects: list[QuerySubject]

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(facet_values(SUBJECT, (subject.entity for subject in self.subjects)))


class LogicalParent(OwnedAspect):
    """The logical dataset or field that a physical one implements, no parent in any hierarchy; without it the link is
    cleared.
    """

    parent: Edge | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(facet_values(LOGICAL_PARENT, [self.parent.destinationUrn] if self.parent else []))
