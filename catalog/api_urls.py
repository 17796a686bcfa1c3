"""Paths of the catalog's part of the API, under /api/v1/."""

from django.urls import URLPattern

from catalog.bundle_tests import api as bundle_test_api
from catalog.cdap import grant_api, operation_api
from catalog.connections import api as connection_api
from catalog.entities.api import entities, resources_allowed, sql_render
from catalog.external_roles import api as external_role_api
from catalog.external_roles.queries import ACCESS_TYPES
from catalog.reports.api import findings, reports
from policies.http.api.paths import api_paths

ROLE_PATTERN = r"(?P<urn>urn:li:role:.+)"
#: Types that external roles can open; for any other type "/access" is the end of the URN.
ACCESS_ENTITY_PATTERN = rf"(?P<urn>urn:li:(?:{'|'.join(ACCESS_TYPES)}):.+)"
#: URL patterns of a report run and of one of its tables.
RUN_PATTERN = r"(?P<id>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
CONNECTION_PATTERN = r"(?P<name>[a-z0-9_]{1,64})"
TABLE_PATTERN = rf"reports/{RUN_PATTERN}/tables/(?P<table>[a-z0-9_]{{1,64}})"

urlpatterns: list[URLPattern] = [
    *api_paths("what", resources_allowed.ResourcesAllowedView, "api-what"),
    *api_paths("render", sql_render.RenderView, "api-render"),
    *api_paths("operations", operation_api.OperationView, "api-operations"),
    *api_paths("grants", grant_api.GrantListView, "api-grants"),
    *api_paths("entities/", entities.EntityListView, "api-entities"),
    *api_paths(
        rf"entities/{ACCESS_ENTITY_PATTERN}/access/", external_role_api.EntityExternalRoleListView, "api-entity-access"
    ),
    *api_paths(r"entities/(?P<urn>urn:li:.+)/", entities.EntityDetailView, "api-entity"),
    *api_paths("external-roles/", external_role_api.ExternalRoleListView, "api-external-roles"),
    *api_paths(rf"external-roles/{ROLE_PATTERN}/", external_role_api.ExternalRoleDetailView, "api-external-role"),
    *api_paths("connections/", connection_api.ConnectionListView, "api-connections"),
    *api_paths(f"connections/{CONNECTION_PATTERN}/", connection_api.ConnectionDetailView, "api-connection"),
    *api_paths(
        f"connections/{CONNECTION_PATTERN}/snapshots/", connection_api.SnapshotListView, "api-connection-snapshots"
    ),
    *api_paths(
        f"connections/{CONNECTION_PATTERN}/changes/", connection_api.WarehouseChangeListView, "api-connection-changes"
    ),
    *api_paths(
        rf"connections/{CONNECTION_PATTERN}/changes/{RUN_PATTERN}/",
        connection_api.WarehouseChangeDetailView,
        "api-connection-change",
    ),
    *api_paths(
        rf"connections/{CONNECTION_PATTERN}/changes/{RUN_PATTERN}/confirm/",
        connection_api.WarehouseChangeConfirmView,
        "api-connection-change-confirm",
    ),
    *api_paths("bundles/test", bundle_test_api.BundleTestView, "api-bundles-test"),
    *api_paths("reports/", reports.ReportListView, "api-reports"),
    *api_paths("reports/findings/", findings.FindingListView, "api-findings"),
    *api_paths("reports/findings/(?P<number>[0-9]{1,18})/", findings.FindingDetailView, "api-finding"),
    *api_paths("reports/kinds/", reports.ReportKindListView, "api-report-kinds"),
    *api_paths(f"reports/{RUN_PATTERN}/", reports.ReportDetailView, "api-report"),
    *api_paths(f"reports/{RUN_PATTERN}/cancel/", reports.ReportCancelView, "api-report-cancel"),
    *api_paths(f"reports/{RUN_PATTERN}/script/", reports.ReportScriptView, "api-report-script"),
    *api_paths(f"{TABLE_PATTERN}/", reports.ReportTableView, "api-report-table"),
    *api_paths(f"{TABLE_PATTERN}/csv/", reports.ReportCsvView, "api-report-csv"),
    *api_paths(f"{TABLE_PATTERN}/json/", reports.ReportJsonView, "api-report-json"),
    *api_paths(f"{TABLE_PATTERN}/differences/", reports.ReportDifferenceListView, "api-report-differences"),
]
