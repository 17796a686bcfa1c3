"""Policies as code in the API: the files of a folder are planned and applied, and what is stored is exported."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.response import Response

from policies.authoring.services.bundles import applying, exporting, net_effect, plan_wording, planning
from policies.authoring.services.bundles.kinds import ChangeKind
from policies.authoring.services.bundles.planning import BundleOptions, BundlePlan
from policies.changes.api.preview import PreviewOut, serialize_net_change, serialize_proofs
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import api_operation
from policies.http.api.views import CHANNEL, ApiView
from policies.http.guard import needs
from policies.models.managed import MAX_SOURCE_LENGTH

#: Each kind needs its own privilege; the services ask for that.
require_kind = needs("MANAGE_POLICIES", "MANAGE_GUARDRAILS")

TAG = "bundles"

#: Most files in one body, and most entries in one export; `manage.py policies` takes more.
MAX_FILES = 1_000


class BundleIn(strict_fields.StrictSerializer):
    """The files of a bundle, path → text, and how they are applied (docs/policies-as-code.md)."""

    files = strict_fields.AnyJson(help_text='`{"policies/editors.yaml": "urn: …"}`')
    prune = strict_fields.StrictBoolean(default=False, help_text="Delete what is managed and in no file.")
    confirm_empty = strict_fields.StrictBoolean(
        default=False, help_text="With `prune`: no files mean delete everything."
    )
    take_over = strict_fields.StrictBoolean(default=False, help_text="Take what is managed from another source.")
    release = strict_fields.StrictBoolean(default=False, help_text="Everything in the files is no longer managed.")
    source = strict_fields.StrictString(  # type: ignore[assignment]  # the base has an attribute of this name
        required=False, allow_blank=True, max_length=MAX_SOURCE_LENGTH, help_text="The address of the files."
    )


class BundleApplyIn(BundleIn):
    """The files of a bundle, and the version of all policies that they are meant for."""

    expect_version = strict_fields.StrictInteger(required=False, min_value=0)


class BundleChangeOut(serializers.Serializer[Any]):
    """The change of one entry; `diff` is unified, from what is stored to what the file says."""

    action = serializers.ChoiceField([action.value for action in ChangeKind])
    kind = serializers.CharField()
    file = serializers.CharField(allow_null=True)
    key = serializers.CharField()
    name = serializers.CharField()
    diff = serializers.CharField(allow_blank=True)


class BundlePlanOut(serializers.Serializer[Any]):
    """The changes of applying a bundle, and their effect (null where no policy and no guardrail changes)."""

    warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text="The first things to read: many deletions, entries that are managed elsewhere, shared names.",
    )
    policy_version = serializers.IntegerField(min_value=0)
    fingerprint = serializers.CharField()
    counts = serializers.DictField(child=serializers.IntegerField(min_value=0))
    changes = BundleChangeOut(many=True)
    text = serializers.CharField(required=False, help_text="The plan in words, as the command prints it.")
    effect = PreviewOut(required=False, allow_null=True)


class BundleFilesOut(serializers.Serializer[Any]):
    """The files of a bundle, path → text."""

    files = serializers.DictField(child=serializers.CharField())


class ExportParameters(strict_fields.StrictSerializer):
    """Parameters of an export."""

    only = strict_fields.StrictString(required=False, max_length=32, help_text="One kind, such as policies.")


@require_kind
class BundlePlanView(ApiView):
    """The plan of a bundle."""

    @api_operation("bundles_plan", "Plan policies as code", body=BundleIn, answer=BundlePlanOut, tag=TAG)
    def post(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the changes that applying these files would make, and their net effect; nothing is stored."""
        plan = planning.plan_bundle(texts=read_files(payload), options=read_options(payload), by=self.actor)
        return describe_plan(plan, by=self.actor)


@require_kind
class BundleApplyView(ApiView):
    """Applying a bundle."""

    @api_operation(
        "bundles_apply",
        "Apply policies as code",
        body=BundleApplyIn,
        answer=BundlePlanOut,
        statuses=(409, 412),
        moves_version=True,
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> HttpResponse:
        """Store what these files say as one version of all policies, all or nothing; return what was changed."""
        plan, version = applying.apply_bundle(
            texts=read_files(payload),
            options=read_options(payload),
            by=self.actor,
            channel=CHANNEL,
            expected_version=payload.get("expect_version"),
        )
        answer = planning.describe_plan(plan) | {"policy_version": version}
        return Response(BundlePlanOut(answer).data, headers={"Policy-Version": str(version)})


@require_kind
class BundleExportView(ApiView):
    """The export of a bundle."""

    @openapi_operation(
        "bundles_export", "Export policies as code", query=ExportParameters, answer=BundleFilesOut, tag=TAG
    )
    def get(self, _request: Any) -> Response:
        """Return the files of what is stored and the caller may change."""
        only = self.parse_query(ExportParameters).get("only")
        folders = [only] if only is not None else []
        return Response({"files": exporting.export_bundle(by=self.actor, folders=folders, limit=MAX_FILES)})


def describe_plan(plan: BundlePlan, *, by: Actor) -> dict[str, Any]:
    """Return a plan with its effect as JSON, as `manage.py policies plan --json` prints it, too."""
    effect = net_effect.find_plan_effect(plan, by=by)
    return planning.describe_plan(plan) | {
        "text": plan_wording.render_plan(plan, effect),
        "effect": None
        if effect is None
        else serialize_net_change(effect.change)
        | {
            "proof": serialize_proofs(effect.proofs),
            "guardrails": [verdict._asdict() for verdict in effect.guardrails],
        },
    }


def read_files(payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of a body, path → text. Raises Invalid."""
    texts = payload["files"]
    if not isinstance(texts, dict):
        raise Invalid.from_problem(code="type.object", pointer="/files", detail="`files` is an object: path → text.")
    if len(texts) > MAX_FILES:
        detail = f"One call has up to {MAX_FILES:,} files, not {len(texts):,}."
        raise Invalid.from_problem(code="list.long", pointer="/files", detail=detail)
    if problems := [
        Problem("type.text", f"{path}:1", "A file is a text.")
        for path, text in texts.items()
        if not isinstance(text, str)
    ]:
        raise Invalid(problems)
    return texts


def read_options(payload: Mapping[str, Any]) -> BundleOptions:
    """Return how the bundle of a body is applied."""
    return BundleOptions(
        is_pruning=payload["prune"],
        source=payload.get("source"),
        is_releasing=payload["release"],
        is_empty_confirmed=payload["confirm_empty"],
        is_taking_over=payload["take_over"],
    )
