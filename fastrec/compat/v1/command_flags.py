# SPDX-License-Identifier: Apache-2.0
"""``tf.flags``: settings from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class _Flag:
    def __init__(self, default: Any, parse: Callable[[str], Any], help: str, toggles: bool) -> None:
        self.value = self.default = default
        self.parse, self.help, self.toggles = parse, help, toggles
        self.required = False


class Flags:
    """The flags of the program, as attributes.

    The command line is read on first access of a flag, or by calling this object with it.
    """

    def __init__(self) -> None:
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False

    def define(
        self, name: str, default: Any, parse: Callable[[str], Any], help: str, toggles: bool = False
    ) -> None:
        """Add a flag, or replace one that has not been read yet."""
        self._flags[name] = _Flag(default, parse, help, toggles)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Set flags from a command line, and return the remaining arguments.

        Raises
        ------
        ValueError
            If a flag is not defined, or a value does not have its type.
        """
        rest, waiting = [argv[0]] if argv else [], list(argv[1:])
        while waiting:
            word = waiting.pop(0)
            if word == "--":
                rest += waiting
                break
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            if not self._set(word, waiting):
                if not known_only:
                    raise ValueError(f"Unknown command line flag {word.lstrip('-')!r}")
                rest.append(word)
        self.__dict__["_parsed"] = True
        missing = [n for n, flag in self._flags.items() if flag.required and flag.value is None]
        if missing:
            raise ValueError(f"Flag --{missing[0]} must have a value other than None.")
        return rest

    def _set(self, word: str, waiting: list[str]) -> bool:
        name, given, value = word.lstrip("-").partition("=")
        flag = self._flags.get(name)
        if flag is None and name.startswith("no") and not given:
            opposite = self._flags.get(name[2:])
            if opposite is not None and opposite.toggles:
                opposite.value = False
                return True
        if flag is None:
            return False
        if not given and flag.toggles:
            flag.value = True
            return True
        if not given and not waiting:
            raise ValueError(f"Missing value for flag {word}")
        text = value if given else waiting.pop(0)
        try:
            flag.value = flag.parse(text)
        except ValueError as error:
            raise ValueError(f"flag --{name}={text}: {error}") from error
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not self._parsed:
            self(sys.argv, known_only=True)
        if name not in self._flags:
            raise AttributeError(name)
        return self._flags[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._flags:
            raise AttributeError(name)
        self._flags[name].value = value

    def __contains__(self, name: str) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def flag_values_dict(self) -> dict[str, Any]:
        """Return the names and values of all flags."""
        return {name: flag.value for name, flag in self._flags.items()}


FLAGS = Flags()


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1", "yes", "y"):
        return True
    if text.lower() in ("false", "f", "0", "no", "n"):
        return False
    raise ValueError(f"Non-boolean argument to boolean flag: {text}")


def DEFINE_string(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag of text."""
    FLAGS.define(name, default, str, help)


def DEFINE_integer(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag of an integer."""
    FLAGS.define(name, default, lambda text: int(text, 0), help)


def DEFINE_float(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag of a number."""
    FLAGS.define(name, default, float, help)


def DEFINE_boolean(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag that is true or false: ``--name``, ``--noname``, ``--name=true``."""
    FLAGS.define(name, default, _truth, help, toggles=True)


def DEFINE_list(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag of a comma-separated list of texts."""
    given = default.split(",") if isinstance(default, str) else default
    FLAGS.define(name, given, lambda text: text.split(",") if text else [], help)


def DEFINE_multi_string(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag that may be repeated: a list of texts."""
    _define_multi(name, default, str, help)


def DEFINE_multi_integer(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag that may be repeated: a list of integers."""
    _define_multi(name, default, lambda text: int(text, 0), help)


def DEFINE_multi_float(name: str, default: Any, help: str = "", **others: Any) -> None:
    """Define a flag that may be repeated: a list of numbers."""
    _define_multi(name, default, float, help)


def _define_multi(name: str, default: Any, parse: Any, help: str) -> None:
    given: list[Any] = []

    def more(text: str) -> list[Any]:
        given.append(parse(text))
        return list(given)

    first = default if default is None or isinstance(default, (list, tuple)) else [default]
    FLAGS.define(name, None if first is None else list(first), more, help)


def DEFINE_enum(
    name: str, default: Any, enum_values: Sequence[str], help: str = "", **others: Any
) -> None:
    """Define a flag whose value is one of several texts."""

    def parse(text: str) -> str:
        if text not in enum_values:
            raise ValueError(f"value should be one of <{'|'.join(enum_values)}>")
        return text

    FLAGS.define(name, default, parse, help)


def mark_flag_as_required(flag_name: str, flag_values: Any = None) -> None:
    """Raise an error for a command line without this flag."""
    FLAGS._flags[flag_name].required = True


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Call `main`, or the program's own, with the arguments that are not flags."""
    given = list(sys.argv if argv is None else argv)
    rest = FLAGS(given)
    function: Any = main or sys.modules["__main__"].main
    sys.exit(function(rest))
