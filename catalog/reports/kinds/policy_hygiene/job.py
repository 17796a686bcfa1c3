"""Job of policy hygiene: policies without effect, duplicates, missing references and anti-patterns."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

from catalog.reports.kinds.policy_hygiene import antipatterns, hygiene, redundancy, tables
from catalog.reports.kinds.policy_hygiene.antipatterns import Antipattern
from catalog.reports.kinds.policy_hygiene.hygiene import HygieneFacts, HygieneQuery, PolicyStatements
from catalog.reports.kinds.policy_hygiene.redundancy import Redundancy, RedundancySearch
from catalog.reports.spark.job import Job, JobProgram
from catalog.reports.spark.partition_visits import map_partitions
from catalog.reports.summary import Bar, Chart, Number, Summary
from policies.engine.model import Actor

ORPHAN, UNKNOWN_FIELDS, REACHES_NOBODY, REACHES_NOTHING, DUPLICATE = (
    "ORPHAN",
    "UNKNOWN_FIELDS",
    "REACHES_NOBODY",
    "REACHES_NOTHING",
    "DUPLICATE",
)
#: What is proved: a policy or a statement matches nothing there could be, or others decide the same.
NEVER_MATCHES, SHADOWED, REDUNDANT_STATEMENT = "NEVER_MATCHES", "SHADOWED", "REDUNDANT_STATEMENT"

#: Severity of each type, in the order in which findings are sorted.
SEVERITIES = {
    Antipattern.ROLE_BESIDE: "HIGH",
    ORPHAN: "MEDIUM",
    UNKNOWN_FIELDS: "MEDIUM",
    REACHES_NOBODY: "MEDIUM",
    DUPLICATE: "MEDIUM",
    NEVER_MATCHES: "MEDIUM",
    REACHES_NOTHING: "LOW",
    SHADOWED: "LOW",
    REDUNDANT_STATEMENT: "LOW",
    Antipattern.ONE_USER: "LOW",
    Antipattern.URN_SPECIFIC: "LOW",
    Antipattern.DOMAIN_OVERLAP: "LOW",
    Antipattern.DEEP_DOMAIN: "LOW",
    Antipattern.CONTAINER_CHAIN: "LOW",
}

#: Other policies, or fields, that a sentence names at most.
_MAX_NAMES = 3


def compute_results(job: Job) -> Summary:
    """Check every active policy that people can edit, write the tables and return the summary."""
    state = job.state
    snapshot, actors = state.snapshot, state.actors
    names_by_urn = {
        row["urn"]: row["name"] for row in job.read_table("policies").to_pylist() if _is_editable(row["document"])
    }
    policies = hygiene.group_by_policy(snapshot.statements, names_by_urn)
    query = watch_wide_roles(hygiene.build_query(policies), policies, actors)
    privileges = {name for policy in policies for statement in policy.statements for name in statement.privileges}
    fields = snapshot.tested_fields(privileges) | hygiene.URN_FIELDS
    hygiene_facts = HygieneFacts(
        map_partitions(job, hygiene.collect_facts, query, fields=fields, stage="Looking at policies")
    )
    ends_at = monotonic() + redundancy.TOTAL_SECONDS
    search = RedundancySearch(snapshot, lambda: monotonic() > ends_at)
    known_document = job.read_json("known.json")
    finding_rows = [
        *list_unknown_fields(known_document["unknown_fields"]),
        *find_idle(policies, query, actors, hygiene_facts, frozenset(known_document["people"])),
        *find_redundant(search.find(policies), query),
        *list_antipatterns(policies, actors, state.descendants, hygiene_facts),
    ]
    finding_rows.sort(key=lambda row: (list(SEVERITIES).index(row["type"]), row["policy"], row["key"]))
    finding_counts = Counter(row["policy"] for row in finding_rows)
    job.write_rows(tables.FINDINGS, finding_rows)
    policy_rows = [
        {
            "policy": policy.urn,
            "people": policy.count_people(actors),
            "entities": hygiene_facts.count_covered(policy.urn),
            "findings": finding_counts[policy.urn],
        }
        for policy in policies
    ]
    job.write_rows(tables.POLICIES, policy_rows)
    type_counts = Counter(row["type"] for row in finding_rows)
    return Summary(
        numbers=(
            Number("Policies", len(policies)),
            Number("Policies with findings", len(finding_counts)),
            Number("Findings", len(finding_rows)),
            # Proofs that took too long, or without a solver.
            *((Number("Policies not proved", search.unknown_count),) if search.unknown_count else ()),
        ),
        charts=(
            Chart(
                "findings",
                "Findings by kind",
                tuple(Bar(kind, type_counts[kind]) for kind in SEVERITIES),
                is_over_time=True,
            ),
        ),
    )


def watch_wide_roles(
    query: HygieneQuery, policies: Sequence[PolicyStatements], actors: Sequence[Actor]
) -> HygieneQuery:
    """Return the query with isolating policies, and with owners to report: actors with a role that views everything."""
    wide_actors = [actor for actor in actors if antipatterns.has_wide_role(actor)]
    isolating_policies = frozenset(policy.urn for policy in policies if antipatterns.is_isolating(policy))
    return replace(
        query,
        isolating_policies=isolating_policies,
        watched_holders=frozenset[str]().union(*(actor.holders for actor in wide_actors)),
    )


def list_unknown_fields(pointers_by_policy: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Yield the findings about policies that are INACTIVE because of fields that are unknown here."""
    for urn, pointers in pointers_by_policy.items():
        sentence = f"It is INACTIVE until fields that are unknown here are removed: {_join_names(pointers)}."
        yield _finding_row(UNKNOWN_FIELDS, urn, sentence)


