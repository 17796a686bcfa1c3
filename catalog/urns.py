"""Parsing and construction of URNs: `urn:li:<type>:<key>`, whose key is plain text or `(part,part)` with nested parts.

Every accepted URN can be stored on every database, printed on one line and sent in a URL.
"""

import re
import unicodedata
from dataclasses import dataclass

from catalog.errors import URN_INVALID
from policies.engine.errors import Problem
from policies.models.fields import MAX_URN_LENGTH, is_storable

#: Maximum length of a URN in bytes of UTF-8, as in DataHub: two must fit into one index entry of PostgreSQL.
MAX_URN_BYTES = MAX_URN_LENGTH

_PREFIX = "urn:li:"
_TYPE_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_PART_SIGN = re.compile(r"[(),]")

#: Fields of the key aspect, in the order of the parts, of each type whose key is not a single `id` (clients.md 1.10).
KEY_FIELDS: dict[str, tuple[str, ...]] = {
    "assertion": ("assertionId",),
    "chart": ("dashboardTool", "chartId"),
    "container": ("guid",),
    "corpGroup": ("name",),
    "corpuser": ("username",),
    "dashboard": ("dashboardTool", "dashboardId"),
    "dataFlow": ("orchestrator", "flowId", "cluster"),
    "dataJob": ("flow", "jobId"),
    "dataPlatform": ("platformName",),
    "dataPlatformInstance": ("platform", "instance"),
    "dataset": ("platform", "name", "origin"),
    "glossaryNode": ("name",),
    "glossaryTerm": ("name",),
    "mlFeature": ("featureNamespace", "name"),
    "mlFeatureTable": ("platform", "name"),
    "mlModel": ("platform", "name", "origin"),
    "mlModelDeployment": ("platform", "name", "origin"),
    "mlModelGroup": ("platform", "name", "origin"),
    "mlPrimaryKey": ("featureNamespace", "name"),
    "notebook": ("notebookTool", "notebookId"),
    "schemaField": ("parent", "fieldPath"),
    "tag": ("name",),
    "telemetry": ("name",),
    "versionSet": ("id", "entityType"),
}

#: Types whose rows are in `policies`; the catalog stores only their additional aspects.
PEOPLE_TYPES = frozenset({"corpuser", "corpGroup", "dataHubRole", "dataHubPolicy"})
#: Types that stay guarded when REST_API_AUTHORIZATION is off: people, types that grant access, types with a secret.
GUARDED_TYPES = PEOPLE_TYPES | {"dataHubAccessToken", "dataHubSecret", "inviteToken"}

#: Types whose key aspect is not named `<type>Key`.
_KEY_ASPECTS = {"corpuser": "corpUserKey"}

#: Types whose first part names their tool, without being a URN itself.
_TYPES_WITH_TOOL = frozenset({"chart", "dashboard", "dataFlow", "notebook"})


class InvalidUrn(ValueError):
    """Text that is not a URN; the message is a sentence with the reason."""


@dataclass(frozen=True, slots=True)
class Urn:
    """A parsed URN: the text as written, the entity type, and the parts of the key (one for a plain key)."""

    text: str
    type: str
    parts: tuple[str, ...]

    @property
    def key(self) -> str:
        """The text after the type."""
        return self.text[len(_PREFIX) + len(self.type) + 1 :]

    @property
    def key_aspect(self) -> str:
        """The name of the key aspect, which every entity has, stored or not."""
        return _KEY_ASPECTS.get(self.type, f"{self.type}Key")

    @property
    def key_document(self) -> dict[str, str]:
        """The key aspect, derived from the URN; a key whose parts have no known names is one `id`."""
        fields = KEY_FIELDS.get(self.type, ("id",))
        if len(fields) == len(self.parts):
            return dict(zip(fields, self.parts, strict=True))
        return {fields[0] if len(fields) == 1 else "id": self.key}

    @property
    def identifier(self) -> str:
        """The part by which people know the entity: the name of a dataset, the last part of any other."""
        return self.parts[1] if len(self.parts) > 2 else self.parts[-1]

    @property
    def platform(self) -> str | None:
        """The URN of the data platform in the key, directly or through a nested URN."""
        first = self.parts[0]
        try:
            outer = parse(f"{_PREFIX}dataPlatform:{first}" if self.type in _TYPES_WITH_TOOL else first)
        except InvalidUrn:
            return None
        if len(self.parts) == 1:
            return None
        return outer.text if outer.type == "dataPlatform" else outer.platform


