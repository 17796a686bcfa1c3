"""The inbox and the bell: what is new is counted on every page, read one by one or at once, by whoever it is for."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from policies.models import Notice, NoticePreference, User

pytestmark = pytest.mark.django_db


def tell(username: str, count: int) -> list[Notice]:
    """Store notices for a user."""
    user = User.objects.get(username=username)
    return Notice.objects.bulk_create(
        Notice(user=user, key=f"k{number}", type="role.ended", title=f"Role {number} & more", path="/profile")
        for number in range(count)
    )


def find_bell(client: Client, address: str = "/catalog") -> str:
    """Return what the bell says."""
    text = client.get(address).content.decode()
    (label,) = re.findall(r'<span class="visually-hidden">(Notices.*?)</span>', text)
    return str(label)


def test_the_bell_counts_on_every_page_by_one_query(browse: Callable[[str], Client]) -> None:
    client = browse("outsider")
    assert find_bell(client) == "Notices"
    with CaptureQueriesContext(connection) as few:
        client.get("/why")
    tell("otto", 150)
    with CaptureQueriesContext(connection) as many:
        assert find_bell(client, "/why") == "Notices, 99+ not read"
    assert len(many) == len(few)
    assert find_bell(browse("steward"), "/profile") == "Notices"


def test_notices_are_listed_marked_and_the_empty_inbox_says_what_comes(browse: Callable[[str], Client]) -> None:
    client = browse("outsider")
    assert "There are no notices" in client.get("/notifications").content.decode()
    *_, last = tell("otto", 30)
    page = client.get("/notifications").content.decode()
    assert "Role 29 &amp; more" in page
    assert "Role 4 " not in page
    assert "Role 4 " in client.get("/notifications?page=2").content.decode()
    assert client.post(f"/notifications/{last.pk}/read").headers["Location"] == "/notifications"
    assert find_bell(client) == "Notices, 29 not read"
    client.post(f"/notifications/{last.pk}/read", {"unread": "1"})
    assert find_bell(client) == "Notices, 30 not read"
    assert browse("steward").post(f"/notifications/{last.pk}/read").status_code == 404
    assert client.post("/notifications/read-all").status_code == 302
    assert find_bell(client) == "Notices"
    assert "Everything is read" in client.get("/notifications?unread=1").content.decode()


def test_everybody_chooses_whether_notices_come_by_mail(browse: Callable[[str], Client]) -> None:
    client = browse("outsider")
    assert 'value="EACH" selected' in " ".join(client.get("/notifications").content.decode().split())
    client.post("/notifications/mail", {"by_mail": "DAILY"})
    client.post("/notifications/mail", {"by_mail": "HOURLY"})
    assert 'value="DAILY" selected' in " ".join(client.get("/notifications").content.decode().split())
    (preference,) = NoticePreference.objects.all()
    assert (preference.user.username, preference.by_mail) == ("otto", "DAILY")
