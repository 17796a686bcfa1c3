"""The events of the parser of YAML as a strict document, and the writer that quotes what would be read otherwise."""

from typing import Any

import yaml

from policies.engine.errors import quote
from policies.engine.families.document_reader import escape, is_clean
from policies.writes.yaml_values import MAX_DEPTH, InvalidYaml, YamlDocument, is_ambiguous, read_plain

# The parser of libyaml is ten times as fast; where PyYAML was built without it, its own does.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read_document(text: str) -> YamlDocument:
    """Return the document of a text; raises InvalidYaml for the first problem."""
    reader = _EventReader()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.read_event(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise InvalidYaml(line, f"This is no YAML: {error.problem or error.context}.") from None
    except yaml.YAMLError as error:
        raise InvalidYaml(1, f"This is no YAML: {error}.") from None
    return reader.document


def write_document(value: Any) -> str:
    """Return the text of a value."""
    text: str = yaml.dump(value, Dumper=_StrictDumper, sort_keys=False, allow_unicode=True, width=4096)
    return text


class _StrictDumper(_DUMPER):  # type: ignore[misc]  # chosen while the module is loaded
    """A dumper without aliases that quotes each text which `loads` would not read as itself."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Return that nothing is an alias."""
        return True

    def represent_text(self, data: str) -> yaml.Node:
        """Return the node of a text: quoted where needed, as a block where it has lines."""
        style = "|" if "\n" in data else "'" if is_ambiguous(data) else None
        node: yaml.Node = self.represent_scalar("tag:yaml.org,2002:str", data, style=style)
        return node


_StrictDumper.add_representer(str, _StrictDumper.represent_text)


class _Collection:
    """A list or mapping that is being read, with its pointer and, of a mapping, a key that waits for its value."""

    def __init__(self, value: Any, pointer: str) -> None:
        self.value, self.pointer, self.key = value, pointer, ""
        self.is_waiting = False

    def child_pointer(self) -> str:
        """Return the pointer of the next value."""
        return f"{self.pointer}/{len(self.value) if isinstance(self.value, list) else escape(self.key)}"


class _EventReader:
    """Builds the value of one document from the events of the parser."""

    def __init__(self) -> None:
        self.document = YamlDocument()
        self._open: list[_Collection] = []
        self._documents = 0

    def read_event(self, event: Any) -> None:
        """Add what an event says. Raises InvalidYaml."""
        line = event.start_mark.line + 1
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise InvalidYaml(line, "A file holds one document; this begins a second one.")
            case yaml.AliasEvent():
                raise InvalidYaml(line, "Aliases (*name) are not read here.")
            case yaml.ScalarEvent():
                self._refuse_decoration(event, line)
                self._add_scalar(event, line)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._refuse_decoration(event, line)
                self._open_collection([] if isinstance(event, yaml.SequenceStartEvent) else {}, line)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._open.pop()
            case _:
                # Where the stream and the document begin and end.
                return

    def _refuse_decoration(self, event: Any, line: int) -> None:
        if event.anchor is not None:
            raise InvalidYaml(line, "Anchors (&name) are not read here.")
        if event.tag is not None:
            raise InvalidYaml(line, "Tags (!name) are not read here.")

    def _open_collection(self, value: Any, line: int) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise InvalidYaml(line, f"This is nested too deeply: more than {MAX_DEPTH} levels.")
        pointer = self._add(value, line)
        self._open.append(_Collection(value, pointer))

    def _add_scalar(self, event: Any, line: int) -> None:
        text: str = event.value
        if not is_clean(text):
            raise InvalidYaml(line, "A text holds no NUL and no half of a surrogate pair.")
        parent = self._open[-1] if self._open else None
        if parent is not None and isinstance(parent.value, dict) and not parent.is_waiting:
            if text in parent.value:
                raise InvalidYaml(line, f"The key {quote(text)} stands twice.")
            parent.key, parent.is_waiting = text, True
            self.document.lines[parent.child_pointer()] = line
            return
        self._add(read_plain(text, line) if event.implicit[0] else text, line)

    def _add(self, value: Any, line: int) -> str:
        """Put a value where it belongs and return its pointer."""
        if not self._open:
            self.document.value = value
            self.document.lines[""] = line
            return ""
        parent = self._open[-1]
        if isinstance(parent.value, dict) and not parent.is_waiting:
            raise InvalidYaml(line, "A key is a text.")
        pointer = parent.child_pointer()
        if isinstance(parent.value, list):
            self.document.lines[pointer] = line
            parent.value.append(value)
        else:
            parent.value[parent.key], parent.is_waiting = value, False
        return pointer
