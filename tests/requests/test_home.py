"""Home and My access: what each reader sees of its own, in a constant number of queries, and what stays hidden."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.home.services import visits
from catalog.models import Finding
from policies.engine.families.validity import Validity
from policies.http.pages.ways import word_left
from policies.identity.services import groups
from policies.models import RequestItem, SubmittedRequest, User, Visit
from policies.pdp import authorizer
from policies.writes.timed_holders import TimedHolder
from tests.api.conftest import store_policy
from tests.catalog.conftest import said, tell
from tests.requests.conftest import ADA, BOB, CREW, FINANCE, ITEMS, JO, ORDERS, TAGS, Company, act, ask, days, own


def open_as(name: str) -> Client:
    """Return a browser in which somebody is signed in."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def read(client: Client, address: str, **query: str) -> str:
    """Return the text of a page."""
    answer = client.get(address, query)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def give(name: str, *privileges: str, **actors: Any) -> str:
    """Store a policy on everything in Finance."""
    criteria = [{"field": "DOMAIN", "values": [FINANCE]}]
    return store_policy(name, privileges=list(privileges), actors=actors, resources={"filter": {"criteria": criteria}})


@pytest.fixture
def finance(company: Company) -> Company:
    """The company, whose two datasets are in Finance; the crew may tag them."""
    tell(*[said(urn, "domains", {"domains": [FINANCE]}) for urn in (ORDERS, ITEMS)])
    give("Crew tags", "EDIT_ENTITY_TAGS", groups=[CREW])
    return company


def test_somebody_who_is_new_sees_three_questions(company: Company) -> None:
    page = read(open_as("jo"), "/")
    assert "Nothing of your own is here yet" in page
    for address in ("/why/can?resource=", "/why/what?privilege=VIEW_ENTITY_PAGE", "/why"):
        assert f'href="{address}"' in page
    assert "To decide" not in page
    assert "Changed this week" not in page
    for show in ("", "ending", "domains", "owned", "requests"):
        assert "empty-title" in read(open_as("jo"), "/my/access", show=show)
    # What somebody does not have, and what does not exist, is the first list.
    assert "Every policy that allows you something" in read(open_as("jo"), "/my/access", show="house")
    with override_settings(AUTH_POLICIES_ENABLED=False):
        assert "My requests" not in read(open_as("jo"), "/")
    # What all users have is nobody's own; what somebody was given is.
    store_policy("All", type="PLATFORM", privileges=["VIEW_ANALYTICS"], actors={"allUsers": True})
    assert "Nothing of your own is here yet" in read(open_as("jo"), "/")
    store_policy("Jo", type="PLATFORM", privileges=["VIEW_ANALYTICS"], actors={"users": [JO]})
    assert "Nothing of your own" not in read(open_as("jo"), "/")


