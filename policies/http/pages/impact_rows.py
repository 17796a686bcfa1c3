"""The impact of a change of policies or roles as rows beside an editor."""

from collections.abc import Mapping, Sequence
from typing import Any

from policies.engine import families
from policies.pdp.reach_comparison import MAX_COUNT, CountChange, Impact, PrivilegeChange

#: Most privileges that a row or a sentence names.
_MAX_NAMED_PRIVILEGES = 5


def format_count(number: int) -> str:
    """Return a count as text; above MAX_COUNT the limit and a plus sign."""
    return f"{MAX_COUNT:,}+" if number > MAX_COUNT else f"{number:,}"


def impact_context(measured_impact: Impact | None) -> dict[str, Any]:
    """Return the context of `policies/_means.html`; None stands for input that cannot be saved yet."""
    if measured_impact is None:
        return {"is_sound": False, "impact": [], "impact_entities": None, "impact_privileges": []}
    allowed, denied = measured_impact.allowed_privileges, measured_impact.denied_privileges
    has_same_reach, has_denies = measured_impact.has_same_reach, bool(denied.before or denied.after)
    privileges = []
    if allowed.before or allowed.after or not has_denies:
        privileges.append(_privilege_row("Privileges", "gives", "give", allowed, has_same_reach=has_same_reach))
    if has_denies:
        privileges.append(_privilege_row("Denied privileges", "denies", "deny", denied, has_same_reach=has_same_reach))
    return {
        "is_sound": True,
        "impact": [_reach_row("People", measured_impact.people)],
        "impact_entities": _reach_row("Entities", measured_impact.entities) if measured_impact.entities else None,
        "impact_privileges": privileges,
    }


def display_privileges(names: Sequence[str]) -> list[str]:
    """Return the display names of the first five privileges, and how many more there are."""
    overflow_note = [f"{len(names) - _MAX_NAMED_PRIVILEGES:,} more"] if len(names) > _MAX_NAMED_PRIVILEGES else []
    return [families.display_privilege(name) for name in names[:_MAX_NAMED_PRIVILEGES]] + overflow_note


def _reach_row(label: str, count: CountChange) -> dict[str, Any]:
    return {
        "label": label,
        "verbs": ("reaches", "reach"),
        "now": format_count(count.before),
        "then": format_count(count.after),
        "gained": list_sample_names(count.gained_names),
        "lost": list_sample_names(count.lost_names),
    }


def _privilege_row(
    label: str, verb: str, infinitive: str, change: PrivilegeChange, *, has_same_reach: bool
) -> dict[str, Any]:
    return {
        "label": label,
        "verbs": (verb, infinitive),
        "now": format_count(change.before),
        "then": format_count(change.after),
        "gained": display_privileges(change.gained_names),
        "lost": display_privileges(change.lost_names),
        "moved": display_privileges(change.altered_names) if has_same_reach else [],
    }


def list_sample_names(samples: Mapping[str, str]) -> list[str]:
    """Return the names of samples (URN → name), the URN of those without a name."""
    return [name or urn for urn, name in samples.items()]
