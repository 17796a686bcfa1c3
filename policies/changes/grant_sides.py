"""CDAP grants in a net change: those that can differ, and both sides with every grant that reaches their entities."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from pyroaring import FrozenBitMap

from policies.changes.people import ChangedActor
from policies.engine import access_change
from policies.engine.access_change import ChangeScope
from policies.engine.families import cdap
from policies.engine.postings import Postings, union
from policies.engine.selectors import ActorMatch
from policies.engine.snapshot import Snapshot
from policies.pdp.ports import GrantStage

#: The facets by which grants reach entities.
GRANT_FIELDS = frozenset({cdap.WITHIN, cdap.VERSION_OF})

#: Most entities of which all grants are read; of more the first are.
MAX_GRANTED_ENTITIES = 50_000


def find_grant_scope(
    stage: GrantStage, people: Mapping[str, ChangedActor], privileges: Collection[str] | None
) -> ChangeScope:
    """Return the scope of changed grants, and of grants to the groups and roles that people gain or lose."""
    stage.hand_over(
        departing=[urn for urn, changed in people.items() if changed.was.is_active and not changed.now.is_active]
    )
    tokens: set[str] = set()
    for was, now in people.values():
        tokens |= was.tokens ^ now.tokens if was.is_active == now.is_active else was.tokens | now.tokens
    holders = {token for token in tokens if token.startswith("urn:li:")}
    # Grants that stay as they are differ only for the people who change.
    statements = (
        statement if statement.origin.policy == cdap.CHANGED_GRANTS_URN else replace(statement, actors=ActorMatch())
        for statement in stage.list_touching(tokens=holders)
    )
    return access_change.find_scope(statements, privileges)


def find_granted_entities(scope: ChangeScope, postings: Postings) -> FrozenBitMap:
    """Return the entities that a scope of grants covers."""
    return union(postings.find_extent(selector) for selector in scope.selectors)


def add_grants(
    stage: GrantStage, scope: ChangeScope, postings: Postings, before: Snapshot, after: Snapshot
) -> tuple[Snapshot, Snapshot]:
    """Return both sides with the grants that reach what a scope of grants covers."""
    entities = find_granted_entities(scope, postings)
    old_grants, new_grants = stage.load_sides(urns=[postings.urns[number] for number in entities])
    return before.replace(before.version, old_grants), after.replace(after.version, new_grants)
