"""Paths of the catalog's part of the API, under /api/v1/."""

from django.urls import URLPattern

from catalog.cdap import grant_api, operation_api
from catalog.entities.api import entities, resources_allowed, sql_render
from catalog.external_roles import api as external_role_api
from catalog.external_roles.queries import REACHED_TYPES
from catalog.reports.api import findings, reports
from policies.api_urls import door

ROLE = r"(?P<urn>urn:li:role:.+)"
#: What can be reached through external roles; of anything else "/access" is the end of its URN.
REACHED = rf"(?P<urn>urn:li:(?:{'|'.join(REACHED_TYPES)}):.+)"
#: A run of a report, and a table of one.
RUN = r"(?P<id>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"
TABLE = rf"reports/{RUN}/tables/(?P<table>[a-z0-9_]{{1,64}})"

urlpatterns: list[URLPattern] = [
    *door("what", resources_allowed.What, "api-what"),
    *door("render", sql_render.Render, "api-render"),
    *door("operations", operation_api.Operations, "api-operations"),
    *door("grants", grant_api.Grants, "api-grants"),
    *door("entities/", entities.Entities, "api-entities"),
    *door(rf"entities/{REACHED}/access/", external_role_api.Access, "api-entity-access"),
    *door(r"entities/(?P<urn>urn:li:.+)/", entities.OneEntity, "api-entity"),
    *door("external-roles/", external_role_api.ExternalRoles, "api-external-roles"),
    *door(rf"external-roles/{ROLE}/", external_role_api.OneExternalRole, "api-external-role"),
    *door("reports/", reports.Reports, "api-reports"),
    *door("reports/findings/", findings.Findings, "api-findings"),
    *door("reports/findings/(?P<number>[0-9]{1,18})/", findings.OneFinding, "api-finding"),
    *door("reports/kinds/", reports.ReportKinds, "api-report-kinds"),
    *door(f"reports/{RUN}/", reports.OneReport, "api-report"),
    *door(f"reports/{RUN}/cancel/", reports.CancelReport, "api-report-cancel"),
    *door(f"{TABLE}/", reports.ReportTable, "api-report-table"),
    *door(f"{TABLE}/csv/", reports.ReportCsv, "api-report-csv"),
    *door(f"{TABLE}/json/", reports.ReportJson, "api-report-json"),
    *door(f"{TABLE}/differences/", reports.ReportDifferences, "api-report-differences"),
]
