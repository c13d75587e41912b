"""Settings: what can be set, what each setting decides, and where its value comes from."""

from ragscience.core.home_config import allow, config_file, permission, read_config, write_config
from ragscience.core.server_keys import server_key
from ragscience.core.setting_effects import decides, deciding_settings, deciding_values, is_guarded
from ragscience.core.setting_fields import ENV_PREFIX, Settings
from ragscience.core.settings_loader import (
    LoadedSettings,
    absolute_path,
    changed_settings,
    check_home,
    default_settings,
    find_home,
    load_settings,
    load_with_sources,
)

__all__ = [
    "ENV_PREFIX",
    "LoadedSettings",
    "Settings",
    "absolute_path",
    "allow",
    "changed_settings",
    "check_home",
    "config_file",
    "decides",
    "deciding_settings",
    "deciding_values",
    "default_settings",
    "find_home",
    "is_guarded",
    "load_settings",
    "load_with_sources",
    "permission",
    "read_config",
    "server_key",
    "write_config",
]
