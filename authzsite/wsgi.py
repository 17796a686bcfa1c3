"""The WSGI application that granian serves."""

import os
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection

from authzsite import metrics_multiprocess, statement_timeout

if TYPE_CHECKING:
    from authzsite.decision_gateway import WsgiApplication

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")


def _build_application() -> "WsgiApplication":
    # prometheus_client reads the folder when it is imported, which happens in Django's setup.
    metrics_multiprocess.prepare(settings.METRICS_DIR)
    handler = get_wsgi_application()
    statement_timeout.limit_statements(connection.settings_dict, settings.STATEMENT_SECONDS)
    # Models can be imported only after Django's setup.
    from authzsite.decision_gateway import DecisionGateway
    from policies.pdp import decision_log, snapshot_listener

    decision_log.start()
    snapshot_listener.start()
    return DecisionGateway(handler) if settings.DECISION_GATEWAY else handler


application = _build_application()
