"""Every kind of report of the sample company in several versions of PySpark and with Connect; tables must be equal.

`make spark-matrix`; each version gets a virtual environment of its own in var/spark-matrix, the first time by download.
`.venv/bin/python .make/spark_matrix.py 3.5` runs this version alone, beside that of the lock.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import servers

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "var" / "spark-matrix"
SAMPLE = ROOT / "catalog" / "sample"
HOST = "127.0.0.1"

#: What jobs import beside PySpark, in the versions of the lock.
LIBRARIES = ("pyarrow", "pyroaring", "python-sat", "sqlglot")
PARAMETERS = {"policy_impact": {"removed": ["urn:li:dataHubPolicy:asset-owners-metadata-policy"]}}


@dataclass(frozen=True, slots=True)
class Spark:
    """A version of PySpark; with `is_remote` its own Connect server runs the jobs. None: what the lock has."""

    version: str | None
    is_remote: bool = False

    @property
    def name(self) -> str:
        """How it is called in folders and on the screen."""
        return f"{self.version or 'lock'}{'-connect' if self.is_remote else ''}"

    def python(self) -> Path:
        """Return the Python that has it, installed when it is not there."""
        if self.version is None:
            return Path(sys.executable)
        folder = ENVIRONMENTS / self.name
        python = folder / "bin" / "python"
        if not (folder / "complete").exists():
            folder.mkdir(parents=True, exist_ok=True)
            say(f"Installing PySpark {self.version} into {folder}")
            venv.create(folder, clear=True, with_pip=True)
            extra = "[connect]" if self.is_remote else ""
            install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
            subprocess.run([*install, f"pyspark{extra}=={self.version}.*", *list_locked(LIBRARIES)], check=True)
            (folder / "complete").touch()
        return python


SPARKS = (Spark(None), Spark("3.5"), Spark("4.0"), Spark("4.0", is_remote=True), Spark("4.3", is_remote=True))


def main(names: list[str]) -> int:
    """Run every job with every Spark, or those of these names, and return 1 if a table differs."""
    chosen = [spark for spark in SPARKS if not names or spark == SPARKS[0] or spark.name in names]
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="authzsite-spark-") as name:
        folder = Path(name)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "DATABASE_"))}
        environment |= {"VAR_DIR": name, "PYTHONPATH": str(ROOT), "PLAIN_HTTP": "true", "LOG_LEVEL": "ERROR"}
        environment |= {"DJANGO_SETTINGS_MODULE": "authzsite.settings", "GRANTS_EXPORTS": str(SAMPLE / "sample_grants")}
        say("Writing the snapshots of the sample company")
        subprocess.run([sys.executable, __file__, "inputs", name], cwd=ROOT, env=environment, check=True)
        modules: dict[str, str] = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        for spark in chosen:
            run_all(spark, modules, folder, environment)
        return compare(chosen, sorted(modules), folder)


def run_all(spark: Spark, modules: Mapping[str, str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run the job of each kind."""
    python = spark.python()
    with ExitStack() as stack:
        variables = {**environment, "PYSPARK_PYTHON": str(python)}
        if spark.is_remote:
            variables["SPARK_REMOTE"] = stack.enter_context(connect_server(python, folder / spark.name))
        for kind, module in modules.items():
            began = time.monotonic()
            urls = [f"--input={(folder / 'in' / kind).as_uri()}", f"--output={(folder / spark.name / kind).as_uri()}"]
            command = [str(python), "-m", module, *urls]
            done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{spark.name}: {kind} failed.\n{done.stderr}")
            say(f"{spark.name}: {kind}, {time.monotonic() - began:.0f} s")


@contextmanager
def connect_server(python: Path, folder: Path) -> Iterator[str]:
    """Run a Connect server that has no copy of this project; gives its address."""
    folder.mkdir()
    port = servers.free_port()
    home = subprocess.run(
        [str(python), "-c", "import pyspark; print(pyspark.__path__[0])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = [f"{home}/bin/spark-submit", "--master", "local[2]", "--class", server]
    for setting in (f"port={port}", f"address={HOST}"):
        command += ["--conf", f"spark.connect.grpc.binding.{setting}"]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = {**kept, "SPARK_HOME": home, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": HOST}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            servers.wait_for(port, process, folder / "log")
            yield f"sc://{HOST}:{port}"
        finally:
            process.terminate()


def compare(sparks: list[Spark], kinds: list[str], folder: Path) -> int:
    """Compare all tables and summaries with those of the first Spark."""
    first, *others = sparks
    differences, count = [], 0
    for kind in kinds:
        expected = read_results(folder / first.name / kind)
        for spark in others:
            found = read_results(folder / spark.name / kind)
            names = sorted(expected.keys() | found.keys())
            count += len(names)
            differences += [
                f"{spark.name}: {kind}: {name} differs" for name in names if expected.get(name) != found.get(name)
            ]
    say("\n".join(differences) or f"All {count} tables and summaries are equal to those of the lock's PySpark.")
    return bool(differences)


def read_results(folder: Path) -> dict[str, object]:
    """Return what a job wrote: each table in its order, and the summary."""
    import pyarrow.parquet as pq

    found: dict[str, object] = {}
    for entry in filter(Path.is_dir, folder.iterdir()):
        table = pq.read_table(entry)
        # Rows of differences come in no order.
        order = ["position"] if "position" in table.column_names else table.column_names
        # Versions of Spark tell differently which columns can have nulls; rows are what has to be equal.
        found[entry.name] = table.sort_by([(name, "ascending") for name in order]).to_pylist()
    return found | {"summary": json.loads((folder / "summary.json").read_text(encoding="utf-8"))}


def write_inputs(folder: Path) -> None:
    """Write what the job of each kind reads, from a database with the sample company."""
    import django
    from django.core.management import call_command

    django.setup()
    from django.utils import timezone

    from catalog.models import Report
    from catalog.reports.registry import KINDS
    from catalog.reports.services import assertions
    from catalog.reports.snapshot import writer
    from catalog.reports.storage import parse_address
    from policies.pdp import authorizer

    for command in (["migrate", "--verbosity", "0"], ["createcachetable"], ["bootstrap", "--restricted"]):
        call_command(*command)
    call_command("load_catalog", str(SAMPLE / "sample_catalog.json.gz"), verbosity=0)
    text = (SAMPLE / "sample_assertions.yaml").read_text(encoding="utf-8")
    assertions.save(text=text, expected_version=0, by=authorizer.SYSTEM)
    for kind, spec in KINDS.items():
        source = folder / "in" / kind
        source.parent.mkdir(exist_ok=True)
        writer.write(folder=source, as_of=timezone.now(), excluded_fields=spec.excluded_fields)
        report = Report(kind=kind, parameters=spec.validate(PARAMETERS.get(kind, {})))
        (source / "parameters.json").write_text(json.dumps(report.parameters), encoding="utf-8")
        spec.prepare(report, parse_address(source))
    modules = {kind: spec.module for kind, spec in KINDS.items()}
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")


def list_locked(names: tuple[str, ...]) -> list[str]:
    """Return packages with their versions, as the lock has them."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return [match[0] for name in names if (match := re.search(rf"^{name}==[^ ]+", lock, re.MULTILINE))]


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["inputs"]:
        sys.path.insert(0, str(ROOT))
        write_inputs(Path(sys.argv[2]))
    else:
        sys.exit(main(sys.argv[1:]))
