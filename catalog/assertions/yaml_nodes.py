"""YAML read node by node: every problem is collected with its line, and reading continues."""

import difflib
from typing import Any

import yaml

#: Maximum nesting; our texts use at most six levels.
_MAX_DEPTH = 8


class _Loader(yaml.SafeLoader):
    """YAML loader without aliases, which could expand a short text without end, and with limited nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return one node. Raises MarkedYAMLError for an alias or too deep nesting."""
        event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs give it no types
        mark = event.start_mark
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not read here", problem_mark=mark)
        if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(problem="anchors (&name) and tags (!name) are not read here", problem_mark=mark)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="this is nested too deep", problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def load_texts(text: str) -> Any:
    """Return a valid text as mappings, lists and texts: nothing is read as a number or as true. None if it is empty."""
    root = yaml.compose(text, Loader=_Loader)
    return None if root is None else _to_texts(root)


def _to_texts(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _to_texts(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_to_texts(item) for item in node.value]
    return node.value


class YamlNodeReader:
    """Reads nodes and collects problems as (line, sentence)."""

    def __init__(self) -> None:
        self.problems: list[tuple[int, str]] = []

    def list_problems(self) -> list[tuple[int, str]]:
        """Return the distinct problems, sorted by line."""
        return sorted(dict.fromkeys(self.problems))

    def parse_root(self, text: str, *, max_length: int) -> yaml.Node | None:
        """Return the root node of a text of at most `max_length` characters; None for an empty or invalid text."""
        if len(text) > max_length:
            self.problems.append((1, f"A text has up to {max_length:,} characters, not {len(text):,}."))
            return None
        try:
            root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self.problems.append((mark.line + 1 if mark else 1, f"This is no YAML: {error.problem or error.context}."))
            return None
        except yaml.YAMLError as error:
            self.problems.append((1, f"This is no YAML: {error}."))
            return None
        return root

    def read_mapping(
        self, node: yaml.Node, *, allowed_keys: tuple[str, ...], rare_keys: tuple[str, ...] = ()
    ) -> dict[str, yaml.Node]:
        """Return the value nodes of a mapping by key; unknown and duplicate keys become problems.

        Problems do not list `rare_keys`, but suggest a similar one.
        """
        if not isinstance(node, yaml.MappingNode):
            self.add_problem(node, f"This must be a mapping with {_join_names(allowed_keys)}.")
            return {}
        nodes_by_key: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in nodes_by_key:
                self.add_problem(key, f"`{name}` stands here twice.")
            elif name in allowed_keys or name in rare_keys:
                nodes_by_key[name] = value
            else:
                similar_keys = difflib.get_close_matches(name, (*allowed_keys, *rare_keys), n=1)
                hint = f"is `{similar_keys[0]}` meant?" if similar_keys else f"known are {_join_names(allowed_keys)}."
                self.add_problem(key, f"There is no `{name}` here; {hint}")
        return nodes_by_key

    def read_open_mapping(self, node: yaml.Node) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        """Return the nodes of a mapping with any keys; keys that are no texts or stand twice become problems."""
        if not isinstance(node, yaml.MappingNode):
            self.add_problem(node, "This must be a mapping.")
            return []
        pairs: list[tuple[yaml.ScalarNode, yaml.Node]] = []
        names: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or not key.value:
                self.add_problem(key, "A key is a text.")
            elif key.value in names:
                self.add_problem(key, f"`{key.value}` stands here twice.")
            else:
                names.add(key.value)
                pairs.append((key, value))
        return pairs

    def list_items(self, node: yaml.Node) -> list[yaml.Node]:
        """Return the items of a list; any other node counts as a list of one."""
        if not isinstance(node, yaml.SequenceNode):
            return [node]
        if not node.value:
            self.add_problem(node, "This list is empty.")
        return list(node.value)

    def read_text(self, node: yaml.Node, description: str) -> str:
        """Return a scalar, stripped; "" after a problem: not a scalar, empty, or with unprintable characters."""
        text = node.value.strip() if isinstance(node, yaml.ScalarNode) else ""
        if not text:
            self.add_problem(node, f"This must be {description}.")
        elif "\x00" in text or not text.isprintable():
            self.add_problem(node, "This holds a character that no name has.")
            return ""
        return text

    def add_problem(self, node: yaml.Node, sentence: str) -> None:
        """Record a problem with the line of a node."""
        self.problems.append((node.start_mark.line + 1, sentence))


def _join_names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
