"""The tests of a bundle against what is stored, as if the bundle had been applied; nothing is stored."""

from collections.abc import Mapping

from catalog.reports.bundle_tests import bundle, running
from catalog.reports.bundle_tests.present_facts import PresentWorld
from catalog.reports.bundle_tests.running import CaseResult
from policies.authoring.services.bundles import net_effect, planning
from policies.authoring.services.bundles.planning import BundleOptions
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.pdp import authorizer, snapshot_store


def run_present(texts: Mapping[str, str], *, options: BundleOptions, by: Actor) -> tuple[int, list[CaseResult]]:
    """Return the version of all policies that the bundle (path → text) is compared with, and the results of its tests.

    Raises Forbidden, and Invalid with every problem of the tests and of the bundle.
    """
    authorizer.require(by=by, any_of=[["MANAGE_POLICIES"]])
    tests = bundle.read_tests(texts)
    try:
        plan = planning.plan_bundle(texts=tests.other_texts, options=options, by=by)
    except Invalid as error:
        raise Invalid([*tests.problems, *error.problems]) from None
    if tests.problems:
        raise Invalid(tests.problems)
    world = PresentWorld(snapshot_store.get_current())
    results = running.run_case_files(
        tests.case_files, tests.assertions, net_effect.list_changed_statements(plan), world=world
    )
    return plan.policy_version, results
