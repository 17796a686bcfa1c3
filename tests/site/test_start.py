"""What a web process imports before it answers: libraries that few calls need cost it time and memory."""

from pathlib import Path

from tests.clients import installations

#: Loads what a web process loads, every view included, and says which of the named libraries came with it.
SHOW_LIBRARIES = """
import sys
import authzsite.wsgi
from django.urls import reverse
reverse("home")
libraries = {
    *("amqp", "celery", "kombu"),  # the queue
    *("pandas", "py4j", "pyarrow", "pyspark"),  # reports
    *("drf_spectacular.openapi", "drf_spectacular.plumbing", "rest_framework.test"),  # the document of the API
    *("ariadne", "scim2_models", "sqlglot"),  # protocols, and conditions on rows
    "redis",  # unless REDIS_URL is set
    *("requests", "urllib3", "yaml"),  # sign-in with a provider, templates and assertions
    *("pygments", "rich"),  # nothing
}
print(*sorted(libraries & sys.modules.keys()))
"""


def test_a_web_process_starts_without_libraries_that_few_calls_need(tmp_path: Path) -> None:
    environment = installations.environment_of(tmp_path)
    installations.set_up(environment)
    assert installations.run_python(environment, "-c", SHOW_LIBRARIES).stdout.strip() == ""
