"""Charts of a run: bars with their numbers, and lines over runs; no inline styles (content security policy)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from catalog.access.entity_context import build_reference
from catalog.models import Report
from catalog.reports.finding_labels import FINDING_LABELS
from catalog.reports.summary import Bar, Chart, Summary
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine import families
from policies.engine.model import Actor
from policies.pdp import authorizer

#: Bars and lines of a chart at most; the tables of the report have the rest.
MAX_BARS, MAX_LINES = 15, 5

#: Runs on a line at most.
MAX_RUNS = 30

#: Size of a line chart, in SVG units.
WIDTH, HEIGHT, MARGIN = 600, 200, 10

CONCEALED_LABEL = "Something you may not view"


def render_charts(summary: Summary, history: Sequence[Report], by: Actor) -> list[dict[str, Any]]:
    """Return the charts of a run for reports/_chart.html, with bars concealed that the viewer may not view.

    `history` are the runs so far, oldest first.
    """
    past_charts = [(run, {chart.name: chart for chart in Summary.parse(run.summary).charts}) for run in history]
    bar_labels = _BarLabels(summary.charts, by)
    return [
        {
            "id": f"chart-{number}",
            "title": chart.title,
            "bars": _render_bars(chart, bar_labels),
            "more": max(len(chart.bars) - MAX_BARS, 0) + chart.more_count,
            "lines": _render_lines(chart, past_charts, bar_labels) if chart.is_over_time else None,
        }
        for number, chart in enumerate(summary.charts)
    ]


class _BarLabels:
    """Labels and links of bars for a viewer."""

    def __init__(self, charts: Iterable[Chart], by: Actor) -> None:
        urns = {bar.urn for chart in charts for bar in chart.bars[:MAX_BARS] if bar.urn}
        self.names = authorizer.load_names(urns=urns)
        self.viewer = AnswerViewer.from_actor(by)

    def label(self, bar: Bar) -> str:
        """Return the label of a bar."""
        return CONCEALED_LABEL if bar.label is None else self.names.get(bar.urn or "") or display_label(bar.label)

    def url(self, bar: Bar) -> str:
        """Return the link of a bar, "" for none."""
        if not bar.urn:
            return ""
        return build_reference(bar.urn, "").url or self.viewer.account_url(bar.urn)


def display_label(text: str) -> str:
    """Return the display name of a type of finding or of a privilege, else the label that the job wrote."""
    return FINDING_LABELS.get(text.replace(" ", "_").upper()) or families.display_privilege(text)


def _render_bars(chart: Chart, bar_labels: _BarLabels) -> list[dict[str, Any]]:
    max_value = max(bar.value for bar in chart.bars) or 1
    return [
        {
            "label": bar_labels.label(bar),
            "url": bar_labels.url(bar),
            "value": f"{bar.value:,}",
            "width": f"{100 * bar.value / max_value:.1f}",
        }
        for bar in chart.bars[:MAX_BARS]
    ]


def _render_lines(
    chart: Chart, past_charts: Sequence[tuple[Report, Mapping[str, Chart]]], bar_labels: _BarLabels
) -> dict[str, Any] | None:
    """Return lines of the largest visible bars over the runs, with their values; None for fewer than two runs."""
    runs = [(run, charts[chart.name]) for run, charts in past_charts if chart.name in charts]
    if len(runs) < 2:
        return None
    visible_bars = [bar for bar in chart.bars[:MAX_BARS] if not bar.is_concealed]
    line_bars = sorted(visible_bars, key=lambda bar: -bar.value)[:MAX_LINES]
    values = [[_matching_value(past_chart, bar) for _, past_chart in runs] for bar in line_bars]
    max_value = max((max(line) for line in values), default=0) or 1
    step = (WIDTH - 2 * MARGIN) / (len(runs) - 1)
    rendered_lines = [
        {
            "place": index,
            "label": bar_labels.label(bar),
            "values": [f"{value:,}" for value in line],
            "points": " ".join(
                f"{MARGIN + number * step:.1f},{HEIGHT - MARGIN - value / max_value * (HEIGHT - 2 * MARGIN):.1f}"
                for number, value in enumerate(line)
            ),
        }
        for index, (bar, line) in enumerate(zip(line_bars, values, strict=True))
    ]
    return {
        "lines": rendered_lines,
        "days": [run.requested_at for run, _ in runs],
        "most": f"{max_value:,}",
        "width": WIDTH,
        "height": HEIGHT,
    }


def _matching_value(chart: Chart, bar: Bar) -> float:
    """Return the value of the same bar in the chart of another run, 0 without one."""
    return next(
        (other_bar.value for other_bar in chart.bars if (other_bar.urn or other_bar.label) == (bar.urn or bar.label)), 0
    )
