"""The views that a web process imports after its first answer, or for the first request that needs one."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, path, resolve, reverse

from authzsite import health, later_views
from policies.http.lazy_view import lazy_paths
from tests.clients import installations

#: Loads what a web process loads, asks for its health, and says at each step whether the pages are there.
SHOW_STEPS = """
import io, sys, threading
from authzsite.wsgi import application
pages = ("policies.urls", "catalog.urls", "policies.api_urls")
def say():
    print(*(name in sys.modules for name in (*pages, "pydantic", "scim2_models")))
assert "policies.decisions.api.urls" in sys.modules
say()
environ = {
    "REQUEST_METHOD": "GET", "PATH_INFO": "/health/live", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http",
    "SERVER_NAME": "localhost", "SERVER_PORT": "80", "REMOTE_ADDR": "127.0.0.1",
}
application(environ, lambda status, headers: print(status)).close()
for thread in threading.enumerate():
    if thread.name == "later-views":
        thread.join()
say()
application(environ, lambda status, headers: print(status)).close()
print([thread.name for thread in threading.enumerate() if thread.name == "later-views"])
"""

#: Loads as the web process does before it starts so many workers, and says whether the pages are there.
SHOW_SHARED = """
import sys
from authzsite import preload
preload.load_all(workers={workers})
assert "policies.decisions.api.urls" in sys.modules
print(*(name in sys.modules for name in ("policies.urls", "catalog.urls", "policies.api_urls", "scim2_models")))
"""


def add_module(monkeypatch: pytest.MonkeyPatch, name: str, patterns: Sequence[URLPattern | URLResolver]) -> str:
    """Have a URL module with these patterns until the test ends; its name."""
    module = ModuleType(name)
    vars(module)["urlpatterns"] = patterns
    monkeypatch.setitem(sys.modules, name, module)
    return name


@pytest.fixture
def broken_urls(monkeypatch: pytest.MonkeyPatch) -> str:
    """A URL configuration with the paths of a module that cannot be imported; its name."""
    patterns: list[URLPattern | URLResolver] = [
        path("health/live", health.show_liveness),
        lazy_paths("", "tests.site.missing_urls"),
    ]
    return add_module(monkeypatch, "tests.site.broken_urls", patterns)


def test_pages_are_imported_by_a_thread_after_the_first_answer(tmp_path: Path) -> None:
    environment = installations.environment_of(tmp_path)
    installations.set_up(environment)
    said = installations.run_python(environment, "-c", SHOW_STEPS).stdout.splitlines()
    assert said == ["False False False False False", "200 OK", "True True True True True", "200 OK", "[]"]


@pytest.mark.parametrize(("workers", "said"), [(1, "False False False False"), (2, "True True True True")])
def test_pages_are_imported_before_several_workers_start(tmp_path: Path, workers: int, said: str) -> None:
    environment = installations.environment_of(tmp_path)
    script = SHOW_SHARED.format(workers=workers)
    assert installations.run_python(environment, "-c", script).stdout.strip() == said


def test_check_finds_a_module_of_addresses_that_cannot_be_imported(broken_urls: str) -> None:
    with override_settings(ROOT_URLCONF=broken_urls), pytest.raises(ModuleNotFoundError, match="missing_urls"):
        call_command("check")


def test_a_module_that_cannot_be_imported_is_logged_and_other_paths_answer(
    broken_urls: str, caplog: pytest.LogCaptureFixture
) -> None:
    with override_settings(ROOT_URLCONF=broken_urls):
        later_views._import_and_log()
        assert Client().get("/health/live").status_code == 200
        with pytest.raises(ModuleNotFoundError):
            resolve("/settings")
    assert "views_not_imported" in caplog.text


def test_paths_of_a_later_module_lie_below_their_route_and_in_their_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    below = add_module(monkeypatch, "tests.site.below_urls", [path("live", health.show_liveness, name="live")])
    root = add_module(monkeypatch, "tests.site.root_urls", [lazy_paths("below/", below, namespace="deep")])
    with override_settings(ROOT_URLCONF=root):
        assert reverse("deep:live") == "/below/live"
        match = resolve("/below/live")
    assert (match.func, match.route, match.app_names) == (health.show_liveness, "below/live", ["deep"])
