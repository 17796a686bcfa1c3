"""Does what source systems grant agree with what the catalog says of external roles? Every difference, with its repair.

Beside the snapshot lies `grants_exports.json`: {"folder": "exports"}, the place of `exports.json`, relative or a URL.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import declared, drift, exports, parsing, repairs
from catalog.reports.kinds.role_mapping_check.differences import Severity, Stage, Type
from catalog.reports.kinds.role_mapping_check.exports import LEVELS, BadExports, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, What
from catalog.reports.spark.job import BadInput, Job, progress, run

#: How many rows that were not understood are written down; all of them are counted.
MOST_BAD_ROWS = 10_000

#: Where intermediate tables lie while the job runs, in its folder for results.
STAGES = "_stages"

#: What makes two differences the same one in two runs: never how bad it is or how far it goes.
_IDENTITY = ("type", "export", "role", "entity", "actor", "object")
_FINDING = pa.schema(
    [
        (name, pa.string())
        for name in ("severity", "type", "role", "entity", "actor", "export", "sentence", "repair", "key")
    ]
)
_NAMES = {level: name for name, level in LEVELS.items()}


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("role_mapping_check", work, argv, is_light=False)


def work(job: Job) -> Mapping[str, Any]:
    """Compare, write every table, and return the headline numbers."""
    try:
        return _work(job)
    except BadExports as error:
        raise BadInput(str(error)) from error
    except PySparkException as error:
        if "CSV header does not conform" in str(error):
            raise BadInput("Files of one export have different columns in their first lines.") from error
        raise


def _work(job: Job) -> Mapping[str, Any]:
    places = count()

    def stage(name: str, frame: DataFrame) -> DataFrame:
        place = f"{job.target}/{STAGES}/{next(places)}-{name}"
        frame.write.parquet(place)
        return job.spark.read.schema(frame.schema).parquet(place)

    where, path = fs.FileSystem.from_uri(f"{job.target}/{STAGES}")
    try:
        return _compared(job, stage)
    finally:
        if where.get_file_info(path).type == fs.FileType.Directory:
            where.delete_dir(path)


def _compared(job: Job, stage: Stage) -> Mapping[str, Any]:
    progress("Reading the exports of grants")
    folder = _folder(job)
    known = exports.read(_text(job, f"{folder}/{exports.NAME}"))
    facts = stage("facts", parsing.facts(job.spark, folder, known))
    counts = _counts(facts)
    progress("Comparing with the catalog", 1, 4)
    said = declared.read(job.frame, known, tags=job.parameters["tags"], stage=stage)
    compared = drift.compare(facts, said, known, stage=stage)
    found = compared.differences.toArrow()
    progress("Writing the findings", 2, 4)
    findings = _findings(found, {export.name: export for export in known})
    job.write("findings", findings)
    progress("Who opens what is sensitive", 3, 4)
    job.write("compliance", _compliance(compared.reach))
    job.write("exports", _exports(known, counts, compared.granted))
    job.write("quarantine", _quarantine(facts))
    progress("Done", 4, 4)
    return _summary(findings, counts)


def _folder(job: Job) -> str:
    folder = str(json.loads(_text(job, f"{job.source}/grants_exports.json"))["folder"])
    return folder if ":/" in folder else f"{job.source}/{folder}"


def _text(job: Job, path: str) -> str:
    try:
        (row,) = job.spark.read.text(path, wholetext=True).collect()
    except (AnalysisException, ValueError) as error:
        raise BadInput(f"{path.rpartition('/')[2]} of the exports of grants cannot be read.") from error
    return str(row["value"])


def _counts(facts: DataFrame) -> Mapping[tuple[str, str, bool], int]:
    """Return how many facts there are of each export and kind, on containers or not."""
    rows = facts.groupBy("export", "what", f.coalesce("is_container", f.expr("false")).alias("wide")).count().collect()
    return {(row["export"], row["what"], row["wide"]): row["count"] for row in rows}


# -- findings ---------------------------------------------------------------------------------------------------------


def _findings(found: pa.Table, known: Mapping[str, Export]) -> pa.Table:
    """Return the differences as they are shown, the worst first."""
    rows = [_finding(row, known.get(row["export"])) for row in _rows(found)]
    severities, types = list(Severity), list(Type)
    rows.sort(key=lambda row: (severities.index(row["severity"]), types.index(row["type"]), row["key"]))
    return pa.Table.from_pylist(rows, schema=_FINDING)


def _finding(row: Mapping[str, Any], export: Export | None) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("severity", "type", "entity", "actor", "export")},
        "role": row["role_urn"],
        "sentence": repairs.sentence(row),
        "repair": repairs.repair(export, row),
        "key": _key(row),
    }


def _key(row: Mapping[str, Any]) -> str:
    """Return what a difference is recognized by in the next run."""
    parts = [row[name] or "" for name in _IDENTITY]
    # Through which role somebody holds another is no part of it: the member is what should not be there.
    parts.append("" if row["type"] == Type.EXTRA_MEMBER else row["via"] or "")
    # A table keeps its name in the catalog however the source spells it.
    if row["entity"]:
        parts[_IDENTITY.index("object")] = ""
    return f"{row['type']}:{hashlib.sha256(SEPARATOR.join(parts).encode()).hexdigest()}"


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


# -- the other tables -------------------------------------------------------------------------------------------------


def _compliance(reach: DataFrame) -> pa.Table:
    rows = sorted(_rows(reach.toArrow()), key=lambda row: (row["tag"], -row["opened"], row["role_urn"]))
    columns = {
        "tag": [row["tag"] for row in rows],
        "role": [row["role_urn"] for row in rows],
        "level": [_NAMES.get(row["declared_level"]) for row in rows],
    }
    texts = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    numbers = {name: pa.array([row[name] for row in rows], pa.int64()) for name in ("declared", "opened")}
    return pa.table({**texts, **numbers})


def _exports(known: Sequence[Export], counts: Mapping[tuple[str, str, bool], int], granted: DataFrame) -> pa.Table:
    """Return how much each export holds; `unknown` are grants on tables that the catalog does not have."""
    reached = {row["export"]: row["count"] for row in granted.filter("at = ''").groupBy("export").count().collect()}

    def total(export: Export, *kinds: What) -> int:
        return sum(counts.get((export.name, kind, wide), 0) for kind in kinds for wide in (False, True))

    columns = {
        "grants": [total(one, What.GRANT) for one in known],
        "members": [total(one, What.MEMBER) for one in known],
        "inherited": [total(one, What.INHERIT) for one in known],
        "unknown": [counts.get((one.name, What.GRANT, False), 0) - reached.get(one.name, 0) for one in known],
        "passed": [total(one, What.PASSED, What.ROLE) for one in known],
        "bad": [total(one, What.BAD) for one in known],
    }
    names = {"export": [one.name for one in known], "platform": [one.platform for one in known]}
    return pa.table(
        {name: pa.array(values, pa.string()) for name, values in names.items()}
        | {name: pa.array(values, pa.int64()) for name, values in columns.items()}
    )


def _quarantine(facts: DataFrame) -> pa.Table:
    bad = facts.filter(f.col("what") == What.BAD).select("export", "file", "reason", f.col("object").alias("row"))
    return bad.orderBy("export", "file", "reason", "row").limit(MOST_BAD_ROWS).toArrow()


def _summary(findings: pa.Table, counts: Mapping[tuple[str, str, bool], int]) -> Mapping[str, Any]:
    severities = Counter(findings.column("severity").to_pylist())
    types, places = (Counter(findings.column(name).to_pylist()) for name in ("type", "export"))
    bad = sum(number for (_, what, _), number in counts.items() if what == What.BAD)
    numbers = [("Findings", findings.num_rows), *((one.capitalize(), severities[one]) for one in Severity)]
    return {
        "numbers": [{"title": title, "value": value} for title, value in (*numbers, ("Rows not understood", bad))],
        "charts": [
            {
                "name": "types",
                "title": "Findings by type",
                "over_time": True,
                "bars": [{"label": one.replace("_", " ").capitalize(), "value": types[one]} for one in Type],
            },
            {
                "name": "exports",
                "title": "Findings by source",
                "over_time": True,
                "bars": [{"label": name, "value": number} for name, number in sorted(places.items(), key=str) if name],
            },
        ],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
