"""Program that sends the OpenLineage events of one run to where OpenLineage's own configuration says.

Each line on standard input is a LineageEvent as JSON, the first one of the start. Why an event could not be sent is a
line on standard output. Input that ends before the run is that of a killed worker: the run is then said to be aborted.
A program of its own can be ended when a server does not answer, and neither workers nor their environment change.
"""

import json
import re
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent

#: Seconds in which an event has to be sent.
ANSWER_SECONDS = 5

START, COMPLETE, FAIL, ABORT = "START", "COMPLETE", "FAIL", "ABORT"


@dataclass(frozen=True, slots=True)
class LineageDataset:
    """Data that a run read or wrote. `columns` are (name, type); `rows` is how many this run wrote."""

    namespace: str
    name: str
    version: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True)
class LineageEvent:
    """The start or the end of a run."""

    state: str
    time: str
    run: str
    namespace: str
    job: str
    description: str
    inputs: tuple[LineageDataset, ...]
    outputs: tuple[LineageDataset, ...] = ()
    problem: str = ""

    def serialize(self) -> str:
        """Return the event as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"


def find_library_problem() -> str:
    """Return the sentence about the library, which is missing, or ""."""
    if find_spec("openlineage") is None:
        return "OpenLineage's variables are set, and its library is not installed: pip install openlineage-python."
    return ""


def send_events() -> None:
    """Send the events of standard input, and then that of a run of which no end was said."""
    # Service managers signal all processes of a worker, whose last event is still to come.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _raise_timeout)
    document: dict[str, Any] | None = None
    for line in sys.stdin:
        document = json.loads(line)
        _send(document)
    if document is not None and document["state"] == START:
        _send({**document, "state": ABORT, "time": datetime.fromtimestamp(time.time(), UTC).isoformat()})


def _raise_timeout(*_: object) -> None:
    raise TimeoutError(f"no answer in {ANSWER_SECONDS} seconds")


def _send(document: Mapping[str, Any]) -> None:
    signal.alarm(ANSWER_SECONDS)
    try:
        from openlineage.client import OpenLineageClient

        client = OpenLineageClient()
        client.emit(_build_event(document))
        client.close(ANSWER_SECONDS)
    except Exception as error:  # noqa: BLE001 - every transport has exceptions of its own
        text = re.sub(r"//[^/@\s]+@", "//", " ".join(str(error).split()))
        sys.stdout.write(f"{document['state']}: {type(error).__name__}: {text[:500]}\n")
        sys.stdout.flush()
    finally:
        signal.alarm(0)


def _build_event(document: Mapping[str, Any]) -> "RunEvent":
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import documentation_job, error_message_run, job_type_job

    run_facets: dict[str, Any] = {}
    if document["problem"]:
        run_facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(document["problem"], "Python")
    job_facets = {
        "documentation": documentation_job.DocumentationJobFacet(document["description"]),
        "jobType": job_type_job.JobTypeJobFacet(processingType="BATCH", integration="AUTHZSITE", jobType="REPORT"),
    }
    return RunEvent(
        eventType=RunState(document["state"]),
        eventTime=document["time"],
        run=Run(document["run"], run_facets),
        job=Job(document["namespace"], document["job"], job_facets),
        inputs=[_build_input(dataset) for dataset in document["inputs"]],
        outputs=[_build_output(dataset) for dataset in document["outputs"]],
        producer="urn:authzsite:reports",
    )


def _build_input(dataset: Mapping[str, Any]) -> "InputDataset":
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import dataset_version_dataset

    facets: dict[str, Any] = {}
    if dataset["version"]:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(dataset["version"])
    return InputDataset(dataset["namespace"], dataset["name"], facets=facets)


def _build_output(dataset: Mapping[str, Any]) -> "OutputDataset":
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset, schema_dataset

    fields = [schema_dataset.SchemaDatasetFacetFields(name, type_) for name, type_ in dataset["columns"]]
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=dataset["rows"])
    return OutputDataset(
        dataset["namespace"],
        dataset["name"],
        facets={"schema": schema_dataset.SchemaDatasetFacet(fields)},
        outputFacets={"outputStatistics": statistics},
    )


if __name__ == "__main__":
    send_events()
