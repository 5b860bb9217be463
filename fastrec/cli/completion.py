# SPDX-License-Identifier: Apache-2.0
"""Print a script that makes a shell complete the arguments of this program."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence

from fastrec.cli.grammar import VERBS, verb_parser
from fastrec.cli.report import Report, shown
from fastrec.errors import FastrecError

__all__ = ["add_arguments", "print_names", "run"]

_FEATURE_OPTIONS = ("--features", "--feature", "--key", "--name", "--by")
_NAMES_RECORDS = 100  # records that are read for the names of features; a shell waits for them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fastrec completion``."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(arguments: argparse.Namespace, report: Report) -> int:
    """Print a script that the shell reads when it starts."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell]
    for line in write():
        report.line(line)
    return 0


def _options(verb: str) -> Iterator[tuple[str, str]]:
    """Yield each option of a verb, with its help."""
    for action in verb_parser(verb)._actions:
        for option in action.option_strings:
            yield option, (action.help or "").replace("%%", "%")


def _choices(verb: str) -> Iterator[tuple[str, str]]:
    """Yield each option of a verb that has choices, with these; "" for a positional argument."""
    for action in verb_parser(verb)._actions:
        if action.choices:
            for option in action.option_strings or [""]:
                yield option, " ".join(map(str, action.choices))


def print_names(words: Sequence[str]) -> int:
    """Print the features of the first record file among `words`, for the shell's completion."""
    import fastrec

    for word in words:
        if os.path.isfile(word):
            with contextlib.suppress(FastrecError, OSError, ValueError):
                names = fastrec.infer_features(word, limit=_NAMES_RECORDS)
                sys.stdout.write("".join(f"{shown(name)}\n" for name in sorted(names)))
                return 0
    return 0


def _bash() -> Iterator[str]:
    yield '# eval "$(fastrec completion bash)", or into ~/.local/share/bash-completion/completions'
    yield "_fastrec() {"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD-1]} words"
    yield '    case "${COMP_WORDS[1]} $last" in'
    for verb in VERBS:
        for option, choices in _choices(verb):
            yield f"        '{verb} {option or verb}') words='{choices}' ;;"
    names = "|".join(f"*' {option}'" for option in _FEATURE_OPTIONS)
    yield f'        {names}) words=$(fastrec completion features "${{COMP_WORDS[@]:2}}") ;;'
    yield "    esac"
    yield '    if [ -n "$words" ]; then'
    yield '        COMPREPLY=($(compgen -W "$words" -- "$word")); return'
    yield "    fi"
    yield '    if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f"        words='{' '.join(VERBS)} help'"
    yield "    elif [[ $word == -* ]]; then"
    yield "        case ${COMP_WORDS[1]} in"
    for verb in VERBS:
        options = " ".join(option for option, _ in _options(verb))
        yield f"            {verb}) words='{options}' ;;"
    yield "        esac"
    yield "    fi"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _fastrec fastrec"


def _zsh() -> Iterator[str]:
    yield "#compdef fastrec"
    yield '# eval "$(fastrec completion zsh)", or into a file _fastrec of $fpath'
    yield "_fastrec() {"
    yield "    local -a verbs options"
    yield "    verbs=("
    for verb in VERBS:
        yield f"        {shlex.quote(verb + ':' + VERBS[verb].summary)}"
    yield "    )"
    yield "    if (( CURRENT == 2 )); then _describe command verbs; return; fi"
    yield '    case "$words[2] $words[CURRENT-1]" in'
    for verb in VERBS:
        for option, choices in _choices(verb):
            yield f"        '{verb} {option or verb}') compadd -- {choices}; return ;;"
    names = "|".join(f"*' {option}'" for option in _FEATURE_OPTIONS)
    yield f'        {names}) compadd -- ${{(f)"$(fastrec completion features $words)"}}; return ;;'
    yield "    esac"
    yield "    case $words[2] in"
    for verb in VERBS:
        found = " ".join(
            shlex.quote(f"{option}:{_colons(text)}") for option, text in _options(verb)
        )
        yield f"        {verb}) options=({found}) ;;"
    yield "    esac"
    yield "    if [[ $words[CURRENT] == -* ]]; then _describe option options; else _files; fi"
    yield "}"
    yield 'if [ "$funcstack[1]" = _fastrec ]; then _fastrec; else compdef _fastrec fastrec; fi'


def _colons(text: str) -> str:
    return text.replace(":", "\\:")


def _fish() -> Iterator[str]:
    yield "# fastrec completion fish > ~/.config/fish/completions/fastrec.fish"
    for verb in VERBS:
        yield (f"complete -c fastrec -f -n __fish_use_subcommand -a {verb} "
               f"-d {_single(VERBS[verb].summary)}")  # fmt: skip
    for verb in VERBS:
        for option, text in _options(verb):
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            if option in _FEATURE_OPTIONS:
                kind += " -xa '(fastrec completion features (commandline -opc))'"
            elif option in (choices := dict(_choices(verb))):
                kind += f" -xa {_single(choices[option])}"
            yield (f"complete -c fastrec -n '__fish_seen_subcommand_from {verb}' {kind} "
                   f"-d {_single(text)}")  # fmt: skip


def _single(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
