"""Secrets of tokens and links: generation, derivation, format and digest.

They have 256 bits, random or indistinguishable from it, and only digests are stored. Such a secret cannot be guessed,
so a slow hash would only slow down every request, and looking a digest up leaks nothing about a guess.
"""

import base64
import hashlib
import re
import secrets

from django.utils.crypto import salted_hmac

_SECRET_BODY = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def generate(prefix: str) -> str:
    """Return a new random secret; the prefix identifies it to people and to scanners for leaked secrets."""
    return prefix + secrets.token_urlsafe(32)


def derive(prefix: str, *, name: str) -> str:
    """Return the secret derived from SECRET_KEY for this name.

    It can be derived again as long as SECRET_KEY stays the same, but not from the database alone.
    """
    signature = salted_hmac("policies.writes.token_secrets", name, algorithm="sha256").digest()
    return prefix + base64.urlsafe_b64encode(signature).decode().rstrip("=")


def is_well_formed(text: str, prefix: str) -> bool:
    """Whether the text has the format of a secret with this prefix."""
    return text.startswith(prefix) and _SECRET_BODY.fullmatch(text.removeprefix(prefix)) is not None


def digest(text: str) -> str:
    """Return the digest that is stored of a secret: SHA-256 in hexadecimal digits.

    Any text has one, also what is no valid Unicode: whoever invents a token is unknown, and not an error.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
