"""Policies that do nothing, say what others say, name what is gone, or are written as the guide warns against."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from catalog.reports.kinds.policy_hygiene import antipatterns, hygiene
from catalog.reports.kinds.policy_hygiene.antipatterns import Pattern
from catalog.reports.kinds.policy_hygiene.hygiene import Look, Seen, Stored
from catalog.reports.spark.job import Job, run
from catalog.reports.spark.partition_facts import over_slices, roles_of, state_of
from policies.engine.model import Actor

ORPHAN, NOBODY, NOTHING, SHADOWED, DUPLICATE = "ORPHAN", "REACHES_NOBODY", "REACHES_NOTHING", "SHADOWED", "DUPLICATE"

#: How bad each is, the worst first.
SEVERITIES = {
    Pattern.ROLE_BESIDE: "HIGH",
    ORPHAN: "MEDIUM",
    NOBODY: "MEDIUM",
    DUPLICATE: "MEDIUM",
    NOTHING: "LOW",
    SHADOWED: "LOW",
    Pattern.ONE_USER: "LOW",
    Pattern.URN_SPECIFIC: "LOW",
    Pattern.DOMAIN_OVERLAP: "LOW",
    Pattern.DEEP_DOMAIN: "LOW",
    Pattern.CONTAINER_CHAIN: "LOW",
}

_COLUMNS = ("severity", "type", "sentence", "policy", "entity", "person", "other", "repair", "key")
FINDINGS = pa.schema([(name, pa.string()) for name in _COLUMNS])
POLICIES = pa.schema(
    [("policy", pa.string()), ("people", pa.int64()), ("entities", pa.int64()), ("findings", pa.int64())]
)

#: How many others a sentence names.
_NAMED = 3


def work(job: Job) -> Mapping[str, Any]:
    """Look at every active policy that people can change."""
    state, roles = state_of(job), roles_of(job)
    snapshot, actors = state.snapshot, state.actors
    stored = {row["urn"]: row["name"] for row in job.table("policies").to_pylist() if _is_editable(row["document"])}
    policies = hygiene.policies_of(snapshot.statements, stored)
    look = looking(hygiene.look_of(policies, actors, roles), policies, actors)
    listed = {name for policy in policies for one in policy.statements for name in one.privileges}
    fields = snapshot.fields_for(listed) | hygiene.NAMING
    seen = Seen(over_slices(job, state, hygiene.told, look, fields=fields, stage="Looking at policies"))
    found = [
        *idle(policies, look, actors, seen, frozenset(job.json("known.json")["people"])),
        *patterns(policies, actors, state.below, seen),
    ]
    found.sort(key=lambda row: (list(SEVERITIES).index(row["type"]), row["policy"], row["key"]))
    each = Counter(row["policy"] for row in found)
    job.write("findings", pa.Table.from_pylist(found, schema=FINDINGS))
    job.write("policies", pa.Table.from_pylist(list(_reach(policies, actors, seen, each)), schema=POLICIES))
    return {
        "numbers": [
            {"title": "Policies", "value": len(policies)},
            {"title": "Policies with findings", "value": len(each)},
            {"title": "Findings", "value": len(found)},
        ],
        "charts": [
            {
                "name": "findings",
                "title": "Findings by kind",
                "over_time": True,
                "bars": [{"label": kind, "value": sum(row["type"] == kind for row in found)} for kind in SEVERITIES],
            }
        ],
    }


def looking(look: Look, policies: Sequence[Stored], actors: Sequence[Actor]) -> Look:
    """Watch as well for owners to whom a policy means to open what they own, and who see everything by a role."""
    wide = [actor for actor in actors if antipatterns.has_wide_role(actor)]
    viewing = frozenset(policy.urn for policy in policies if antipatterns.isolating(policy))
    return replace(look, viewing=viewing, watched=frozenset[str]().union(*(actor.holders for actor in wide)))


def idle(
    policies: Sequence[Stored], look: Look, actors: Sequence[Actor], seen: Seen, people: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Give what of policies does nothing."""
    for policy in policies:
        for urn, facet in hygiene.gone(policy, seen, people):
            sentence = "It names something that is not there." if facet else "It names somebody who is not there."
            yield _row(ORPHAN, policy.urn, sentence, entity=urn if facet else "", person="" if facet else urn)
        if hygiene.reaches_nobody(policy, actors, seen):
            yield _row(NOBODY, policy.urn, "Nobody who may act is meant by it.")
        if policy.is_about_entities and not seen.covers(policy.urn):
            yield _row(NOTHING, policy.urn, "Nothing in the catalog is meant by it.")
        elif twins := look.twins.get(policy.urn):
            yield _row(DUPLICATE, policy.urn, f"It says the same as {_listed(twins)}.", other=twins[0])
        elif seen.is_shadowed(policy.urn):
            others = seen.others(policy.urn)
            by = _listed(others) if others else "several others together"
            sentence = f"As the catalog is now, everything that it gives is given by {by} too."
            yield _row(SHADOWED, policy.urn, sentence, other=others[0] if others else "")


def patterns(
    policies: Sequence[Stored], actors: Sequence[Actor], below: Mapping[str, Sequence[str]], seen: Seen
) -> Iterator[dict[str, Any]]:
    """Give what the guide warns of."""
    for one in antipatterns.found(policies, actors, below, seen):
        yield _row(one.pattern, one.policy, one.sentence, entity=one.entity, person=one.actor)


def _reach(
    policies: Sequence[Stored], actors: Sequence[Actor], seen: Seen, each: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Give how many people each policy names (owners are not counted), and how many entities it is about."""
    for policy in policies:
        tokens = policy.tokens
        people = sum(actor.is_active and not actor.tokens.isdisjoint(tokens) for actor in actors)
        reached = {"people": people, "entities": seen.covers(policy.urn), "findings": each.get(policy.urn, 0)}
        yield {"policy": policy.urn, **reached}


def _row(
    finding: str, policy: str, sentence: str, *, entity: str = "", person: str = "", other: str = ""
) -> dict[str, Any]:
    about = json.dumps([policy, entity, person]).encode()
    return {
        "severity": SEVERITIES[finding],
        "type": str(finding),
        "sentence": sentence,
        "policy": policy,
        "entity": entity or None,
        "person": person or None,
        "other": other or None,
        # What to do about it is for people to decide; there is no statement that would be right.
        "repair": "",
        "key": f"{finding} {hashlib.sha256(about).hexdigest()}",
    }


def _listed(urns: Sequence[str]) -> str:
    more = f" and {len(urns) - _NAMED} more" if len(urns) > _NAMED else ""
    return f"{', '.join(urns[:_NAMED])}{more}"


def _is_editable(document: str) -> bool:
    return json.loads(document).get("editable") is not False


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("policy_hygiene", work, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
