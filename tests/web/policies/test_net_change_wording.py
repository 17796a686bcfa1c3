"""The sentences of a net change: of whom the same is said stands together, and what is left out is said."""

from dataclasses import replace

from django.template.loader import render_to_string

from policies.changes.net_change import ChangedAccess, ChangeSide, KeptAccess, NetChange, PlatformAccess, Tally
from policies.changes.pages import net_change_wording
from policies.engine.model import Actor
from policies.writes.preview_disclosure import PreviewDisclosure

OTTO, STELLA = "urn:li:corpuser:otto", "urn:li:corpuser:stella"
EXAMPLES = ("urn:li:dataset:a", "urn:li:dataset:b")
TOLD = PreviewDisclosure(Actor(STELLA), tells_others=True, tells_policies=True, tells_guardrails=True)


def gain(*items):
    return NetChange(1, is_exact=True, disclosure=TOLD, gained=ChangeSide(Tally(9, 2, 3), {}, items))


def test_people_and_privileges_of_whom_the_same_is_said_stand_together(world):
    items = [
        ChangedAccess(actor, privilege, 3, EXAMPLES)
        for actor in (OTTO, STELLA)
        for privilege in ("EDIT_ENTITY_TAGS", "EDIT_ENTITY_DOCS")
    ]
    assert net_change_wording.describe_net_change(gain(*items)) == [
        "2 people gain access to 3 entities.",
        "Otto Outsider and Stella Steward gain Edit Tags and Edit Description on 3 entities, "
        "for example urn:li:dataset:a, urn:li:dataset:b.",
    ]


def test_what_is_not_named_is_said(world):
    items = [ChangedAccess(f"urn:li:corpuser:p{number}", "EDIT_ENTITY_TAGS", number, ()) for number in range(9, 2, -1)]
    sentences = net_change_wording.describe_net_change(gain(*items))
    assert len(sentences) == 2 + net_change_wording.MAX_NAMED
    assert sentences[-1] == net_change_wording.REST
    many = [PlatformAccess(f"urn:li:corpuser:p{number}", "MANAGE_TAGS") for number in range(8)]
    assert net_change_wording.describe_net_change(NetChange(1, is_exact=True, disclosure=TOLD, platform_lost=many)) == [
        f"{', '.join(f'urn:li:corpuser:p{number}' for number in range(5))} and 3 more lose the platform privilege "
        "Manage Tags."
    ]


def test_who_keeps_it_through_what(world):
    kept = KeptAccess(OTTO, "EDIT_ENTITY_TAGS", 2, ("urn:li:dataHubPolicy:stewards-ask",))
    assert net_change_wording.describe_net_change(NetChange(1, is_exact=False, disclosure=TOLD, kept_items=[kept])) == [
        "Otto Outsider keeps Edit Tags on 2 entities, through Stewards ask about others.",
        net_change_wording.NOT_EXACT,
    ]


def test_whoever_may_not_ask_about_others_reads_numbers_and_what_concerns_them(world):
    disclosure = replace(TOLD, tells_others=False, tells_policies=False)
    names = [f"PRIVILEGE_{letter}" for letter in "GFEDCBA"]
    by_privilege = {name: Tally(number, number, 1) for number, name in enumerate(names, 1)}
    own = ChangedAccess(STELLA, "EDIT_ENTITY_TAGS", 3, EXAMPLES)
    change = NetChange(
        1,
        is_exact=True,
        disclosure=disclosure,
        gained=ChangeSide(Tally(9, 2, 3), by_privilege | {"DELETE_ENTITY": Tally(1, 1, 1)}, [own]),
        kept_items=[KeptAccess(STELLA, "EDIT_ENTITY_DOCS", 1, ())],
    )
    sentences = net_change_wording.describe_net_change(change)
    assert sentences[:3] == [
        "2 people gain access to 3 entities.",
        "1 person gains Delete on 1 entity.",
        "7 people gain PRIVILEGE_A on 1 entity.",
    ]
    assert sentences[6:] == [
        "So it is with 3 other privileges.",
        "Stella Steward gains Edit Tags on 3 entities, for example urn:li:dataset:a, urn:li:dataset:b.",
        net_change_wording.CONCEALED,
        "Stella Steward keeps Edit Description on 1 entity, in another way.",
    ]
    nothing = NetChange(1, is_exact=True, disclosure=disclosure)
    assert net_change_wording.describe_net_change(nothing) == [net_change_wording.NOBODY_ON_ENTITIES]


def test_nothing_is_confirmed_without_a_number():
    assert net_change_wording.describe_net_change(NetChange(1, is_exact=False, disclosure=TOLD)) == [
        net_change_wording.NOBODY_COUNTED,
        net_change_wording.NOT_EXACT,
    ]
    for effect, is_disabled in (([], True), (["2 people lose access to 3 entities."], False), (None, False)):
        assert (
            "disabled" in render_to_string("components/modal.html", {"label": "Go", "effect": effect})
        ) is is_disabled
