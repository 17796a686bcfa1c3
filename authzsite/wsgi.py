"""The WSGI application that granian serves, in each of its worker processes."""

import os
from typing import TYPE_CHECKING

from authzsite import preload

if TYPE_CHECKING:
    from authzsite.decision_gateway import WsgiApplication

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")


def _start_application() -> "WsgiApplication":
    """Return the application, which a worker of `authzsite.serving` has inherited, and start the threads beside it."""
    application = preload.build_application()
    from authzsite import later_views
    from policies.pdp import snapshot_listener, snapshot_store
    from policies.pdp.log import decision_log

    snapshot_store.record_inherited()
    decision_log.start()
    snapshot_listener.start()
    later_views.import_after_first_answer()
    return application


application = _start_application()
