# SPDX-License-Identifier: Apache-2.0
"""Convert datasets of robot episodes to LeRobot's format v3 and back."""

from __future__ import annotations

from .plan import features_of
from .reading import from_lerobot
from .writing import to_lerobot

__all__ = ["features_of", "from_lerobot", "to_lerobot"]
