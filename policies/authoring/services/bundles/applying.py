"""Applying a bundle: everything in it, or nothing, as one version of all policies."""

from collections.abc import Mapping

from policies.authoring.services.bundles import kinds, planning
from policies.authoring.services.bundles.kinds import BundleChange, BundleKind, ChangeKind
from policies.authoring.services.bundles.planning import BundleOptions, BundlePlan
from policies.authoring.services.policies import MANAGE_POLICIES
from policies.engine.model import Actor
from policies.errors import Stale
from policies.models import Gate, PolicyVersion, open_write
from policies.pdp import authorizer


def apply_bundle(
    *, texts: Mapping[str, str], options: BundleOptions, by: Actor, channel: str, expected_version: int | None = None
) -> tuple[BundlePlan, int]:
    """Store what these files (path → text) say; return the plan that was carried out and the version after it.

    Raises Stale when all policies are not at `expected_version`, the errors of `plan_bundle`, and those of the services
    that write; then nothing is stored. The plan is made inside the write, after all earlier writes.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    with open_write(Gate.PEOPLE):
        plan = planning.plan_bundle(texts=texts, options=options, by=by)
        if expected_version is not None and plan.policy_version != expected_version:
            raise Stale(f"The policies are at version {plan.policy_version} now, not {expected_version}.")
        bundle_kinds = kinds.load_kinds()
        for folder, kind in bundle_kinds.items():
            # What is managed is refused to all writes but this one.
            kind.release([change.key for change in plan.changes[folder]])
            kind.write(plan.changes[folder], by=by, channel=channel)
        for folder, kind in reversed(bundle_kinds.items()):
            kind.write_last(plan.changes[folder], by=by, channel=channel)
            if not options.is_releasing:
                _mark_changed(kind, plan.changes[folder], options.source)
    return plan, PolicyVersion.load_version()


def _mark_changed(kind: BundleKind, changes: tuple[BundleChange, ...], source: str | None) -> None:
    kind.mark([change.key for change in changes if change.action is not ChangeKind.DELETE], source=source)
