"""Words of names: what search compares, so that finding a person stays a range of an index however many there are."""

import re
import unicodedata

from django.db import models
from django.db.models import Q

from policies.models.fields import BytewiseCharField
from policies.models.people import GroupProfile, User

#: Longest word that is indexed, in characters; a longer one is found by its beginning.
MAX_WORD_LENGTH = 64

#: Sorts behind everything a word can go on with.
LAST_CHARACTER = "\U0010ffff"

_WORD = re.compile(r"[^\W_]+")


def split_words(text: str) -> list[str]:
    """Return the words of a text as they are indexed and searched: casefolded, cut, each once.

    Compatibility forms are unified, so that full-width or ligature spellings find the plain ones.
    """
    folded_text = unicodedata.normalize("NFKC", text).casefold()
    return list(dict.fromkeys(word[:MAX_WORD_LENGTH] for word in _WORD.findall(folded_text)))


class NameWord(models.Model):
    """One word of what a user or a group is called. Derived; written with the row by `services.wording`."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="words", null=True)
    group = models.ForeignKey(GroupProfile, on_delete=models.CASCADE, related_name="words", null=True)
    word = BytewiseCharField(max_length=MAX_WORD_LENGTH)
    #: Whether only the e-mail address of a user has it: such a word finds the user for those who may see the address.
    is_address = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True, group__isnull=False) | Q(user__isnull=False, group__isnull=True),
                name="name_word_has_one_owner",
            ),
        ]
        indexes = [
            models.Index(fields=["word", "user"], name="name_word_of_user"),
            models.Index(fields=["word", "group"], name="name_word_of_group"),
        ]

    def __str__(self) -> str:
        return str(self.word)
