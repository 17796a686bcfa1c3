"""The applications that granian serves: the product, under `/bare` the same addresses without middleware, and
`/plain` without Django.

BENCH_WITHOUT_LOG=1 ends the decision log, which no setting of the product does.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.site.settings"

from django.core.handlers.wsgi import WSGIHandler
from django.test import override_settings

from authzsite.wsgi import application as product  # the settings are named by the line above
from bench.site.plain import answer_plainly
from policies.pdp.log import decision_log

if os.environ.get("BENCH_WITHOUT_LOG"):
    decision_log.stop()

with override_settings(MIDDLEWARE=["bench.site.middleware.with_length"]):
    bare = WSGIHandler()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with the product, without its middleware, or without Django."""
    path = environ["PATH_INFO"]
    if path == "/plain":
        return answer_plainly(environ, start_response)
    if path.startswith("/bare/"):
        return bare({**environ, "PATH_INFO": path.removeprefix("/bare")}, start_response)
    return product(environ, start_response)
