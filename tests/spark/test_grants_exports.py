"""`exports.json` is understood whole or refused with everything that is wrong with it."""

import json
from typing import Any

import pytest

from catalog.warehouses.exports import parse_exports
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.warehouse import BadExports, Export

SNOW: dict[str, Any] = {"name": "snow", "platform": "snowflake", "form": "snowflake", "grants": ["a.csv"]}


def dialect_of(export: Export) -> str:
    """Return the name of the dialect of an export."""
    return export.dialect.name if export.dialect else ""


def text(*exports: Any) -> str:
    return json.dumps({"exports": list(exports)})


def test_what_is_left_out_follows_from_form_and_platform() -> None:
    big = {"name": "bq", "platform": "bigquery", "form": "bigquery", "grants": ["b"], "levels": {"x/y": "write"}}
    red = {"name": "red", "platform": "redshift", "form": "csv", "grants": ["c"]}
    snow, bigquery, redshift = parse_exports(text(SNOW, big, red))
    assert (dialect_of(snow), snow.spelling, snow.has_groups) == ("snowflake", "upper", False)
    assert (dialect_of(bigquery), bigquery.spelling, bigquery.has_groups) == (
        "bigquery",
        "exact",
        True,
    )
    assert (dialect_of(redshift), redshift.spelling, redshift.has_groups) == (
        "redshift",
        "exact",
        False,
    )
    assert (bigquery.vocabulary["x/y"], snow.vocabulary["SELECT"]) == (WRITE, READ)


@pytest.mark.parametrize("form", ["databricks", "redshift", "postgres", "trino"])
def test_forms_of_views_fold_names_and_have_a_dialect(form: str) -> None:
    named = {"role_prefix": "r_", "email_domain": "x.example", "database": "dev"}
    (export,) = parse_exports(text({"name": "a", "platform": "hive", "form": form, "grants": ["a"]} | named))
    assert (dialect_of(export), export.spelling, export.has_groups) == (
        form,
        "lower",
        form == "databricks",
    )
    assert (export.owner, export.database) == ("", "dev")
    # People have addresses, roles do not.
    assert (export.role_name("r_Reader"), export.account_name("Ann")) == ("reader", "ann@x.example")
    assert export.role_identifier("ann@x.example") == "r_ann@x.example"


def test_names_go_both_ways() -> None:
    named = {"role_prefix": "snow_", "roles": {"Odd": "other"}, "email_domain": "x.example"}
    (export,) = parse_exports(text(SNOW | named))
    assert (export.role_identifier("READER"), export.role_name("snow_reader")) == ("snow_reader", "READER")
    assert (export.role_identifier("odd"), export.role_name("other")) == ("other", "Odd")
    assert (export.normalize("Ann@X.example"), export.account_name("ann")) == ("ann", "ANN@x.example")


def test_a_name_as_it_stands_goes_before_one_in_other_letters() -> None:
    (export,) = parse_exports(text(SNOW | {"roles": {"CASEY": "large", "casey": "small"}}))
    assert [export.role_identifier(name) for name in ("CASEY", "casey")] == ["large", "small"]


@pytest.mark.parametrize(
    ("sent", "sentences"),
    [
        ("{", ["is no JSON"]),
        ("[]", ["has to hold"]),
        (text(), ["has to hold"]),
        (text(1), ["exports/0 is no object."]),
        (text({"grant": []}), ["unknown key 'grant'", "exports/0/name is missing.", "exports/0/grants is missing."]),
        (text(SNOW | {"grants": "a.csv"}), ["exports/0/grants has to be a list of texts."]),
        (text(SNOW | {"has_groups": "yes"}), ["exports/0/has_groups has to be true or false."]),
        (text(SNOW | {"roles": {"a": 1}}), ["exports/0/roles has to be an object of texts."]),
        (
            text(SNOW | {"form": "oracle"}),
            ["exports/0/form has to be one of snowflake, bigquery, databricks, redshift, postgres, trino, csv."],
        ),
        (text(SNOW | {"levels": {"X": "MOST"}}), ["exports/0/levels/X has to be one of READ, WRITE, ADMIN."]),
        (text(SNOW | {"levels": {str(n): "READ" for n in range(60)}}), ["names too many privileges"]),
        (
            text(SNOW | {"platform": "snow,flake", "env": "PROD,DEV"}),
            ["exports/0/platform has a comma", "exports/0/env has a comma"],
        ),
        (text(SNOW, SNOW), ["Two exports are called snow.", "give each its own instance"]),
        (text(SNOW | {"instance": "eu"}, SNOW | {"name": "all"}), ["give each its own instance"]),
    ],
)
def test_everything_that_is_wrong_is_said(sent: str, sentences: list[str]) -> None:
    with pytest.raises(BadExports) as raised:
        parse_exports(sent)
    for sentence in sentences:
        assert sentence in str(raised.value)


def test_a_single_file_beside_the_grants_needs_no_list() -> None:
    keys = ("hierarchy", "denies", "policies", "usage")
    (export,) = parse_exports(text(SNOW | dict.fromkeys(keys, "file")))
    assert [getattr(export, key) for key in keys] == [("file",)] * 4


def test_installations_stand_beside_one_another() -> None:
    assert len(parse_exports(text(SNOW | {"instance": "eu"}, SNOW | {"name": "us", "instance": "us"}))) == 2
