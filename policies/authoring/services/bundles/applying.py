"""Applying a bundle: everything in it, or nothing, as one version of all policies."""

from collections.abc import Mapping, Sequence
from typing import Any

from policies.authoring.services.bundles import kinds, planning
from policies.authoring.services.bundles.kinds import BundleChange, BundleKind, ChangeKind
from policies.authoring.services.bundles.planning import BundleOptions, BundlePlan, Takeover
from policies.engine.model import Actor
from policies.engine.wording import word_count
from policies.errors import Conflict, Invalid, Stale
from policies.models import ChangeEvent, Gate, PolicyVersion, Verb, open_write


def apply_bundle(
    *, texts: Mapping[str, str], options: BundleOptions, by: Actor, channel: str, expected_version: int | None = None
) -> tuple[BundlePlan, int]:
    """Store what these files (path → text) say; return the plan that was carried out and the version after it.

    Raises Stale when all policies are not at `expected_version`, Conflict for what is managed from another source,
    Invalid for a bundle without files that would delete everything, the errors of `plan_bundle`, and those of the
    services that write; then nothing is stored. The plan is made inside the write, after all earlier writes.
    """
    bundle_kinds = kinds.load_kinds()
    with open_write(Gate.PEOPLE) as write:
        plan = planning.plan_bundle(texts=texts, options=options, by=by)
        if expected_version is not None and plan.policy_version != expected_version:
            raise Stale(f"The policies are at version {plan.policy_version} now, not {expected_version}.")
        if not texts and not options.is_empty_confirmed and plan.count_actions()[ChangeKind.DELETE]:
            detail = (
                "There is no file, so that everything would be deleted; confirm it (`confirm_empty`) if it is meant."
            )
            raise Invalid.from_problem(code="prune.empty", pointer="/files", detail=detail)
        if plan.takeovers and not options.is_taking_over:
            raise Conflict(_word_takeovers(plan.takeovers))
        for folder, kind in bundle_kinds.items():
            # What is managed is refused to all writes but this one.
            kind.release([change.key for change in plan.changes[folder]])
            kind.write(plan.changes[folder], by=by, channel=channel)
        for folder, kind in reversed(bundle_kinds.items()):
            changes = plan.changes[folder]
            kind.write_last(changes, by=by, channel=channel)
            if not options.is_releasing:
                _mark_changed(kind, changes, options.source)
            events = [_build_event(kind, change, options, by=by, channel=channel) for change in changes]
            write.record([event for event in events if event is not None])
    for folder, kind in bundle_kinds.items():
        kind.finish(plan.changes[folder])
    return plan, PolicyVersion.load_version()


def _word_takeovers(takeovers: Sequence[Takeover]) -> str:
    first, *others = takeovers
    rest = f" and {word_count(len(others), 'other entry', 'other entries')}" if others else ""
    verb = "are" if others else "is"
    return (
        f"{first.name} ({first.key}){rest} {verb} managed from {first.source}: apply it from there, "
        "or take it over (`take_over`)."
    )


def _mark_changed(kind: BundleKind, changes: tuple[BundleChange, ...], source: str | None) -> None:
    kind.mark([change.key for change in changes if change.action is not ChangeKind.DELETE], source=source)


def _build_event(
    kind: BundleKind, change: BundleChange, options: BundleOptions, *, by: Actor, channel: str
) -> ChangeEvent | None:
    """Return the event of an entry whose mark changes; None where it stays, or goes with the entry."""
    if change.action is ChangeKind.DELETE:
        return None
    stored_entry = change.stored_entry
    earlier_source = stored_entry.source if stored_entry is not None else ""
    source = earlier_source if options.source is None or options.is_releasing else options.source
    before = describe_mark(is_managed=stored_entry is not None and stored_entry.is_managed, source=earlier_source)
    after = describe_mark(is_managed=not options.is_releasing, source=source)
    if before == after:
        return None
    return ChangeEvent(
        object_urn=kind.locate_object(change.key),
        name=change.name,
        verb=Verb.UPDATED,
        by=by.urn,
        door=channel,
        before=before,
        after=after,
    )


def describe_mark(*, is_managed: bool, source: str) -> dict[str, Any]:
    """Return the mark of an entry as the change log has it."""
    return {"is_managed": is_managed, "source": source if is_managed else ""}
