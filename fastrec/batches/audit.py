# SPDX-License-Identifier: Apache-2.0
"""Check a pass of a Batcher: too many skipped records, and features absent from all records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import _core
from ..columns import Bytes
from ..errors import CorruptRecordError, FastrecError, warn_caller
from ..parsing.absent import FEW, absence_text, absent_features
from ..records.recovery import JUDGED, warn_of_losses

if TYPE_CHECKING:
    from .epoch_pass import Pass
    from .postprocess import Stage

__all__ = ["Audit", "AuditLog"]

_MANY = 1000  # initial failures before a sequential source is rejected
_SEEN_BY = 1000  # records before a similar feature name counts as the intended one


class AuditLog:
    """Warnings of a Batcher; a Batcher gives each warning in one pass only."""

    def __init__(self, schemas: Sequence[_core.Schema]) -> None:
        self.schemas = schemas
        self.warned_of_losses = False
        self.checked_features: bool = not any(schema.parses for schema in schemas)


class Audit:
    """Counts the delivered records of a pass, in the order of delivery, on any thread.

    Parameters
    ----------
    log : AuditLog
    run : Pass
    stage : Stage
        The stage that makes the batches of the pass.
    """

    def __init__(self, log: AuditLog, run: Pass, stage: Stage) -> None:
        self._log = log
        self._damage = run.damage
        self._stage = stage
        self._is_whole = run.is_whole
        self._kept = 0
        self._left_out = 0
        self._causes: Counter[str] = Counter()
        self._examples: dict[str, FastrecError] = {}  # the first failure of each cause
        self._give_up_at = _MANY if run.ordering.streams else FEW
        self.is_open: bool = run.damage is not None or not log.checked_features

    def settle(self, failures: Sequence[FastrecError], kept: int) -> None:
        """Report the records that failed; `kept` others are delivered.

        Raises
        ------
        FastrecError
            The first failure, if all records of the source are unusable.
        """
        self._kept += kept
        for failure in failures:
            if self._damage is None:
                raise failure
            self._damage.leave_out(failure)
            self._left_out += 1
            cause = _cause(failure)
            self._causes[cause] += 1
            self._examples.setdefault(cause, failure)
            if not self._kept and self._left_out == self._give_up_at:
                self._give_up()
        if failures and self._left_out + self._kept >= JUDGED:
            self._judge(self._left_out, self._kept)
        if self._kept >= _SEEN_BY and not self._log.checked_features:
            self._check_features(only_similar=True)
            self.is_open = self._damage is not None or not self._log.checked_features

    def finish(self) -> None:
        """Check the whole pass, at its end."""
        regions = [] if self._damage is None else self._damage.regions
        if self._is_whole and not self._kept and regions and not self._stage.is_any_usable():
            raise self._useless(len(regions), "")
        if self._is_whole and regions:
            self._judge(max(len(regions), self._left_out), self._kept)
        if self._kept and not self._log.checked_features:
            self._check_features(only_similar=False)
        self._log.checked_features = True

    # --- records that are left out --------------------------------------------------------------

    def _give_up(self) -> None:
        """Raise unless some record elsewhere in the source can be used."""
        if not self._stage.is_any_usable():
            raise self._useless(self._left_out, ", and so would be others from all over the source")

    def _useless(self, count: int, others: str) -> FastrecError:
        """Return the error for a source without any usable record."""
        assert self._damage is not None
        which, first = "The first", None
        if self._causes:
            [(cause, failures)] = self._causes.most_common(1)
            first = self._examples[cause]
            which = which if failures == count else f"The most common cause, {failures} times"
        return self._damage.useless(first, count, others=others, which=which)

    def _judge(self, left_out: int, kept: int) -> None:
        """Warn if more than a tenth of the records are skipped."""
        if self._log.warned_of_losses:
            return
        details = "Batcher.skipped lists them"
        if self._causes:
            text, count = self._causes.most_common(1)[0]
            cause = f"the most common cause ({count} of {sum(self._causes.values())}): {text}"
            details = f"{cause}; {details}"
        self._log.warned_of_losses = warn_of_losses(left_out, left_out + kept, details)

    # --- features that no record has ------------------------------------------------------------

    def _check_features(self, *, only_similar: bool) -> None:
        """Warn about features absent from all records; with `only_similar`, about misspellings."""
        records, _ = self._stage.sample(FEW) if self._unseen() else (Bytes.from_list([]), None)
        self._log.checked_features = self._log.checked_features or not self._unseen()
        for name, hint in absent_features(self._log.schemas, records):
            if only_similar and not hint:
                continue
            self._log.checked_features = True
            text = absence_text(f"none of {self._kept} records", name, hint)
            warn_caller(text)

    def _unseen(self) -> bool:
        """Return whether some features have not occurred in any record."""
        return any(schema.unseen for schema in self._log.schemas)


def _cause(failure: FastrecError) -> str:
    """Return the reason of an error without the record's location, and with numbers as ``#``."""
    if isinstance(failure, CorruptRecordError):
        return f"damage of kind {failure.kind!r}"
    return re.sub(r"\d+", "#", failure.problem)
