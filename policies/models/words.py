"""Index of the words in names, so that a search by prefix is a range of an index."""

import re
import unicodedata
from itertools import pairwise

from django.db import models
from django.db.models import Q

from policies.models.fields import BytewiseCharField
from policies.models.people import GroupProfile, User

#: Longest indexed word, in characters; a longer one is cut.
MAX_WORD_LENGTH = 64

#: Most words indexed for one user or group: the first ones of name, id and address.
MAX_NAME_WORDS = 24
#: Most words that a search of entities tests: each is a join, and planning them takes time with the third power.
MAX_SEARCH_WORDS = 40

#: Sorts after every continuation of a prefix.
LAST_CHARACTER = "\U0010ffff"

_WORD = re.compile(r"[^\W_]+")


def split_words(text: str) -> list[str]:
    """Return the words of a text as indexed and searched: NFKC, casefolded, cut to MAX_WORD_LENGTH, each once.

    NFKC makes full-width and ligature spellings match the plain ones.
    """
    folded_text = unicodedata.normalize("NFKC", text).casefold()
    return list(dict.fromkeys(word[:MAX_WORD_LENGTH] for word in _WORD.findall(folded_text)))


def split_search(text: str) -> list[str]:
    """Return the words that a search tests: those of the text that no other word of it begins with.

    No two of them begin the same word, so what has fewer words than these does not match.
    """
    words = split_words(text)
    ordered_words = sorted(words)
    redundant_words = {word for word, longer in pairwise(ordered_words) if longer.startswith(word)}
    return [word for word in words if word not in redundant_words]


class NameWord(models.Model):
    """One word of a user's or a group's names. Derived; written with the row by `identity.services.name_index`."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="words", null=True)
    group = models.ForeignKey(GroupProfile, on_delete=models.CASCADE, related_name="words", null=True)
    word = BytewiseCharField(max_length=MAX_WORD_LENGTH)
    #: Whether the word occurs in the e-mail address only; it then matches only for viewers who may see the address.
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
