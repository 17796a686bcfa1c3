"""Status of the installation in the API: policy versions of the processes, workers, broker and checklist."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.engine.requirements import privilege_requirement
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import ApiView
from policies.http.guard import signed_in
from policies.models import PolicyVersion
from policies.pdp import active_policies as pdp_active_policies
from policies.pdp import authorizer, process_registry, self_checks
from policies.pdp.access_requests import AccessRequest


class ProcessOut(serializers.Serializer[Any]):
    """A process that answers from policies, and from which version."""

    name = serializers.CharField()
    policy_version = serializers.IntegerField(min_value=0)
    age_seconds = serializers.FloatField(allow_null=True)


class BrokerOut(serializers.Serializer[Any]):
    """Whether tasks can be handed over."""

    reachable = serializers.BooleanField()
    kind = serializers.CharField(allow_null=True)


class FindingOut(serializers.Serializer[Any]):
    """One thing that a check is about."""

    urn = serializers.CharField()
    name = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)


class CheckOut(serializers.Serializer[Any]):
    """One line of the checklist; `findings` are the first of `count`."""

    name = serializers.CharField()
    is_fine = serializers.BooleanField()
    sentence = serializers.CharField()
    advice = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField(min_value=0)
    findings = FindingOut(many=True)


class StatusOut(serializers.Serializer[Any]):
    """The version that is stored, those that processes answer from, and the state of workers and broker.

    Everything but the version is null for callers who may not manage policies, as the page is not theirs either.
    """

    policy_version = serializers.IntegerField(min_value=0)
    active_policies = serializers.IntegerField(min_value=0, allow_null=True)
    processes = ProcessOut(many=True, allow_null=True)
    workers = serializers.ListField(child=serializers.CharField(), allow_null=True)
    broker = BrokerOut(allow_null=True)
    checks = CheckOut(many=True, allow_null=True)


@signed_in
class StatusView(ApiView):
    """The status of the installation."""

    @openapi_operation(
        "status_get", "Get the status of the installation", answer=StatusOut, statuses=(503,), tag="status"
    )
    def get(self, _request: Request) -> Response:
        """Return the version of the policies and, to who manages policies, what processes, broker and workers say."""
        may_view_details = authorizer.answer(
            actor=self.actor, request=AccessRequest(privilege_requirement("MANAGE_POLICIES"))
        ).is_allowed
        names = [name for name in StatusOut().get_fields() if name != "policy_version"]
        details = _inspect_installation() if may_view_details else dict.fromkeys(names)
        return Response({"policy_version": PolicyVersion.load_version(), **details})


def _inspect_installation() -> dict[str, Any]:
    """Return the status from the database, the web processes, the broker and the workers; takes up to a second."""
    queue = process_registry.inspect_queue()
    all_processes = [*process_registry.list_web_processes(), *queue.processes]
    return {
        "active_policies": pdp_active_policies.list_active_policies().count(),
        "processes": [
            {"name": process.name, "policy_version": process.version, "age_seconds": process.age}
            for process in all_processes
        ],
        "workers": sorted(queue.answers),
        "broker": {"reachable": queue.kind is not None, "kind": queue.kind},
        "checks": CheckOut(self_checks.run(), many=True).data,
    }
