"""What a summary of a report holds, as its job writes it into summary.json and pages and the API show it.

    {"numbers": [{"title": "People", "value": 120}],
     "charts": [{"name": "domains", "title": "Access by domain", "over_time": false,
                 "bars": [{"label": "Sales", "urn": "urn:li:domain:sales", "value": 17}]}]}

`urn` is left out where a bar stands for nothing in the catalog; `label` may be left out where it is given. Bars come in
the order in which they are to be shown. With `over_time` the same bars of earlier runs are drawn beside them. What has
another shape is passed over, so that a job may write more than is shown.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Number:
    """A headline number."""

    title: str
    value: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: how much of something, and the URN of that where it is one thing of the catalog.

    `is_concealed`: its reader may not view what it is about, so it has neither label nor URN.
    """

    label: str
    value: float
    urn: str = ""
    is_concealed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars under a title; `name` is the same in every run, so that runs can be drawn beside one another."""

    name: str
    title: str
    bars: tuple[Bar, ...]
    is_over_time: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """The headline numbers and the charts of one run."""

    numbers: tuple[Number, ...]
    charts: tuple[Chart, ...]

    @classmethod
    def read(cls, summary: Any) -> "Summary":
        """Return what of a stored summary can be shown."""
        numbers = tuple(
            Number(str(one["title"]), one["value"]) for one in _objects(summary, "numbers") if _is_number(one, "title")
        )
        charts = tuple(
            Chart(
                str(one["name"]), str(one.get("title") or one["name"]), tuple(_bars(one)), one.get("over_time") is True
            )
            for one in _objects(summary, "charts")
            if "name" in one
        )
        return cls(numbers, tuple(chart for chart in charts if chart.bars))

    @property
    def urns(self) -> frozenset[str]:
        """Everything that bars are about."""
        return frozenset(bar.urn for chart in self.charts for bar in chart.bars if bar.urn)

    def without(self, hidden: Collection[str]) -> "Summary":
        """Return the same for who may not view these."""
        charts = (
            replace(
                chart,
                bars=tuple(Bar("", bar.value, is_concealed=True) if bar.urn in hidden else bar for bar in chart.bars),
            )
            for chart in self.charts
        )
        return Summary(self.numbers, tuple(charts))


def _bars(chart: Mapping[str, Any]) -> Iterator[Bar]:
    for one in _objects(chart, "bars"):
        urn = str(one.get("urn") or "")
        if _is_number(one) and (urn or one.get("label")):
            yield Bar(str(one.get("label") or urn), max(one["value"], 0), urn)


def _objects(found: Any, name: str) -> Sequence[Mapping[str, Any]]:
    listed = found.get(name) if isinstance(found, Mapping) else None
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def _is_number(found: Mapping[str, Any], *needed: str) -> bool:
    value = found.get("value")
    return isinstance(value, int | float) and not isinstance(value, bool) and all(name in found for name in needed)
