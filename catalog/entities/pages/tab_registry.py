"""Registry of tabs that other rooms add to the page of an entity; `catalog.urls` registers them with the URLs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from catalog.access.entity_context import EntityContext

#: Builds the template context of a tab.
LoadTab = Callable[[EntityContext, HttpRequest], dict[str, Any]]
#: Returns key -> (label, URL) of tabs with pages of their own, for one entity and its viewer.
ListLinks = Callable[[EntityContext], Mapping[str, tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class EntityTab:
    """A tab of the entity page, rendered by `catalog/_<key>.html`, for the entities to which it applies."""

    key: str
    label: str
    applies_to: Callable[[EntityContext], bool]
    load: LoadTab


_tabs: dict[str, EntityTab] = {}
_links: dict[str, ListLinks] = {}


def register_tab(tab: EntityTab) -> None:
    """Add a tab to the page of every entity to which it applies."""
    _tabs[tab.key] = tab


def register_links(name: str, list_links: ListLinks) -> None:
    """Add tabs with pages of their own; `name` identifies the room that registers them."""
    _links[name] = list_links


def find_tab(key: str) -> EntityTab | None:
    """Return the registered tab with this key, None when there is none."""
    return _tabs.get(key)


def list_tabs(entity_context: EntityContext) -> dict[str, str]:
    """Return key -> label of the registered tabs that apply to an entity."""
    return {tab.key: tab.label for tab in _tabs.values() if tab.applies_to(entity_context)}


def list_links(entity_context: EntityContext) -> dict[str, tuple[str, str]]:
    """Return key -> (label, URL) of the linked pages next to the tabs of an entity."""
    links_by_key: dict[str, tuple[str, str]] = {}
    for list_room_links in _links.values():
        links_by_key |= list_room_links(entity_context)
    return links_by_key
