"""Warnings before a user, group or role is removed that is the sole administrator of entities."""

from policies.engine import families
from policies.pdp import authorizer

#: Maximum number of administered entities that are examined, and of those that a warning names.
_MAX_ENTITIES = 1_000
_MAX_EXAMPLES = 3


def list_losses(*, urn: str) -> list[str]:
    """Return sentences on the entities that only this user, group or role administers, and their heirs (CD-19)."""
    sole_urns, is_complete = authorizer.list_sole_administered(holder=urn, limit=_MAX_ENTITIES)
    if not sole_urns:
        unknown = f"More than {_MAX_ENTITIES:,} entities are administered here, perhaps some by nobody else."
        return [] if is_complete else [unknown]
    heirs = [other_urn for other_urn in authorizer.load_grantors(urns=sole_urns[:1])[sole_urns[0]] if other_urn != urn]
    hidden_urns = authorizer.directory().find_hidden_urns(urns=sole_urns[:_MAX_EXAMPLES])
    visible_urns = [other_urn for other_urn in sole_urns[:_MAX_EXAMPLES] if other_urn not in hidden_urns]
    names = authorizer.load_names(urns={*visible_urns, *heirs})
    count_text = f"{'' if is_complete else 'at least '}{len(sole_urns):,} entit{'y' if len(sole_urns) == 1 else 'ies'}"
    names_text = ", ".join(names.get(other_urn, other_urn) for other_urn in visible_urns)
    suffix = " and others" if visible_urns and len(sole_urns) > len(visible_urns) else ""
    examples_text = f": {names_text}{suffix}" if visible_urns else ""
    heirs_text = (
        f"It falls to {', '.join(names.get(other_urn, other_urn) for other_urn in heirs)}."
        if heirs
        else "Nobody is left to take it."
    )
    return [f"{families.admin_privilege()} on {count_text} that nobody else administers{examples_text}. {heirs_text}"]
