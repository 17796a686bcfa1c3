"""Tests of policies as code in the API: the tables and assertions of files, as if the bundle had been applied."""

from typing import Any

from rest_framework import serializers

from policies.authoring.api.bundles import TAG, BundleIn, read_files, read_options
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation
from policies.http.api.views import ApiView
from policies.http.guard import needs


class BundleTestIn(BundleIn):
    """The files of a bundle with those of `tests/` and `assertions/`."""

    junit = strict_fields.StrictBoolean(default=False, help_text="Answer with the results as JUnit XML, too.")


class TestFailureOut(serializers.Serializer[Any]):
    """One problem of a file, with its line."""

    line = serializers.IntegerField(min_value=1)
    message = serializers.CharField()


class TestResultOut(serializers.Serializer[Any]):
    """One question of a table, or one assertion; it holds without failures, of which the first are here."""

    file = serializers.CharField()
    line = serializers.IntegerField(min_value=1)
    name = serializers.CharField()
    failures = TestFailureOut(many=True)


class BundleTestOut(serializers.Serializer[Any]):
    """The results of the tests of a bundle, by file."""

    policy_version = serializers.IntegerField(min_value=0)
    passed = serializers.IntegerField(min_value=0)
    failed = serializers.IntegerField(min_value=0)
    results = TestResultOut(many=True)
    junit = serializers.CharField(required=False)


@needs("MANAGE_POLICIES")
class BundleTestView(ApiView):
    """The tests of a bundle."""

    @api_operation("bundles_test", "Test policies as code", body=BundleTestIn, answer=BundleTestOut, tag=TAG)
    def post(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return how the tests of these files would be answered once they are applied; nothing is stored.

        Files without `facts` are asked about what is stored. Who needs what is as in a plan.
        """
        # Few calls need what answers them.
        from catalog.bundle_tests import junit, present_bundle

        version, results = present_bundle.run_present(read_files(payload), options=read_options(payload), by=self.actor)
        failed_count = sum(bool(result.failures) for result in results)
        answer: dict[str, Any] = {
            "policy_version": version,
            "passed": len(results) - failed_count,
            "failed": failed_count,
            "results": [
                {
                    "file": result.file,
                    "line": result.line,
                    "name": result.name,
                    "failures": [{"line": line, "message": message} for line, message in result.failures],
                }
                for result in results
            ],
        }
        return answer | ({"junit": junit.render_junit(results)} if payload["junit"] else {})
