"""Web charsets: only the labels of the WHATWG Encoding Standard.

Python's own table also has codecs that are not charsets (`idna`, `punycode`, `undefined`, …), some
of which take quadratic time. An unknown label is decoded as UTF-8.
"""

import codecs
from functools import cache

_ISO = "iso-8859-{n} iso8859-{n} iso8859{n} iso_8859-{n}"
_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": f"{_ISO.format(n=2)} csisolatin2 iso-ir-101 iso_8859-2:1987 l2 latin2",
    "iso8859-3": f"{_ISO.format(n=3)} csisolatin3 iso-ir-109 iso_8859-3:1988 l3 latin3",
    "iso8859-4": f"{_ISO.format(n=4)} csisolatin4 iso-ir-110 iso_8859-4:1988 l4 latin4",
    "iso8859-5": f"{_ISO.format(n=5)} csisolatincyrillic cyrillic iso-ir-144 iso_8859-5:1988",
    "iso8859-6": (
        f"{_ISO.format(n=6)} arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114"
        " iso-8859-6-e iso-8859-6-i iso-ir-127 iso_8859-6:1987"
    ),
    "iso8859-7": (
        f"{_ISO.format(n=7)} csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126"
        " iso_8859-7:1987 sun_eu_greek"
    ),
    "iso8859-8": (
        f"{_ISO.format(n=8)} csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138"
        " iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical"
    ),
    "iso8859-10": f"{_ISO.format(n=10)} csisolatin6 iso-ir-157 l6 latin6",
    "iso8859-13": _ISO.format(n=13),
    "iso8859-14": _ISO.format(n=14),
    "iso8859-15": f"{_ISO.format(n=15)} csisolatin9 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": (
        f"{_ISO.format(n=1)} ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-ir-100"
        " iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"
    ),
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": (
        f"{_ISO.format(n=9)} cp1254 csisolatin5 iso-ir-148 iso_8859-9:1989 l5 latin5"
        " windows-1254 x-cp1254"
    ),
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "gb18030": (
        "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030"
    ),
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022-jp": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": (
        "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601"
        " ksc_5601 windows-949"
    ),
}
"""Python's codec → the standard's labels for it."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)


@cache
def labels() -> dict[str, str]:
    """Map every label of the standard to Python's codec."""
    return {label: codec for codec, names in _LABELS.items() for label in names.split()}


def codec_of(label: str | None) -> str:
    """Return Python's codec for a charset label; UTF-8 for an unknown label."""
    return labels().get((label or "").strip().lower(), "utf-8")


def decode(body: bytes, label: str | None) -> str:
    """Decode a body. A byte order mark takes precedence over the label, as in browsers."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    return body.decode(codec_of(label), "replace").removeprefix("\ufeff")
