"""My access: whole lists, whose first rows stand on Home."""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from catalog.home.pages import rows
from catalog.home.pages.rows import Reader
from catalog.home.queries import held_entities, owned
from catalog.home.queries.endings import HouseEndings
from policies.http.guard import get_actor, signed_in
from policies.http.pages.list_and_form_pages import Section, build_columns, get_page, page_view, render_list
from policies.requests.pages.requests import build_rows as build_request_rows
from policies.requests.queries import requests

SECTION = Section("My access", "my-access")

#: Rows of the list of what somebody owns: the people who reach each are counted together.
_OWNED_PAGE_SIZE = 10


@page_view(signed_in)
def show_access(request: HttpRequest) -> HttpResponse:
    """Page of one of the lists, which `show` names; one that its reader does not have is the first one."""
    reader = Reader.from_actor(get_actor(request))
    tabs = _list_tabs(reader)
    show = request.GET.get("show", "")
    show = show if show in tabs else ""
    page, built_rows = _LOADERS[show](request, reader)
    label, columns = tabs[show]
    context = {
        "tabs": [
            {
                "label": tab_label,
                "url": f"{SECTION.url}?show={name}" if name else SECTION.url,
                "is_current": name == show,
            }
            for name, (tab_label, _) in tabs.items()
        ],
        "show": show,
        "label": label,
        "page": page,
        "rows": built_rows,
        "columns": columns,
        "rows_template": f"home/_{show or 'ways'}_rows.html",
        "breadcrumbs": SECTION.breadcrumbs(),
    }
    return render_list(
        request, page_template="home/my_access.html", fragment_template="home/_my_access.html", context=context
    )


def _list_tabs(reader: Reader) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Return the lists that a reader has, as name → label and columns."""
    tabs = {
        "": ("What I may do", build_columns("What", "By what policy, and through what")),
        "ending": ("Ends soon", build_columns("What", "By what, and until when", "Actions")),
        "domains": ("By domain", build_columns("Domain", "Entities", numbers=("Entities",))),
        "owned": ("What I own", build_columns("Name", "People who may view it", "Requests that wait")),
    }
    if settings.AUTH_POLICIES_ENABLED:
        tabs["requests"] = ("My requests", build_columns("Request", "State", "Who has it now"))
    if requests.is_administrator(reader.actor):
        tabs["house"] = ("Ends in the house", build_columns("What", "Who", "Until"))
    return tabs


Loaded = tuple[Any, Sequence[Any]]


def _load_ways(request: HttpRequest, reader: Reader) -> Loaded:
    page = get_page(request, reader.list_ways())
    return page, rows.build_way_rows(reader, list(page))


def _load_endings(request: HttpRequest, reader: Reader) -> Loaded:
    page = get_page(request, rows.list_endings(reader, reader.list_ways()))
    return page, rows.build_ending_rows(reader, list(page))


def _load_domains(request: HttpRequest, reader: Reader) -> Loaded:
    page = get_page(request, held_entities.count_held(by=reader.actor).by_domain)
    return page, rows.build_domain_rows(list(page))


def _load_owned(request: HttpRequest, reader: Reader) -> Loaded:
    page = get_page(request, owned.list_owned(by=reader.actor), _OWNED_PAGE_SIZE)
    return page, rows.build_owned_rows(reader, list(page))


def _load_requests(request: HttpRequest, reader: Reader) -> Loaded:
    page = get_page(request, requests.list_requests(by=reader.actor, mine=True))
    return page, build_request_rows(list(page), reader=reader.actor)


def _load_house(request: HttpRequest, reader: Reader) -> Loaded:
    page = get_page(request, HouseEndings(until=reader.soon))
    return page, rows.build_house_rows(reader, list(page))


_LOADERS: dict[str, Callable[[HttpRequest, Reader], Loaded]] = {
    "": _load_ways,
    "ending": _load_endings,
    "domains": _load_domains,
    "owned": _load_owned,
    "requests": _load_requests,
    "house": _load_house,
}
