"""Decisions read back from JSON: whatever is not exactly one that allows shows nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.spark.decisions import AccessDenied, CannotRead, InvalidDecision, parse_role_slices
from policies.decisions.api.decision_serializers import serialize_decision
from policies.engine.model import Decision, DecisionCode
from policies.engine.restrictions import RoleSlice
from tests.spark.frames import allowed, part

Json = dict[str, Any]


def test_what_the_api_sends_is_read_back() -> None:
    slices = (RoleSlice("r", ("region = 'EMEA'", "a > 1"), ("id", "Name"), None), RoleSlice("s", (), None, None))
    for code in (DecisionCode.ALLOWED, DecisionCode.POLICIES_DISABLED, DecisionCode.SYSTEM_ACTOR):
        for known in (None, slices):
            sent = json.loads(
                json.dumps(serialize_decision(Decision(is_allowed=True, code=code, version=7, slices=known)))
            )
            assert parse_role_slices(sent) == known


def test_a_refusal_is_refused_with_its_code() -> None:
    for code in (
        DecisionCode.EXPLICIT_DENY,
        DecisionCode.IMPLICIT_DENY,
        DecisionCode.NO_COLUMNS,
        DecisionCode.ACTOR_SUSPENDED,
    ):
        sent = serialize_decision(Decision(is_allowed=False, code=code, version=7))
        with pytest.raises(AccessDenied) as raised:
            parse_role_slices(sent)
        assert (raised.value.code, str(raised.value)) == (code.value, f"This is not allowed ({code.value}).")


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"decision": "allow"}, "/decision"),
        ({"decision": True}, "/decision"),
        ({"decision": None}, "/decision"),
        ({"decision": ["ALLOW"]}, "/decision"),
        ({"decision": "PERMIT"}, "/decision"),
        ({"code": "explicit_deny"}, "/code"),
        ({"code": "because"}, "/code"),
        ({"code": ["allowed"]}, "/code"),
        ({"restrictions": {}}, "/restrictions"),
        ({"restrictions": ""}, "/restrictions"),
        ({"restrictions": False}, "/restrictions"),
        ({"restrictions": [None]}, "/restrictions/0"),
        ({"restrictions": [[]]}, "/restrictions/0"),
        ({"restrictions": [{"role": "r", "rows": []}]}, "/restrictions/0/columns"),
        ({"restrictions": [{"role": "r", "columns": None}]}, "/restrictions/0/rows"),
        ({"restrictions": [{"rows": [], "columns": None}]}, "/restrictions/0/role"),
        ({"restrictions": [part() | {"role": 1}]}, "/restrictions/0/role"),
        ({"restrictions": [part() | {"rows": None}]}, "/restrictions/0/rows"),
        ({"restrictions": [part() | {"rows": "a = 1"}]}, "/restrictions/0/rows"),
        ({"restrictions": [part(), part("a = 1") | {"columns": "id"}]}, "/restrictions/1/columns"),
        ({"restrictions": [part(columns=["id"]) | {"columns": ["id", 1]}]}, "/restrictions/0/columns/1"),
        ({"restrictions": [part() | {"masks": []}]}, "/restrictions/0/masks"),
        ({"restrictions": [part() | {"paths": ["src"]}]}, "/restrictions/0/paths"),
        ({"restrictions": [part() | {"paths": None}]}, "/restrictions/0/paths"),
    ],
)
def test_what_is_not_understood_shows_nothing(changed: Json, pointer: str) -> None:
    """An unknown key is an unknown restriction; one of paths is about a repository and not about a table (DZ-63)."""
    with pytest.raises(InvalidDecision) as raised:
        parse_role_slices(allowed(None) | changed)
    assert (raised.value.code, raised.value.pointer) == ("decision.invalid", pointer)


@pytest.mark.parametrize(
    "row",
    [
        "1 = 1) OR (1 = 1; DROP TABLE t",
        "id IN (SELECT id FROM other)",
        "java_method('java.lang.Runtime', 'exit') = 1",
        "current_user() = 'root'",
        "a = 1 -- and b = 2",
        "a = :x",
        "id + 1",
        "",
        "a = ",
        f"{'(' * 200}a = 1{')' * 200}",
    ],
)
def test_dz_50_a_condition_that_no_policy_could_hold_shows_nothing(row: str) -> None:
    with pytest.raises(InvalidDecision) as raised:
        parse_role_slices(allowed([part("a = 1", row)]))
    assert raised.value.pointer == "/restrictions/0/rows/1"


@pytest.mark.parametrize("key", ["decision", "code", "restrictions"])
def test_a_decision_that_lacks_a_part_shows_nothing(key: str) -> None:
    sent = {name: value for name, value in allowed(None).items() if name != key}
    with pytest.raises(InvalidDecision) as raised:
        parse_role_slices(sent)
    assert raised.value.pointer == f"/{key}"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["ALLOW", "DENY", "allowed"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["decision", "code", "restrictions", "role", "rows", "columns", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(anything)
def test_any_json_is_a_decision_or_refused(sent: object) -> None:
    try:
        parse_role_slices(sent)
    except CannotRead:
        return
    assert isinstance(sent, dict)
    assert (sent["decision"], sent["code"]) == ("ALLOW", "allowed")
