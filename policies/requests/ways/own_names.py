"""Names of what a way makes for one person alone: a policy, or a role with its statement."""

from collections.abc import Sequence

from policies.engine import families
from policies.engine.model import Actor
from policies.models.people import MAX_NAME_LENGTH
from policies.pdp import authorizer


def name_own(actor: Actor, privileges: Sequence[str], entity: str | None = None) -> str:
    """Return the name of what gives somebody privileges, on an entity if there is one; a long name is cut."""
    names = authorizer.load_names(urns={actor.urn, *([entity] if entity else [])})
    privilege_names = ", ".join(families.display_privilege(privilege) for privilege in privileges)
    place_name = f" on {names.get(entity, entity)}" if entity else ""
    name = f"{privilege_names}{place_name} for {names.get(actor.urn, actor.urn)}"
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…"
