"""A form that is posted after the session has ended is kept as a draft of the user for whom it was made."""

from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from policies.drafts import keeping
from policies.drafts.tickets import TICKET_FIELD, DraftTicket

#: Name of the parameter of an address that says which draft is shown.
DRAFT_PARAMETER = "draft"

#: The button that was pressed: it is pressed again by somebody who sees the form.
_BUTTON_FIELD = "go"


def find_ticket(request: HttpRequest) -> DraftTicket | None:
    """Return the ticket of a posted form, None for one that keeps no drafts."""
    return DraftTicket.read(request.POST.get(TICKET_FIELD, "")) if request.method == "POST" else None


def keep_post(request: HttpRequest) -> str | None:
    """Keep what was posted, and return the address that shows it to the user of its ticket; None if nothing is kept."""
    ticket = find_ticket(request)
    draft = keeping.keep(ticket, request.POST, without=(_BUTTON_FIELD,)) if ticket is not None else None
    return None if draft is None else build_address(draft.path, {DRAFT_PARAMETER: str(draft.pk)})


def build_address(path: str, query: dict[str, str]) -> str:
    """Return the address of a page with a query."""
    return f"{escape_uri_path(path)}?{urlencode(query)}"
