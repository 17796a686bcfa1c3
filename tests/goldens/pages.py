"""Pages as people see them: what a walk along the links of the site finds, and a few that no link leads to."""

from collections import Counter, deque
from collections.abc import Iterator
from urllib.parse import urldefrag, urljoin, urlsplit

from django.test import Client
from django.urls import Resolver404, resolve

from tests.goldens import world
from tests.goldens.masks import Masker, find_links, split_lines

#: Most pages of each of the people, and most pages by one route: as it is, and with the same words in its query.
MAX_PAGES = {"root": 150, "steward": 30, "outsider": 20, "anonymous": 5}
MAX_BY_ROUTE, MAX_BY_QUERY = 4, 1

#: Where each walk begins: the home page, and what is asked or wrong.
STARTS = (
    "/",
    "/login",
    "/why?privilege=EDIT_ENTITY_TAGS&actor=jenny&resource=urn:li:dashboard:(looker,sales.daily_trading)",
    "/why/can?actor=jenny",
    "/why/who?privilege=VIEW_ENTITY_PAGE&resource=urn:li:domain:sales",
    "/settings/permissions/policies?q=sales&state=ACTIVE",
    "/settings/permissions/policies/new",
    "/settings/permissions/policies/edit/urn:li:dataHubPolicy:sales-domain-team",
    "/reports/runs/00000000-0000-0000-0000-000000000002",
    "/no/such/page",
    "/catalog/urn:li:dataset:none",
    "/catalog?q=orders&type=dataset",
)


def list_pages(masker: Masker) -> Iterator[tuple[str, list[str]]]:
    """Yield a heading (who, address, status) and the lines of every page that was looked at."""
    for person, most in MAX_PAGES.items():
        client = world.sign_in(person)
        waiting, known = deque(STARTS), set(STARTS)
        routes: Counter[str] = Counter()
        count = 0
        while waiting and count < most:
            address = waiting.popleft()
            route = _route(address)
            if routes[route] >= (MAX_BY_QUERY if "?" in route else MAX_BY_ROUTE):
                continue
            found = _look(client, address)
            if found is None:
                continue
            routes[route] += 1
            count += 1
            status, markup = found
            for link in find_links(markup):
                target = urldefrag(urljoin(address, link)).url
                if target not in known and _is_ours(target):
                    known.add(target)
                    waiting.append(target)
            yield masker.mask(f"{person} {address} {status}"), masker.mask("\n".join(split_lines(markup))).split("\n")


def _look(client: Client, address: str) -> tuple[int, str] | None:
    """Return the status and markup of a page (or where it leads); None for what is no page."""
    answer = client.get(address)
    if 300 <= answer.status_code < 400:
        return answer.status_code, f'<a href="{answer["Location"]}">'
    if not answer.get("Content-Type", "").startswith("text/html"):
        return None
    return answer.status_code, answer.content.decode()


def _route(address: str) -> str:
    path, query = urlsplit(address).path, urlsplit(address).query
    try:
        found = resolve(path)
    except Resolver404:
        return "none"
    keys = "&".join(sorted({part.partition("=")[0] for part in query.split("&") if part}))
    return f"{found.url_name or found.route}?{keys}" if keys else found.url_name or found.route


def _is_ours(address: str) -> bool:
    """Return whether an address is a page of the site; the admin site's are Django's, long lists are lists."""
    parts = urlsplit(address)
    return (
        not parts.netloc and parts.scheme in {"", "http"} and not parts.path.startswith(("/static/", "/api/", "/admin"))
    )
