"""The charts of a run: bars beside their numbers, and lines over the runs of a kind; no style of their own, so that the
content policy holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from catalog.access.entity_context import reference
from catalog.models import Report
from catalog.reports.finding_labels import FINDING_LABELS
from catalog.reports.run.summary import Bar, Chart, Summary
from policies.decisions.pages.explore_common import Asker
from policies.engine import families
from policies.engine.model import Actor
from policies.pdp import authorizer

#: How many bars and lines are drawn; what is beyond stands in the tables of the report.
BARS, LINES = 15, 5

#: How many runs a line goes through.
RUNS = 30

#: The ground that lines are drawn on, in units of the drawing.
WIDTH, HEIGHT, MARGIN = 600, 200, 10

CONCEALED = "Something you may not view"


def drawn(summary: Summary, history: Sequence[Report], by: Actor) -> list[dict[str, Any]]:
    """Return the charts of a run for reports/_chart.html, without what the reader may not view.

    `history` are the runs so far, oldest first.
    """
    past = [(run, {chart.name: chart for chart in Summary.read(run.summary).charts}) for run in history]
    named = _Named(summary.charts, by)
    return [
        {
            "id": f"chart-{number}",
            "title": chart.title,
            "bars": _bars(chart, named),
            "more": max(len(chart.bars) - BARS, 0),
            "lines": _lines(chart, past, named) if chart.is_over_time else None,
        }
        for number, chart in enumerate(summary.charts)
    ]


class _Named:
    """What bars stand for, as the reader may see it."""

    def __init__(self, charts: Iterable[Chart], by: Actor) -> None:
        urns = {bar.urn for chart in charts for bar in chart.bars[:BARS] if bar.urn}
        self.names = authorizer.names(urns=urns)
        self.asker = Asker.of(by)

    def label(self, bar: Bar) -> str:
        """Return the words beside a bar."""
        return CONCEALED if bar.is_concealed else self.names.get(bar.urn) or display_label(bar.label)

    def url(self, bar: Bar) -> str:
        """Return where they lead."""
        if not bar.urn:
            return ""
        return reference(bar.urn, "").url or self.asker.holder_url(bar.urn)


def display_label(text: str) -> str:
    """Return the words for what a job called a bar: the name of a type of finding or of a privilege, else the text."""
    return FINDING_LABELS.get(text.replace(" ", "_").upper()) or families.display_privilege(text)


def _bars(chart: Chart, named: _Named) -> list[dict[str, Any]]:
    most = max(bar.value for bar in chart.bars) or 1
    return [
        {
            "label": named.label(bar),
            "url": named.url(bar),
            "value": f"{bar.value:,}",
            "width": f"{100 * bar.value / most:.1f}",
        }
        for bar in chart.bars[:BARS]
    ]


def _lines(chart: Chart, past: Sequence[tuple[Report, Mapping[str, Chart]]], named: _Named) -> dict[str, Any] | None:
    """Return lines of the largest bars through the runs, each with its numbers; None while there is but one run."""
    runs = [(run, charts[chart.name]) for run, charts in past if chart.name in charts]
    if len(runs) < 2:
        return None
    known = [bar for bar in chart.bars[:BARS] if not bar.is_concealed]
    lines = sorted(known, key=lambda bar: -bar.value)[:LINES]
    values = [[_value(then, bar) for _, then in runs] for bar in lines]
    most = max((max(line) for line in values), default=0) or 1
    step = (WIDTH - 2 * MARGIN) / (len(runs) - 1)
    drawn_lines = [
        {
            "place": place,
            "label": named.label(bar),
            "values": [f"{value:,}" for value in line],
            "points": " ".join(
                f"{MARGIN + number * step:.1f},{HEIGHT - MARGIN - value / most * (HEIGHT - 2 * MARGIN):.1f}"
                for number, value in enumerate(line)
            ),
        }
        for place, (bar, line) in enumerate(zip(lines, values, strict=True))
    ]
    return {
        "lines": drawn_lines,
        "days": [run.requested_at for run, _ in runs],
        "most": f"{most:,}",
        "width": WIDTH,
        "height": HEIGHT,
    }


def _value(chart: Chart, bar: Bar) -> float:
    """Return how much a chart of another run says of the same thing: nothing when it does not know it."""
    return next((one.value for one in chart.bars if (one.urn or one.label) == (bar.urn or bar.label)), 0)
