"""YAML that people write, read node by node: every problem is noted with its line, and reading goes on."""

import difflib

import yaml

#: The deepest nesting; none of our texts means anything beyond the sixth level.
_DEEPEST = 8


class _Loader(yaml.SafeLoader):
    """Makes nodes of plain YAML: without aliases, which could make a short text endless, and not too deep."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Make one node."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # the stubs give it no types
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not read here", problem_mark=mark)
        self.depth += 1
        if self.depth > _DEEPEST:
            raise yaml.MarkedYAMLError(problem="this is nested too deep", problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class Nodes:
    """Reads nodes, and keeps what is wrong with them as (line, sentence)."""

    def __init__(self) -> None:
        self.problems: list[tuple[int, str]] = []

    def in_order(self) -> list[tuple[int, str]]:
        """Return the problems by line, each once."""
        return sorted(dict.fromkeys(self.problems))

    def root(self, text: str, *, most: int) -> yaml.Node | None:
        """Return the node of a whole text of at most so many characters; None when there is none."""
        if len(text) > most:
            self.problems.append((1, f"A text has up to {most:,} characters, not {len(text):,}."))
            return None
        try:
            found: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self.problems.append((mark.line + 1 if mark else 1, f"This is no YAML: {error.problem or error.context}."))
            return None
        except yaml.YAMLError as error:
            self.problems.append((1, f"This is no YAML: {error}."))
            return None
        return found

    def mapping(self, node: yaml.Node, *, known: tuple[str, ...]) -> dict[str, yaml.Node]:
        """Return the values of a mapping by their keys, after noting keys that are unknown or twice there."""
        if not isinstance(node, yaml.MappingNode):
            self.note(node, f"This must be a mapping with {_listed(known)}.")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in found:
                self.note(key, f"`{name}` stands here twice.")
            elif name in known:
                found[name] = value
            else:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"is `{close[0]}` meant?" if close else f"known are {_listed(known)}."
                self.note(key, f"There is no `{name}` here; {hint}")
        return found

    def several(self, node: yaml.Node) -> list[yaml.Node]:
        """Return the items of a list; one thing stands for a list of it."""
        if not isinstance(node, yaml.SequenceNode):
            return [node]
        if not node.value:
            self.note(node, "This list is empty.")
        return list(node.value)

    def text(self, node: yaml.Node, what: str) -> str:
        """Return a text without the blanks around it; "" after noting that it is none, or that it cannot be stored."""
        text = node.value.strip() if isinstance(node, yaml.ScalarNode) else ""
        if not text:
            self.note(node, f"This must be {what}.")
        elif "\x00" in text or not text.isprintable():
            self.note(node, "This holds a character that no name has.")
            return ""
        return text

    def note(self, node: yaml.Node, sentence: str) -> None:
        """Keep what is wrong with a node."""
        self.problems.append((node.start_mark.line + 1, sentence))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
