"""A catalog and its exports of grants, written as the job of role mappings finds them."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check import job as role_mapping_check_job
from catalog.reports.snapshot.partitions import GRANT_SETTINGS_FILE
from catalog.reports.snapshot.schema import TABLES
from catalog.reports.spark import session_settings
from catalog.reports.spark.job import Job
from tests.spark.slices import GRANTS

PII = "urn:li:tag:PII"
Rows = list[dict[str, Any]]


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Have Spark compile nothing: on tables of a few rows that takes longer than all the rest."""
    before = session_settings.read_job_settings(spark)
    session_settings.apply_job_settings(spark, before, is_short=True)
    try:
        yield
    finally:
        session_settings.apply_job_settings(spark, before, is_short=False)


def dataset(platform: str, name: str) -> str:
    """Return the URN of a dataset in production."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def role(name: str) -> str:
    """Return the URN of an external role."""
    return f"urn:li:role:{name}"


def user(name: str) -> str:
    """Return the URN of a user."""
    return f"urn:li:corpuser:{name}"


def group(name: str) -> str:
    """Return the URN of a group."""
    return f"urn:li:corpGroup:{name}"


class World:
    """What the catalog says, and the text of each file of the exports."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.facets: Rows = []
        self.users: Rows = []
        self.memberships: Rows = []
        self.policies: Rows = []
        self.files: dict[str, str] = {}

    def entity(self, urn: str, **facts: list[str]) -> str:
        """Describe an entity by its facets."""
        number = self.numbers.setdefault(urn, len(self.numbers) + 1)
        self.facets += [
            {"entity": number, "field": field, "value": value, "type": ""}
            for field, values in facts.items()
            for value in values
        ]
        return urn

    def person(self, name: str, *groups: str, may_act: bool = True) -> str:
        """Add a user of these groups."""
        self.users.append({"urn": user(name), "may_act": may_act})
        self.memberships += [{"user": user(name), "group": group(one)} for one in groups]
        return user(name)

    def policy(self, name: str, **document: Any) -> None:
        """Add a policy of DataHub."""
        urn = f"urn:li:dataHubPolicy:{name}"
        text = json.dumps({"type": "METADATA", "state": "ACTIVE"} | document)
        self.policies.append({"urn": urn, "family": "datahub", "name": name, "document": text})

    def csv(self, name: str, text: str) -> None:
        """Add a CSV file from a table written with bars; a cell of - is empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for line in text.strip().splitlines():
            writer.writerow(["" if cell.strip() == "-" else cell.strip() for cell in line.split("|")])
        self.files[name] = out.getvalue()

    def add_exports(self, *entries: dict[str, Any]) -> None:
        """Write exports.json."""
        self.files["exports.json"] = json.dumps({"exports": list(entries)})

    def write(self, folder: Path) -> None:
        """Write snapshot, parameters and exports."""
        found: dict[str, Rows] = {
            "entities": [
                {"number": number, "urn": urn, "type": urn.split(":")[2], "object_id": None, "project": None}
                for urn, number in self.numbers.items()
            ],
            "facets": self.facets,
            "users": self.users,
            "memberships": self.memberships,
            "policies": self.policies,
        }
        folder.mkdir(parents=True)
        for table in TABLES:
            rows = pa.Table.from_pylist(found.get(table.name, []), schema=table.schema)
            pq.write_table(rows, folder / f"{table.name}.parquet")
        (folder / GRANT_SETTINGS_FILE).write_text(json.dumps(GRANTS), encoding="utf-8")
        (folder / "grants_exports.json").write_text(json.dumps({"folder": "exports"}), encoding="utf-8")
        for name, text in self.files.items():
            path = folder / "exports" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def checked(self, spark: SparkSession, folder: Path, *, is_short: bool = True) -> dict[str, Any]:
        """Run the job, as a short one unless `is_short` is false, and return its tables and its summary."""
        self.write(folder / "input")
        parameters = {"tags": [PII]}
        job = Job(spark, (folder / "input").as_uri(), (folder / "output").as_uri(), parameters, {}, is_short=is_short)
        summary = role_mapping_check_job.compute_results(job)
        tables = {path.name: pq.read_table(path).to_pylist() for path in (folder / "output").iterdir()}
        return {"summary": summary, **tables}
