"""What is said before somebody goes who alone could give privileges on something."""

from policies.engine import families
from policies.pdp import authorizer

#: How many of the entities that somebody administers are looked at, and how many are named.
_LOOKED_AT = 1000
_NAMED = 3


def losses(*, urn: str) -> list[str]:
    """Return what falls to others when a user, group or role goes, as sentences for the question (CD-19)."""
    alone = authorizer.kept_alone(holder=urn, limit=_LOOKED_AT)
    if not alone:
        return []
    heirs = [one for one in authorizer.grantors(urns=alone[:1])[alone[0]] if one != urn]
    concealed = authorizer.directory().hidden(urns=alone[:_NAMED])
    shown = [one for one in alone[:_NAMED] if one not in concealed]
    names = authorizer.names(urns={*shown, *heirs})
    count = f"{len(alone):,} entit{'y' if len(alone) == 1 else 'ies'}"
    listed = ", ".join(names.get(one, one) for one in shown)
    more = " and others" if shown and len(alone) > len(shown) else ""
    where = f": {listed}{more}" if shown else ""
    fall = f"It falls to {', '.join(names.get(one, one) for one in heirs)}." if heirs else "Nobody is left to take it."
    return [f"{families.granting()} on {count} that nobody else administers{where}. {fall}"]
