"""The environment is read loudly: nonsense is one sentence with the name of the variable."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from authzsite import env


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("ON", True), ("1", True), ("no", False), (" off ", False)]
)
def test_a_switch_has_several_spellings(monkeypatch, value, expected):
    monkeypatch.setenv("SWITCH", value)
    assert env.flag("SWITCH", default=not expected) is expected


@pytest.mark.parametrize("value", ["maybe", "2", "tru", "None"])
def test_a_switch_refuses_other_words(monkeypatch, value):
    monkeypatch.setenv("SWITCH", value)
    with pytest.raises(ImproperlyConfigured, match=r"SWITCH is .* true or false"):
        env.flag("SWITCH", default=True)


def test_absent_and_empty_are_the_default(monkeypatch):
    monkeypatch.delenv("SWITCH", raising=False)
    assert env.flag("SWITCH", default=True)
    monkeypatch.setenv("SWITCH", "  ")
    assert env.flag("SWITCH", default=True)
    assert not env.is_set("SWITCH")


def test_two_spellings_of_one_switch_have_to_agree(monkeypatch):
    monkeypatch.setenv("ONE", "false")
    assert not env.combined_flag(("ONE", "OTHER"), default=True)
    monkeypatch.setenv("OTHER", "no")
    assert not env.combined_flag(("ONE", "OTHER"), default=True)
    monkeypatch.setenv("OTHER", "true")
    with pytest.raises(ImproperlyConfigured, match="ONE and OTHER are one switch"):
        env.combined_flag(("ONE", "OTHER"), default=True)


@pytest.mark.parametrize("value", ["0", "-5", "many", "1.5", "9" * 5000])
def test_a_whole_number_has_a_minimum(monkeypatch, value):
    monkeypatch.setenv("SECONDS", value)
    with pytest.raises(ImproperlyConfigured, match="SECONDS"):
        env.integer("SECONDS", default=120, minimum=1)


def test_a_choice_is_closed(monkeypatch):
    monkeypatch.setenv("STYLE", "yaml")
    with pytest.raises(ImproperlyConfigured, match="STYLE is 'yaml', but it has to be one of console, json"):
        env.choice("STYLE", default="json", choices=("console", "json"))


def test_a_list_is_written_with_commas(monkeypatch):
    monkeypatch.setenv("HOSTS", "a.example, b.example ,")
    assert env.names("HOSTS") == ["a.example", "b.example"]


def test_an_address_keeps_its_password_to_itself(monkeypatch):
    monkeypatch.setenv("BROKER", "amqp://me:secret@host")
    with pytest.raises(ImproperlyConfigured, match=r"^BROKER has to start with redis://") as refusal:
        env.address("BROKER", schemes=("redis", "rediss"))
    assert "secret" not in str(refusal.value)


def test_the_database_is_sqlite_unless_an_address_says_otherwise(monkeypatch):
    monkeypatch.setenv("STORE", "")
    default = Path("a place with 100% odd?names.sqlite3")
    assert env.database("STORE", default=default) == {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default)}
    monkeypatch.setenv("STORE", "postgres://me:p%40ss@db:5433/authz")
    settings = env.database("STORE", default=default)
    assert settings["ENGINE"] == "django.db.backends.postgresql"
    assert (settings["HOST"], settings["PORT"], settings["NAME"], settings["PASSWORD"]) == ("db", 5433, "authz", "p@ss")


@pytest.mark.parametrize("value", ["mysql://me@db/authz", "nonsense", "postgres://me@db:port/authz", "postgres://db"])
def test_a_database_nobody_can_reach_stops_the_start(monkeypatch, value):
    monkeypatch.setenv("STORE", value)
    with pytest.raises(ImproperlyConfigured, match=r"^STORE "):
        env.database("STORE", default=Path("db.sqlite3"))


def test_a_share_is_a_number_from_0_to_1(monkeypatch):
    for value, expected in (("0", 0.0), ("1", 1.0), ("0.25", 0.25), ("", 0.5)):
        monkeypatch.setenv("SHARE", value)
        assert env.fraction("SHARE", default=0.5) == expected


@pytest.mark.parametrize("value", ["-0.1", "1.01", "half", "nan", "inf", "10%"])
def test_a_share_refuses_anything_else(monkeypatch, value):
    monkeypatch.setenv("SHARE", value)
    with pytest.raises(ImproperlyConfigured, match=r"SHARE is .* from 0 to 1"):
        env.fraction("SHARE", default=0.5)


@pytest.mark.parametrize("value", ["authz.example", "https://", "ftp://authz.example", "https://authz.example/page"])
def test_an_origin_has_a_scheme_and_no_path(monkeypatch, value):
    monkeypatch.setenv("ORIGINS", f"https://authz.example:8443,{value}")
    with pytest.raises(ImproperlyConfigured, match="ORIGINS names"):
        env.origins("ORIGINS")
    monkeypatch.setenv("ORIGINS", "https://authz.example:8443, http://localhost")
    assert env.origins("ORIGINS") == ["https://authz.example:8443", "http://localhost"]


def test_a_folder_is_made_or_the_start_stops(monkeypatch, tmp_path):
    assert env.ensure_folder("FOLDER", default=tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("FOLDER", str(tmp_path / "file"))
    with pytest.raises(ImproperlyConfigured, match=r"^FOLDER is '.*file', which cannot be a folder: File exists\.$"):
        env.ensure_folder("FOLDER", default=tmp_path)


def test_pairs_are_words_and_what_they_mean(monkeypatch):
    monkeypatch.setenv("WORDS", "read=VIEW_ENTITY_PAGE, write = EDIT_ENTITY,")
    assert env.pairs("WORDS", default={}) == {"read": "VIEW_ENTITY_PAGE", "write": "EDIT_ENTITY"}
    monkeypatch.setenv("WORDS", " ")
    assert env.pairs("WORDS", default={"a": "b"}) == {"a": "b"}


@pytest.mark.parametrize("value", ["read", "read=", "=x", "a=b,a=c"])
def test_pairs_refuse_anything_else(monkeypatch, value):
    monkeypatch.setenv("WORDS", value)
    with pytest.raises(ImproperlyConfigured, match="WORDS"):
        env.pairs("WORDS", default={})


def test_one_origin_is_one(monkeypatch):
    monkeypatch.delenv("HOME_PAGE", raising=False)
    assert env.origin("HOME_PAGE") == ""
    monkeypatch.setenv("HOME_PAGE", "https://a.example")
    assert env.origin("HOME_PAGE") == "https://a.example"
    monkeypatch.setenv("HOME_PAGE", "https://a.example,https://b.example")
    with pytest.raises(ImproperlyConfigured, match="HOME_PAGE names 2 origins"):
        env.origin("HOME_PAGE")
