# SPDX-License-Identifier: Apache-2.0
"""``tf.contrib.training.HParams``: settings of a program, by name."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["HParams"]

# A name, and a value, a list of values, or nothing.
_SETTING = re.compile(
    r"\s*(?P<name>[a-zA-Z]\w*)\s*=\s*(\[(?P<list>[^\]]*)\]|(?P<one>[^,\[]*))(?:,|$)"
)


class HParams:
    """Settings, which are attributes.

    What a setting begins with says which type it has; a list has one type for all its values.
    """

    def __init__(self, **settings: Any) -> None:
        self._names: dict[str, bool] = {}  # and whether each is a list
        for name, value in settings.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a setting.

        Raises
        ------
        ValueError
            When there is one of that name, or a list is empty.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._names[name] = several
        setattr(self, name, list(value) if several else value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change a setting, to a value of its type."""
        several = self._names[name]
        if several != isinstance(value, (list, tuple)):
            wanted = "a list" if several else "one value"
            raise ValueError(f"{name} has to be {wanted}, got {value!r}")
        before = getattr(self, name)
        like = before[0] if several else before
        made = [_of_type(name, each, like) for each in (value if several else [value])]
        setattr(self, name, made if several else made[0])

    def del_hparam(self, name: str) -> None:
        """Remove a setting, where there is one."""
        if name in self._names:
            del self._names[name]
            delattr(self, name)

    def parse(self, values: str) -> HParams:
        """Change settings as text says: ``name=value,other=[1,2]``.

        Raises
        ------
        ValueError
            For names that there are not, or values of other types.
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
        """Change settings."""
        for name, value in values.items():
            self.set_hparam(name, value)
        return self

    def parse_json(self, values: str) -> HParams:
        """Change settings to those of an object of JSON."""
        return self.override_from_dict(json.loads(values))

    def to_json(self, **how: Any) -> str:
        """All settings as an object of JSON."""
        return json.dumps(self.values(), **how)

    def values(self) -> dict[str, Any]:
        """All settings."""
        return {name: getattr(self, name) for name in self._names}

    def get(self, key: str, default: Any = None) -> Any:
        """A setting, or `default` where there is none of that name."""
        return getattr(self, key) if key in self._names else default

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __repr__(self) -> str:
        return f"HParams({sorted(self.values().items())})"


def _of_type(name: str, value: Any, like: Any) -> Any:
    """A value, or text for one, of the type that another one has."""
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
