"""The time in which something counts: how it is written, and what part of it an instant is in."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.engine.errors import InvalidPolicy
from policies.engine.families import datahub
from policies.engine.families.validity import Phase, Validity, parse_instant, read_stored_instant, to_milliseconds
from policies.engine.model import StatementOrigin
from tests.worlds import document

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
INSTANTS = st.datetimes(datetime(1971, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@pytest.mark.parametrize(
    "value",
    [
        "2026-12-01T12:00:00Z",
        "2026-12-01T13:00:00+01:00",
        "2026-12-01T12:00:00.000000+00:00",
        "20261201T120000Z",
        1_796_126_400_000,
    ],
)
def test_an_instant_in_each_spelling(value):
    assert parse_instant(value) == NOON


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("2026-12-01T12:00:00", "no offset"),
        ("2026-12-01", "no offset"),
        ("tomorrow", "no time"),
        ("2026-12-01T12:00:00+99:99", "beyond 23:59"),
        ("2026-12-01T12:00:00-24:00", "beyond 23:59"),
        ("2026-12-01T12:00:00+", "no time"),
        ("2026-13-01T12:00:00+01:00", "no time"),
        ("", "no time"),
        ("0001-01-01T00:00:00+14:00", "between the years"),
        ("2036-12-01T00:00:00+99:99", "^The offset of this time is beyond 23:59; write for example"),
        ("2036-12-01T00:00:00-24:00", "^The offset of this time is beyond 23:59; write for example"),
        (0, "look like seconds"),
        (1_893_456_000, "look like seconds"),
        (10**11 - 1, "look like seconds"),
        (-1, "between 1970 and 9999"),
        (253_402_300_800_000, "between 1970 and 9999"),
        (True, "ISO 8601"),
        (1.5, "ISO 8601"),
        ([], "ISO 8601"),
        ({}, "ISO 8601"),
    ],
)
def test_what_is_no_instant(value, words):
    with pytest.raises(ValueError, match=words):
        parse_instant(value)


def test_a_stored_document_means_what_it_meant():
    assert parse_instant(10**11) == read_stored_instant(10**11)
    stored = document(validFrom=1_893_456_000, validUntil=2 * 10**12)
    columns = datahub.column_values(stored)
    assert columns["valid_from"] == datetime(1970, 1, 22, 21, 57, 36, tzinfo=UTC)
    spelled = datahub.spell_stored_times(stored)
    assert spelled == stored | {"validFrom": "1970-01-22T21:57:36+00:00"}
    assert datahub.column_values(datahub.parse(spelled)) == columns


@given(INSTANTS.filter(lambda instant: instant.year > 1973))
def test_an_instant_has_been_reached_at_its_milliseconds(instant):
    milliseconds = to_milliseconds(instant)
    assert parse_instant(milliseconds) >= instant
    assert parse_instant(milliseconds) - instant < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("begins", "ends", "phase", "boundaries"),
    [
        (None, None, Phase.CURRENT, 0),
        (0, None, Phase.CURRENT, 0),
        (1, None, Phase.PENDING, 1),
        (1, 2, Phase.PENDING, 2),
        (-1, 1, Phase.CURRENT, 1),
        (None, 0, Phase.ENDED, 0),
        (-2, -1, Phase.ENDED, 0),
    ],
)
def test_phases(begins, ends, phase, boundaries):
    validity = Validity(*(None if hours is None else NOON + timedelta(hours=hours) for hours in (begins, ends)))
    assert validity.find_phase(NOON) is phase
    assert len(validity.list_boundaries(phase)) == boundaries


@pytest.mark.parametrize(
    ("times", "problems"),
    [
        ({"validFrom": None, "validUntil": None}, []),
        ({"validFrom": "2026-12-01T12:00:00Z", "validUntil": 1_796_126_400_001}, []),
        ({"validFrom": "2026-12-01T12:00:00Z", "validUntil": 1_796_126_400_000}, [("/validUntil", "validity.empty")]),
        ({"validFrom": 2 * 10**11, "validUntil": 10**11}, [("/validUntil", "validity.empty")]),
        ({"validFrom": 1, "validUntil": 2}, [("/validFrom", "type.time"), ("/validUntil", "type.time")]),
        (
            {"validFrom": "x", "validUntil": "2026-12-01T12:00"},
            [("/validFrom", "type.time"), ("/validUntil", "type.time")],
        ),
        ({"validUntil": {}}, [("/validUntil", "type.time")]),
    ],
)
def test_a_document_with_times(times, problems):
    raw = document(**times)
    if problems:
        with pytest.raises(InvalidPolicy) as refused:
            datahub.parse(raw)
        assert [(problem.pointer, problem.code) for problem in refused.value.problems] == problems
    else:
        assert datahub.parse(raw) == raw
        assert len(datahub.compile(raw, StatementOrigin("p", "p"))) == 1


def test_columns_of_a_document_with_times():
    columns = datahub.column_values(document(validFrom="2026-12-01T13:00:00+01:00", validUntil=None))
    assert (columns["valid_from"], columns["valid_until"]) == (NOON, None)
