"""A document that is stored is the document that was sent; the three questions about it agree."""

import copy
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.engine.errors import InvalidPolicy
from policies.engine.families import datahub
from policies.engine.model import StatementOrigin
from tests import oracle, strategies
from tests.spec.tables import Asked
from tests.worlds import World

EXTRA = st.dictionaries(st.just("lastUpdatedTimestamp"), st.integers(0, 9), max_size=1)
UNKNOWN = st.dictionaries(st.sampled_from(["effects", "validTo", "x/y", ""]), st.integers(0, 9), min_size=1, max_size=2)


@given(raw=strategies.documents(), extra=EXTRA)
def test_parse_then_document_is_the_identity(raw: dict, extra: dict):
    sent = raw | extra
    before = copy.deepcopy(sent)
    stored = datahub.parse(sent)
    assert sent == before
    spelled = json.dumps(before).replace("policyConstraints", "privilegeConstraints")
    assert json.dumps(stored) == spelled
    assert json.dumps(datahub.parse(stored)) == spelled


@given(raw=strategies.documents(), unknown=UNKNOWN, data=st.data())
def test_an_unknown_field_at_any_depth_takes_a_document_out_of_force_and_is_kept(raw: dict, unknown: dict, data):
    sent = copy.deepcopy(raw) | {"state": "ACTIVE"}
    place = data.draw(st.sampled_from(list(objects_in(sent))))
    place.update(unknown)
    assert datahub.compile(sent, StatementOrigin("urn:li:dataHubPolicy:p", "p")) == ()
    with pytest.raises(InvalidPolicy) as refused:
        datahub.parse(sent)
    assert [problem.code for problem in refused.value.problems] == ["field.unknown"] * len(unknown)
    stored = datahub.parse(sent, keeps_unknown=True)
    spelled = json.dumps(sent | {"state": "INACTIVE"}).replace("policyConstraints", "privilegeConstraints")
    assert json.dumps(stored) == spelled
    activated = datahub.compile(datahub.as_active(stored), StatementOrigin("", ""))
    assert activated == datahub.compile(raw | {"state": "ACTIVE"}, StatementOrigin("", ""))


def objects_in(value: object) -> Iterator[dict]:
    """Yield every object of a document, on all levels."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(inner)


@given(raw=strategies.documents())
def test_a_stored_document_means_what_was_sent(raw: dict):
    origin = StatementOrigin("urn:li:dataHubPolicy:p", "p")
    assert datahub.compile(datahub.parse(raw), origin) == datahub.compile(raw, origin)


@given(raw=strategies.documents(odd=True))
def test_odd_criteria_are_refused_with_their_place(raw: dict):
    block = raw["resources"] or {}
    filters = [(name, part) for name, part in block.items() if name == "filter" and part["criteria"]]
    if not filters:
        datahub.parse(raw)
        return
    try:
        datahub.parse(raw)
    except InvalidPolicy as refused:
        places = {problem.pointer for problem in refused.problems}
        expected = {f"/resources/filter/criteria/{index}" for index in range(len(filters[0][1]["criteria"]))}
        assert {"/".join(place.split("/")[:5]) for place in places} == expected
        return
    raise AssertionError("an odd criterion was accepted")


@given(world=strategies.worlds(denies=False), asked=strategies.questions())
def test_the_questions_agree(world: World, asked: Asked):
    raw, policies = world.raw, world.policies
    allowed, because = oracle.authorize(raw, policies, asked.actor, asked.privilege, asked.resource, (), asked.type)
    stored = [name for name in because if name != oracle.SELF_POLICY]
    granted = oracle.granted_privileges(raw, policies, asked.actor, asked.resource, asked.type)
    assert (asked.privilege in granted) == (allowed and bool(stored))
    named = oracle.who(raw, policies, asked.privilege, asked.resource, asked.type)
    actor = world.actor(asked.actor)
    is_named = (
        named["all_users"]
        or (named["all_groups"] and bool(actor.groups))
        or actor.urn in named["users"]
        or not actor.groups.isdisjoint(named["groups"])
        or not actor.roles.isdisjoint(named["roles"])
    )
    if actor.is_active and actor.urn != oracle.SYSTEM_ACTOR:
        conditional = {name for name, one in policies if oracle.hangs_on_actor(one)}
        assert is_named == bool(set(stored) - conditional)
