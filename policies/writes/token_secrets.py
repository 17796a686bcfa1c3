"""Texts that open something for whoever has them: made of chance, and kept as digests only.

They are 256 bits, random or as good as random. Nobody guesses that much chance, so a slow hash would only make every
request slow, and looking a digest up tells nobody how much of a guess was right.
"""

import base64
import hashlib
import re
import secrets

from django.utils.crypto import salted_hmac

_SECRET_BODY = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def generate(prefix: str) -> str:
    """Return a new secret; the prefix tells people and scanners of leaked secrets what it is."""
    return prefix + secrets.token_urlsafe(32)


def derive(prefix: str, *, name: str) -> str:
    """Return the secret that follows from SECRET_KEY for what this names.

    Who holds the key can make it again as long as the key is the same; whoever reads the database alone cannot.
    """
    signature = salted_hmac("policies.writes.token_secrets", name, algorithm="sha256").digest()
    return prefix + base64.urlsafe_b64encode(signature).decode().rstrip("=")


def is_well_formed(text: str, prefix: str) -> bool:
    """Whether this can be a secret with the prefix at all."""
    return text.startswith(prefix) and _SECRET_BODY.fullmatch(text.removeprefix(prefix)) is not None


def digest(text: str) -> str:
    """Return what is kept of a secret: its SHA-256 in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
