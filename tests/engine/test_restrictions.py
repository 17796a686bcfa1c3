"""Combining restrictions (rules/datazone.md DZ-51 to DZ-61)."""

import pytest

from policies.engine.restrictions import Restriction, RoleAllow, RoleSlice, combine_allows, intersect_slices

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


def part(role="r", rows=(), columns=None, paths=None) -> RoleSlice:
    return RoleSlice(role, rows, columns, paths)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ([part(rows=(SWISS,))], [part(rows=(OPEN,))], [part(rows=(SWISS, OPEN))]),
        ([part(rows=(SWISS,))], [part(rows=(SWISS, OPEN))], [part(rows=(SWISS, OPEN))]),
        ([part(columns=("id", "name"))], [part(columns=("NAME", "city"))], [part(columns=("name",))]),
        ([part(columns=("id",))], [part(columns=("name",))], []),
        ([part(rows=(SWISS,))], [part(columns=("id",))], [part(rows=(SWISS,), columns=("id",))]),
        ([part(paths=("src",))], [part(paths=("src/etl", "docs"))], [part(paths=("src/etl",))]),
        ([part(paths=("src",))], [part(paths=("src2",))], []),
        ([part(paths=("src",))], [part(rows=(OPEN,))], [part(rows=(OPEN,), paths=("src",))]),
        # What one role shows for the first and another for the second.
        (
            [part("r", rows=(SWISS,)), part("s", columns=("id",))],
            [part("r", rows=(OPEN,))],
            [part("r", rows=(SWISS, OPEN)), part("s", rows=(OPEN,), columns=("id",))],
        ),
        ([part("r", paths=("a",)), part("s", paths=("b",))], [part("t", paths=("a/c", "b"))], "r: a/c, s: b"),
        # Several pairs that differ in paths only are one slice.
        ([part("r", paths=("a", "b"))], [part("r", paths=("a",)), part("s", paths=("b/c",))], "r: a b/c"),
        # Equal lists are what each of them shows, as if there were one need.
        ([part("r", paths=("a",)), part("s", paths=("b",))],) * 2 + ("r: a, s: b",),
    ],
)
def test_of_needs_that_must_all_hold_what_all_show_remains(first, second, both):
    if isinstance(both, str):
        named = (one.split(": ") for one in both.split(", "))
        both = [part(role, paths=tuple(paths.split())) for role, paths in named]
    assert intersect_slices(tuple(first), tuple(second)) == tuple(both)
