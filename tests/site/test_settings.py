"""Settings as a process sees them when it starts: one environment, one fresh interpreter."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from authzsite.settings.http import load_or_create_secret_key  # noqa: TID251 - the function, and no setting

ROOT = Path(__file__).parents[2]


def manage(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with nothing configured but these variables."""
    environment = {"PATH": os.environ["PATH"], "VAR_DIR": str(folder), "DATABASE_URL": "", "REDIS_URL": "", **variables}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"AUTH_POLICIES_ENABLED": "perhaps"}, "AUTH_POLICIES_ENABLED is 'perhaps', but it has to be true or false."),
        ({"POLICY_CACHE_REFRESH_INTERVAL_SECONDS": "0"}, "POLICY_CACHE_REFRESH_INTERVAL_SECONDS is '0', but"),
        ({"DATABASE_URL": "oracle://x"}, "DATABASE_URL has to start with postgres://"),
        ({"REDIS_URL": "http://x"}, "REDIS_URL has to start with redis://"),
        ({"REDIS_URL": "redis://x:port/0"}, "REDIS_URL is not an address: Port could not be cast"),
        ({"METRICS_DIR": "/dev/null/metrics"}, "METRICS_DIR is '/dev/null/metrics', which cannot be a folder: Not a"),
        ({"CSRF_TRUSTED_ORIGINS": "authz.example"}, "CSRF_TRUSTED_ORIGINS names 'authz.example', but"),
        ({"DATABASE_POOL_SIZE": "none", "DATABASE_URL": "postgres://u@h/d"}, "DATABASE_POOL_SIZE is 'none', but"),
        ({"SESSION_HOURS": "-1"}, "SESSION_HOURS is '-1', but"),
        ({"DECISION_LOG_SAMPLE": "10%"}, "DECISION_LOG_SAMPLE is '10%', but"),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT is 'xml', but it has to be one of console, json."),
        ({"METADATA_SERVICE_AUTH_ENABLED": "false", "GRANIAN_HOST": "0.0.0.0"}, "METADATA_SERVICE_AUTH_ENABLED may be"),
        ({"OIDC_ISSUER": "https://id.example"}, "OIDC_ISSUER is set, so OIDC_CLIENT_ID has to be set as well."),
        ({"REST_API_AUTHORIZATION": "true", "REST_API_AUTHORIZATION_ENABLED": "false"}, "REST_API_AUTHORIZATION and"),
    ],
)
def test_nonsense_stops_the_start_with_one_sentence(tmp_path, variables, sentence):
    ended = manage("check", folder=tmp_path, **variables)
    assert ended.returncode == 1
    assert ended.stderr.startswith(sentence)
    assert len(ended.stderr.strip().splitlines()) == 1


def test_a_deployment_is_checked_for_what_is_left_of_the_trial(tmp_path):
    variables = {
        "DEBUG": "true",
        "PLAIN_HTTP": "true",
        "AUTH_POLICIES_ENABLED": "false",
        "REST_API_AUTHORIZATION_ENABLED": "false",
        "METADATA_SERVICE_AUTH_ENABLED": "false",
        "MCP_VALIDATION_PRIVILEGE_CONSTRAINTS": "false",
    }
    ended = manage("check", "--deploy", folder=tmp_path, **variables)
    assert ended.returncode == 1
    found = {f"authzsite.E{number:03}" for number in range(100) if f"authzsite.E{number:03}" in ended.stderr}
    assert found == {f"authzsite.E{number:03}" for number in (1, 2, 3, 4, 10, 11, 12, 13)}


def test_a_hardened_deployment_passes(tmp_path):
    ended = manage(
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        folder=tmp_path,
        SECRET_KEY="".join(chr(33 + number % 90) for number in range(64)),
        AUTHZ_ROOT_PASSWORD="not the default one",
        ALLOWED_HOSTS="authz.example",
        VIEW_AUTHORIZATION_ENABLED="true",
    )
    assert ended.returncode == 0, ended.stderr


def test_the_secret_key_is_made_once_and_kept_from_others(tmp_path):
    show = ("shell", "--verbosity", "0", "-c", "from django.conf import settings; print(settings.SECRET_KEY)")
    first, second = (manage(*show, folder=tmp_path).stdout for _ in range(2))
    assert first == second
    assert len(first.strip()) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o077 == 0


def test_processes_that_start_at_once_have_the_same_secret_key(tmp_path):
    with ProcessPoolExecutor(8, get_context("spawn")) as pool:
        for number in range(50):
            path = tmp_path / f"secret_key_{number}"
            keys = set(pool.map(load_or_create_secret_key, [path] * 8))
            assert keys == {path.read_text(encoding="utf-8")}
            assert len(keys.pop()) >= 50


@pytest.mark.parametrize(
    ("variables", "is_restricted"),
    [
        ({}, False),
        ({"GRANIAN_HOST": "::1", "ALLOWED_HOSTS": "localhost, [::1]"}, False),
        ({"DATABASE_URL": "postgres://u@127.0.0.1/d"}, True),
        ({"GRANIAN_HOST": "0.0.0.0"}, True),
        ({"ALLOWED_HOSTS": "localhost, authz.example"}, True),
        ({"ALLOWED_HOSTS": "*"}, True),
        ({"BOOTSTRAP_RESTRICTED": "true"}, True),
        ({"DATABASE_URL": "postgres://u@127.0.0.1/d", "BOOTSTRAP_RESTRICTED": "false"}, False),
    ],
)
def test_only_a_trial_on_this_machine_begins_with_every_privilege_for_everybody(tmp_path, variables, is_restricted):
    code = "from django.conf import settings; print(settings.BOOTSTRAP_RESTRICTED)"
    shown = manage("shell", "-v", "0", "-c", code, folder=tmp_path, **variables)
    assert shown.stdout.strip().splitlines()[-1] == str(is_restricted), shown.stderr
