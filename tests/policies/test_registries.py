"""Registries: what the settings name comes first and in its order, and packages add to it by entry points."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from policies import registries

PATHS = {"first": "policies.registries.load_entry", "second": "policies.registries.load_entries"}


@pytest.fixture(autouse=True)
def _registry(settings):
    settings.REGISTRIES = {**settings.REGISTRIES, "tested": PATHS}


def add(monkeypatch: pytest.MonkeyPatch, **paths: str) -> None:
    """Install packages that add objects to the registry."""
    added = EntryPoints(EntryPoint(name, path, "authzsite.tested") for name, path in paths.items())
    monkeypatch.setattr(registries, "entry_points", lambda **chosen: added.select(**chosen))
    registries._load_entries.cache_clear()


def test_packages_add_to_what_ships(monkeypatch):
    add(monkeypatch, zebra="json:dumps", ape="json:loads")
    assert list(registries.load_entries("tested")) == ["first", "second", "ape", "zebra"]
    assert registries.load_entry("tested", "first") is registries.load_entry


def test_a_name_is_taken_once(monkeypatch):
    add(monkeypatch, second="json:dumps")
    with pytest.raises(ValueError, match=r"json:dumps of authzsite\.tested has the name of another: second"):
        registries.load_entries("tested")


def test_a_registry_that_there_is_not_is_an_error():
    with pytest.raises(KeyError):
        registries.load_entries("nothing")
    with pytest.raises(KeyError):
        registries.load_entry("tested", "nothing")
