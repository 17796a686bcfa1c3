"""Links in notices to the page of one decision: signed, for thirty days, and opened once by each receiver.

Such a link leads to a page and decides nothing. It is for the receivers of the notice that has it, who sign in first.
"""

from datetime import timedelta

from django.core import signing
from django.urls import reverse

from policies.errors import NotFound

#: How long a link can be opened.
MAX_AGE = timedelta(days=30)

_SALT = "policies.requests.decision_link"


def build_path(*, request: str, key: str) -> str:
    """Return the path of a link to a request (URN), of the notices with this key."""
    return reverse("request-open", args=[signing.dumps([request, key], salt=_SALT)])


def read_token(token: str) -> tuple[str, str]:
    """Return request and key of a link; raises NotFound for one that is forged or too old."""
    try:
        request, key = signing.loads(token, salt=_SALT, max_age=MAX_AGE)
    except signing.BadSignature:
        raise NotFound("There is no such link, or it is too old.") from None
    return str(request), str(key)
