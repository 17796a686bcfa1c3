"""`/metrics`: the metrics of this installation in Prometheus' text format (docs/operations.md explains each).

Not public, since the numbers disclose how much is refused and which pages are used. With METRICS_TOKEN they are open to
bearers of the token; without it only to programs on this machine that do not call through a proxy.
"""

from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import mark_process_dead
from prometheus_client.registry import Collector

from authzsite import env, metrics_multiprocess
from authzsite.health import BROKER_SECONDS, DATABASE_SECONDS
from catalog.reports import metrics as report_metrics
from policies import deadlines
from policies.events import metrics as event_metrics
from policies.http.guard import public
from policies.models import PolicyVersion
from policies.propagation import pubsub, task_queue
from policies.propagation.metric_buffer import metric_buffer

#: Headers that proxies add to forwarded requests.
_PROXY_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")


class InstallationCollector(Collector):
    """Metrics of the whole installation, queried at each scrape. A part that is away is 0 and has no number."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the policy version from the database and the queue length from the broker."""
        yield from _probe(
            "database", "authz_policy_version", "Policy version that is stored.", PolicyVersion.load_version
        )
        yield from _probe("broker", "authz_queue_length", "Tasks that wait for a worker.", _count_queued_tasks)


class RowCollector(Collector):
    """Metrics of reports and events, queried at each scrape; there are none while the database is away."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics."""
        try:
            with deadlines.open_budget(DATABASE_SECONDS):
                yield from [*report_metrics.collect(), *event_metrics.collect()]
        except pubsub.list_connection_errors():
            return


@public
@never_cache
@require_safe
def show_metrics(request: HttpRequest) -> HttpResponse:
    """Answer with the metrics of all web processes of this machine; a refusal is 401 with METRICS_TOKEN, else 403."""
    if not _may_scrape(request):
        refusal = HttpResponse(status=401 if settings.METRICS_TOKEN else 403, content_type="text/plain")
        if settings.METRICS_TOKEN:
            refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal
    for process in metrics_multiprocess.list_ended_processes(settings.METRICS_DIR):
        # Keeps its counters and drops its live gauges, such as the policy version.
        mark_process_dead(process, path=str(settings.METRICS_DIR))  # type: ignore[no-untyped-call]
    metric_buffer.flush()
    response: HttpResponse = ExportToDjangoView(request)
    installation = CollectorRegistry()
    installation.register(InstallationCollector())
    installation.register(RowCollector())
    response.content += generate_latest(installation)
    return response


def _may_scrape(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        header = request.headers.get("Authorization", "")
        return constant_time_compare(header, f"Bearer {settings.METRICS_TOKEN}")
    is_forwarded = any(name in request.META for name in _PROXY_HEADERS)
    return not is_forwarded and env.is_loopback(request.META.get("REMOTE_ADDR", ""))


def _probe(part: str, name: str, description: str, read_number: Callable[[], int]) -> Iterator[GaugeMetricFamily]:
    """Yield whether the part answers and, if it does, its number."""
    try:
        with deadlines.open_budget(DATABASE_SECONDS):
            number = read_number()
    except pubsub.list_connection_errors(PolicyVersion.DoesNotExist):
        yield GaugeMetricFamily(f"authz_{part}_up", f"Whether the {part} answers.", value=0)
        return
    yield GaugeMetricFamily(f"authz_{part}_up", f"Whether the {part} answers.", value=1)
    yield GaugeMetricFamily(name, description, value=number)


def _count_queued_tasks() -> int:
    """Return the number of tasks in the queue."""
    # Redis is pinged first, since kombu would wait for several seconds if it does not respond.
    pubsub.check_redis(seconds=BROKER_SECONDS)
    with task_queue.connect_broker() as broker_connection:
        channel: Any = broker_connection.default_channel
        queue = task_queue.load_application().conf.task_default_queue
        return int(channel.queue_declare(queue, durable=True).message_count)
