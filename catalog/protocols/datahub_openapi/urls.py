"""URL paths of DataHub's OpenAPI; those that take POST work with and without a trailing slash."""

from django.urls import path, re_path

from catalog.protocols.datahub_openapi import views as datahub_openapi_views

_LOGICAL_CHILD = r"openapi/v3/logical/(?P<child>(?s:.+?))/relationship/physicalInstanceOf"
_ENTITIES = r"openapi/v3/entity/(?P<type_>[^/]+)"

urlpatterns = [
    re_path(r"^openapi/v3/entity/(?:generic/)?scroll/?$", datahub_openapi_views.scroll_entities, name="openapi-scroll"),
    re_path(rf"^{_ENTITIES}/batchGet/?$", datahub_openapi_views.get_entities, name="openapi-batch-get"),
    re_path(rf"^{_ENTITIES}/?$", datahub_openapi_views.handle_entities, name="openapi-entities"),
    # Matches line breaks too, so that they are refused as part of a URN, with a reason, and not as an unknown path.
    re_path(rf"^{_ENTITIES}/(?P<rest>(?s:.+))$", datahub_openapi_views.handle_entity, name="openapi-entity"),
    re_path(
        rf"^{_LOGICAL_CHILD}/(?P<parent>(?s:.+?))/?$",
        datahub_openapi_views.link_logical_model,
        name="openapi-logical-parent",
    ),
    re_path(
        rf"^{_LOGICAL_CHILD}/?$", datahub_openapi_views.unlink_logical_model, name="openapi-logical-parent-removal"
    ),
    re_path(r"^openapi/relationships/v1/?$", datahub_openapi_views.list_relationships, name="openapi-relationships"),
    path("openapi/v1/trace/write/<str:trace>", datahub_openapi_views.get_write_status, name="openapi-trace"),
    path("openapi/v1/trace/write/<str:trace>/", datahub_openapi_views.get_write_status),
]
