"""Settings kept as attributes are those that Django has, also after a change."""

import pytest

from policies.kept_settings import KeptSettings, kept_settings


def test_a_setting_is_read_once_and_anew_after_a_change(settings):
    settings.DECISION_LOG_SAMPLE = 0.25
    assert kept_settings.DECISION_LOG_SAMPLE == 0.25
    assert vars(kept_settings)["DECISION_LOG_SAMPLE"] == 0.25
    settings.DECISION_LOG_SAMPLE = 0.5
    assert "DECISION_LOG_SAMPLE" not in vars(kept_settings)
    assert kept_settings.DECISION_LOG_SAMPLE == 0.5


def test_a_setting_that_does_not_exist_is_an_error():
    with pytest.raises(AttributeError, match="NO_SUCH_SETTING"):
        assert KeptSettings().NO_SUCH_SETTING
