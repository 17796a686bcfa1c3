"""Wording of the impact of a policy change as sentences of a confirmation."""

from collections.abc import Sequence

from policies.authoring.services import change_impact
from policies.authoring.services.policies import PolicyInput
from policies.http.pages.impact_rows import display_privileges, format_count, list_sample_names
from policies.models import Policy
from policies.pdp.reach_comparison import MAX_SAMPLES, CountChange, PrivilegeChange

#: Sentence beside every count: the count is about one policy, and people may have several.
OTHER_POLICIES = "Other policies are not considered: people who have this access through another policy keep it."

#: Plural of a verb → its singular.
_SINGULAR_VERBS = {"lose": "loses", "get": "gets", "are": "is"}


def describe_change(*, policy: Policy, after: PolicyInput | None) -> list[str]:
    """Return sentences on the people, entities and privileges that replacing or deleting (None) a policy affects."""
    before = change_impact.policy_draft(policy)
    measured_impact = change_impact.measure_impact(before=before, after=after)
    if not any(
        (
            measured_impact.allowed_privileges.before,
            measured_impact.allowed_privileges.after,
            measured_impact.denied_privileges.before,
            measured_impact.denied_privileges.after,
        )
    ):
        return ["Nobody gains or loses anything: the policy is not active."]
    sentences = []
    if measured_impact.allowed_privileges.before or measured_impact.allowed_privileges.after:
        sentences += _describe_reach(
            measured_impact.people, ("person", "people"), "lose what it gives", "get what it gives"
        )
        if measured_impact.entities is not None:
            sentences += _describe_reach(
                measured_impact.entities, ("entity", "entities"), "are no longer covered", "are newly covered"
            )
    sentences += _describe_privileges(
        measured_impact.allowed_privileges, "gives", has_same_reach=measured_impact.has_same_reach
    )
    sentences += _describe_privileges(
        measured_impact.denied_privileges, "denies", has_same_reach=measured_impact.has_same_reach
    )
    return sentences


def _describe_reach(
    count: CountChange, nouns: tuple[str, str], losing_predicate: str, gaining_predicate: str
) -> list[str]:
    lost_names, gained_names = list_sample_names(count.lost_names), list_sample_names(count.gained_names)
    if not count.before and not count.after:
        return [f"It reaches no {nouns[1]}, now or then."]
    if not count.after:
        return [
            f"{_format_noun_count(count.before, nouns)} {_conjugate(losing_predicate, count.before)}"
            f"{_format_names(lost_names, count.before)}."
        ]
    if not count.before:
        return [
            f"{_format_noun_count(count.after, nouns)} {_conjugate(gaining_predicate, count.after)}"
            f"{_format_names(gained_names, count.after)}."
        ]
    is_same = count.before == count.after and not lost_names and not gained_names
    sentences = [
        f"It reaches {_format_noun_count(count.before, nouns)}, "
        f"{'as many as now' if is_same else f'then {format_count(count.after)}'}."
    ]
    sentences += [f"New{_format_names(gained_names, count.after)}."] if gained_names else []
    return sentences + ([f"No longer{_format_names(lost_names, count.before)}."] if lost_names else [])


def _describe_privileges(change: PrivilegeChange, verb: str, *, has_same_reach: bool) -> list[str]:
    sentences = (
        [f"Privileges it no longer {verb}: {', '.join(display_privileges(change.lost_names))}."]
        if change.lost_names
        else []
    )
    sentences += (
        [f"Privileges it then {verb}: {', '.join(display_privileges(change.gained_names))}."]
        if change.gained_names
        else []
    )
    if change.altered_names and has_same_reach:
        sentences.append(
            f"Privileges it {verb} under other terms than now: {', '.join(display_privileges(change.altered_names))}."
        )
    return sentences


def _format_noun_count(number: int, nouns: tuple[str, str]) -> str:
    return f"{format_count(number)} {nouns[0] if number == 1 else nouns[1]}"


def _conjugate(predicate: str, number: int) -> str:
    verb, _, complement = predicate.partition(" ")
    return f"{_SINGULAR_VERBS[verb] if number == 1 else verb} {complement}"


def _format_names(names: Sequence[str], number: int) -> str:
    if not names:
        return ""
    return f": {', '.join(names)}{' and others' if number > len(names) == MAX_SAMPLES else ''}"
