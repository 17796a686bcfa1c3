"""The tests of a bundle against what is stored, as if the bundle had been applied; nothing is stored."""

from collections.abc import Mapping

from catalog.bundle_tests import bundle, running
from catalog.bundle_tests.bundle import BundleTests
from catalog.bundle_tests.present_facts import PresentWorld, refuse_many_steps, refuse_size
from catalog.bundle_tests.running import CaseResult
from policies.authoring.services.bundles import net_effect, planning
from policies.authoring.services.bundles.planning import BundleOptions
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.pdp import authorizer, snapshot_store

#: Most questions of all tables of one call.
MAX_QUESTIONS = 10_000


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
    _refuse_much(tests)
    world = PresentWorld(snapshot_store.get_current())
    results = running.run_case_files(
        tests.case_files,
        tests.assertions,
        net_effect.list_changed_statements(plan),
        world=world,
        bundle_texts=tests.other_texts.values(),
    )
    return plan.policy_version, results


def _refuse_much(tests: BundleTests) -> None:
    """Raise Invalid for tests that take longer than a call may."""
    question_count = sum(len(claim.expectations) for case_file in tests.case_files for claim in case_file.claims)
    question_count += sum(len(assertion.expectations) for assertion in tests.assertions.values())
    if question_count > MAX_QUESTIONS:
        raise refuse_size(f"These are {question_count:,} questions, more than {MAX_QUESTIONS:,}")
    for case_file in tests.case_files:
        if case_file.facts is not None:
            refuse_many_steps(case_file.claims, people_count=len(case_file.facts.people))
