"""Terms about texts: the values of a field, of which there is one (`SingleText`) or are many (`TextSet`).

A literal stands for *has this value*, another one for *has a value that begins so*. Only texts that some statement
names have literals; all other texts are alike, and `invent` makes one up where an example needs it.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from itertools import product
from string import ascii_letters
from typing import NamedTuple

from policies.engine.proofs.formula import FALSE, Formula, TimeOver

#: Called for each literal of a field: the text, its literal, and whether it stands for a beginning.
Listener = Callable[[str, int, bool], None]


class TextForm(NamedTuple):
    """The shape of a value of a field, and of the beginning of one."""

    value: re.Pattern[str]
    prefix: re.Pattern[str]


#: Decimals of the number in an invented text: all are as long, so that none begins another one.
_DIGITS = 4
_INVENTED = re.compile(f"another[0-9]{{{_DIGITS}}}")
#: Most characters, less one, that are put before an invented text so that it begins as no statement says.
_MAX_LEAD = 4


class TextTerms(ABC):
    """The literals of one field.

    `beginnings` are those of which every value has one (none: any text but ''), `form` what values look like.
    """

    def __init__(self, formula: Formula, beginnings: tuple[str, ...] = (), form: TextForm | None = None) -> None:
        self._formula = formula
        self._beginnings = beginnings
        self._form = form
        self._values: dict[str, int] = {}
        self._prefixes: dict[str, int] = {}
        self._announced: list[tuple[str, int, bool]] = []
        self._listeners: list[Listener] = []

    def value(self, text: str) -> int:
        """Return the literal of one value."""
        literal = self._values.get(text)
        if literal is None:
            literal = self._values[text] = FALSE
            if self._is_possible(text):
                literal = self._values[text] = self._add_value(text)
                self._announce(text, literal, is_prefix=False)
        return literal

    def prefix(self, text: str) -> int:
        """Return the literal of values that begin with a text."""
        literal = self._prefixes.get(text)
        if literal is None:
            literal = self._prefixes[text] = self._find_prefix(text)
        return literal

    @property
    def has_value(self) -> int:
        """The literal that there is a value at all."""
        return self.prefix("")

    def find_value(self, text: str) -> int:
        """Return the literal of a value that a statement names, FALSE for any other."""
        return self._values.get(text, FALSE)

    def list_literals(self) -> list[tuple[str, int, bool]]:
        """Return each text that has a literal of its own, its literal, and whether it is a beginning."""
        return self._announced

    def observe(self, listener: Listener) -> None:
        """Call a listener for each text that is there and will be, once for each literal of its own."""
        self._listeners.append(listener)
        for text, literal, is_prefix in self._announced.copy():
            listener(text, literal, is_prefix)

    def invent(self, beginning: str, numbers: Iterator[int], *others: "TextTerms") -> str:
        """Return a text with a beginning that no statement names and that the solution allows, here and in `others`."""
        number = f"{next(numbers):0{_DIGITS}}"
        for length in range(_MAX_LEAD):
            for lead in product(ascii_letters, repeat=length):
                text = close_brackets(f"{beginning}{''.join(lead)}another{number}")
                if all(terms.is_free(text) for terms in (self, *others)):
                    return text
        raise TimeOver  # so many statements about beginnings that no other text is found

    def is_free(self, text: str) -> bool:
        """Whether no statement names a text, and it has no beginning that the solution excludes."""
        return text not in self._values and not self.list_excluding(text)

    def list_excluding(self, text: str) -> list[int]:
        """Return the literals of a text and of its beginnings that are false in the solution."""
        literals = [literal for prefix, literal in self._prefixes.items() if prefix and text.startswith(prefix)]
        literals += [self._values[text]] if text in self._values else []
        return [literal for literal in literals if not self._formula.holds(literal)]

    def _is_possible(self, text: str) -> bool:
        has_beginning = not self._beginnings or text.startswith(self._beginnings)
        return text != "" and has_beginning and (self._form is None or self._form.value.fullmatch(text) is not None)

    def _find_prefix(self, text: str) -> int:
        if text and self._beginnings:
            longer_beginnings = [beginning for beginning in self._beginnings if beginning.startswith(text)]
            if len(longer_beginnings) == len(self._beginnings):
                return self.prefix("")
            if longer_beginnings and longer_beginnings != [text]:
                return self._formula.define_any([self.prefix(beginning) for beginning in longer_beginnings])
            if not longer_beginnings and not text.startswith(self._beginnings):
                return FALSE
        is_possible = self._form is None or self._form.prefix.fullmatch(text) is not None
        if not is_possible:
            return FALSE
        literal = self._prefixes[text] = self._add_prefix(text)
        self._announce(text, literal, is_prefix=True)
        return literal

    def _announce(self, text: str, literal: int, *, is_prefix: bool) -> None:
        self._announced.append((text, literal, is_prefix))
        for listener in self._listeners:
            listener(text, literal, is_prefix)

    @abstractmethod
    def _add_value(self, text: str) -> int:
        """Return a new literal for a value, with the clauses that say which others go with it."""

    @abstractmethod
    def _add_prefix(self, text: str) -> int:
        """Return a new literal for a beginning, with the clauses that say which others go with it."""


class TextSet(TextTerms):
    """A field with any number of values."""

    def find_texts(self, known_texts: Collection[str], numbers: Iterator[int]) -> frozenset[str]:
        """Return values that the solution wants; `known_texts` are values that it has in any case."""
        holds = self._formula.holds
        texts = {text for text, literal in self._values.items() if holds(literal)}.union(known_texts)
        for prefix in sorted((text for text, literal in self._prefixes.items() if holds(literal)), key=len)[::-1]:
            if not any(text.startswith(prefix) for text in texts):
                texts.add(self.invent(self._complete(prefix), numbers))
        return frozenset(texts)

    def _complete(self, prefix: str) -> str:
        """Return a prefix, or the first of the possible beginnings that it begins and that the solution allows."""
        for beginning in self._beginnings:
            if beginning.startswith(prefix) and all(
                self._formula.holds(literal)
                for text, literal in self._prefixes.items()
                if text and beginning.startswith(text)
            ):
                return beginning
        return prefix

    def _add_value(self, text: str) -> int:
        literal = self._formula.create_literal()
        for prefix, prefix_literal in self._prefixes.items():
            if text.startswith(prefix):
                self._formula.require(-literal, prefix_literal)
        return literal

    def _add_prefix(self, text: str) -> int:
        literal = self._prefixes[text] = self._formula.create_literal()
        if text == "" and len(self._beginnings) > 1:
            self._formula.require(-literal, *(self.prefix(beginning) for beginning in self._beginnings))
        for value, value_literal in self._values.items():
            if value.startswith(text) and value_literal != FALSE:
                self._formula.require(-value_literal, literal)
        for prefix, prefix_literal in self._prefixes.items():
            if prefix.startswith(text) and prefix_literal != FALSE:
                self._formula.require(-prefix_literal, literal)
            elif text.startswith(prefix) and prefix_literal != FALSE:
                self._formula.require(-literal, prefix_literal)
        return literal


class SingleText(TextTerms):
    """A field with one value, or none where `has_value` is false.

    The texts are a tree in which each is below the longest that it begins with; of two below the same one, at most one
    is true. A value is below the prefix of the same text, beside all longer texts.
    """

    def __init__(
        self, formula: Formula, has_value: int, beginnings: tuple[str, ...] = (), form: TextForm | None = None
    ) -> None:
        super().__init__(formula, beginnings, form)
        self._prefixes[""] = has_value
        self._announced.append(("", has_value, True))
        self._nodes = {"": has_value}
        self._sorted_nodes = [""]
        #: Text of a node -> next character ('' for the end of the text) -> literal.
        self._branches: dict[str, dict[str, int]] = defaultdict(dict)

    def find_text(self, beginning: str, numbers: Iterator[int]) -> str:
        """Return the value of the solution ('' if there is none); an invented one has this beginning, if it can."""
        holds = self._formula.holds
        if not holds(self._nodes[""]):
            return ""
        value = next((text for text, literal in self._values.items() if holds(literal)), None)
        if value is not None:
            return value
        longest = max((text for text, literal in self._prefixes.items() if holds(literal)), key=len)
        if self.is_free(beginning) and beginning.startswith(longest):
            return self.invent(beginning, numbers)
        return self.invent(max((longest, *self._beginnings), key=len), numbers)

    def _add_value(self, text: str) -> int:
        node = self._find_node(text)
        literal = self._formula.create_literal()
        self._formula.require(-literal, node)
        self._add_branch(text, "", literal)
        return literal

    def _add_prefix(self, text: str) -> int:
        return self._find_node(text)

    def _find_node(self, text: str) -> int:
        if text not in self._nodes:
            position = bisect_left(self._sorted_nodes, text)
            neighbors = self._sorted_nodes[position - 1 : position + 1]
            fork = max((_find_common_beginning(text, neighbor) for neighbor in neighbors), key=len)
            if fork not in self._nodes:
                self._add_node(fork)
            if text not in self._nodes:
                self._add_node(text)
        return self._nodes[text]

    def _add_node(self, text: str) -> None:
        """Add a node whose fork with its neighbors is a node, or which is itself that fork."""
        literal = self._nodes[text] = self._formula.create_literal()
        position = bisect_left(self._sorted_nodes, text)
        parent = _find_common_beginning(self._sorted_nodes[position - 1], text)
        self._formula.require(-literal, self._nodes[parent])
        if position < len(self._sorted_nodes) and self._sorted_nodes[position].startswith(text):
            child = self._sorted_nodes[position]
            self._formula.require(-self._nodes[child], literal)
            self._add_branch(text, child[len(text)], self._nodes[child])
        self._add_branch(parent, text[len(parent)], literal)
        insort(self._sorted_nodes, text)

    def _add_branch(self, text: str, character: str, literal: int) -> None:
        branches = self._branches[text]
        for other_character, other_literal in branches.items():
            if other_character != character:
                self._formula.require(-literal, -other_literal)
        branches[character] = literal


def _find_common_beginning(text: str, other: str) -> str:
    for position, (character, other_character) in enumerate(zip(text, other, strict=False)):
        if character != other_character:
            return text[:position]
    return min(text, other, key=len)


def is_invented(text: str) -> bool:
    """Whether a text is one that `invent` made up, with nothing before it."""
    return _INVENTED.fullmatch(text) is not None


def close_brackets(text: str) -> str:
    """Return a text with the brackets closed that it leaves open."""
    return text + ")" * max(0, text.count("(") - text.count(")"))
