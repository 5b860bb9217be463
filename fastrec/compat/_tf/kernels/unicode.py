# SPDX-License-Identifier: Apache-2.0
"""Convert between strings and code points, with TensorFlow's error handling; find their scripts."""

from __future__ import annotations

import base64
import codecs
import functools
import threading
import zlib
from typing import Any, NamedTuple

import numpy as np

from ..errors import invalid

Array = np.ndarray[Any, Any]

_COUNT = 1587
# Runs of characters with one script, as in TensorFlow: four planes with the bytes of the run
# lengths, the lowest byte first, and then the script of each run.
_RUNS = (
    "c-rll>vJ4O5x}>5W_EUG_x2t--RVxchZN}~>n&NbBtIfK0og9QWIGOi#IBU9NYW4+$H5AfN99pY1(S+HLMW1;;$a||"
    "1gaps90GwD3W~pg6rb{e&wSt$@CAyVJv}UA#V#C|N!9gFJ99fT+uhsUGty~m(Jc-^5>y^4@Y`;sFndyhKncJ<0D`Y9"
    "Oh>6_@C~TpC<>VHTBRE(a3QiQpb91^!g1(`U^9y0(P$HjK}<p$0tDmDkO`7d+AEV-l;9y^4m9hP=<{dkfkaSPV7;!a"
    "&!L5%ReUc5X!b*=jR2pWsn07k{8=C*C5Bq_=Ow*%&gvCf#CkIZ!DS_q7XzSRg(8&7j-Y*kW|iQl^N<oA_fjJWHfywB"
    "A2wE9eS&@F3BZJ%Sr69T6c)M9h!%DYQ1ddEjd-p>5pI;w)@5xfXyG=Gidz>A%IbFLl-<zDLDv$y&eiN1>;viSU<+)9"
    "+jV@kFW)6$ird?<DvIuYbn&T@*eL>?039@=pAD@?7~YM>HLeYu55_&D`_!zdKqx~_XIMrR^vj|f2&}dtPD2R;UL9e2"
    "dY2p!Gh?2d6iFe5ecgw`^8_Sp;9VPJRZ}pcBu8o%HiB|;>_Uw%59(6EaekKwU1&m^r4SE502uIKLR3@j$r@{Mp%v2W"
    "gnXqCG@o<ku?n9af+48RD_sx3q{ayHzJ}FQ_YD-`Q21Vvv&OaxzC=$-*l%+TccD;ya5to?onfj1GnKtVaPakuGyf9L"
    "iwS?YKYR3`*Kwa1N53~15XPPKX1&m@4gz!rP!e+hMq&jf{3uS$?JX+L5oBUF`uJTW$~}V|*w@0m9FZsR{+bSzDuVUJ"
    ")~Wey`WU8Wa6?aoDI3pQpa~?qdWQ2*<-HXc7{H2%wQ}*XUZXICA}{0e#i-*kB{%{8ZjKcU4Z!J=7)e5_?DR#e>QiNQ"
    "RYtvghRf_kr|gtH-dF%HPWU<Fz3Q@!elBX(lmow7@%&-ds#KeRqJo)fi_GGn<PlrjB@~kDT34&pZW;O;gwCPYq`Zul"
    "q29A&Vtr!0c6&Tit3WU33+H;g-u-Raygw()Nw|#@TF}NFhm6<lABAj?f&Q&=d2*Tqcat)%ymS|G71|WpO{RGB2=&|%"
    "Q048OIllpG9Ul*jn`oNSW<x6`W$NPQd-jFEn~!S>q0GBK^v$e?gBY}K_x6>hv=0LinUbio{%D7_&@XHTe9yQp_g#Fs"
    "tgi4DBu5jlaNh%<g5SS01pXhly*;HXHql4R=$ct$*uiGi^ycAvcgiW9p0R2IjQ;64@Adlsfbxh)OYf{arV_%}To&@k"
    "-%U5(D$*Y6vfPxPUC4$9{KA<}z&3kK*+UFM4upoSTrM8>Z5$L104MuS?8MQtNd?J08qyd?=1&8H%T40RjS8GUU~1hi"
    "$#?0G?b`A?$(sbNKYZ}Sr>|S@>@i#)UlMyK*_4bI7)UF@CevdW^~-z0Bp(?`=rTW?Eb@WXFMZxy?!uqFgh+__@Q@C("
    "p`7H%^>}4Y^doQwoCzc3Q&DNZptUa&dfk^{qRY7NcZ>(`<LPLmQvS=%3s64#)ZbFhr2<YvZk}9o^zozN=9<29{ohCj"
    "3(j6ge#qtAXPb8T@Z)haa&WU$-*~5%)`@y&xD1lmj@Pn@@?4gV)3K-m{FRxe>+u^FEvYN|x-u$me5C#d6Y{)ce?#P)"
    "Qi!VQukqNw8z*%`8q$!4G~{Yx{ty0OZAe2J(vXIHq@-{e%7Ms<Xz{YGMMoZZBx0Ik(21${_W!yLb`XPIbbt;#K~K<~"
    "Oa~#wYYZ6vo=9txx(dk;pz;CSauqtSOf#)TaTV=rP$Q>CEmx#_1*e<ZLW*(1Oh8x1WqL|fb*j|M^f}Z|12OrSR)?WF"
    "Jv6+;7>&`UI{68jxSy5)x|Mlwnx^j{<};r4<v{{x1u8^dA!4`%g2G}+tciWZDew<JNe)}!GFqxGiW!XCNt&dBCS4D}"
    "X3KxSujf!Yh95{<Aj2(X*~2V<Va}1F3~|v?j=PK<v5ROO^YkalJ8j)4upfnutl=(tfHAwB-6!ZohUUnbqq#P^txnsM"
    "^yH~aO!I>gd+eT~Q*6Ux{U|K&fEZic^%`f72)z0m+FK_!9eb3aCF;{7tBA)qY;ox57=6lWDpNT@hiII}x6l^y*N@UD"
    "{ebxbeUsT2Gql1y&A<2py+Gf#9Hzs^={W6wo|q|G%`;!5N0^7`p~va*N9obW$a0W&SuW58_WWYZFX%1$HN8z+Ef3Sf"
    "^eXc?<{Z7k1^#vBwPn7<Ji7{b_OgNRGv8p&Gv8ra>8s4QVtzs|(M!Lf)%+^v$MhzBmtJ4wjhG*;;-{DJGkV(Y>U*iq"
    "Hs)(|n!XbAd1mJ_Kc^!x3okqGa$Xl`;azTWS+1=dy-a78SghIQ-4HD%@tQeFmdRy)xyU=rS>}5&OJ#GtTxLA$(DjgB"
    "g%fY*{{TmQHKh"
)


