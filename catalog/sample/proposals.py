"""Metadata change proposals in the form that the file sink of `datahub ingest` writes."""

from collections.abc import Iterator

from catalog.sample.rules import Facts, fill, holds, load_data
from catalog.sample.tables import INGESTED_ON

FORMS = load_data("forms/company") | load_data("forms/datasets")


def propose(kind: str, facts: Facts) -> Iterator[Facts]:
    """Yield the proposals of one entity, one for each of its aspects; `data/forms` has the form of each kind."""
    form = FORMS[kind]
    facts = facts | {"urn": fill(form["urn"], facts)}
    facts |= {name: holds(rule, facts) for name, rule in form.get("rules", {}).items()}
    if "owners" in form:
        facts["owners"] = [
            describe_owner(fill(owner["who"], facts), owner["as"])
            for owner in form["owners"]
            if holds(owner.get("when", {}), facts)
        ]
    if "tags" in form:
        facts["tags"] = describe_tags([name for name, rule in form["tags"].items() if holds(rule, facts)])
    run = fill(form["run"], facts)
    for name, aspect in fill(form["aspects"], facts).items():
        yield {
            "entityType": facts["urn"].split(":")[2],
            "entityUrn": facts["urn"],
            "changeType": "UPSERT",
            "aspectName": name,
            "aspect": {"json": aspect},
            "systemMetadata": {
                "lastObserved": INGESTED_ON,
                "runId": f"{run}-{INGESTED_ON:%Y_%m_%d}-06_00_00",
                "lastRunId": "no-run-id-provided",
            },
        }


def describe_owner(urn: str, kind: str) -> Facts:
    """Return an entry of `ownership`; `kind` is the key of an ownership type, of the system or of the company's own."""
    system = kind.removeprefix("__system__")
    return {
        "owner": urn,
        "type": "CUSTOM" if system == kind else system.upper(),
        "typeUrn": f"urn:li:ownershipType:{kind}",
    }


def describe_tags(names: list[str]) -> list[Facts]:
    """Return the entries of `globalTags`."""
    return [{"tag": f"urn:li:tag:{name}"} for name in names]
