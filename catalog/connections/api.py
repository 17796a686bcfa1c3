"""Connections over the API: what they lead to, their snapshots, and a new one (docs/warehouses/connections.md)."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from catalog.connections import overview, snapshots, sources
from catalog.connections.overview import ConnectionState
from catalog.connections.sources import WarehouseConnection
from catalog.models import WarehouseSnapshot
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
    """What a snapshot is of, and who read it."""

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
