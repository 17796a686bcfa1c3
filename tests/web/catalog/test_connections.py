"""Settings > Connections and its API: no secret on any page, an age that is true, one snapshot at a time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from catalog.models import WarehouseChange, WarehouseSnapshot
from policies.pdp.authorizer import SYSTEM
from tests import finished

SECRET = "s3cr3t"
READ = "WAREHOUSE_POSTGRES_SHOP_READ_DSN"
PAGE, API = "/settings/connections/shop", "/api/v1/connections/shop/"
RIGHTS = [
    {"name": "CONNECT", "is_held": True, "meaning": "It gets in.", "is_odd": False},
    {"name": "BYPASSRLS", "is_held": True, "meaning": "It passes row security.", "is_odd": True},
]
READING: dict[str, object] = {
    "host": "db.example:5432",
    "database": "shop",
    "role": "snoop",
    "version": "17.2",
    "identity": "1/2",
}
READING |= {"rows": {"roles": 1234, "role_members": 1}, "rights": RIGHTS}


@pytest.fixture
def shop(shelves, settings, monkeypatch):
    """A client of root, and a connection with a snapshot of two hours ago."""
    monkeypatch.setenv(READ, f"postgresql://snoop:{SECRET}@db.example/shop")
    settings.WAREHOUSE_CONNECTIONS = {"shop": {"system": "postgres", "read": READ}}
    taken_at = timezone.now() - timedelta(hours=2)
    WarehouseSnapshot.objects.create(
        connection="shop",
        status="READY",
        requested_by=SYSTEM.urn,
        reading=READING,
        taken_at=taken_at,
        finished_at=taken_at,
    )
    return shelves("root")


def test_pages_show_where_it_leads_and_how_old_it_is_and_no_secret(shop):
    listed, page = (shop.get(address).content.decode() for address in ("/settings/connections", PAGE))
    for text in (listed, page):
        assert "db.example:5432" in text
        assert "2\xa0hours" in text
        assert SECRET not in text
    assert "Yes: more than it needs" in page
    assert "roles: 1,234" in page


def test_a_snapshot_is_asked_for_and_shows_its_progress(shop):
    assert shop.post(f"{PAGE}/snapshot").headers["Location"] == PAGE
    running = WarehouseSnapshot.objects.get(status="QUEUED")
    assert "Waiting for a worker" in shop.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    WarehouseSnapshot.objects.filter(pk=running.pk).update(stage="Reading roles", done=2, total=8)
    assert "2 of 8 tables" in shop.get(PAGE).content.decode()
    again = shop.post(f"{PAGE}/snapshot", follow=True).content.decode()
    assert "queued or running already" in again
    answer = shop.post(f"{API}snapshots/")
    assert (answer.status_code, answer.json()["detail"][:22]) == (409, "A snapshot of shop is ")
    now = timezone.now()
    WarehouseSnapshot.objects.filter(pk=running.pk).update(status="FAILED", problem="It is away.", finished_at=now)
    assert shop.get(PAGE, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    assert "It is away." in shop.get(PAGE).content.decode()


def test_the_api_says_the_same(shop, monkeypatch):
    found = shop.get("/api/v1/connections/").json()["results"]
    assert [one["name"] for one in found] == ["shop"]
    connection = shop.get(API).json()
    assert connection == found[0]
    assert (connection["host"], connection["database"], connection["role"]) == ("db.example:5432", "shop", "snoop")
    assert (connection["problem"], connection["is_moved"]) == ("", False)
    assert connection["last_good"]["reading"]["rights"] == RIGHTS
    assert "identity" not in connection["last_good"]["reading"]
    created = shop.post(f"{API}snapshots/")
    assert (created.status_code, created.json()["status"], created.json()["reading"]) == (201, "QUEUED", None)
    listed = shop.get(f"{API}snapshots/").json()["results"]
    assert [one["status"] for one in listed] == ["QUEUED", "READY"]
    monkeypatch.setenv(READ, f"postgresql://snoop:{SECRET}@elsewhere/shop")
    assert shop.get(API).json()["is_moved"] is True
    monkeypatch.delenv(READ)
    gone = shop.get(API).json()
    assert (gone["host"], gone["problem"]) == (None, f"{READ} is empty here.")
    assert f"{READ} is empty here." in shop.get(PAGE).content.decode()


CHANGE = {
    "connection": "shop",
    "identity": "1/2",
    "status": "PREVIEWED",
    "requested_by": "urn:li:corpuser:stella",
    "statements": [{"finding": "1", "statement": 'REVOKE SELECT ON TABLE "a"."b" FROM "<b>ann";'}],
    "preview": {"gained": [], "lost": [["<b>ann", "SELECT", "a.b"]]},
}


def test_a_set_of_repairs_is_shown_confirmed_and_discarded(shop):
    change = WarehouseChange.objects.create(**CHANGE)
    address = f"/settings/connections/shop/changes/{change.pk}"
    page = shop.get(address).content.decode()
    assert "&lt;b&gt;ann" in page
    assert "loses SELECT" in page
    assert f"{address}/confirm" in page
    assert "Apply 1 statements to shop?" in shop.get(f"{address}/confirm").content.decode()
    assert shop.post(f"{address}/confirm").headers["Location"] == address
    change.refresh_from_db()
    assert (change.status, change.confirmed_by) == ("CONFIRMED", "urn:li:corpuser:datahub")
    assert "Confirmed" in shop.get(address, headers={"HX-Request": "true"}).content.decode()
    again = shop.post(f"{address}/discard", follow=True).content.decode()
    assert "Only a set that waits for confirmation can be discarded." in again
    WarehouseChange.objects.filter(pk=change.pk).update(status="FAILED", problem="ann is gone.", done=0)
    ended = shop.get(address).content.decode()
    assert "ann is gone." in ended
    assert "Check again" not in ended
    WarehouseChange.objects.filter(pk=change.pk).update(status="APPLIED", problem="")
    assert "/reports/new/role_mapping_check" in shop.get(address).content.decode()
    WarehouseChange.objects.filter(pk=change.pk).update(status="FAILED", problem="ann is gone.")
    assert ">Failed<" in ended
    assert shop.get(address, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
    assert "Sets of repairs" in shop.get(PAGE).content.decode()


def test_who_proposed_a_set_is_refused_to_confirm_it(shop, settings):
    change = WarehouseChange.objects.create(**CHANGE | {"requested_by": "urn:li:corpuser:datahub"})
    address = f"/settings/connections/shop/changes/{change.pk}"
    assert f"{address}/confirm" not in shop.get(address).content.decode()
    assert [shop.get(f"{address}/confirm").status_code, shop.post(f"{address}/confirm").status_code] == [403, 403]
    assert shop.post(f"{API}changes/{change.pk}/confirm/").status_code == 403
    settings.REPAIRS_NEED_TWO = False
    confirmed = shop.post(f"{API}changes/{change.pk}/confirm/").json()
    assert (confirmed["status"], confirmed["preview"]["lost"]) == ("CONFIRMED", [["<b>ann", "SELECT", "a.b"]])
    assert shop.post(f"{API}changes/{change.pk}/confirm/").status_code == 409
    other = WarehouseChange.objects.create(**CHANGE)
    assert shop.delete(f"{API}changes/{other.pk}/").status_code == 204
    assert [one["status"] for one in shop.get(f"{API}changes/").json()["results"]] == ["DISCARDED", "CONFIRMED"]


def test_repairs_are_proposed_from_the_last_run(shop, settings, monkeypatch, tmp_path):
    proposals = "/settings/connections/shop/repairs"
    assert "Nothing to repair" in shop.get(proposals).content.decode()
    repair = 'REVOKE SELECT ON TABLE "a"."b" FROM "ann";'
    rows = [{"key": "1", "export": "shop", "repair": f"-- Words\n{repair}", "sentence": "ann has READ."}]
    finished.ready(tmp_path, "role_mapping_check", {"findings": rows})
    assert "it is only read" in shop.get(proposals).content.decode()
    variable = READ.replace("READ", "APPLY")
    settings.WAREHOUSE_CONNECTIONS = {"shop": {"system": "postgres", "read": READ, "apply": variable}}
    assert "ann has READ." in shop.get(proposals).content.decode()
    refused = shop.post(proposals, {"finding": "2"})
    assert refused.status_code == 422
    assert "The last run has no statements for the finding 2." in refused.content.decode()
    refused = shop.post(f"{API}changes/", {"findings": ["1", "2"]}, content_type="application/json")
    assert refused.status_code == 400
    change_url = shop.post(proposals, {"finding": "1"}).headers["Location"]
    change = WarehouseChange.objects.get(status="QUEUED")
    assert change_url == f"/settings/connections/shop/changes/{change.pk}"
    assert [entry["statement"] for entry in change.statements] == [repair]
    # A page has some of many, and one button takes all.
    many = [{**rows[0], "key": str(number), "sentence": f"ann has READ {number}."} for number in range(1, 61)]
    finished.ready(tmp_path / "many", "role_mapping_check", {"findings": many})
    page = shop.get(f"{proposals}?size=25&page=2")
    assert (len(page.context["rows"]), page.context["page"].paginator.count) == (25, 60)
    assert "Preview all" in page.content.decode()
    location = shop.post(f"{proposals}?page=2", {"all": "1", "finding": "26"}).headers["Location"]
    assert len(WarehouseChange.objects.get(pk=location.rpartition("/")[2]).statements) == 60
    finished.ready(tmp_path / "again", "role_mapping_check", {"findings": rows})
    created = shop.post(f"{API}changes/", {}, content_type="application/json")
    assert (created.status_code, created.json()["statements"]) == (201, [{"finding": "1", "statement": repair}])