def test_everybody_sees_what_they_have_through_what_and_until_when(finance: Company) -> None:
    until = datetime(2100, 1, 2, 18, tzinfo=UTC)
    store_policy(
        "Ending", type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"users": [BOB]}, validUntil=until.isoformat()
    )
    page = read(open_as("bob"), "/")
    # The two datasets, and the domain itself.
    assert "You may do something on <strong>3 entities</strong>, by 2 policies" in page
    assert "Finance</a> <span>2</span>" in page
    assert "Crew" in page
    listed = read(open_as("bob"), "/my/access")
    assert "in the domain Finance" in listed
    assert "Crew tags" in listed
    assert "until <time" in listed
    assert "2 Jan 2100, 18:00 UTC" in listed
    assert "on the platform" in listed
    # A deny takes it from the count, by the same engine, and is told.
    store_policy(
        "No tags",
        effect="DENY",
        privileges=["EDIT_ENTITY_TAGS"],
        actors={"users": [BOB]},
        resources={"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}},
    )
    assert "on <strong>2 entities</strong>" in read(open_as("bob"), "/")
    assert "Another policy denies" in read(open_as("bob"), "/my/access")
    assert "Another policy denies" not in read(open_as("eve"), "/my/access")
    assert word_left(until, until - timedelta(days=13, hours=5)) == "in 13 days"
    assert word_left(until, until - timedelta(minutes=90)) == "in 90 minutes"
    assert word_left(until, until + timedelta(hours=30)) == "30 hours ago"


def test_what_ends_soon_is_renewed_where_a_request_gave_it(finance: Company) -> None:
    request = ask(finance["jo"], TAGS, until=days(20)).json()
    assert act(finance["ada"], request, "approve").json()["state"] == "done"
    crew_until = timezone.now() + timedelta(days=3)
    groups.add_members(
        urn=CREW,
        members=[TimedHolder(JO, Validity(None, crew_until))],
        by=authorizer.SYSTEM,
        channel="test",
    )
    jo = open_as("jo")
    home = read(jo, "/")
    renew = f"/requests/renew/{request['urn']}"
    assert home.count(f'href="{renew}"') == 1
    assert "(in 2 days)" in home or "(in 3 days)" in home
    listed = read(jo, "/my/access", show="ending")
    # The membership ends first; nothing asked for it, so nothing renews it.
    assert listed.index("Crew tags") < listed.index(renew)
    assert listed.count("Renew<") == 1
    assert "more" in read(jo, renew)
    refused = jo.post(renew, {"duration": "14", "reason": ""})
    assert (refused.status_code, "Say why" in refused.content.decode()) == (422, True)
    assert jo.post(renew, {"duration": "date", "reason": "x"}).status_code == 422
    assert jo.post(renew, {"duration": "90", "reason": "x"}).status_code == 422
    sent = jo.post(renew, {"duration": "14", "reason": "not done yet"}, follow=True)
    assert "You asked for more time." in sent.content.decode()
    assert "More time is asked for." in read(jo, "/my/access", show="ending")
    item = RequestItem.objects.get(request__urn=request["urn"])
    renewal = SubmittedRequest.objects.get(renews__urn=request["urn"])
    assert item.ends_at is not None
    assert renewal.until == item.ends_at + timedelta(days=14)
    for stranger in ("bob", "ada"):
        assert open_as(stranger).get(renew).status_code == 404


def test_owners_see_who_reaches_what_they_own_and_approvers_what_waits(finance: Company) -> None:
    give("All view", "VIEW_ENTITY_PAGE", groups=[CREW])
    first = ask(finance["jo"], TAGS).json()
    ada = open_as("ada")
    home = read(ada, "/")
    assert "1 request</a>" in home
    assert "2 people may view it" in home
    assert "To decide" in home
    assert f'href="/requests/{first["urn"]}"' in home
    assert '<span class="visually-hidden">(1 to decide)</span>' in home
    assert 'href="/requests/to-decide" aria-current' not in home
    own_page = read(open_as("jo"), "/")
    assert "Waiting for a decision" in own_page
    assert "waits for" in own_page.partition("My requests")[2]
    assert ADA.rpartition(":")[2] in own_page
    assert "To decide" not in own_page
    act(finance["ada"], first, "deny", note="no")
    assert "to decide)" not in read(ada, "/why")
    assert "People who may view it" in read(ada, "/my/access", show="owned")


def test_administrators_see_the_week_new_findings_and_what_ends_in_the_house(finance: Company) -> None:
    groups.add_members(
        urn=CREW,
        members=[TimedHolder(JO, Validity(None, timezone.now() + timedelta(days=3)))],
        by=authorizer.SYSTEM,
        channel="test",
    )
    admin = User.objects.get(username="admin")
    page = read(open_as("admin"), "/")
    assert "this is your first visit" in page
    assert "Crew tags" in page
    assert "Membership in Crew" in page
    assert "Membership in Crew" in read(open_as("admin"), "/my/access", show="house")
    assert "Nothing waits for you." in page
    # A reload belongs to the same visit: nothing is written, and what was new stays new.
    now = timezone.now()
    Visit.objects.filter(user=admin).update(seen_at=now - timedelta(minutes=59), previous_at=now - timedelta(days=2))
    for number, seen in enumerate((now - timedelta(days=3), now - timedelta(days=1))):
        Finding.objects.create(
            kind="hygiene",
            key=f"k{number}",
            type="x",
            severity="HIGH",
            sentence=f"Finding {number}",
            first_seen_at=seen,
        )
    for _ in range(2):
        page = read(open_as("admin"), "/")
        told = page.partition("New findings")[2][:3000]
        assert ("Finding 1" in told, "Finding 0" in told) == (True, False), told
    assert visits.note_visit(user=admin, now=now + timedelta(minutes=2)) == now - timedelta(minutes=59)
    assert Visit.objects.get(user=admin).seen_at == now + timedelta(minutes=2)
    assert not Visit.objects.exclude(user=admin).exists()


def test_what_may_not_be_viewed_is_not_named_nor_counted(finance: Company) -> None:
    store_policy(
        "One dataset",
        privileges=["EDIT_ENTITY_TAGS"],
        actors={"users": [JO]},
        resources={"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}},
    )
    with override_settings(VIEW_AUTHORIZATION_ENABLED=True):
        blind = ask(finance["jo"], {"privilege": "DELETE_ENTITY", "resource": {"urn": ITEMS}}).json()
        assert blind["rule"] is None
        jo = open_as("jo")
        pages = [read(jo, "/"), *(read(jo, "/my/access", show=show) for show in ("", "domains", "owned", "requests"))]
        assert "No policy allows" in pages[0] or "nothing in the catalog so far" in pages[0]
        assert all(name not in page for page in pages for name in (ORDERS, "Finance", "Crew", "Owner"))
        # Somebody who may view it is told.
        store_policy(
            "View", privileges=["VIEW_ENTITY_PAGE"], actors={"users": [JO]}, resources={"filter": {"criteria": []}}
        )
        assert "on <strong>3 entities</strong>" in read(open_as("jo"), "/")


def test_the_number_of_queries_does_not_grow_with_the_rows(finance: Company) -> None:
    """Two rows of everything cost as much as four: entities, ways, what ends, requests of both kinds, changes."""
    ada, admin = open_as("ada"), open_as("admin")

    def grow(number: int) -> None:
        urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{number}-{index},PROD)" for index in range(2)]
        tell(
            *[own(urn, ADA) for urn in urns],
            *[said(urn, "domains", {"domains": [f"{FINANCE}{number}"]}) for urn in urns],
        )
        for asker, privilege in (("jo", "EDIT_ENTITY_TAGS"), ("ada", "DELETE_ENTITY")):
            ask(finance[asker], *({"privilege": privilege, "resource": {"urn": urn}} for urn in urns))
        for index in range(2):
            give(f"p{number}-{index}", "EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE", users=[ADA, BOB])
            until = timezone.now() + timedelta(days=5)
            actors = {"users": [ADA], "groups": [CREW]}
            store_policy(
                f"e{number}-{index}",
                type="PLATFORM",
                privileges=["MANAGE_TAGS"],
                actors=actors,
                validUntil=until.isoformat(),
            )

    def count() -> dict[str, int]:
        shown = [f"/my/access?show={show}" for show in ("", "ending", "domains", "owned", "requests")]
        pages = [*((ada, address) for address in ("/", *shown)), (admin, "/"), (admin, "/my/access?show=house")]
        counts = {}
        for client, address in pages:
            with CaptureQueriesContext(connection) as captured:
                assert client.get(address).status_code == 200
            counts[f"{'admin' if client is admin else 'ada'} {address}"] = len(captured)
        return counts

    grow(1)
    ada.get("/")
    few = count()
    grow(2)
    ada.get("/")
    assert {name: number for name, number in count().items() if number > few[name]} == {}
    assert max(few.values()) <= 60