def find_idle(
    policies: Sequence[PolicyStatements],
    query: HygieneQuery,
    actors: Sequence[Actor],
    hygiene_facts: HygieneFacts,
    people: Collection[str],
) -> Iterator[dict[str, Any]]:
    """Yield the findings about policies with missing references or without effect of their own."""
    for policy in policies:
        for urn, facet in hygiene.missing_references(policy, hygiene_facts, people):
            sentence = "It names something that is not there." if facet else "It names somebody who is not there."
            yield _finding_row(ORPHAN, policy.urn, sentence, entity=urn if facet else "", person="" if facet else urn)
        if hygiene.reaches_nobody(policy, actors, hygiene_facts):
            yield _finding_row(REACHES_NOBODY, policy.urn, "Nobody who may act is meant by it.")
        if policy.is_about_entities and not hygiene_facts.count_covered(policy.urn):
            yield _finding_row(REACHES_NOTHING, policy.urn, "Nothing in the catalog is meant by it.")
        elif duplicates := query.duplicates.get(policy.urn):
            yield _finding_row(
                DUPLICATE, policy.urn, f"It says the same as {_join_names(duplicates)}.", other=duplicates[0]
            )


def find_redundant(redundancies: Iterable[Redundancy], query: HygieneQuery) -> Iterator[dict[str, Any]]:
    """Yield the findings about what is proved to change nothing; a duplicate is named as that."""
    for item in redundancies:
        if not item.because_of:
            subject = f"Its statement {item.number}" if item.number else "It"
            sentence = f"{subject} can never apply to anything, whatever the catalog holds."
            yield _finding_row(NEVER_MATCHES, item.policy, sentence, statement=item.number)
        elif item.number or item.policy not in query.duplicates:
            yield _build_redundancy_row(item)


def _build_redundancy_row(item: Redundancy) -> dict[str, Any]:
    other_policies = [urn for urn in item.because_of if urn != item.policy]
    names = [*(["other statements of it"] if item.policy in item.because_of else []), *other_policies]
    subject = f"its statement {item.number}" if item.number else "it"
    outcome = f"{subject} denies is denied" if item.is_deny else f"{subject} gives is given, or denied,"
    return _finding_row(
        REDUNDANT_STATEMENT if item.number else SHADOWED,
        item.policy,
        f"In every possible catalog, everything that {outcome} by {_join_names(names)}, too.",
        other=other_policies[0] if other_policies else "",
        statement=item.number,
    )


def list_antipatterns(
    policies: Sequence[PolicyStatements],
    actors: Sequence[Actor],
    descendants: Mapping[str, Sequence[str]],
    hygiene_facts: HygieneFacts,
) -> Iterator[dict[str, Any]]:
    """Yield the findings about anti-patterns of the guide."""
    for finding in antipatterns.find_antipatterns(policies, actors, descendants, hygiene_facts):
        yield _finding_row(
            finding.pattern, finding.policy, finding.sentence, entity=finding.entity, person=finding.actor
        )


def _finding_row(
    finding: str,
    policy: str,
    sentence: str,
    *,
    entity: str = "",
    person: str = "",
    other: str = "",
    statement: int = 0,
) -> dict[str, Any]:
    """Return a finding; a `statement` (its number from 1) tells it from those about the whole policy."""
    identity = json.dumps([policy, entity, person, *([statement] if statement else [])]).encode()
    return {
        "severity": SEVERITIES[finding],
        "type": str(finding),
        "sentence": sentence,
        "policy": policy,
        "entity": entity or None,
        "person": person or None,
        "other": other or None,
        # No statement would repair it for certain; people decide.
        "repair": "",
        "key": f"{finding} {hashlib.sha256(identity).hexdigest()}",
    }


def _join_names(names: Sequence[str]) -> str:
    suffix = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"{', '.join(names[:_MAX_NAMES])}{suffix}"


def _is_editable(document: str) -> bool:
    return json.loads(document).get("editable") is not False


PROGRAM = JobProgram("policy_hygiene", compute_results)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
