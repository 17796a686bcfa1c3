"""Whether a way gives only what was asked for, in any catalog, with people, owners and grants as they are."""

from policies.engine.proofs import prover
from policies.engine.proofs.known_states import KnownState
from policies.engine.proofs.verdicts import Proof, ProofUnavailable, Verdict
from policies.engine.selectors import EVERYONE, GROUP_MEMBERSHIP, OWNER, is_relational
from policies.pdp import actor_resolution
from policies.pdp.users_by_actor_clause import list_users_by_actor_tokens
from policies.requests.ways.asked_items import Giver, find_giver
from policies.requests.ways.effects import StagedWay
from policies.requests.ways.own_statements import list_object_types, load_object_ids

#: Seconds after which a verdict is unknown.
MAX_SECONDS = 1.0
#: Most people beside those whom a way changes that a proof is about.
MAX_PEOPLE = 2_000

_UNKNOWN = Proof(Verdict.UNKNOWN)


def prove_only_this(way: StagedWay) -> Proof:
    """Return whether the way gives only what is missing; unknown without a solver, and for too many people."""
    others = _list_others(way)
    if others is None:
        return _UNKNOWN
    people = dict(actor_resolution.load_actors(urns=others)) if others else {}
    people_before = people | {way.item.actor.urn: way.item.actor}
    people_before |= {urn: changed.was for urn, changed in way.people.items()}
    people_after = people_before | {urn: changed.now for urn, changed in way.people.items()}
    objects = _load_objects(way)
    before, after = (
        KnownState(way.snapshots[side], actors, {urn: owners[side] for urn, owners in way.owners.items()}, objects)
        for side, actors in enumerate((people_before, people_after))
    )
    try:
        return prover.gives_only_these(
            before, after, actor=way.item.actor.urn, places=way.item.places, seconds=MAX_SECONDS
        )
    except ProofUnavailable:
        return _UNKNOWN


def _load_objects(way: StagedWay) -> dict[tuple[str, str], str]:
    """Return the entities that Datazone statements of the way name by object id, by each type that they have."""
    urns = [
        entity
        for entity, names in way.item.places.items()
        if entity is not None and any(find_giver(name, entity) is Giver.STATEMENT for name in names)
    ]
    return {
        (type_name, entity_id.id): urn
        for urn, entity_id in load_object_ids(urns).items()
        for type_name in list_object_types(entity_id.type)
    }


def _list_others(way: StagedWay) -> list[str] | None:
    """Return the people who could gain because an entity has other owners, or an account other groups; None: too many.

    Nobody else can, for what a way writes names its actor alone.
    """
    fields = [OWNER] if way.owners else []
    fields += [GROUP_MEMBERSHIP] if any(actor.was.groups != actor.now.groups for actor in way.people.values()) else []
    statements = {item for snapshot in way.snapshots for item in snapshot.list_testing_fields(fields)}
    tokens = frozenset[str]().union(*(statement.actors.tokens for statement in statements))
    if any(map(is_relational, tokens)):
        tokens |= {EVERYONE}
    urns = list(list_users_by_actor_tokens(tokens=tokens).values_list("urn", flat=True)[: MAX_PEOPLE + 1])
    return urns if len(urns) <= MAX_PEOPLE else None
