"""Validation of addresses in documents that pages turn into links."""

from urllib.parse import urlsplit

_SCHEMES = ("http", "https")


def is_web_address(address: str | None) -> bool:
    """Whether an address may become a link: http or https, with a host."""
    if not address or not address.isprintable() or " " in address:
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in _SCHEMES and bool(parts.netloc)
