"""Reading assertions: what each form means, and every problem at once with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.assertions import parser
from catalog.assertions.parser import AssertionKind, Expectation, InvalidAssertions
from policies.engine.selectors import Condition, Criterion

WHOLE = """\
assertions:
  - name: Only the PII readers see what is tagged PII
    nobody:
      outside: [urn:li:corpGroup:pii-readers, urn:li:corpuser:auditor]
      may: [VIEW_ENTITY_PAGE, EDIT_ENTITY]
      on:
        type: [dataset, chart]
        tag: urn:li:tag:PII
        not: {domain: urn:li:domain:public}
  - name: Readers read all of Finance on Hive
    every:
      in: urn:li:dataHubRole:Reader
      may: VIEW_ENTITY_PAGE
      on: {domain: urn:li:domain:finance, platform: urn:li:dataPlatform:hive}
  - name: Nobody but administrators manages policies
    nobody: {outside: "urn:li:dataHubRole:Admin", may: MANAGE_POLICIES}
  - name: Single answers
    expect:
      - [urn:li:corpuser:jo, VIEW_ENTITY_PAGE, "urn:li:dataset:(a,b,PROD)", ALLOW]
      - [urn:li:corpuser:jo, MANAGE_POLICIES, deny]
      - person: urn:li:corpuser:al
        privilege: EDIT_ENTITY
        entity: urn:li:chart:(looker,x)
        answer: DENY
"""


def criterion(field: str, *values: str, condition: Condition = Condition.EQUALS) -> Criterion:
    return Criterion(field, condition, frozenset(values))


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidAssertions) as refused:
        parser.parse(text)
    return [f"{one.pointer}: {one.detail}" for one in refused.value.problems]


def test_every_form():
    pii, finance, admins, answers = parser.parse(WHOLE)
    assert (pii.kind, pii.line) == (AssertionKind.NOBODY, 2)
    assert pii.holders == {"urn:li:corpGroup:pii-readers", "urn:li:corpuser:auditor"}
    assert pii.privileges == ("VIEW_ENTITY_PAGE", "EDIT_ENTITY")
    assert pii.scope.criteria == (
        criterion("TYPE", "dataset", "chart"),
        criterion("TAG", "urn:li:tag:PII"),
        criterion("DOMAIN", "urn:li:domain:public", condition=Condition.NOT_EQUALS),
    )
    assert (finance.kind, finance.holders) == (AssertionKind.EVERY, frozenset({"urn:li:dataHubRole:Reader"}))
    assert finance.scope.criteria == (
        criterion("DOMAIN", "urn:li:domain:finance"),
        criterion(
            "URN",
            "urn:li:dataset:(urn:li:dataPlatform:hive,",
            "urn:li:dataset:(hive,",
            condition=Condition.STARTS_WITH,
        ),
    )
    assert (admins.privileges, admins.platform_privileges) == ((), ("MANAGE_POLICIES",))
    assert answers.expectations == (
        Expectation("urn:li:corpuser:jo", "VIEW_ENTITY_PAGE", "urn:li:dataset:(a,b,PROD)", True, 19),
        Expectation("urn:li:corpuser:jo", "MANAGE_POLICIES", "", False, 20),
        Expectation("urn:li:corpuser:al", "EDIT_ENTITY", "urn:li:chart:(looker,x)", False, 21),
    )


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "[]", "assertions: []"])
def test_an_empty_text_asserts_nothing(text):
    assert parser.parse(text) == ()


def test_a_bare_list_is_as_good():
    assert parser.parse("- name: a\n  nobody: {may: EDIT_ENTITY}\n")[0].name == "a"


def test_every_problem_at_once():
    text = """\
- nobody: {may: EDIT_ENTITY}
- name: two
  nobody: {may: EDIT_ENTITY}
  every: {in: urn:li:corpuser:jo, may: EDIT_ENTITY}
- name: three
  nobody: {outside: jo, may: [EDIT_ENTITEE], on: {tagg: urn:li:tag:x, type: []}}
- name: four
  every: {may: EDIT_ENTITY}
