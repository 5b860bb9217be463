# SPDX-License-Identifier: Apache-2.0
"""Convert datasets of robot episodes to LeRobot's format v3 and back."""

from __future__ import annotations

from .plan import lerobot_features
from .reading import from_lerobot
from .writing import to_lerobot

__all__ = ["from_lerobot", "lerobot_features", "to_lerobot"]
