"""The caller's own notices in the API."""

from typing import Any, cast

from django.db.models import QuerySet
from rest_framework import serializers

from policies.events.channels.inbox import storage
from policies.http.api import strict_fields
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import ApiView, PageParameters
from policies.http.guard import signed_in
from policies.models import Notice, User

TAG = "notifications"


class NoticeOut(serializers.Serializer[Any]):
    """One notice to the caller: a title, a text, and the path of the page it is about."""

    id = serializers.IntegerField()
    type = serializers.CharField(help_text="The type of the event, or a noun and `.ending` for what ends soon.")
    title = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    path = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    read = serializers.SerializerMethodField()

    def get_read(self, notice: Notice) -> bool:
        """Return whether the caller has read it."""
        return notice.read_at is not None


class NoticeIn(strict_fields.StrictSerializer):
    """Whether a notice counts as read."""

    read = strict_fields.StrictBoolean()


class NoticesReadOut(serializers.Serializer[Any]):
    """How many notices were not read before."""

    count = serializers.IntegerField(min_value=0)


class NoticeListFilters(PageParameters):
    """Filter of the caller's notices."""

    unread = serializers.BooleanField(required=False, default=False, help_text="Only those that are not read.")


class OwnNoticesView(ApiView):
    """The common part of the views of the caller's notices."""

    @property
    def _user_id(self) -> int:
        return cast("User", self.request.user).pk


@signed_in
class NoticeListView(OwnNoticesView):
    """The caller's notices."""

    @list_operation("notifications_list", "List my notices", NoticeOut, "Notice", query=NoticeListFilters, tag=TAG)
    def get(self, unread: bool = False) -> QuerySet[Notice]:  # noqa: FBT001, FBT002 - a parameter of the query
        """Return a page of the caller's notices, newest first."""
        return storage.list_notices(user_id=self._user_id, is_unread=unread)


@signed_in
class NoticeDetailView(OwnNoticesView):
    """One of the caller's notices."""

    @api_operation("notifications_change", "Mark a notice", body=NoticeIn, answer=NoticeOut, tag=TAG)
    def patch(self, payload: dict[str, Any], number: str) -> Notice:
        """Mark a notice as read or unread."""
        return storage.mark(user_id=self._user_id, number=int(number), is_read=payload["read"])


@signed_in
class NoticesReadView(OwnNoticesView):
    """All of the caller's notices."""

    @api_operation("notifications_read_all", "Mark all my notices as read", answer=NoticesReadOut, tag=TAG)
    def post(self) -> dict[str, int]:
        """Mark all notices of the caller as read."""
        return {"count": storage.mark_all_read(user_id=self._user_id)}
