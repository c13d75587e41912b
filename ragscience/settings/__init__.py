"""Settings: what can be set, what each setting decides, and where its value comes from."""

from ragscience.settings.setting_fields import ENV_PREFIX, Settings, decides, deciding_settings, deciding_values
from ragscience.settings.settings_loader import changed_settings, load_settings

__all__ = [
    "ENV_PREFIX",
    "Settings",
    "changed_settings",
    "decides",
    "deciding_settings",
    "deciding_values",
    "load_settings",
]
