"""URL paths of DataHub's REST protocol; those that take POST work with and without a trailing slash."""

from django.urls import path, register_converter

from catalog.protocols.datahub_rest import server_config
from catalog.protocols.datahub_rest import views as datahub_rest_views


class UrnConverter:
    """Path converter for the rest of a path. The server has percent-decoded it once; it is not decoded again."""

    # Matches line breaks too, so that they are refused as part of a URN, with a reason, and not as an unknown path.
    regex = "(?s:.+)"

    def to_python(self, value: str) -> str:
        """Return the URN as received."""
        return value

    def to_url(self, value: str) -> str:
        """Return the URN."""
        return value


register_converter(UrnConverter, "urn")

urlpatterns = [
    path("config", server_config.get_config, name="gms-config"),
    path("aspects", datahub_rest_views.dispatch_aspect_action, name="gms-aspects"),
    path("aspects/", datahub_rest_views.dispatch_aspect_action),
    path("aspects/<urn:urn>", datahub_rest_views.get_aspect, name="gms-aspect"),
    path("entities", datahub_rest_views.dispatch_entity_action, name="gms-entities"),
    path("entities/", datahub_rest_views.dispatch_entity_action),
    path("entities/<urn:urn>", datahub_rest_views.get_entity, name="gms-entity"),
    path("runs", datahub_rest_views.dispatch_run_action, name="gms-runs"),
    path("runs/", datahub_rest_views.dispatch_run_action),
    path("entitiesV2/<urn:urn>", datahub_rest_views.get_entity_v2, name="gms-entity-v2"),
]
