"""The summary of a report, as its job writes it to summary.json and pages and the API read it. No Django.

    {"numbers": [{"title": "People", "value": 120}],
     "charts": [{"name": "domains", "title": "Access by domain", "over_time": false, "more": 3,
                 "bars": [{"label": "Sales", "urn": "urn:li:domain:sales", "value": 17}]}],
     "notes": ["Every use is counted from 2026-05-01 on."],
     "warnings": ["Exports are older than EXPORT_MAX_AGE (48 h): shop (71 h)."],
     "unjudged": ["shop is not compared: shop/grants.csv is damaged."]}

`urn` is omitted for a bar that is not about an entity; `label` may be omitted where `urn` is present. Bars are in
display order; `more` is the number of bars that the job left out. With `over_time` the same bars of earlier runs are
drawn as lines. `notes` are sentences on what the results rest on, `warnings` on why they may not be what is so,
`unjudged` on what the run could not judge: with one of them it is incomplete. Items of another shape are ignored, so
that a job may write more than is displayed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

#: Bars of `Chart.from_largest` at most.
MAX_BARS = 20


@dataclass(frozen=True, slots=True)
class Number:
    """A headline number."""

    title: str
    value: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart: a value, and the URN of the entity that it is about, if any.

    `is_concealed`: the viewer may not view that entity, so the bar has neither label nor URN.
    """

    label: str | None
    value: float
    urn: str | None = None
    is_concealed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars under a title, and how many were left out; `name` is the same in every run, so that runs can be compared."""

    name: str
    title: str
    bars: tuple[Bar, ...]
    is_over_time: bool = False
    more_count: int = 0

    @classmethod
    def from_largest(cls, name: str, title: str, bars: Iterable[Bar], *, is_over_time: bool = False) -> "Chart":
        """Return a chart of the largest bars, MAX_BARS at most."""
        ranked_bars = sorted(bars, key=lambda bar: (-bar.value, bar.urn or bar.label or ""))
        more_count = max(len(ranked_bars) - MAX_BARS, 0)
        return cls(name, title, tuple(ranked_bars[:MAX_BARS]), is_over_time, more_count)


@dataclass(frozen=True, slots=True)
class Summary:
    """The headline numbers and charts of one run, and sentences: on what they rest on, and on what is not judged."""

    numbers: tuple[Number, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()

    def serialize(self) -> dict[str, Any]:
        """Return the summary as summary.json has it."""
        charts = [
            {
                "name": chart.name,
                "title": chart.title,
                "over_time": chart.is_over_time,
                "more": chart.more_count,
                "bars": [
                    {"label": bar.label, "value": bar.value} | ({"urn": bar.urn} if bar.urn else {})
                    for bar in chart.bars
                ],
            }
            for chart in self.charts
        ]
        return {
            "numbers": [asdict(number) for number in self.numbers],
            "charts": charts,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "unjudged": list(self.unjudged),
        }

    @classmethod
    def parse(cls, summary: Any) -> "Summary":
        """Return the valid parts of a stored summary."""
        numbers = tuple(
            Number(str(item["title"]), item["value"])
            for item in _list_objects(summary, "numbers")
            if _has_number(item) and "title" in item
        )
        charts = tuple(
            Chart(
                str(item["name"]),
                str(item.get("title") or item["name"]),
                tuple(_parse_bars(item)),
                item.get("over_time") is True,
                item["more"] if _has_number(item, key="more") else 0,
            )
            for item in _list_objects(summary, "charts")
            if "name" in item
        )
        texts = (_list_texts(summary, name) for name in ("notes", "warnings", "unjudged"))
        return cls(numbers, tuple(chart for chart in charts if chart.bars), *texts)

    @property
    def urns(self) -> frozenset[str]:
        """The URNs of all bars."""
        return frozenset(bar.urn for chart in self.charts for bar in chart.bars if bar.urn)

    def without_urns(self, hidden_urns: Collection[str]) -> "Summary":
        """Return the summary with the bars of these URNs concealed."""
        charts = (
            replace(
                chart,
                bars=tuple(
                    Bar(None, bar.value, is_concealed=True) if bar.urn in hidden_urns else bar for bar in chart.bars
                ),
            )
            for chart in self.charts
        )
        return replace(self, charts=tuple(charts))


def _parse_bars(chart: Mapping[str, Any]) -> Iterator[Bar]:
    for item in _list_objects(chart, "bars"):
        label = item.get("label") or item.get("urn")
        if _has_number(item) and label:
            yield Bar(str(label), max(item["value"], 0), str(item["urn"]) if item.get("urn") else None)


def _list_objects(document: Any, name: str) -> Sequence[Mapping[str, Any]]:
    items = document.get(name) if isinstance(document, Mapping) else None
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _list_texts(document: Any, name: str) -> tuple[str, ...]:
    items = document.get(name) if isinstance(document, Mapping) else None
    return tuple(item for item in items if isinstance(item, str)) if isinstance(items, list) else ()


def _has_number(document: Mapping[str, Any], *, key: str = "value") -> bool:
    value = document.get(key)
    return isinstance(value, int | float) and not isinstance(value, bool)
