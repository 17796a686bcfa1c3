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
    def parse(cls, summary: Any) -> "Summary":
        """Return what of a stored summary can be shown."""
        numbers = tuple(
            Number(str(item["title"]), item["value"])
            for item in _list_objects(summary, "numbers")
            if _has_number(item, "title")
        )
        charts = tuple(
            Chart(
                str(item["name"]),
                str(item.get("title") or item["name"]),
                tuple(_parse_bars(item)),
                item.get("over_time") is True,
            )
            for item in _list_objects(summary, "charts")
            if "name" in item
        )
        return cls(numbers, tuple(chart for chart in charts if chart.bars))

    @property
    def urns(self) -> frozenset[str]:
        """Everything that bars are about."""
        return frozenset(bar.urn for chart in self.charts for bar in chart.bars if bar.urn)

    def without_urns(self, hidden_urns: Collection[str]) -> "Summary":
        """Return the same for who may not view these."""
        charts = (
            replace(
                chart,
                bars=tuple(
                    Bar("", bar.value, is_concealed=True) if bar.urn in hidden_urns else bar for bar in chart.bars
                ),
            )
            for chart in self.charts
        )
        return Summary(self.numbers, tuple(charts))


def _parse_bars(chart: Mapping[str, Any]) -> Iterator[Bar]:
    for item in _list_objects(chart, "bars"):
        urn = str(item.get("urn") or "")
        if _has_number(item) and (urn or item.get("label")):
            yield Bar(str(item.get("label") or urn), max(item["value"], 0), urn)


def _list_objects(document: Any, name: str) -> Sequence[Mapping[str, Any]]:
    items = document.get(name) if isinstance(document, Mapping) else None
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _has_number(document: Mapping[str, Any], *required_keys: str) -> bool:
    value = document.get("value")
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and all(name in document for name in required_keys)
    )
