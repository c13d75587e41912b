"""What travels between the packages: frozen dataclasses without behaviour but a derived value or two."""

from ragscience.core.answer_records import *  # noqa: F403
from ragscience.core.paper_records import *  # noqa: F403