@functools.cache
def _runs() -> tuple[Array, Array]:
    """Return the start and script of each run, including the ranges outside of Unicode."""
    data = np.frombuffer(zlib.decompress(base64.b85decode("".join(_RUNS))), np.uint8)
    sizes = np.ascontiguousarray(data[: 4 * _COUNT].reshape(4, _COUNT).T).view("<u4")
    starts = np.concatenate([[-(1 << 31), 0], np.cumsum(sizes, dtype=np.int64)])
    scripts = np.concatenate([[-1], data[4 * _COUNT :].astype(np.int32), [-1]])
    return starts, scripts.astype(np.int32)


def scripts_of(points: Array) -> Array:
    """Return the script of each code point; -1 for an invalid code point."""
    starts, scripts = _runs()
    found: Array = scripts[np.searchsorted(starts, points, side="right") - 1]
    return found


MALFORMED = "Invalid formatting on input string"
_MARK = "\udfff"  # valid text never decodes to this character
_LARGEST = 0x10FFFF
#: Names of ICU that Python lacks or interprets differently.
_NAMES = {"utf-16": "utf-16-be", "utf-32": "utf-32-be", "utf16": "utf-16-be", "utf32": "utf-32-be"}
_MARKED = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}


class Errors(NamedTuple):
    """How invalid input is handled."""

    policy: str  # "strict", "replace" or "ignore"
    replacement: int
    control: bool  # whether control characters below the space are also invalid


