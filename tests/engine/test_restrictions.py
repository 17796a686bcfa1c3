"""Combining restrictions (rules/datazone.md DZ-51 to DZ-61)."""

from policies.engine.restrictions import Restriction, RoleAllow, RoleSlice, combine_allows

SWISS, OPEN = "country = 'CH'", "state = 'open'"


def test_without_restrictions_nothing_is_restricted():
    assert combine_allows([RoleAllow("r", None), RoleAllow("s", None)]) is None


def test_restrictions_of_one_role_stack():
    allows = [
        RoleAllow("r", Restriction(rows=(SWISS,), columns=("id", "Name", "city"))),
        RoleAllow("r", Restriction(rows=(OPEN, SWISS), columns=("NAME", "id"))),
    ]
    assert combine_allows(allows) == (RoleSlice("r", (SWISS, OPEN), ("id", "Name"), None),)


def test_a_plain_allow_of_the_same_role_lifts_nothing():
    assert combine_allows([RoleAllow("r", Restriction(rows=(SWISS,))), RoleAllow("r", None)]) == (
        RoleSlice("r", (SWISS,), None, None),
    )


def test_another_role_without_restriction_lifts_all():
    assert combine_allows([RoleAllow("r", Restriction(rows=(SWISS,))), RoleAllow("s", None)]) is None


def test_roles_add_up_and_stay_paired():
    allows = [
        RoleAllow("s", Restriction(rows=(OPEN,), columns=("id", "price"))),
        RoleAllow("r", Restriction(rows=(SWISS,), columns=("id", "name"))),
    ]
    assert combine_allows(allows) == (
        RoleSlice("r", (SWISS,), ("id", "name"), None),
        RoleSlice("s", (OPEN,), ("id", "price"), None),
    )


def test_equal_slices_appear_once_under_the_first_role():
    allows = [
        RoleAllow("s", Restriction(rows=(OPEN, SWISS), columns=("ID",))),
        RoleAllow("r", Restriction(rows=(SWISS, OPEN), columns=("id",))),
    ]
    assert combine_allows(allows) == (RoleSlice("r", (SWISS, OPEN), ("id",), None),)


def test_a_slice_without_columns_gives_nothing():
    blind = RoleAllow("r", Restriction(columns=("id",)))
    other = RoleAllow("r", Restriction(columns=("name",)))
    assert combine_allows([blind, other]) == ()
    assert combine_allows([blind, other, RoleAllow("s", Restriction(rows=(OPEN,)))]) == (
        RoleSlice("s", (OPEN,), None, None),
    )


def test_no_allow_at_all_shows_nothing():
    assert combine_allows([]) == ()


def test_paths_are_gathered():
    allows = [RoleAllow("r", Restriction(paths=("/b", "/a"))), RoleAllow("r", Restriction(paths=("/a",)))]
    assert combine_allows(allows) == (RoleSlice("r", (), None, ("/a", "/b")),)
