"""What of a summary can be shown, and that another shape is passed over."""

import pytest

from catalog.reports.summary import Bar, Chart, Number, Summary


def test_numbers_and_charts_are_read_in_their_order():
    bars = [{"label": "Sales", "urn": "urn:li:domain:sales", "value": 17}, {"label": "None", "value": 2}]
    found = Summary.parse(
        {
            "numbers": [{"title": "People", "value": 120}],
            "charts": [{"name": "domains", "title": "By domain", "bars": bars}],
            "more": {"of": "the job"},
        }
    )
    assert found.numbers == (Number("People", 120),)
    expected = (Bar("Sales", 17, "urn:li:domain:sales"), Bar("None", 2))
    assert found.charts == (Chart("domains", "By domain", expected),)


@pytest.mark.parametrize(
    "summary",
    [
        None,
        [],
        {"numbers": 3, "charts": "none", "notes": "none", "unjudged": [1, None], "warnings": 1},
        {"numbers": [{"title": "x", "value": True}, {"value": 1}, "x"], "charts": [{"bars": []}, {"name": "x"}]},
        {"charts": [{"name": "x", "bars": [{"value": 1}, {"label": "x", "value": "1"}]}]},
    ],
)
def test_what_has_another_shape_is_passed_over(summary):
    assert Summary.parse(summary) == Summary((), ())


def test_a_bar_may_be_named_by_its_urn_alone_and_is_never_less_than_nothing():
    bars = [{"urn": "urn:li:tag:PII", "value": -1}]
    (chart,) = Summary.parse({"charts": [{"name": "tags", "bars": bars}]}).charts
    assert chart == Chart("tags", "tags", (Bar("urn:li:tag:PII", 0, "urn:li:tag:PII"),))
