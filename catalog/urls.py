"""URLs of the catalog's pages. A word after /catalog/ cannot be mistaken for a URN, which begins with urn:li:."""

from django.urls import path

from catalog.cdap import entity_tabs, grant_pages, grant_patterns, operation_pages, tree_pages
from catalog.connections import pages as connection_pages
from catalog.connections import repair_pages
from catalog.entities.pages import browse, datahub_redirects, edit_views, entity, pickers, restrictions, tab_registry
from catalog.external_roles import entity_tab
from catalog.external_roles import pages as external_role_pages
from catalog.home.pages import home, my_access
from catalog.reports.pages import compare_runs, findings, runs, start_form, tables
from catalog.reports.pages.layout import VIEW_GUARD
from policies.http.lazy_view import lazy_view

tab_registry.register_tab(entity_tab.ACCESS_TAB)
tab_registry.register_links("cdap", entity_tabs.build_tabs)

urlpatterns = [
    path("", home.show_home, name="home"),
    path("my/access", my_access.show_access, name="my-access"),
    path("catalog", browse.list_entities, name="catalog"),
    path("catalog/browse/<slug:way>", browse.browse, name="catalog-browse"),
    path("catalog/pick/<slug:kind>", pickers.list_options, name="catalog-pick"),
    path("catalog/edit/<slug:key>/<path:urn>", edit_views.edit, name="catalog-edit"),
    path("catalog/grants/<path:urn>", grant_pages.show_grants, name="entity-grants"),
    path("catalog/patterns/<path:urn>", grant_patterns.grant_on_pattern, name="entity-patterns"),
    path("catalog/revoke/<path:urn>", grant_pages.revoke, name="entity-revoke"),
    path("catalog/operations/<path:urn>", operation_pages.show_operations, name="entity-operations"),
    path("catalog/tree/<path:urn>", tree_pages.show_tree, name="entity-tree"),
    path("catalog/<path:urn>", entity.show_entity, name="entity"),
    path("why/restrictions", restrictions.show_restrictions, name="why-restrictions"),
    path("external-roles", external_role_pages.list_roles, name="external-roles"),
    path("external-roles/new", external_role_pages.create, name="external-role-new"),
    path("external-roles/edit/<path:urn>", external_role_pages.update, name="external-role-edit"),
    path("external-roles/delete/<path:urn>", external_role_pages.delete, name="external-role-delete"),
    path("external-roles/held/<path:urn>", external_role_pages.list_holder_roles, name="external-roles-held"),
    path("external-roles/<path:urn>", external_role_pages.show_role, name="external-role"),
    path("reports", runs.list_reports, name="reports"),
    path("reports/findings", findings.show_findings, name="findings"),
    path("reports/findings/<int:id>", findings.show_finding, name="finding"),
    path(
        "reports/assertions",
        lazy_view("catalog.reports.pages.assertions.edit_assertions", VIEW_GUARD),
        name="assertions",
    ),
    path(
        "reports/assertions/<int:number>",
        lazy_view("catalog.reports.pages.assertions.show_version", VIEW_GUARD),
        name="assertions-version",
    ),
    path(
        "reports/warehouse",
        lazy_view("catalog.reports.pages.warehouse_access.show_warehouse_access", VIEW_GUARD),
        name="warehouse-access",
    ),
    path(
        "reports/warehouse.csv",
        lazy_view("catalog.reports.pages.warehouse_access.download_warehouse_access", VIEW_GUARD),
        name="warehouse-access-file",
    ),
    path("reports/new/<slug:kind>", start_form.start_report, name="report-new"),
    path("reports/runs/<uuid:id>", runs.show_run, name="report"),
    path("reports/runs/<uuid:id>/cancel", runs.cancel_run, name="report-cancel"),
    path(
        "reports/runs/<uuid:id>/access",
        lazy_view("catalog.reports.pages.access_lookup.show_access", VIEW_GUARD),
        name="report-access",
    ),
    path("reports/runs/<uuid:id>/script", runs.download_script, name="report-script"),
    path("reports/runs/<uuid:id>/compare", compare_runs.compare_runs, name="report-compare"),
    path("reports/runs/<uuid:id>/tables/<slug:name>", tables.show_table, name="report-table"),
    path("reports/runs/<uuid:id>/tables/<slug:name>.<slug:ending>", tables.download_file, name="report-file"),
    path("settings/connections", connection_pages.list_connections, name="connections"),
    path("settings/connections/<slug:name>", connection_pages.show_connection, name="connection"),
    path("settings/connections/<slug:name>/snapshot", connection_pages.take_snapshot, name="connection-snapshot"),
    path("settings/connections/<slug:name>/repairs", repair_pages.propose_repairs, name="connection-repairs"),
    path("settings/connections/<slug:name>/changes/<uuid:id>", repair_pages.show_change, name="connection-change"),
    path(
        "settings/connections/<slug:name>/changes/<uuid:id>/confirm",
        repair_pages.confirm_change,
        name="connection-change-confirm",
    ),
    path(
        "settings/connections/<slug:name>/changes/<uuid:id>/discard",
        repair_pages.cancel_change,
        name="connection-change-discard",
    ),
    # Last, so that no URL of DataHub overrides one of ours.
    *datahub_redirects.urlpatterns,
]
