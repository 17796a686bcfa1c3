"""What the tables promise, whatever code does."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction

from policies.models import (
    AccessToken,
    ChangeEvent,
    ChangeSet,
    Gate,
    GroupProfile,
    Membership,
    Policy,
    PolicyVersion,
    Role,
    RoleAssignment,
    User,
    open_write,
)
from policies.models.fields import filter_storable, is_storable
from policies.models.people import django_group_name

BY = "urn:li:corpuser:datahub"

pytestmark = pytest.mark.django_db


def make_user(username: str = "jo", **more: object) -> User:
    columns = {"urn": f"urn:li:corpuser:{username}", "created_by": BY} | more
    return User.objects.create(username=username, **columns)


def make_group(identifier: str = "eng") -> GroupProfile:
    urn = f"urn:li:corpGroup:{identifier}"
    return GroupProfile.objects.create(
        group=Group.objects.create(name=urn), urn=urn, identifier=identifier, name=identifier, created_by=BY
    )


def make_role(identifier: str = "Admin") -> Role:
    urn = f"urn:li:dataHubRole:{identifier}"
    return Role.objects.create(
        urn=urn, identifier=identifier, name=identifier, group=Group.objects.create(name=urn), created_by=BY
    )


def make_policy(**more: object) -> Policy:
    columns = {
        "urn": "urn:li:dataHubPolicy:p",
        "family": "datahub",
        "type": "METADATA",
        "name": "p",
        "document": {},
        "created_by": BY,
        "updated_by": BY,
    } | more
    return Policy.objects.create(**columns)


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"state": "AWAY"}, "user_state_known"),
        ({"kind": "ROBOT"}, "user_kind_known"),
        ({"urn": "urn:li:corpuser:other"}, "user_urn_is_name"),
        ({"object_id": "X" * 24}, "user_object_id_is_hex"),
        ({"username": "__datahub_system", "urn": "urn:li:corpuser:__datahub_system"}, "user_is_not_system"),
        ({"username": "datahub", "urn": "urn:li:corpuser:datahub", "state": "SUSPENDED"}, "user_root_is_active"),
        ({"username": "datahub", "urn": "urn:li:corpuser:datahub", "is_removed": True}, "user_root_is_active"),
    ],
)
def test_a_user_that_cannot_be(columns, constraint):
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        make_user(**columns)


def test_names_are_told_apart_byte_by_byte():
    make_user("jo")
    make_user("Jo")
    make_user("j\u00f6")
    make_user("jo\u0308")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_user("jo")
    ordered = User.objects.order_by("username").values_list("username", flat=True)
    assert list(ordered) == ["Jo", "jo", "jo\u0308", "j\u00f6"]


def test_a_membership_has_an_origin_and_comes_once():
    user, group = make_user(), make_group().group
    with pytest.raises(IntegrityError, match="membership_has_origin"), transaction.atomic():
        Membership.objects.create(user=user, group=group)
    Membership.objects.create(user=user, group=group, is_native=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(user=user, group=group, is_external=True)


def test_an_assignment_has_exactly_one_holder_and_comes_once():
    role, user, group = make_role(), make_user(), make_group().group
    none_or_both: tuple[dict[str, Any], ...] = ({}, {"user": user, "group": group})
    for holders in none_or_both:
        with pytest.raises(IntegrityError, match="role_assignment_has_one_holder"), transaction.atomic():
            RoleAssignment.objects.create(role=role, created_by=BY, **holders)
    one_each: tuple[dict[str, Any], ...] = ({"user": user}, {"group": group})
    for holders in one_each:
        RoleAssignment.objects.create(role=role, created_by=BY, **holders)
        with pytest.raises(IntegrityError), transaction.atomic():
            RoleAssignment.objects.create(role=role, created_by=BY, **holders)


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"family": "cdap", "type": ""}, "policy_type_fits_family"),
        ({"type": ""}, "policy_type_fits_family"),
        ({"family": "datazone"}, "policy_type_fits_family"),
        ({"state": "ON"}, "policy_state_known"),
        ({"version": 0}, "policy_version_from_one"),
    ],
)
def test_a_policy_that_cannot_be(columns, constraint):
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        make_policy(**columns)


def test_a_document_comes_back_in_its_own_order():
    document = {"z": 1, "a": [{"y": "\u00e9\u2028", "b": None}], "m": 2**70, "f": 1.5, "e": "\\u0041"}
    make_policy(document=document)
    stored = Policy.objects.get().document
    assert stored == document
    assert list(stored) == ["z", "a", "m", "f", "e"]


def test_a_document_cannot_hold_what_json_does_not_have():
    with pytest.raises(ValueError, match="not JSON compliant"):
        make_policy(document={"a": float("nan")})


def test_there_is_one_version_row_and_it_counts():
    assert PolicyVersion.objects.count() == 1
    version, seq = PolicyVersion.load_version(), PolicyVersion.load_last_change()
    with open_write(Gate.PEOPLE) as write:
        assert (write.bump_version(), write.bump_version()) == (version + 1, version + 1)
        assert PolicyVersion.load_numbers()[:2] == (version, seq)
    assert PolicyVersion.load_numbers()[:2] == (version + 1, seq + 1)
    with open_write():
        pass
    assert PolicyVersion.load_numbers()[:2] == (version + 1, seq + 2)
    with pytest.raises(IntegrityError, match="policy_version_is_one_row"), transaction.atomic():
        PolicyVersion.objects.create(pk=2)


@pytest.mark.django_db(transaction=True)
def test_a_version_moves_only_inside_a_transaction():
    with pytest.raises(transaction.TransactionManagementError):
        PolicyVersion.take_number()


@pytest.mark.django_db(transaction=True)
def test_the_version_is_moving_until_the_outermost_block_ends():
    with transaction.atomic():
        with open_write(Gate.PEOPLE) as write:
            write.bump_version()
        assert PolicyVersion.is_moving()
    assert not PolicyVersion.is_moving()


def test_an_event_has_a_known_verb():
    made = ChangeSet.objects.create()
    with pytest.raises(IntegrityError, match="change_event_verb_known"), transaction.atomic():
        ChangeEvent.objects.create(object_urn="u", name="n", verb="ATE", by=BY, door="d", change_set=made)


def test_a_token_ends_after_it_begins_and_keeps_a_digest():
    user = make_user()
    token = AccessToken(user=user, name="t", prefix="azs_1234", digest="0" * 64, created_by=BY)
    token.expires_at = token.created_at
    with pytest.raises(IntegrityError, match="access_token_expires_after_creation"), transaction.atomic():
        token.save()
    token.expires_at, token.digest = None, "secret"
    with pytest.raises(IntegrityError, match="access_token_digest_is_sha256"), transaction.atomic():
        token.save()


def test_a_group_with_a_very_long_urn_has_a_django_group():
    urn = "urn:li:corpGroup:" + "x" * 200
    name = django_group_name(urn)
    assert len(name) <= 150
    Group.objects.create(name=name)
    assert django_group_name("urn:li:corpGroup:eng") == "urn:li:corpGroup:eng"


def test_text_that_no_column_holds_is_known():
    assert not is_storable("a\x00")
    assert not is_storable("a\ud800")
    assert filter_storable(["b", "a\x00", "a", "b"]) == ["b", "a"]


def test_prefix_ranges_agree_with_python():
    names = ["a", "a-b", "aB", "ab", "a\u00e9", "b", "\U0001f600"]
    for name in names:
        make_user(name)
    found = User.objects.filter(username__gte="a", username__lt="b").values_list("username", flat=True)
    assert set(found) == {name for name in names if name.startswith("a")}
    assert connection.vendor in {"sqlite", "postgresql"}


@pytest.mark.parametrize("text", ["jo\x00", "\ud800", "\x00"])
def test_text_that_no_column_can_hold_is_met_by_no_row(text):
    user = make_user("jo")
    assert list(User.objects.filter(username=text)) == []
    assert list(User.objects.exclude(username=text)) == [user]
    assert list(User.objects.filter(urn__in=[text, user.urn])) == [user]
    assert list(User.objects.filter(urn__in=[text])) == []
    assert list(ChangeEvent.objects.filter(by=text)) == []
