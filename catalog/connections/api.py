"""Connections over the API: what they lead to, their snapshots, and a new one (docs/warehouses/connections.md)."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from rest_framework import serializers

from catalog.connections import overview, repairs, snapshots, sources
from catalog.connections.overview import ConnectionState
from catalog.connections.sources import WarehouseConnection
from catalog.models import WarehouseChange, WarehouseSnapshot
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import ApiView
from policies.http.guard import needs

TAG = "connections"
require_manage_warehouses = needs(snapshots.REQUIRED_PRIVILEGE)


class RightOut(serializers.Serializer[Any]):
    """A right of the role that reads, and what it means."""

    name = serializers.CharField()
    is_held = serializers.BooleanField()
    meaning = serializers.CharField()
    is_odd = serializers.BooleanField(help_text="Whether the role has more than it needs.")


class SnapshotReadingOut(serializers.Serializer[Any]):
    """The source of a snapshot, and who read it."""

    host = serializers.CharField()
    database = serializers.CharField()
    role = serializers.CharField()
    version = serializers.CharField()
    rows = serializers.DictField(child=serializers.IntegerField(min_value=0), help_text="Numbers of rows by table.")
    rights = RightOut(many=True)


class SnapshotOut(serializers.Serializer[Any]):
    """A snapshot of a connection, or its progress."""

    id = serializers.UUIDField()
    connection = serializers.CharField()
    status = serializers.ChoiceField(WarehouseSnapshot.Status.choices)
    stage = serializers.CharField(allow_blank=True)
    done = serializers.IntegerField(min_value=0)
    total = serializers.IntegerField(min_value=0, help_text="Tables; 0 while that is not known.")
    problem = serializers.CharField(allow_blank=True)
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    taken_at = serializers.DateTimeField(allow_null=True, help_text="The state that was read is no older.")
    finished_at = serializers.DateTimeField(allow_null=True)
    reading = SnapshotReadingOut(allow_null=True, help_text="Of one that is READY.")


class ConnectionOut(serializers.Serializer[Any]):
    """A connection, without the secrets of its address."""

    name = serializers.CharField()
    system = serializers.CharField()
    host = serializers.CharField(source="address.host", allow_null=True, default=None)
    database = serializers.CharField(source="address.database", allow_null=True, default=None)
    role = serializers.CharField(source="address.role", allow_null=True, default=None)
    problem = serializers.CharField(allow_blank=True, help_text="Why its address cannot be read; empty if it can.")
    is_moved = serializers.BooleanField(help_text="Whether it leads elsewhere than its last good snapshot.")
    last_good = SnapshotOut(allow_null=True, help_text="The last snapshot that is READY.")
    last = SnapshotOut(allow_null=True, help_text="The last snapshot, whatever became of it.")


@require_manage_warehouses
class ConnectionListView(ApiView):
    """The connections."""

    @list_operation("connections_list", "List connections", ConnectionOut, "Connection", tag=TAG)
    def get(self) -> list[WarehouseConnection]:
        """Return a page of connections, by name."""
        return sources.list_connections()

    def prepare_rows(self, rows: Any) -> list[ConnectionState]:
        """Return connections with what is known of them."""
        return overview.describe_connections(rows)


@require_manage_warehouses
class ConnectionDetailView(ApiView):
    """One connection."""

    @api_operation("connections_get", "Get a connection", answer=ConnectionOut, tag=TAG)
    def get(self, name: str) -> ConnectionState:
        """Return the connection."""
        return overview.describe_connection(name)


@require_manage_warehouses
class SnapshotListView(ApiView):
    """The snapshots of a connection."""

    @list_operation("connections_snapshots", "List the snapshots of a connection", SnapshotOut, "Snapshot", tag=TAG)
    def get(self, name: str) -> QuerySet[WarehouseSnapshot]:
        """Return a page of snapshots, newest first."""
        return snapshots.list_snapshots(name=name)

    @api_operation("connections_snapshot", "Take a snapshot", answer=SnapshotOut, status=201, statuses=(409,), tag=TAG)
    def post(self, name: str) -> WarehouseSnapshot:
        """Have a worker take a snapshot. Raises Conflict while one is queued or running."""
        return snapshots.request_snapshot(name=name, by=self.actor)


class ChangeStatementOut(serializers.Serializer[Any]):
    """A statement, and the key of its finding."""

    finding = serializers.CharField()
    statement = serializers.CharField()


class ChangePreviewOut(serializers.Serializer[Any]):
    """Who gains and who loses what: holder, privilege, and on what."""

    gained = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    lost = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))


class WarehouseChangeOut(serializers.Serializer[Any]):
    """A set of repairs; `done` statements ran, and all of them are in force if it is APPLIED, else none."""

    id = serializers.UUIDField()
    connection = serializers.CharField()
    report = serializers.UUIDField(source="report_id", allow_null=True)
    status = serializers.ChoiceField(WarehouseChange.Status.choices)
    statements = ChangeStatementOut(many=True)
    preview = ChangePreviewOut(allow_null=True)
    done = serializers.IntegerField(min_value=0)
    problem = serializers.CharField(allow_blank=True)
    requested_by = serializers.CharField()
    requested_at = serializers.DateTimeField()
    confirmed_by = serializers.CharField(allow_blank=True)


class WarehouseChangeIn(strict_fields.StrictSerializer):
    """The findings of the last run whose repairs are proposed; all that have statements without them."""

    findings = serializers.ListField(
        child=strict_fields.StrictString(max_length=1280), required=False, max_length=repairs.MAX_STATEMENTS
    )


@require_manage_warehouses
class WarehouseChangeListView(ApiView):
    """The sets of repairs of a connection."""

    @list_operation("connections_changes", "List the sets of repairs", WarehouseChangeOut, "WarehouseChange", tag=TAG)
    def get(self, name: str) -> QuerySet[WarehouseChange]:
        """Return a page of sets, newest first."""
        return repairs.list_changes(name=name)

    @api_operation(
        "connections_propose",
        "Propose repairs",
        body=WarehouseChangeIn,
        answer=WarehouseChangeOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any], name: str) -> WarehouseChange:
        """Propose repairs of the last run, which a worker previews; needs MANAGE_POLICIES, too."""
        return repairs.propose(name=name, keys=payload.get("findings"), by=self.actor)


@require_manage_warehouses
class WarehouseChangeDetailView(ApiView):
    """One set of repairs."""

    @api_operation("connections_change", "Get a set of repairs", answer=WarehouseChangeOut, tag=TAG)
    def get(self, name: str, id: str) -> WarehouseChange:
        """Return the set."""
        return repairs.get_change(name=name, change_id=UUID(id))

    @api_operation("connections_discard", "Discard a set of repairs", statuses=(409,), tag=TAG)
    def delete(self, name: str, id: str) -> None:
        """Discard a set that waits for confirmation."""
        repairs.cancel(name=name, change_id=UUID(id), by=self.actor)


@require_manage_warehouses
class WarehouseChangeConfirmView(ApiView):
    """The confirmation of a set of repairs."""

    @api_operation("connections_confirm", "Apply a set of repairs", answer=WarehouseChangeOut, statuses=(409,), tag=TAG)
    def post(self, name: str, id: str) -> WarehouseChange:
        """Confirm a set, which a worker applies as a whole or not at all."""
        return repairs.confirm(name=name, change_id=UUID(id), by=self.actor)
