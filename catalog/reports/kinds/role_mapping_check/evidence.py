"""The evidence of findings: the rows of the exports that they rest on, with who granted what they say, and when."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.blocks import LineNumbers
from catalog.reports.kinds.role_mapping_check.differences import MAX_PLACES
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.warehouses.principals import describe_principal


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words at places: `givers` are the words about who granted it, and when, by the number of a place."""

    line_numbers: LineNumbers
    givers: Mapping[int, str] = field(default_factory=dict)

    def describe(self, places: str | None) -> str:
        """Return the rows at places, one a line: "grants.csv:12, granted 2026-05-01 by SECURITYADMIN".

        `places` are numbers with spaces between, of which more than MAX_PLACES are only said to be there.
        """
        numbers = [int(part) for part in (places or "").split()]
        lines = [f"{self.line_numbers.describe_place(number)}{self.givers.get(number, '')}" for number in numbers]
        return "\n".join([*lines[:MAX_PLACES], *(["and more"] if len(lines) > MAX_PLACES else [])])


def collect_evidence(facts: DataFrame, survey: FactSurvey, places: Iterable[str | None]) -> Evidence:
    """Return what stands at these places, of which facts are read once, if any says who granted something."""
    line_numbers = survey.line_numbers
    numbers = {int(part) for text in places for part in (text or "").split()}
    if not numbers or not survey.has_givers:
        return Evidence(line_numbers)
    asked_places = facts.sparkSession.createDataFrame([(number,) for number in sorted(numbers)], "place bigint")
    placed = line_numbers.add_places(facts.filter("granted_by IS NOT NULL OR grant_time IS NOT NULL"))
    givers = placed.join(f.broadcast(asked_places), "place").selectExpr(
        "place", "trim(grant_time) AS time", "granted_by"
    )
    return Evidence(
        line_numbers,
        {row["place"]: _describe_giver(row["time"], row["granted_by"]) for row in givers.distinct().collect()},
    )


def _describe_giver(time: str | None, giver: str | None) -> str:
    words = [time or "", f"by {describe_principal(giver)}" if giver and giver.strip() else ""]
    return f", granted {' '.join(filter(None, words))}" if any(words) else ""
