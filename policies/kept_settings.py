"""Settings that every decision reads, as plain attributes: Django's own object takes ten times as long for one."""

from typing import Any

from django.conf import settings
from django.core.signals import setting_changed


class KeptSettings:
    """The settings that were read so far. One that is changed later, as tests do, is read anew."""

    def __getattr__(self, name: str) -> Any:
        """Return a setting that is not kept yet, and keep it."""
        value = self.__dict__[name] = getattr(settings, name)
        return value

    def forget(self, *, setting: str, **_signal: object) -> None:
        """Have a changed setting read anew, as a receiver of `setting_changed`."""
        self.__dict__.pop(setting, None)


kept_settings = KeptSettings()
setting_changed.connect(kept_settings.forget)