def parse(text: str) -> Urn:
    """Return the parsed URN.

    Raises InvalidUrn for anything but `urn:li:<type>:<key>` of at most 512 bytes, without control characters, lone
    surrogates and surrounding blanks, whose brackets (when the key begins with one) are balanced.
    """
    _check_text(text)
    type_, _, key = text.removeprefix(_PREFIX).partition(":")
    if not text.startswith(_PREFIX) or not _TYPE_PATTERN.fullmatch(type_):
        raise InvalidUrn("A URN begins with urn:li: and an entity type.")
    if not key:
        raise InvalidUrn("The URN has no key after its type.")
    return Urn(text, type_, _split_parts(key) if key.startswith("(") else (key,))


def make(type_: str, *parts: str) -> str:
    """Return the URN of these key parts: plain for one part, bracketed for several. Raises InvalidUrn."""
    key = parts[0] if len(parts) == 1 else f"({','.join(parts)})"
    return parse(f"{_PREFIX}{type_}:{key}").text


def entity_type(text: str) -> str:
    """Return the entity type in a URN, '' when the text is not a URN: questions may be about anything."""
    prefix, _, rest = text.partition(_PREFIX)
    type_ = rest.partition(":")[0]
    return type_ if not prefix and _TYPE_PATTERN.fullmatch(type_) else ""


def field_dataset_urns(text: str) -> tuple[str, ...]:
    """Return the dataset of a schema field, empty for anything else."""
    try:
        field = parse(text)
    except InvalidUrn:
        return ()
    if field.type != "schemaField" or entity_type(field.parts[0]) != "dataset":
        return ()
    return (field.parts[0],)


def find_problem(text: object, pointer: str, types: tuple[str, ...] = ()) -> Problem | None:
    """Return the problem of a value that should be a URN (of one of these types), with this pointer, or None."""
    if not isinstance(text, str):
        return Problem(URN_INVALID, pointer, "A URN is text.")
    try:
        urn = parse(text)
    except InvalidUrn as error:
        return Problem(URN_INVALID, pointer, str(error))
    if types and urn.type not in types:
        return Problem(URN_INVALID, pointer, f"This is the URN of a {urn.type}, not of a {' or '.join(types)}.")
    return None


def _check_text(text: str) -> None:
    if not is_storable(text):
        raise InvalidUrn("The URN holds NUL or half of a surrogate pair.")
    if len(text.encode()) > MAX_URN_BYTES:
        raise InvalidUrn(f"A URN has at most {MAX_URN_BYTES} bytes; this one has {len(text.encode())}.")
    # Printable text, as nearly all is, has none of them, which is known a hundred times sooner.
    if not text.isprintable() and any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text):
        raise InvalidUrn("The URN holds a control character or a line break.")
    if text != text.strip():
        raise InvalidUrn("The URN begins or ends with a blank.")


def _split_parts(key: str) -> tuple[str, ...]:
    """Split `(a,b(c,d),e)` at its outer commas."""
    parts: list[str] = []
    depth = start = 0
    for bracket_or_comma in _PART_SIGN.finditer(key):
        character, index = bracket_or_comma[0], bracket_or_comma.start()
        if character == "(":
            depth += 1
            start = 1 if depth == 1 else start
        elif character == ")":
            depth -= 1
        if depth == 0 and index < len(key) - 1:
            break
        if depth == 1 and character == ",":
            parts.append(key[start:index])
            start = index + 1
    else:
        parts.append(key[start:-1])
        if depth == 0 and all(parts):
            return tuple(parts)
    raise InvalidUrn("The brackets of the key are not balanced, or one of its parts is empty.")
