"""The template tag that puts the lines of a drawing into components/icon.html."""

from functools import cache

from django import template
from django.template.loader import get_template
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.simple_tag(name="drawing")
@cache
def render_icon(name: str) -> SafeString:
    """Return the lines of a file of components/icons/, read once: a list shows the same few drawings on every row.

    Raises TemplateDoesNotExist where there is no such drawing.
    """
    return mark_safe(get_template(f"components/icons/{name}.svg").render())  # noqa: S308 - a file of ours