class _Noted(threading.local):
    def __init__(self) -> None:
        self.lengths: list[int] = []


_noted = _Noted()


def _note(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    _noted.lengths.append(error.end - error.start)
    return _MARK, error.end


codecs.register_error("fastrec.note", _note)


def _codec(name: str, data: bytes) -> tuple[str, int]:
    """Return Python's name of an encoding, and the size of the byte order mark in `data`."""
    wanted = name.lower().replace("_", "-")
    if wanted in _NAMES:
        for mark, marked in _MARKED.items():
            if marked[:6] == _NAMES[wanted][:6] and data.startswith(mark):
                return marked, len(mark)
        return _NAMES[wanted], 0
    try:
        found = codecs.lookup(wanted)
        b"a".decode(found.name, "replace")  # fails for codecs that do not encode text
    except (LookupError, UnicodeError, ValueError):
        why = f"Could not create converter for input encoding: {name}"
        raise invalid(why) from None
    return found.name, 0


def _lengths(points: Array, codec: str) -> Array:
    """Return the number of bytes of each character."""
    if codec == "utf-8":
        return (1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF)).astype(np.int32)
    if codec.startswith("utf-16"):
        return (2 + 2 * (points > 0xFFFF)).astype(np.int32)
    if codec.startswith("utf-32"):
        return np.full(len(points), 4, np.int32)
    sizes = [len(chr(point).encode(codec, "replace")) for point in points.tolist()]
    return np.array(sizes, np.int32)


def decoded(
    data: bytes, encoding: str, errors: Errors, wants_offsets: bool = False
) -> tuple[Array, Array | None]:
    """Decode a string to code points and their start offsets.

    Raises
    ------
    InvalidArgumentError
        If the encoding is unknown, or if the bytes are invalid and the policy is ``"strict"``.
    """
    codec, skipped = _codec(encoding, data)
    _noted.lengths.clear()
    text = data[skipped:].decode(codec, "fastrec.note")
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
    wrong = points == ord(_MARK)
    if errors.policy == "strict" and _noted.lengths:
        raise invalid(MALFORMED)
    offsets = None
    if wants_offsets:
        lengths = _lengths(np.where(wrong, 0, points).astype(np.int32), codec)
        lengths[wrong] = _noted.lengths
        offsets = (np.cumsum(lengths, dtype=np.int64) - lengths + skipped).astype(np.int64)
    if errors.control:
        wrong = wrong | (points <= 0x1F)
    if not wrong.any():
        return points.copy(), offsets
    if errors.policy != "ignore":
        return np.where(wrong, np.int32(errors.replacement), points), offsets
    return points[~wrong], None if offsets is None else offsets[~wrong]


def _text(points: Array, errors: Errors) -> str:
    wrong = (points < 0) | (points > _LARGEST) | ((points >= 0xD800) & (points <= 0xDFFF))
    if wrong.any():
        if errors.policy == "strict":
            text = "Code point is out of range for Unicode, or is a surrogate."
            raise invalid(text)
        ignored = errors.policy == "ignore"
        points = points[~wrong] if ignored else np.where(wrong, errors.replacement, points)
    return points.astype("<u4").tobytes().decode("utf-32-le", "replace")


def encoded(points: Array, encoding: str, errors: Errors) -> bytes:
    """Encode code points as a string.

    Raises
    ------
    InvalidArgumentError
        If a code point is a surrogate or out of range and the policy is ``"strict"``.
    """
    return _text(points, errors).encode(encoding.lower(), "replace")


def characters(
    data: bytes, encoding: str, errors: Errors, wants_offsets: bool = False
) -> tuple[list[bytes], Array | None]:
    """Split a string into characters, each as a string, and return their start offsets.

    Raises
    ------
    InvalidArgumentError
        If `decoded` raises it.
    """
    points, offsets = decoded(data, encoding, errors, wants_offsets)
    text, codec = _text(points, Errors("replace", errors.replacement, False)), encoding.lower()
    # Long texts have few distinct characters.
    known = {each: each.encode(codec, "replace") for each in set(text)}
    return [known[each] for each in text], offsets
