"""The paths of DataHub's REST protocol; those that take POST work with and without a slash at the end."""

from django.urls import path, register_converter

from catalog.doors.gms import server, views


class UrnConverter:
    """The rest of a path. The server has undone its percent-encoding once; here nothing is decoded again."""

    # A line break is refused as part of a URN, with a reason, and not as an unknown path.
    regex = "(?s:.+)"

    def to_python(self, value: str) -> str:
        """Return the URN as it came."""
        return value

    def to_url(self, value: str) -> str:
        """Return the URN."""
        return value


register_converter(UrnConverter, "urn")

urlpatterns = [
    path("config", server.config, name="gms-config"),
    path("aspects", views.aspects, name="gms-aspects"),
    path("aspects/", views.aspects),
    path("aspects/<urn:urn>", views.aspect, name="gms-aspect"),
    path("entities", views.entities, name="gms-entities"),
    path("entities/", views.entities),
    path("entities/<urn:urn>", views.entity, name="gms-entity"),
    path("runs", views.runs, name="gms-runs"),
    path("runs/", views.runs),
    path("entitiesV2/<urn:urn>", views.entity_v2, name="gms-entity-v2"),
]
