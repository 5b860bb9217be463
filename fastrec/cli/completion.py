# SPDX-License-Identifier: Apache-2.0
"""Print what makes a shell complete the words of this program."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from fastrec.cli.grammar import VERBS, verb_parser
from fastrec.cli.report import Report

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def _bash() -> Iterator[str]:
    yield '# eval "$(fastrec completion bash)", or into ~/.local/share/bash-completion/completions'
    yield "_fastrec() {"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} words"
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
            yield (f"complete -c fastrec -n '__fish_seen_subcommand_from {verb}' {kind} "
                   f"-d {_single(text)}")  # fmt: skip


def _single(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
