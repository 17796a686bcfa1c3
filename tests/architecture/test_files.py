"""What lies in the tree: locks that fit each other, static files that can be served, no place of one machine."""

import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"https?://\S*(?:pythonhosted|pypi|npmjs|debian)\.|(?:^|[^\w.])/(?:root|home|work)/\w")


def tracked() -> list[Path]:
    """Every file of the project that is text of ours."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listing.split("\0") if name and not name.startswith("static/vendor/")]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def pinned(lock: str) -> dict[str, str]:
    """Name and version of every package that a lock holds."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", text, re.MULTILINE))


def test_the_development_lock_holds_the_runtime_lock():
    runtime, development = pinned("requirements.lock"), pinned("requirements-dev.lock")
    assert len(runtime) > 50
    assert runtime.items() <= development.items()


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock", ".make/uv.lock"])
def test_every_pinned_package_has_hashes_and_no_address(lock):
    text = (ROOT / lock).read_text(encoding="utf-8")
    for block in re.split(r"\n(?=\S)", text):
        assert not re.match(r"[a-z0-9].*==", block) or "--hash=sha256:" in block, block.splitlines()[0]
    assert "://" not in text
    assert "--index-url" not in text


def test_what_installs_the_locks_is_pinned_alone():
    assert set(pinned(".make/uv.lock")) == {"uv"}


def test_no_file_names_a_place_of_one_machine_or_a_registry():
    for path in tracked():
        if path.suffix in {".gz", ".png", ".ico", ".woff2"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            assert path == Path(__file__) or not ADDRESS.search(line), f"{path.relative_to(ROOT)}:{number}"


def test_the_top_level_is_the_one_that_was_agreed():
    agreed = {
        "manage.py",
        "pyproject.toml",
        "authzsite",
        "policies",
        "catalog",
        "templates",
        "static",
        "tests",
        "README.md",
    }
    agreed |= {"Makefile", "Procfile", "compose.yaml", "requirements.lock", "requirements-dev.lock", "docs", "bench"}
    # Where people and the programs of repository hosts look for them.
    agreed |= {"LICENSE", "SECURITY.md", "CONTRIBUTING.md"}
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} <= agreed


def test_static_files_can_be_collected_under_names_that_carry_their_sums(settings, tmp_path):
    """A file that a style sheet refers to and nobody vendored would stop this."""
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }
    call_command("collectstatic", verbosity=0, interactive=False)
    assert (tmp_path / "staticfiles.json").is_file()