- name: five
  expect:
    - [urn:li:corpuser:jo, EDIT_ENTITY, urn:li:dataset:(a,b,PROD), ALLOW]
    - [urn:li:corpuser:jo, EDIT_ENTITY, ALLOW]
    - [urn:li:corpGroup:x, MANAGE_POLICIES, perhaps]
    - [urn:li:corpuser:jo, MANAGE_POLICIES, urn:li:tag:x, ALLOW]
- name: six
  nobody: {may: MANAGE_POLICIES, on: {tag: urn:li:tag:x}}
"""
    assert problems(text) == [
        "line 1: An assertion needs a name; findings are kept under it.",
        "line 2: An assertion says one of `nobody`, `every` and `expect`.",
        "line 6: 'jo' does not begin with urn:li:corpuser: or urn:li:corpGroup: or urn:li:dataHubRole:",
        "line 6: There is no `tagg` here; is `tag` meant?",
        "line 6: There is no privilege 'EDIT_ENTITEE'."
        " Is EDIT_ENTITY or EDIT_ENTITY_EMBED or EDIT_ENTITY_QUERIES meant?",
        "line 6: This list is empty.",
        "line 8: `in` is missing: the people, groups or roles that may.",
        "line 11: An answer is [person, privilege, entity, ALLOW or DENY], without entity about the platform."
        " A URN with a comma needs quotes.",
        "line 12: EDIT_ENTITY is about entities, so one is named with it.",
        "line 13: 'urn:li:corpGroup:x' does not begin with urn:li:corpuser:",
        "line 13: The answer is ALLOW or DENY, not 'PERHAPS'.",
        "line 14: MANAGE_POLICIES is about the platform, so no entity is named with it.",
        "line 16: MANAGE_POLICIES: this is about the platform and not about entities.",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: b", "line 1: There is no `a` here; known are `assertions`."),
        ("assertions: 3", "line 1: This must be a list of assertions, each beginning with `- name:`."),
        ("- x", "line 1: This must be a mapping with `name`, `nobody`, `every`, `expect`."),
        ("- name: a\n  name: b\n  nobody: {may: EDIT_ENTITY}", "line 2: `name` stands here twice."),
        (
            "- name: a\n  expect: []",
            "line 2: `expect` is a list of answers: [person, privilege, entity, ALLOW or DENY].",
        ),
        ("- name: a\n  nobody: {}", "line 2: `may` is missing: the privileges that this is about."),
        ("- name: [a]\n  nobody: {may: EDIT_ENTITY}", "line 1: This must be a name."),
        ("- name: &a x\n- *a", "line 1: This is no YAML: anchors (&name) and tags (!name) are not read here."),
        ("[" * 100_000, "line 1: This is no YAML: this is nested too deep."),
        ("- name: 'a", "line 1: This is no YAML: found unexpected end of stream."),
        ("- {name: a, expect: [{person: urn:li:corpuser:a}]}", "line 1: `answer` is missing."),
        (
            "- name: a\n  nobody: {may: EDIT_ENTITY}\n- name: a\n  nobody: {may: EDIT_ENTITY}",
            "line 3: The name 'a' is taken on line 1 already.",
        ),
        ("x" * (parser.MAX_TEXT_LENGTH + 1), "line 1: A text has up to 1,000,000 characters, not 1,000,001."),
        ("- a\n" * 2001, "line 1: A text holds up to 2,000 assertions, not 2,001."),
    ],
    ids=str,
)
def test_one_problem(text, said):
    assert said in problems(text)


_PIECES = [
    "- ",
    "name: ",
    "nobody: ",
    "every:",
    "expect: ",
    "may: ",
    "on: ",
    "in: ",
    "EDIT_ENTITY",
    "\n",
    "\n  ",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "urn:li:corpuser:a",
    "'",
    "#",
    "&a ",
    "*a",
    "!!x ",
    "\x00",
    "\ud800",
    "? ",
    "|",
    "%",
    "---",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(_PIECES), max_size=30).map("".join)))
def test_any_text_is_read_or_refused_with_a_line(text: str):
    found: tuple = ()
    try:
        parser.parse(text)
    except InvalidAssertions as refused:
        found = refused.problems
    assert all(one.pointer.startswith("line ") and one.detail for one in found)
