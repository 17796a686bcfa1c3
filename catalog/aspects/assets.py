"""Aspects of the assets themselves: datasets and their columns, dashboards, charts, pipelines, products, queries."""

from typing import Any

from catalog.aspects.annotations import GlobalTags, GlossaryTerms
from catalog.aspects.base import ASSET, LOGICAL_PARENT, SUBJECT, AnyUrn, Aspect, Facts, Name, Shape, values
from catalog.aspects.lineage import upstreams_of
from catalog.urns import Urn


class _Named(Aspect):
    """Properties that give the entity its name."""

    name: Name | None = None
    description: str | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name."""
        return Facts(name=self.name)


class DatasetProperties(_Named):
    """What the source says about a dataset."""

    qualifiedName: str | None = None  # noqa: N815 - DataHub's key


class EditableDatasetProperties(_Named):
    """What people say about a dataset; their name for it wins over the source's."""


class DataFlowInfo(_Named):
    """What a pipeline is called."""


class DataJobInfo(_Named):
    """What a task of a pipeline is called."""


class ApplicationProperties(_Named):
    """What an application is called."""


class _Titled(Aspect):
    """Properties of what has a title."""

    title: Name
    description: str | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the title as the name."""
        return Facts(name=self.title)


class DashboardInfo(_Titled):
    """What a dashboard shows."""

    charts: Any = None
    chartEdges: Any = None  # noqa: N815 - DataHub's key
    datasets: Any = None
    datasetEdges: Any = None  # noqa: N815 - DataHub's key
    dashboards: Any = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the title as the name, and what is shown as upstream."""
        found = upstreams_of(self.charts, self.chartEdges, self.datasets, self.datasetEdges, self.dashboards)
        return Facts(found, name=self.title)


class ChartInfo(_Titled):
    """What a chart shows."""

    inputs: Any = None
    inputEdges: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the title as the name, and what is shown as upstream."""
        return Facts(upstreams_of(self.inputs, self.inputEdges), name=self.title)


class Column(Shape):
    """A column and what is attached to it."""

    fieldPath: str  # noqa: N815 - DataHub's key
    description: str | None = None
    globalTags: GlobalTags | None = None  # noqa: N815 - DataHub's key
    glossaryTerms: GlossaryTerms | None = None  # noqa: N815 - DataHub's key


class SchemaMetadata(Aspect):
    """The columns of a dataset as the source has them. Their tags are no tags of the dataset (rules/datahub.md a.4)."""

    schemaName: str | None = None  # noqa: N815 - DataHub's key
    fields: list[Column]


class EditableSchemaMetadata(Aspect):
    """What people added to the columns of a dataset."""

    editableSchemaFieldInfo: list[Column]  # noqa: N815 - DataHub's key


class Edge(Shape):
    """A link to another entity."""

    destinationUrn: AnyUrn  # noqa: N815 - DataHub's key


class DataProductProperties(_Named):
    """What a data product is called, and the assets in it."""

    assets: list[Edge] | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name and the assets."""
        return Facts(values(ASSET, (edge.destinationUrn for edge in self.assets or ())), name=self.name)


class QueryProperties(_Named):
    """What a query says and is called."""


class Subject(Shape):
    """One thing that a query reads."""

    entity: AnyUrn


class QuerySubjects(Aspect):
    """What a query reads."""

    subjects: list[Subject]

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the subjects as they were written."""
        return Facts(values(SUBJECT, (subject.entity for subject in self.subjects)))


class LogicalParent(Aspect):
    """The logical dataset or field that a physical one implements; without one the link is cleared."""

    parent: Edge | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the logical parent, which is not a parent in any hierarchy."""
        return Facts(values(LOGICAL_PARENT, [self.parent.destinationUrn] if self.parent else []))
