"""What a client asks about the server before anything else."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.protocols.datahub_rest import responses
from catalog.protocols.datahub_rest.view_frame import CHANNEL
from policies.http.guard import public

#: The release whose calls are answered here: from 1.0.1 on clients take OpenAPI and write traces.
_VERSION = "v1.3.0"

_CONFIG = {
    # The text, not the boolean: clients take anything else for another server.
    "noCode": "true",
    "versions": {"acryldata/datahub": {"version": _VERSION, "commit": "authzsite"}},
    "patchCapable": True,
    "statefulIngestionCapable": True,
    "supportsImpactAnalysis": False,
    "retention": "true",
    "timeZone": "GMT",
    "datahub": {"serverEnv": "core", "serverType": "prod"},
    "telemetry": {"enabledCli": False},
    "managedIngestion": {"enabled": False},
}


@public.with_channel(CHANNEL)
@never_cache
@require_safe
def get_config(_request: HttpRequest) -> HttpResponse:
    """Answer what the server can do; public, since clients ask before they show a token."""
    return responses.json_response(responses.encode_json(_CONFIG))
