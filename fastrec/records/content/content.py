# SPDX-License-Identifier: Apache-2.0
"""The result of a detection."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LINE_ENDS", "UNKNOWN", "Content"]

LINE_ENDS = "TFRecord, LF to CR LF"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Content:
    """The detected content of some bytes.

    Attributes
    ----------
    name : str
        Short name for labels, such as ``"JPEG"``.
    phrase : str
        Noun phrase for sentences, such as ``"a JPEG image"``.
    detail : str
        Size, shape or element type, such as ``"640x480"``; empty if unknown.
    remedy : str
        Advice to the user as an imperative clause, possibly empty.
    repairable : bool
        Whether :func:`fastrec.repair` may save records.
    """

    name: str
    phrase: str
    detail: str = ""
    remedy: str = ""
    repairable: bool = False

    @property
    def is_line_ends(self) -> bool:
        """Whether every LF of a TFRecord file has become CR LF."""
        return self.name == LINE_ENDS

    @property
    def label(self) -> str:
        """The name and the detail."""
        return f"{self.name} {self.detail}".rstrip()

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.phrase}{detail}{remedy}"
