# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.training.HParams``: named settings of a program."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["HParams"]

# Match a name and a value, a list of values, or an empty value.
_SETTING = re.compile(
    r"\s*(?P<name>[a-zA-Z]\w*)\s*=\s*(\[(?P<list>[^\]]*)\]|(?P<one>[^,\[]*))(?:,|$)"
)


class HParams:
    """Settings that are accessible as attributes.

    The initial value of a setting determines its type. All values of a list have one type.
    """

    def __init__(self, **settings: Any) -> None:
        self._names: dict[str, bool] = {}  # maps each name to whether its value is a list
        for name, value in settings.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a setting.

        Raises
        ------
        ValueError
            If a setting of that name exists or if a list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._names[name] = several
        setattr(self, name, list(value) if several else value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change a setting to a value of its type."""
        several = self._names[name]
        if several != isinstance(value, (list, tuple)):
            wanted = "a list" if several else "one value"
            raise ValueError(f"{name} has to be {wanted}, got {value!r}")
        before = getattr(self, name)
        like = before[0] if several else before
        made = [_of_type(name, each, like) for each in (value if several else [value])]
        setattr(self, name, made if several else made[0])

    def del_hparam(self, name: str) -> None:
        """Remove a setting if it exists."""
        if name in self._names:
            del self._names[name]
            delattr(self, name)

    def parse(self, values: str) -> HParams:
        """Change settings according to a string such as ``name=value,other=[1,2]``.

        Raises
        ------
        ValueError
            If a name is unknown or a value has the wrong type.
        """
        at = 0
        while at < len(values):
            found = _SETTING.match(values, at)
            if found is None:
                raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
            at, name = found.end(), found["name"]
            if name not in self._names:
                raise ValueError(f"Unknown hyperparameter: {name}")
            several = found["list"] is not None
            self.set_hparam(name, found["list"].split(",") if several else found["one"])
        return self

    def override_from_dict(self, values: dict[str, Any]) -> HParams:
        """Change settings to the values of a dictionary."""
        for name, value in values.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values: str) -> HParams:
        """Change settings to the values of a JSON object."""
        return self.override_from_dict(json.loads(values))

    def to_json(self, **how: Any) -> str:
        """Return all settings as a JSON object."""
        return json.dumps(self.values(), **how)

    def values(self) -> dict[str, Any]:
        """Return all settings."""
        return {name: getattr(self, name) for name in self._names}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting, or `default` if it does not exist."""
        return getattr(self, key) if key in self._names else default

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __repr__(self) -> str:
        return f"HParams({sorted(self.values().items())})"


def _of_type(name: str, value: Any, like: Any) -> Any:
    """Convert a value, which may be text, to the type of another value."""
    kind = type(like)
    if like is None or isinstance(value, kind) or not isinstance(value, (str, int, float)):
        return value
    if kind is bool:
        if str(value) in ("true", "True", "1"):
            return True
        if str(value) in ("false", "False", "0"):
            return False
    elif kind is not int or not isinstance(value, float) or value.is_integer():
        try:
            return kind(value)
        except ValueError:
            pass
    raise ValueError(f"Could not parse hparam {name!r} of type {kind.__name__!r} from {value!r}")
