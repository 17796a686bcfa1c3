"""What a change of policies or roles means, as rows beside an editor."""

from collections.abc import Mapping, Sequence
from typing import Any

from policies.engine import families
from policies.pdp.reach_comparison import MOST, Count, Impact, PrivilegeChange

#: How many privileges a row or a sentence names.
_NAMED = 5


def counted(number: int) -> str:
    """Return a count as it is shown: beyond the limit only that it is more."""
    return f"{MOST:,}+" if number > MOST else f"{number:,}"


def meaning(found: Impact | None) -> dict[str, Any]:
    """Return what `policies/_means.html` draws of what saving means; None where it cannot be saved yet."""
    if found is None:
        return {"is_sound": False, "impact": [], "impact_entities": None, "impact_privileges": []}
    privileges = [_privilege_row("Privileges", "gives", "give", found.allowed, has_same_reach=found.has_same_reach)]
    if found.denied.now or found.denied.then:
        row = _privilege_row("Denied privileges", "denies", "deny", found.denied, has_same_reach=found.has_same_reach)
        privileges.append(row)
    return {
        "is_sound": True,
        "impact": [_reach_row("People", found.people)],
        "impact_entities": _reach_row("Entities", found.entities) if found.entities else None,
        "impact_privileges": privileges,
    }


def display_privileges(names: Sequence[str]) -> list[str]:
    """Return what the first few of these privileges are called on screens, and how many more there are."""
    more = [f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
    return [families.display_privilege(name) for name in names[:_NAMED]] + more


def _reach_row(label: str, count: Count) -> dict[str, Any]:
    return {
        "label": label,
        "verbs": ("reaches", "reach"),
        "now": counted(count.now),
        "then": counted(count.then),
        "gained": name_samples(count.gained),
        "lost": name_samples(count.lost),
    }


def _privilege_row(
    label: str, verb: str, infinitive: str, change: PrivilegeChange, *, has_same_reach: bool
) -> dict[str, Any]:
    return {
        "label": label,
        "verbs": (verb, infinitive),
        "now": counted(change.now),
        "then": counted(change.then),
        "gained": display_privileges(change.gained),
        "lost": display_privileges(change.lost),
        "moved": display_privileges(change.moved) if has_same_reach else [],
    }


def name_samples(samples: Mapping[str, str]) -> list[str]:
    """Return the names of these samples (URN → name), the URN where one has no name."""
    return [name or urn for urn, name in samples.items()]
