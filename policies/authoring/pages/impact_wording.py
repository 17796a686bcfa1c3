"""What a change of policies means, as sentences of a question."""

from collections.abc import Sequence

from policies.authoring.services import change_impact
from policies.authoring.services.policies import Draft
from policies.http.pages.impact_rows import counted, display_privileges, name_samples
from policies.models import Policy
from policies.pdp.reach_comparison import SAMPLES, Count, PrivilegeChange

#: What stands beside every count: it is about one policy, and people may have several.
OTHER_POLICIES = "Other policies are not considered: people who have this access through another policy keep it."

#: Verbs in the plural, and in the singular.
_SINGULAR = {"lose": "loses", "get": "gets", "are": "is"}


def describe_change(*, policy: Policy, after: Draft | None) -> list[str]:
    """Return what replacing a stored policy, or deleting it (None), takes from whom and gives to whom, in sentences."""
    before = change_impact.draft_of(policy)
    found = change_impact.measured(before=before, after=after)
    if not any((found.allowed.now, found.allowed.then, found.denied.now, found.denied.then)):
        return ["Nobody gains or loses anything: the policy is not active."]
    said = []
    if found.allowed.now or found.allowed.then:
        said += _describe_reach(found.people, ("person", "people"), "lose what it gives", "get what it gives")
        if found.entities is not None:
            said += _describe_reach(
                found.entities, ("entity", "entities"), "are no longer covered", "are newly covered"
            )
    said += _describe_privileges(found.allowed, "gives", has_same_reach=found.has_same_reach)
    said += _describe_privileges(found.denied, "denies", has_same_reach=found.has_same_reach)
    return said


def _describe_reach(count: Count, nouns: tuple[str, str], losing: str, gaining: str) -> list[str]:
    lost, gained = name_samples(count.lost), name_samples(count.gained)
    if not count.now and not count.then:
        return [f"It reaches no {nouns[1]}, now or then."]
    if not count.then:
        return [f"{_count(count.now, nouns)} {_agree(losing, count.now)}{_list(lost, count.now)}."]
    if not count.now:
        return [f"{_count(count.then, nouns)} {_agree(gaining, count.then)}{_list(gained, count.then)}."]
    same = count.now == count.then and not lost and not gained
    said = [f"It reaches {_count(count.now, nouns)}, {'as many as now' if same else f'then {counted(count.then)}'}."]
    said += [f"New{_list(gained, count.then)}."] if gained else []
    return said + ([f"No longer{_list(lost, count.now)}."] if lost else [])


def _describe_privileges(change: PrivilegeChange, verb: str, *, has_same_reach: bool) -> list[str]:
    said = [f"Privileges it no longer {verb}: {', '.join(display_privileges(change.lost))}."] if change.lost else []
    said += [f"Privileges it then {verb}: {', '.join(display_privileges(change.gained))}."] if change.gained else []
    if change.moved and has_same_reach:
        said.append(f"Privileges it {verb} under other terms than now: {', '.join(display_privileges(change.moved))}.")
    return said


def _count(number: int, nouns: tuple[str, str]) -> str:
    return f"{counted(number)} {nouns[0] if number == 1 else nouns[1]}"


def _agree(predicate: str, number: int) -> str:
    verb, _, rest = predicate.partition(" ")
    return f"{_SINGULAR[verb] if number == 1 else verb} {rest}"


def _list(names: Sequence[str], number: int) -> str:
    if not names:
        return ""
    return f": {', '.join(names)}{' and others' if number > len(names) == SAMPLES else ''}"
