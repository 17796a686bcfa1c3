"""Entities and people that an edit names: whether they exist for its author."""

from collections.abc import Collection

from catalog.access import entity_lists, view_permissions
from policies.engine.model import Actor
from policies.pdp import display_names
from policies.writes import people_records


def find_unknown(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return the URNs that are neither viewable entities nor users, groups, roles or policies.

    Removed users and groups are as unknown, and those that are hidden from the author; removed entities are stored.
    """
    known_urns = (
        entity_lists.list_stored_urns(urns=urns) - view_permissions.find_hidden(urns=urns, by=by)
    ) | display_names.load_names(urns=urns).keys()
    hidden_people = people_records.find_hidden(urns=urns, by=by)
    return frozenset(urns) - known_urns | display_names.find_removed(urns=urns) | hidden_people
