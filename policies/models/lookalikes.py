"""Folding of names by appearance: without letter case, and with look-alike letters of other scripts replaced.

`lookalikes.txt` maps characters of other scripts to the ASCII letters and digits that they resemble (Unicode Technical
Standard 39). ASCII letters are not mapped to each other: `a1` and `al` are two names.
"""

import hashlib
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from policies.models.fields import BytewiseCharField, is_storable

#: Longest folded name that is stored as such, in characters; for a longer one its digest is stored.
MAX_FOLDED_LENGTH = 200

if TYPE_CHECKING:
    from django.db.models import Model


def fold_name(text: str) -> str:
    """Return the folded name: NFKC, look-alikes replaced, casefolded. Equal for names that look the same."""
    table = _load_table()
    # Replaced before and after casefolding: a capital may resemble an ASCII letter where its small letter does not.
    plain_text = unicodedata.normalize("NFKC", text).translate(table).casefold().translate(table)
    folded_text = unicodedata.normalize("NFKC", plain_text)
    if len(folded_text) <= MAX_FOLDED_LENGTH:
        return folded_text
    return f"sha256:{hashlib.sha256(folded_text.encode('utf-8', 'surrogatepass')).hexdigest()}"


@cache
def _load_table() -> dict[int, str]:
    table: dict[int, str] = {}
    for line in Path(__file__).with_name("lookalikes.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            letter, *points = line.split()
            table.update(dict.fromkeys((int(point, 16) for point in points), letter))
    return table


class FoldedNameField(BytewiseCharField):
    """The folded form of another column of the row (`source`), computed on every save and bulk insert."""

    def __init__(self, *args: Any, source: str = "", **kwargs: Any) -> None:
        self.source = source
        kwargs |= {"max_length": MAX_FOLDED_LENGTH, "editable": False, "default": ""}
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        """Return the constructor's arguments: the source, without those that the field sets itself."""
        name, path, args, kwargs = super().deconstruct()
        for argument in ("max_length", "editable", "default"):
            kwargs.pop(argument, None)
        return name, path, args, kwargs | {"source": self.source}

    def pre_save(self, model_instance: "Model", add: bool) -> Any:  # noqa: ARG002, FBT001 - Django's signature
        """Return the folded source; `bulk_create` calls this too, so that no service can omit it."""
        text = getattr(model_instance, self.source)
        folded_text = fold_name(text) if is_storable(text) else text
        setattr(model_instance, self.attname, folded_text)
        return folded_text
