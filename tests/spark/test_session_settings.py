"""What users set for Spark stays, whatever our defaults are, and an address of Spark is one."""

import socket
from contextlib import closing
from pathlib import Path

import pytest

from catalog.reports.spark import session_settings
from catalog.reports.spark.session import SparkUnavailable, open_session

MASTER = "local[2]"


@pytest.fixture(autouse=True)
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's configuration, empty, with nothing set in the environment."""
    for name in ("SPARK_MASTER", "SPARK_REMOTE", "SPARK_DRIVER_MEMORY", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def defaults(folder: Path, *, is_short: bool = True) -> dict[str, str]:
    return session_settings.build_defaults(MASTER, folder, is_short=is_short)


def test_the_pages_of_spark_are_off_unless_the_user_wants_them(conf: Path):
    assert defaults(conf)["spark.ui.enabled"] == "false"
    (conf / "spark-defaults.conf").write_text("# ours\nspark.ui.enabled true\nspark.eventLog.enabled=true\n")
    assert "spark.ui.enabled" not in defaults(conf)
    assert session_settings.read_user_settings() == {"spark.ui.enabled": "true", "spark.eventLog.enabled": "true"}


@pytest.mark.parametrize("line", ["spark.driver.memory 9g", "spark.driver.memory=9g", "spark.driver.memory: 9g"])
def test_memory_is_that_of_the_variable_then_of_the_user(conf: Path, line: str, monkeypatch: pytest.MonkeyPatch):
    assert defaults(conf)["spark.driver.memory"].endswith("m")
    (conf / "spark-defaults.conf").write_text(f"{line}\n")
    assert "spark.driver.memory" not in defaults(conf)
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "3g")
    assert defaults(conf)["spark.driver.memory"] == "3g"


def test_a_collector_of_the_user_is_the_only_one(conf: Path):
    assert "UseSerialGC" in defaults(conf)["spark.driver.defaultJavaOptions"]
    assert "UseParallelGC" in defaults(conf, is_short=False)["spark.driver.defaultJavaOptions"]
    (conf / "spark-defaults.conf").write_text("spark.driver.extraJavaOptions -XX:+UseZGC -Dx=y\n")
    assert "GC" not in defaults(conf)["spark.driver.defaultJavaOptions"]


def test_a_log_of_the_user_is_the_only_one(conf: Path):
    assert "log4j2" in defaults(conf)["spark.driver.defaultJavaOptions"]
    (conf / "log4j2.properties").write_text("rootLogger.level = info\n")
    assert "log4j2" not in defaults(conf)["spark.driver.defaultJavaOptions"]


def test_another_machine_is_not_reached_over_loopback(conf: Path):
    assert defaults(conf)["spark.driver.host"] == "127.0.0.1"
    elsewhere = session_settings.build_defaults("spark://spark.example.com:7077", conf, is_short=True)
    assert "spark.driver.host" not in elsewhere
    assert "spark.sql.shuffle.partitions" not in elsewhere


def test_two_addresses_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_MASTER", "local[1]")
    monkeypatch.setenv("SPARK_REMOTE", "sc://spark.example.com")
    with pytest.raises(SparkUnavailable, match="two different Sparks"), open_session("two"):
        pass


def test_a_remote_address_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_REMOTE", "local[1]")
    with pytest.raises(SparkUnavailable, match="sc://host:port"), open_session("local"):
        pass


def test_a_server_that_is_not_there_is_named_without_its_token(monkeypatch: pytest.MonkeyPatch):
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{bound.getsockname()[1]}"
        monkeypatch.setenv("SPARK_REMOTE", f"sc://{server}/;token=secret")
        with pytest.raises(SparkUnavailable) as raised, open_session("nobody"):
            pass
    assert str(raised.value).startswith(f"No Spark answers at SPARK_REMOTE: {server}: ")
    assert "secret" not in str(raised.value)
