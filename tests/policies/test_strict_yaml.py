"""Strict YAML: read as JSON values, written so that it is read back, refused with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.writes import strict_yaml
from policies.writes.strict_yaml import InvalidYaml

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12) | st.sampled_from(
    ["yes", "on", "007", "1e5", "2026-01-01", "~", "null", "", "1:30", "0x1f", "<<", "=", "- a", "# b", "a: b", "&c"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_is_read_back_from_its_text(value):
    assert strict_yaml.loads(strict_yaml.dump(value)).value == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("2026-12-01", "2026-12-01"),
        ("007", "007"),
        ("1", 1),
        ("1.5", 1.5),
        ("'1'", "1"),
        ("true", True),
        ("", None),
        ("~", None),
    ],
)
def test_only_words_of_json_are_no_texts(text, value):
    assert strict_yaml.loads(f"a: {text}").value == {"a": value}


BOMB = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(40))


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: 1\nb: 2\na: 3", 3, "The key 'a' stands twice."),
        (BOMB, 1, "Anchors"),
        ("a:\n  - *b", 2, "Aliases"),
        ("a: !!python/object/apply:os.system ['true']", 1, "Tags"),
        ("[" * 70, 1, "nested too deeply"),
        ("---\na: 1\n---\nb: 1", 3, "one document"),
        ("? [a]\n: 1", 1, "A key is a text"),
        ("a: 1e999", 1, "beyond every number"),
        ("a: " + "1" * 40, 1, "digits"),
        ("a:\n  - b\n c", 3, "This is no YAML"),
        ("x" * (strict_yaml.MAX_LENGTH + 1), 1, "characters"),
    ],
)
def test_what_is_ambiguous_or_oversized_is_one_problem_with_its_line(text, line, reason):
    with pytest.raises(InvalidYaml) as refusal:
        strict_yaml.loads(text)
    assert refusal.value.line == line
    assert reason in refusal.value.detail


def test_parts_have_lines():
    document = strict_yaml.loads("# c\na:\n  - b\n  -\n    d: 1\n")
    assert [document.find_line(pointer) for pointer in ("/a", "/a/0", "/a/1/d", "/a/1/d/e", "/z")] == [2, 3, 5, 5, 2]
