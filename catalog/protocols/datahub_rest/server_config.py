"""Server configuration, which a client requests before anything else."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from catalog.protocols.datahub_rest import responses
from catalog.protocols.datahub_rest.view_frame import CHANNEL
from policies.http.guard import public

#: The DataHub release whose calls are supported: from 1.0.1 on, clients use OpenAPI and write traces.
_VERSION = "v1.3.0"

_CONFIG = {
    # The text, not the boolean: with anything else, clients do not recognize a DataHub server.
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
    """Return the capabilities of the server; public, since clients request them before they send a token."""
    return responses.json_response(responses.encode_json(_CONFIG))
