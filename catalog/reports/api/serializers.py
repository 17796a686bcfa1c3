"""Serializers of reports for the API (docs/reports.md)."""

from typing import Any, get_args

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from catalog.models import Report
from catalog.reports.queries.report_rows import DifferenceKind
from catalog.reports.registry import KINDS
from catalog.reports.spec import ParameterType
from catalog.reports.tables import ColumnKind
from policies.http.api import strict_fields
from policies.http.api.views import PageParameters


class ParameterOut(serializers.Serializer[Any]):
    """A parameter of a kind of report."""

    name = serializers.CharField()
    title = serializers.CharField()
    input = serializers.ChoiceField([item.value for item in ParameterType])
    help = serializers.CharField(allow_blank=True)
    default = strict_fields.AnyJson(allow_null=True)
    is_required = serializers.BooleanField()
    choices = serializers.DictField(child=serializers.CharField(), help_text="Value and label; empty: no choices.")


class ColumnOut(serializers.Serializer[Any]):
    """A column of a table of results."""

    name = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.ChoiceField([item.value for item in ColumnKind])


class TableOut(serializers.Serializer[Any]):
    """A table of results; `key` are the columns that identify a row."""

    name = serializers.CharField()
    title = serializers.CharField()
    columns = ColumnOut(many=True)
    key = serializers.ListField(child=serializers.CharField(), source="keys")
    limit = serializers.IntegerField(allow_null=True, help_text="How many rows of a run are kept; null: all.")


class KindOut(serializers.Serializer[Any]):
    """A kind of report."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    is_nightly = serializers.BooleanField()
    parameters = ParameterOut(many=True)
    tables = TableOut(many=True)


class ProgressOut(serializers.Serializer[Any]):
    """The progress of a run; a `total` of 0 is unknown."""

    stage = serializers.CharField(allow_blank=True)
    done = serializers.IntegerField(min_value=0)
    total = serializers.IntegerField(min_value=0)


class NumberOut(serializers.Serializer[Any]):
    """A headline number."""

    title = serializers.CharField()
    value = serializers.FloatField()


class BarOut(serializers.Serializer[Any]):
    """One bar of a chart; label and URN are null where the caller may not view the entity or there is none."""

    label = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the base has an attribute of this name
    urn = serializers.CharField(allow_null=True)
    value = serializers.FloatField()


class ChartOut(serializers.Serializer[Any]):
    """A chart."""

    name = serializers.CharField()
    title = serializers.CharField()
    bars = BarOut(many=True)


class SummaryOut(serializers.Serializer[Any]):
    """The headline numbers and charts of a run; `notes` are sentences on what they rest on, `warnings` about that."""

    numbers = NumberOut(many=True)
    charts = ChartOut(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    unjudged = serializers.ListField(
        child=serializers.CharField(),
        help_text="The things that the run could not judge; with one sentence it is incomplete.",
    )


class RunOut(serializers.Serializer[Any]):
    """A run of a report, as in lists."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    status = serializers.ChoiceField(Report.Status.choices)
    progress = ProgressOut(source="*")
    problem = serializers.CharField(allow_blank=True, help_text="Why it failed, in a sentence.")
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    policy_version = serializers.IntegerField(allow_null=True)
    as_of = serializers.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="OneRunOut")
class RunDetailOut(RunOut):
    """A run of a report with its parameters, log, headline numbers and charts."""

    parameters = serializers.DictField(help_text="Without what the caller may not view.")
    summary = SummaryOut()
    log = serializers.CharField(allow_blank=True)


class RunIn(strict_fields.StrictSerializer):
    """The kind to start and its parameters; omitted parameters take the defaults of the kind."""

    kind = serializers.ChoiceField(list(KINDS))
    parameters = strict_fields.AnyJson(required=False)


class RunListFilters(PageParameters):
    """Filters of the list of runs."""

    kind = strict_fields.StrictString(required=False, max_length=64)
    status = serializers.ChoiceField(Report.Status.choices, required=False)


class RowOut(serializers.Serializer[Any]):
    """A row: its values by column name; `key` is null where the caller may not view it."""

    key = serializers.CharField(allow_null=True)
    values = serializers.DictField()
    is_concealed = serializers.BooleanField(help_text="It names something that the caller may not view.")


class DifferenceOut(RowOut):
    """A row that was added, removed or changed; `was` are the earlier values of a changed row."""

    was = serializers.DictField(allow_null=True)


class RowSearchFilters(strict_fields.StrictSerializer):
    """Filters of the rows of a table."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=512, help_text="Every word has to be found."
    )
    column = strict_fields.StrictString(required=False, max_length=64, help_text="A column that has to hold `value`.")
    value = strict_fields.StrictString(required=False, max_length=1024)


class ScriptQuery(strict_fields.StrictSerializer):
    """The script that is asked for."""

    export = strict_fields.StrictString(max_length=512, help_text="The name of the export.")
    which = serializers.ChoiceField(
        ("repairs", "inverse"), default="repairs", help_text="The repairs, or what takes them back."
    )


class RowListFilters(RowSearchFilters, PageParameters):
    """Filters of the rows of a table, and their order."""

    sort = strict_fields.StrictString(
        required=False, max_length=64, help_text="A column; a minus before it: descending."
    )


class DifferenceListFilters(PageParameters):
    """The run to compare with, and the kind of differences to list."""

    other = serializers.UUIDField(
        help_text="Another run of the same kind; the older one is compared with the newer one."
    )
    which = serializers.ChoiceField(get_args(DifferenceKind))


class TableFileOut(serializers.Serializer[Any]):
    """A whole table as one object."""

    report = serializers.UUIDField()
    kind = serializers.CharField()
    table = serializers.CharField()
    policy_version = serializers.IntegerField()
    as_of = serializers.DateTimeField()
    rows = serializers.ListField(child=serializers.DictField())
