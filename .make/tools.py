"""The programs that the tests need beside Python: which are there, and the command that installs the rest on Debian."""

import os
import shutil
import subprocess
from dataclasses import dataclass

from servers import postgres_folder


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, whether it is there, and the Debian packages that bring it."""

    name: str
    is_there: bool
    packages: tuple[str, ...]


def is_ci() -> bool:
    """Whether a missing tool is a failure instead of a reason to skip."""
    return os.environ.get("CI", "").lower() in {"true", "1"}


def missing() -> list[Tool]:
    """The tools that this machine lacks."""
    tools = (
        Tool("PostgreSQL", postgres_folder() is not None, ("postgresql",)),
        Tool("Redis", shutil.which("redis-server") is not None, ("redis-server",)),
        Tool("Chromium", find_browser() is not None, (list_browsers()[0], "fonts-dejavu-core")),
        Tool("Java", has_java(), ("default-jre-headless",)),
    )
    return [tool for tool in tools if not tool.is_there]


def list_browsers() -> list[str]:
    """Which programs the tests can use as Chromium, the first that is there; each is called as its Debian package.

    The shell draws no window and takes three quarters of the time; TEST_BROWSER=full is for what people use.
    """
    return ["chromium"] if os.environ.get("TEST_BROWSER") == "full" else ["chromium-headless-shell", "chromium"]


def find_browser() -> str | None:
    """Return where Chromium is."""
    return next(filter(None, map(shutil.which, list_browsers())), None)


def has_java() -> bool:
    """Whether a Java is where Spark would look for one: in JAVA_HOME, then on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(f"{home}/bin/java" if home else "java") is not None


def command_for(tools: list[Tool]) -> list[str]:
    """The command that installs the tools."""
    return [
        "apt-get",
        "install",
        "--yes",
        "--no-install-recommends",
        *(name for tool in tools for name in tool.packages),
    ]


def install(tools: list[Tool]) -> None:
    """Install the tools; what could not be had is still missing afterwards."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update"], check=False, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(command_for(tools), check=False, env=environment, stdout=subprocess.DEVNULL)


def provide() -> list[Tool]:
    """Install what is missing where this is root on Debian; what is still missing afterwards comes back."""
    tools = missing()
    if tools and os.geteuid() == 0 and shutil.which("apt-get"):
        install(tools)
        tools = missing()
    return tools
