"""Filling in the builder as a browser would: every field of the page that is shown is sent back."""

from html.parser import HTMLParser

SAVE_ANYWAY = "save:anyway"
BASE = "/settings/permissions/policies"


class Form(HTMLParser):
    """The fields of a page's form, as a browser holds them: (name, value) pairs, and the buttons."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: list[tuple[str, str]] = []
        self.buttons: list[str] = []
        self.inside = False
        self.area: list[str] | None = None
        self.select: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "form":
            self.inside = "data-guard" in found
        if not self.inside or found.get("form") == "":
            return
        name = found.get("name")
        if tag == "input" and name and (found.get("type") not in ("checkbox", "radio") or "checked" in found):
            self.fields.append((name, found.get("value") or ("on" if found.get("type") == "checkbox" else "")))
        elif tag == "textarea":
            self.area = [name or ""]
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select and "selected" in found:
            self.fields.append((self.select, found["value"]))
        elif tag == "button" and name == "go":
            self.buttons.append(found["value"])

    def handle_data(self, data):
        if self.area is not None:
            self.area.append(data)

    def handle_endtag(self, tag):
        if tag == "textarea" and self.area is not None:
            name, *texts = self.area
            # The first line end after the tag is not part of the text; the others are sent as browsers send them.
            self.fields.append((name, "".join(texts).removeprefix("\n").replace("\n", "\r\n")))
            self.area = None
        elif tag == "select":
            self.select = None
        elif tag == "form":
            self.inside = False


class Builder:
    """One person at the builder."""

    def __init__(self, client, address) -> None:
        self.client, self.address = client, address
        #: Whether the form that was posted last is shown again, by the address of its draft.
        self.is_refused = False
        self.response = client.get(address)

    @property
    def form(self) -> Form:
        return Form(self.response.content.decode())

    @property
    def text(self) -> str:
        return str(self.response.content.decode())

    def press(self, go, *, without=(), headers=None, address=None, is_sure=True, **changes):
        """Change fields (a list stands for several values, None for leaving one out) and press a button.

        A form that is not stored is followed to its draft, as a browser does; what htmx asks for is only returned.

        Who `is_sure` saves a policy that reaches nobody or nothing when asked about it.
        """
        data: dict[str, list[str]] = {}
        for name, value in self.form.fields:
            data.setdefault(name, []).append(value)
        for name, value in changes.items():
            if value is None:
                data.pop(name, None)
            else:
                data[name] = value if isinstance(value, list) else [value]
        for name, value in without:
            data[name] = [one for one in data.get(name, []) if one != value]
        data["go"] = [go]
        response = self.client.post(address or self.address.partition("?")[0], data, headers=headers or {})
        if headers is None:
            self.is_refused = response.status_code == 302 and "draft=" in response.headers["Location"]
            if self.is_refused:
                response = self.client.get(response.headers["Location"])
            self.response = response
            if is_sure and go in ("save", "takeover") and SAVE_ANYWAY in self.form.buttons:
                return self.press(SAVE_ANYWAY, address=address)
        return response
