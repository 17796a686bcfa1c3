"""Tables, views and topics of the sample company, as facts: what `data/layers.yaml` makes of `data/records.yaml`."""

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache

from catalog.sample.people import list_members
from catalog.sample.rules import Facts, draw, fill, holds, load_data, pick

# The day of the pretended ingestion.
INGESTED_ON = date(2026, 6, 1)
LAYERS = load_data("layers")
COLUMNS = load_data("columns")
RECORDS = load_data("records")
AREAS: dict[str, Facts] = {name: {"area": name, "secrecy": ""} | area for name, area in RECORDS["areas"].items()}
FIELD = load_data("forms/datasets")["field"]["aspects"]
TERMS: dict[str, str] = COLUMNS["personal"] | COLUMNS["measured"]
# Nobody here owns a table: their rights come from policies that name them, which is what the tour shows.
TABLELESS = ("jenny", "james")


@cache
def list_records(area: str) -> tuple[Facts, ...]:
    """Return the kinds of records of an area with its facts; `columns`, `sums` and `masked` are words."""
    return tuple(_describe_record(AREAS[area], name, *texts) for name, texts in RECORDS["records"][area].items())


def _describe_record(area: Facts, name: str, meaning: str, columns: str) -> Facts:
    names = columns.split()
    keys = [column for column in names[1:] if column.endswith("_id")][:2]
    sums = [column for column in names if re.fullmatch(COLUMNS["measures"], column)]
    masked = [f"{column}_hash" if column in COLUMNS["personal"] else column for column in names]
    experimenters = [person for person in list_members(area["team"]) if person not in TABLELESS]
    return area | {
        "record": name,
        "meaning": meaning,
        "key": names[0],
        "columns": columns,
        "sums": " ".join([*keys, *sums, "row_count"]),
        "masked": " ".join(masked),
        "prefix": "fct" if sums else "dim",
        "is_personal": masked != names,
        "experimenter": pick(experimenters, f"sandbox/{name}"),
    }


@cache
def list_tables() -> tuple[Facts, ...]:
    """Return every table, area by area and record by record."""
    return tuple(
        _describe_table(record | {"instance": ""} | fill(layer, record))
        for area in AREAS
        for record in list_records(area)
        for layer in LAYERS["tables"]
        if holds(layer.get("when", {}), record)
    )


def _describe_table(table: Facts) -> Facts:
    platform, instance, path, columns = (table[name] for name in ("platform", "instance", "path", "columns"))
    full_name = f"{instance}.{path}" if instance else path
    dataset = f"urn:li:dataset:(urn:li:dataPlatform:{platform},{full_name},PROD)"
    terms = [TERMS[column] for column in columns.split() if column in TERMS] + table["secrecy"].split()
    members = list_members(table["team"])
    table |= {
        "path": path.split("."),
        "full_name": path,
        "columns": columns.split(),
        "dataset": dataset,
        "run": f"{platform}-{instance}" if instance else platform,
        "note": LAYERS["notes"][table["layer"]],
        "created": INGESTED_ON - timedelta(days=30 + int(draw(f"age/{dataset}") * 900)),
        "terms": [{"urn": f"urn:li:glossaryTerm:{term}"} for term in dict.fromkeys(terms)],
        "is_personal": not COLUMNS["personal"].keys().isdisjoint(columns.split()),
        "engineer": pick(list_members("data-platform")[1:5], f"engineer/{dataset}"),
        "editor": pick(members, f"editor/{dataset}"),
        "lead": members[0],
        "second": members[1],
    }
    table |= describe_names(table, table["path"])
    return table | {"containers": [container["container"] for container in list_containers(table)]}


def describe_names(table: Facts, path: list[str]) -> Facts:
    """Return the names of a table or container as they are and as the platform shows them: Snowflake in capitals."""
    display_names = [name.upper() if table["platform"] == "snowflake" else name for name in path]
    return {"name": path[-1], "shown_name": display_names[-1], "shown_path": ".".join(display_names)}


def list_containers(table: Facts) -> Iterator[Facts]:
    """Yield the containers around a table, outermost first; Kafka has none.

    Their URNs are the MD5 of the key as sorted JSON, as the ingestion sources number them.
    """
    key = {name: table[name] for name in ("platform", "instance") if table[name]}
    parent = ""
    for depth, (level, part) in enumerate(LAYERS["levels"].get(table["platform"], {}).items()):
        key |= {part: table["path"][depth]}
        text = json.dumps(key, separators=(",", ":"), sort_keys=True)
        urn = f"urn:li:container:{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"
        names = describe_names(table, table["path"][: depth + 1])
        yield table | names | {"container": urn, "parent": parent, "level": level, "depth": depth}
        parent = urn


def list_fields(table: Facts) -> Iterator[Facts]:
    """Yield the columns of a table as its schema lists them; the first one is the key."""
    for column in table["columns"]:
        kind = next(kind for kind in COLUMNS["kinds"] if re.fullmatch(kind["pattern"], column))
        is_key = column == table["columns"][0]
        facts = {
            "column": column.upper() if table["platform"] == "snowflake" else column,
            "is_key": is_key,
            "nullable": not is_key,
            "note": "Identifies the row" if is_key else kind.get("note"),
            "type": kind["type"],
            "native": kind[table["platform"]],
            "is_personal": column in COLUMNS["personal"],
        }
        yield fill(FIELD, facts)


@cache
def _index_warehouse() -> dict[tuple[str, str, str], Facts]:
    warehouse = (table for table in list_tables() if table["platform"] == "snowflake")
    return {(table["layer"], table["record"], table["instance"]): table for table in warehouse}


def find_table(layer: str, record: str, instance: str = "eu") -> Facts:
    """Return a table of Snowflake in a layer that has one for each record. Raises KeyError when there is none."""
    return _index_warehouse()[layer, record, instance]
