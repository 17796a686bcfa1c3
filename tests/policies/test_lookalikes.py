"""No account is made whose name looks like that of another one, whatever door it comes through."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid
from policies.identity.services import invitations, scim_provisioning, users
from policies.models import User
from policies.models.lookalikes import MAX_FOLDED_LENGTH, fold_name
from policies.writes.unit_of_work import open_unit_of_work
from tests.policies.conftest import DOOR

PASSWORD = "correct horse battery staple"
#: Names that look like `datahub`: capitals, Cyrillic, full width, mathematical letters, a small capital in Cyrillic.
ROOTS = [
    "DataHub",
    "d\u0430t\u0430hub",
    "\uff24\uff21\uff34\uff21\uff28\uff35\uff22",
    "DATA\u041dUB",
    "\U0001d41datahub",
]
#: The same for a user `rita.cole`.
RITAS = ["Rita.Cole", "rit\u0430.cole", "rita.c\u03bfle", "R\u0406TA.COLE", "r\u0456ta.cole", "\U0001d42bita.cole"]


@pytest.mark.parametrize("name", ROOTS)
def test_names_fold_to_what_they_look_like(name):
    assert fold_name(name) == "datahub"


@pytest.mark.parametrize(("one", "other"), [("a1", "al"), ("user0", "usero"), ("jos\u00e9", "jose"), ("m", "rn")])
def test_letters_of_ascii_and_accents_stay_what_they_are(one, other):
    assert fold_name(one) != fold_name(other)


@given(st.text())
def test_folding_is_done_once(text):
    folded = fold_name(text)
    assert len(folded) <= MAX_FOLDED_LENGTH
    assert fold_name(text.upper().lower()) == fold_name(text.upper().lower().casefold())
    if not folded.startswith("sha256:"):
        assert fold_name(folded) == folded


@pytest.mark.parametrize("name", ROOTS)
def test_nobody_looks_like_root(system, name):
    """Not even where there is no such row yet, and not by ingestion."""
    with pytest.raises(Invalid, match="reserved"):
        users.create(username=name, by=system, channel=DOOR)
    ingested = AspectChange(f"urn:li:corpuser:{name}", "corpuser", "corpUserInfo", {"active": True})
    with pytest.raises(Invalid, match="reserved"):
        aspect_services.apply(changes=[ingested], by=system, channel=DOOR)
    assert not User.objects.exists()


@pytest.mark.parametrize("name", RITAS)
def test_an_account_that_looks_like_another_is_not_made(user, system, name):
    user("rita.cole")
    with pytest.raises(Conflict, match=r"looks like that of the user urn:li:corpuser:rita\.cole"):
        users.create(username=name, by=system, channel=DOOR)
    text = invitations.create(role=None, by=system, channel=DOOR).text
    with pytest.raises(Conflict, match="looks like"):
        invitations.sign_up(text=text, username=name, password=PASSWORD, channel=DOOR)
    with pytest.raises(Conflict), open_unit_of_work(by=system, channel="scim") as doing:
        scim_provisioning.create_user(username=name, attributes=scim_provisioning.ProvisionedUser(), uow=doing)
    assert User.objects.count() == 1


def ingest(name: str, system: Actor) -> None:
    change = AspectChange(f"urn:li:corpuser:{name}", "corpuser", "corpUserInfo", {"active": True})
    aspect_services.apply(changes=[change], by=system, channel=DOOR)


@pytest.mark.parametrize("name", RITAS)
def test_ingestion_brings_variants_of_names_unless_somebody_signs_in_by_one(user, system, name):
    user("rita.cole")
    ingest(name, system)
    assert User.objects.count() == 2
    User.objects.filter(username=name).delete()
    users.set_password(urn="urn:li:corpuser:rita.cole", password=PASSWORD, by=system, channel=DOOR)
    with pytest.raises(Invalid) as refused:
        ingest(name, system)
    (problem,) = refused.value.problems
    assert (problem.code, problem.pointer) == ("username.alike", "/0/urn")
    assert "urn:li:corpuser:rita.cole" in problem.detail
    assert User.objects.count() == 1


def test_ingestion_asks_once_for_all_names(user, system, django_assert_max_num_queries):
    changes = [
        AspectChange(f"urn:li:corpuser:u{number}", "corpuser", "corpUserInfo", {"active": True})
        for number in range(500)
    ]
    with django_assert_max_num_queries(40):
        aspect_services.apply(changes=changes, by=system, channel=DOOR)
    assert set(User.objects.values_list("folded_username", flat=True)) == {f"u{number}" for number in range(500)}


def test_accounts_that_look_alike_already_stay(user, system):
    """The migration fills the column of what is stored, and what is stored can be changed."""
    for name in ("rita.cole", *RITAS):
        User.objects.bulk_create([User(username=name, urn=f"urn:li:corpuser:{name}", password="!")])
    User.objects.update(folded_username="")
    editor = connection.SchemaEditorClass(connection)
    import_module("policies.migrations.0012_folded_usernames").fold_usernames(apps, editor)
    assert set(User.objects.values_list("folded_username", flat=True)) == {"rita.cole"}
    users.update(urn=f"urn:li:corpuser:{RITAS[0]}", title="Chief", by=system, channel=DOOR)
