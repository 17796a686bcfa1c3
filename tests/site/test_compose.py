"""`compose.yaml` as it would be read: nothing has a default secret, everything says how it is, and the order holds."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from authzsite import serving

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

#: What runs our own code, and goes on running.
OURS = ("web", "worker", "beat")
SECRETS = ("SECRET_KEY", "AUTHZ_ROOT_PASSWORD", "POSTGRES_PASSWORD")


def test_the_parts_are_those_of_an_installation() -> None:
    assert set(SERVICES) == {"database", "redis", "setup", *OURS}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_has_no_default(name: str) -> None:
    """`${NAME:?why}` is an error where the variable is not set, with the words that follow."""
    used = re.findall(r"\$\{" + name + r"([^}]*)\}", TEXT)
    assert used
    assert all(rest.startswith(":?") and len(rest) > 10 for rest in used)


def test_no_value_is_a_secret_of_its_own() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|TOKEN|_URL", name) and name != "REDIS_URL":
                assert str(value).startswith("${") or "${POSTGRES_PASSWORD:?" in str(value), name


@pytest.mark.parametrize("name", [*OURS, "database", "redis"])
def test_what_goes_on_running_says_how_it_is(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= set(check)
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", OURS)
def test_nothing_serves_before_the_setup_is_done_and_the_setup_waits_for_its_servers(name: str) -> None:
    assert SERVICES[name]["depends_on"]["setup"]["condition"] == "service_completed_successfully"
    needed = SERVICES["setup"]["depends_on"]
    assert {part: needed[part]["condition"] for part in needed} == {
        "database": "service_healthy",
        "redis": "service_healthy",
    }
    assert SERVICES["setup"]["restart"] == "no"


def test_only_the_web_process_is_reached_from_outside_and_only_from_this_machine() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web": ["127.0.0.1:8000:8000"]}


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_one_that_the_site_reads(name: str) -> None:
    modules = (ROOT / "authzsite" / "settings").glob("*.py")
    read = "".join(module.read_text(encoding="utf-8") for module in modules)
    for variable in SERVICES[name]["environment"]:
        assert f'"{variable}"' in read, variable


def test_what_has_to_last_lies_in_a_volume() -> None:
    assert COMPOSE["volumes"] == {"database": None}
    assert SERVICES["database"]["volumes"] == ["database:/var/lib/postgresql/data"]


def test_the_commands_name_what_there_is() -> None:
    assert f"python -m {serving.__name__} --workers ${{GRANIAN_WORKERS:-2}}" in SERVICES["web"]["command"]
    assert settings.WSGI_APPLICATION.replace(".application", ":application") in serving.list_arguments("::", 1, ())
    assert "-A authzsite worker" in SERVICES["worker"]["command"]
    assert "-A authzsite beat" in SERVICES["beat"]["command"]


@pytest.mark.parametrize("name", ["setup", *OURS])
def test_an_installation_is_restricted_unless_it_is_told_otherwise_by_name(name: str) -> None:
    assert SERVICES[name]["environment"]["BOOTSTRAP_RESTRICTED"] == "${BOOTSTRAP_RESTRICTED:-true}"
    assert "--open" not in str(SERVICES[name].get("command"))
