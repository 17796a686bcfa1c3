"""Row conditions: what is let in, and everything else (rules/datazone.md DZ-50, DZ-51)."""

import pytest

from policies.engine.families.datazone_row_conditions import (
    MAX_CONDITION_DEPTH,
    MAX_CONDITION_LENGTH,
    find_problem,
    list_columns,
)

FINE = [
    "country = 'USA'",
    "region = 'EMEA' OR region IS NULL",
    "status IN ('open', 'late') AND NOT is_hidden",
    "price BETWEEN 1 AND 2.5",
    "name LIKE 'A%'",
    "date '2024-01-01' <= signed_on",
    "upper(trim(country)) <> 'CH'",
    "coalesce(owner, 'nobody') = 'me'",
    "address.city = 'Bern'",
    "`order by` = 1",
    "`prénom` = 'é'",
    '"US" = country',
    "CASE WHEN a THEN b ELSE c END",
    "cast(price AS decimal(10, 2)) > 1",
    "a <=> b",
    "year(signed_on) = 2024",
    "name = 'a' 'b'",
    "TRUE",
]

REFUSED = [
    # Stacked statements and clauses.
    ("a = 1; DROP TABLE x", "cannot be read"),
    ("a = 1; ", "cannot be read"),
    ("a = 1 LIMIT 1", "cannot be read"),
    ("a = 1 UNION SELECT 1", "cannot be read"),
    ("a = 1) OR (1 = 1", "cannot be read"),
    ("a = 1, b = 2", "cannot be read"),
    ("DROP TABLE x", "cannot be read"),
    ("SELECT TRUE", "cannot be read"),
    ("", "cannot be read"),
    ("a = 1 AND", "character 9"),
    ("(a = 1", "cannot be read"),
    ("a = 'x", "not closed"),
    ("a b", "cannot be read"),
    # Comments, hints too.
    ("a = 1 -- rest", "comments"),
    ("a = 1 /* rest */", "comments"),
    ("a /*+ BROADCAST(b) */ = 1", "comments"),
    ("-- all\nTRUE", "comments"),
    # Sub-selects.
    ("a IN (SELECT b FROM c)", "list of values"),
    ("a = (SELECT 1)", "a query"),
    ("EXISTS (SELECT 1)", "true or false"),
    ("a = 1 OR EXISTS (SELECT 1)", "not allowed"),
    # Functions that look around, read files or call Java.
    ("java_method('java.lang.Runtime', 'exit') = 1", "java_method"),
    ("reflect('a', 'b') = 1", "reflect"),
    ("input_file_name() = 'x'", "input_file_name"),
    ("read_files('/etc/passwd') = 1", "read_files"),
    ("from_json(a, 'b int') = 1", "from json"),
    ("load_extension('x') = 1", "load_extension"),
    ("pg_read_file('x') = 'y'", "pg_read_file"),
    ("pg_sleep(10) = 1", "pg_sleep"),
    ("my.own(a) = 1", "not allowed"),
    ("rand() < 0.5", "not allowed"),
    ("uuid() = a", "not allowed"),
    ("current_user() = owner", "not allowed"),
    ("CURRENT_USER = owner", "not allowed"),
    ("user = 'me'", "who is asking"),
    ("session_user = 'me'", "not"),
    # Two texts to one version of Spark, one text to the next.
    ("a = 'x''y'", "two quotes"),
    ('a = "x""y"', "two quotes"),
    # What one row cannot answer, and what is no value.
    ("sum(a) > 1", "aggregate"),
    ("count(*) > 1", "aggregate"),
    ("row_number() OVER (ORDER BY a) = 1", "window"),
    ("transform(a, x -> x)", "true or false"),
    ("exists(a, x -> x = 1)", "true or false"),
    ("explode(a) = 1", "explode"),
    ("* = 1", "star"),
    ("a.* = 1", "star"),
    ("a[0] = 1", "bracket"),
    ("1", "true or false"),
    ("price + 1", "true or false"),
    ("a AS b", "cannot be read"),
    ("struct(a, b) = struct(1, 2)", "struct"),
    # Parameters, variables, templates.
    ("a = ?", "parameter"),
    ("a = :p", "parameter"),
    ("a = ${env:HOME}", ""),
    ("a = @x", "variable"),
    ("a = {{ x }}", "parameter"),
    # Patterns that come from the data; casts to structures.
    ("a LIKE b", "between quotes"),
    ("a RLIKE b", "between quotes"),
    ("a LIKE 'x!_' ESCAPE '!'", ""),
    ("cast(a AS array<int>) = b", "cast"),
    ("a = X'41'", "not allowed"),
    # Letters that look like others.
    ("\u0430 = 1", "ASCII"),
    ("n\u0430me = 'x'", "ASCII"),
    ("a \uff1d 1", ""),
    ("a = \u2019x\u2019", ""),
    ("`a\x00b` = 1", "printable"),
    ("`a\u202eb` = 1", "printable"),
]


@pytest.mark.parametrize("text", FINE)
def test_dz_50_a_boolean_expression_over_columns_is_fine(text: str):
    assert find_problem(text) is None


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[text for text, _ in REFUSED])
def test_dz_50_everything_else_is_refused(text: str, words: str):
    said = find_problem(text)
    assert said is not None
    assert words in said
    assert "sqlglot" not in said.lower()
    assert said.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "a" * (MAX_CONDITION_LENGTH + 1),
        "a = '" + "x" * 100_000 + "'",
        "(" * 1500 + "a = 1" + ")" * 1500,
        "NOT " * 900 + "a",
        "a = 1" + " AND a = 1" * (MAX_CONDITION_DEPTH + 1),
        "a = " + "-" * 1900 + "1",
        "CASE WHEN a THEN " * 200 + "a" + " END" * 200,
        "(" * 3999,
        "`" * 3999,
        "'" * 3999,
    ],
    ids=lambda text: f"{text[:12]}… {len(text)}",
)
def test_dz_50_long_and_deep_conditions_are_refused_quickly(text: str):
    assert find_problem(text)


def test_dz_51_the_columns_of_a_condition():
    assert set(list_columns("A = 1 AND address.city = 'x' OR a = `b c`")) == {"A", "address.city", "a", "b c"}
