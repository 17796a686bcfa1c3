"""Searches of the change log and the decision log, restricted to entities the viewer may see.

Under view authorization a search by an entity that the viewer may not view returns nothing, like one for an entity
without records. Rows about such entities stay in the lists, concealed.
"""

from typing import Any

from django.db.models import QuerySet

from policies.models import ChangeEvent, LoggedDecision
from policies.pdp import authorizer
from policies.pdp.log import decision_log_queries
from policies.writes import change_log_queries


def list_changes(*, urn: str | None = None, by: str | None = None, verb: str | None = None) -> QuerySet[ChangeEvent]:
    """Return writes to users, groups, roles, tokens, grants and the catalog, newest first; each filter narrows."""
    rows = change_log_queries.list_change_events(urn=urn, by=by, verb=verb)
    return rows.none() if _is_hidden(urn) else rows


def list_decisions(*, resource: str = "", **filters: Any) -> QuerySet[LoggedDecision]:
    """Return the logged decisions, newest first; `filters` are those of `decision_log_queries.list_decisions`."""
    rows = decision_log_queries.list_decisions(resource=resource, **filters)
    return rows.none() if _is_hidden(resource) else rows


def _is_hidden(urn: str | None) -> bool:
    return bool(urn) and bool(authorizer.directory().find_hidden_urns(urns=[urn or ""]))
