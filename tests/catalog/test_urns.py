"""URNs: taken apart, made, refused, and the key aspects that follow from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import urns

DATASET = "urn:li:dataset:(urn:li:dataPlatform:snowflake,db.public.t,PROD)"


def test_a_dataset_comes_apart() -> None:
    urn = urns.parse(DATASET)
    assert (urn.type, urn.parts) == ("dataset", ("urn:li:dataPlatform:snowflake", "db.public.t", "PROD"))
    assert urn.key == "(urn:li:dataPlatform:snowflake,db.public.t,PROD)"
    assert urn.key_aspect == "datasetKey"
    assert urn.key_document == {"platform": "urn:li:dataPlatform:snowflake", "name": "db.public.t", "origin": "PROD"}
    assert (urn.identifier, urn.platform) == ("db.public.t", "urn:li:dataPlatform:snowflake")


def test_nested_brackets_stay_together() -> None:
    urn = urns.parse(f"urn:li:schemaField:({DATASET},a(b,c).d)")
    assert urn.parts == (DATASET, "a(b,c).d")
    assert urn.platform == "urn:li:dataPlatform:snowflake"
    assert urns.field_dataset_urns(urn.text) == (DATASET,)


@pytest.mark.parametrize(
    ("text", "aspect", "document"),
    [
        ("urn:li:role:reader", "roleKey", {"id": "reader"}),
        ("urn:li:dataHubPolicy:7", "dataHubPolicyKey", {"id": "7"}),
        ("urn:li:dataHubRole:Admin", "dataHubRoleKey", {"id": "Admin"}),
        ("urn:li:corpuser:jo", "corpUserKey", {"username": "jo"}),
        ("urn:li:corpGroup:eng", "corpGroupKey", {"name": "eng"}),
        ("urn:li:tag:a:b", "tagKey", {"name": "a:b"}),
        ("urn:li:container:1f", "containerKey", {"guid": "1f"}),
        ("urn:li:dashboard:(looker,7)", "dashboardKey", {"dashboardTool": "looker", "dashboardId": "7"}),
        ("urn:li:madeUp:(a,b)", "madeUpKey", {"id": "(a,b)"}),
    ],
)
def test_key_aspects(text: str, aspect: str, document: dict) -> None:
    urn = urns.parse(text)
    assert (urn.key_aspect, urn.key_document) == (aspect, document)


def test_platforms() -> None:
    assert urns.parse("urn:li:chart:(looker,7)").platform == "urn:li:dataPlatform:looker"
    assert urns.parse("urn:li:dataJob:(urn:li:dataFlow:(airflow,f,P),j)").platform == "urn:li:dataPlatform:airflow"
    for text in (
        "urn:li:tag:x",
        "urn:li:dataset:(urn:li:,x,PROD)",
        f"urn:li:chart:({'x' * 495},y)",
        "urn:li:dataset:(a,b)",
    ):
        assert urns.parse(text).platform is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "urn:li:",
        "urn:li:tag",
        "urn:li:tag:",
        "urn:li::x",
        "urn:lj:tag:x",
        "URN:li:tag:x",
        "urn:li:9tag:x",
        "urn:li:tag:x\x00",
        "urn:li:tag:\ud800",
        "urn:li:tag:x\n",
        "urn:li:tag:a\tb",
        "urn:li:tag:a\u2028b",
        " urn:li:tag:x",
        "urn:li:tag:x ",
        "urn:li:dataset:(a,b",
        "urn:li:dataset:(a,b))",
        "urn:li:dataset:(a,b)c",
        "urn:li:dataset:(a,,b)",
        "urn:li:dataset:()",
        "urn:li:dataset:((a)",
        "urn:li:tag:" + "x" * 502,
        "urn:li:tag:" + "é" * 251,
    ],
)
def test_what_is_no_urn(text: str) -> None:
    with pytest.raises(urns.InvalidUrn):
        urns.parse(text)


@pytest.mark.parametrize(
    "text", ["urn:li:tag:x" + "y" * 500, "urn:li:tag:a b%2F/+,é", "urn:li:glossaryTerm:a(b", "urn:li:tag:x)y"]
)
def test_what_is_one(text: str) -> None:
    assert urns.parse(text).text == text


PART = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="(),"), min_size=1, max_size=9
)


@given(st.lists(PART, min_size=2, max_size=4))
def test_making_and_parsing_are_inverse(parts: list[str]) -> None:
    assert urns.parse(urns.make("dataset", *parts)).parts == tuple(parts)


@given(st.text(max_size=40))
def test_the_type_of_any_text_can_be_asked(text: str) -> None:
    found = urns.entity_type(text)
    try:
        assert urns.parse(text).type == found
    except urns.InvalidUrn:
        assert isinstance(found, str)


def test_problems_have_their_place() -> None:
    assert urns.find_problem(DATASET, "/urn") is None
    wrong = urns.find_problem(DATASET, "/tags/0", ("tag",))
    assert wrong is not None
    assert (wrong.code, wrong.pointer) == ("urn.invalid", "/tags/0")
    assert urns.find_problem(7, "/urn") is not None
