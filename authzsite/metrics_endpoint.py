"""`/metrics`: what this installation counts, in Prometheus' text format (docs/operations.md says what each means).

Not for everybody: numbers tell how much is refused and which pages are used. With METRICS_TOKEN whoever brings it may
read them; without one only programs on this machine, and no proxy on it, since behind that anybody may be.
"""

from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView
from kombu.exceptions import OperationalError
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import mark_process_dead
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from authzsite import metrics_multiprocess
from authzsite.health import BROKER_SECONDS, DATABASE_SECONDS
from policies import deadlines
from policies.http.guard import public
from policies.models import PolicyVersion
from policies.propagation import pubsub

#: What a proxy adds to the requests it hands on.
_PROXY_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")


class InstallationCollector(Collector):
    """What is the same for every process, looked up when somebody scrapes. What is away is 0 and has no number."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Ask the database for the version, and the broker for the length of its queue."""
        yield from _probe(
            "database", "authz_policy_version", "Policy version that is stored.", PolicyVersion.load_version
        )
        yield from _probe("broker", "authz_queue_length", "Tasks that wait for a worker.", _count_queued_tasks)


@public
@never_cache
@require_safe
def show_metrics(request: HttpRequest) -> HttpResponse:
    """The numbers of all web processes of this machine; 401 without the token where there is one, else 403."""
    if not _may_scrape(request):
        refusal = HttpResponse(status=401 if settings.METRICS_TOKEN else 403, content_type="text/plain")
        if settings.METRICS_TOKEN:
            refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal
    for process in metrics_multiprocess.list_ended_processes(settings.METRICS_DIR):
        # Its counts stay; which version it held does not matter any more.
        mark_process_dead(process, path=str(settings.METRICS_DIR))  # type: ignore[no-untyped-call]
    response: HttpResponse = ExportToDjangoView(request)
    installation = CollectorRegistry()
    installation.register(InstallationCollector())
    response.content += generate_latest(installation)
    return response


def _may_scrape(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        header = request.headers.get("Authorization", "")
        return constant_time_compare(header, f"Bearer {settings.METRICS_TOKEN}")
    return not any(name in request.META for name in _PROXY_HEADERS) and _is_loopback(
        request.META.get("REMOTE_ADDR", "")
    )


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _probe(part: str, name: str, description: str, read_number: Callable[[], int]) -> Iterator[GaugeMetricFamily]:
    """Yield whether the part answers and, when it does, its number."""
    try:
        with deadlines.open_budget(DATABASE_SECONDS):
            number = read_number()
    except (DatabaseError, OperationalError, RedisError, OSError, PolicyVersion.DoesNotExist):
        yield GaugeMetricFamily(f"authz_{part}_up", f"Whether the {part} answers.", value=0)
        return
    yield GaugeMetricFamily(f"authz_{part}_up", f"Whether the {part} answers.", value=1)
    yield GaugeMetricFamily(name, description, value=number)


def _count_queued_tasks() -> int:
    """Return how many tasks lie in the queue."""
    # A Redis that says nothing is noticed first, since the library of the queue would wait for it for several seconds.
    pubsub.check_redis(seconds=BROKER_SECONDS)
    with current_app.connection_for_write() as broker_connection:
        channel: Any = broker_connection.default_channel
        return int(channel.queue_declare(current_app.conf.task_default_queue, durable=True).message_count)
