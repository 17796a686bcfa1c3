"""The workflow for GitHub Actions in the docs: its steps run as they are written, against a site that listens."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from policies.models import Policy
from tests.site.test_examples import EXAMPLES, environment

__all__ = ["environment"]

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = EXAMPLES.parent / "policies-as-code.md"
EDITORS_URN = "urn:li:dataHubPolicy:editors"
EDITORS = f"""\
urn: {EDITORS_URN}
family: datahub
document:
  displayName: Editors
  type: METADATA
  state: ACTIVE
  privileges: [EDIT_ENTITY_TAGS]
  actors: {{users: [urn:li:corpuser:jenny]}}
"""
TABLE = """\
table:
  - person: urn:li:corpuser:jenny
    privilege: EDIT_ENTITY_TAGS
    entity: "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
    answer: ALLOW
    may_be_absent: true
"""


def list_steps(job: str) -> list[str]:
    """The commands of a job of the workflow, in order."""
    [text] = re.findall(r"^```yaml\n(# \.github/workflows/.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return [step["run"] for step in yaml.safe_load(text)["jobs"][job]["steps"] if "run" in step]


@pytest.fixture
def repository(tmp_path):
    """A repository with the folder and the client."""
    (tmp_path / "bundle.py").write_text((EXAMPLES / "bundle.py").read_text())
    for path, text in {"policies/editors.yaml": EDITORS, "tests/editors.yaml": TABLE}.items():
        (tmp_path / "access" / path).parent.mkdir(parents=True)
        (tmp_path / "access" / path).write_text(text)
    return tmp_path


@pytest.fixture
def run(environment, repository):
    """Run the steps of a job, as GitHub does, until one fails; its exit code, and what all of them said."""

    def run_job(job: str) -> tuple[int, str]:
        variables = environment | {
            "SOURCE": "https://github.com/example/access",
            "GITHUB_STEP_SUMMARY": str(repository / "summary.md"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        said = ""
        for step in list_steps(job):
            command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step]
            done = subprocess.run(
                command, cwd=repository, env=variables, capture_output=True, text=True, timeout=120, check=False
            )
            said += done.stdout + done.stderr
            if done.returncode:
                return done.returncode, said
        return 0, said

    return run_job


def test_a_pull_request_is_tested_and_planned_and_a_merge_is_applied(run, repository):
    assert [len(list_steps(job)) for job in ("review", "apply")] == [2, 1]
    code, said = run("review")
    assert code == 0, said
    assert ElementTree.parse(repository / "results.xml").getroot().get("failures") == "0"
    summary = (repository / "summary.md").read_text()
    assert "create: Editors (urn:li:dataHubPolicy:editors), policies/editors.yaml" in summary
    assert "Proved: this allows more" in summary
    assert "Guardrail Somebody can manage policies: holds." in summary
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()
    code, said = run("apply")
    assert (code, "create: Editors" in said) == (0, True), said
    policy = Policy.objects.get(urn=EDITORS_URN)
    assert (policy.is_managed, policy.source) == (True, "https://github.com/example/access")
    (repository / "access/policies/editors.yaml").rename(repository / "access/policies/others.yaml")
    others = EDITORS.replace("editors", "others").replace("Editors", "Others").replace("jenny", "somebody")
    (repository / "access/policies/others.yaml").write_text(others)
    (repository / "access/tests/editors.yaml").write_text(TABLE.replace("ALLOW", "DENY"))
    assert run("review")[0] == 0
    assert "delete: Editors" in (repository / "summary.md").read_text()
    assert run("apply")[0] == 0
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()


@pytest.mark.parametrize("command", ["plan", "test", "apply"])
def test_a_folder_that_is_not_there_is_refused(repository, command):
    """The client asks nobody: without its files everything from this source would go."""
    (repository / "results.xml").write_text("of an earlier run")
    arguments = ["bundle.py", command, "acess", "--prune", "--confirm-empty", "--junit", "results.xml"]
    done = subprocess.run([sys.executable, *arguments], cwd=repository, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "acess: There is no such folder.\n")
    assert (repository / "results.xml").exists() is (command != "test")


def test_a_test_that_fails_and_a_file_that_is_wrong_stop_the_job(run, repository):
    (repository / "access/policies/editors.yaml").write_text(EDITORS.replace("jenny", "somebody"))
    code, said = run("review")
    assert code == 1
    assert "tests/editors.yaml:2: urn:li:corpuser:jenny EDIT_ENTITY_TAGS on " in said
    assert ElementTree.parse(repository / "results.xml").getroot().get("failures") == "1"
    (repository / "access/policies/editors.yaml").write_text(EDITORS.replace("EDIT_ENTITY_TAGS", "FLY"))
    for job in ("review", "apply"):
        code, said = run(job)
        assert (code, "policies/editors.yaml:7: " in said) == (3, True), said
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()
