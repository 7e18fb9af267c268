"""Classes of Java values as ``java.io.ObjectOutputStream`` describes them: names, serial versions, fields.

Layout and tags after the Java Object Serialization Specification, chapter 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntFlag

MAGIC = bytes.fromhex("aced0005")
NULL, REFERENCE, CLASS, OBJECT, STRING, ARRAY = 0x70, 0x71, 0x72, 0x73, 0x74, 0x75
BLOCK, END, LONG_STRING = 0x77, 0x78, 0x7C
FIRST_HANDLE = 0x7E0000
FORMATS = {"B": "b", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?", "C": "H"}
"""Types of fields that are not objects, with the codes of ``struct``."""


class Flag(IntFlag):
    """How the content of an object is written."""

    OWN_METHOD = 1
    SERIALIZABLE = 2
    EXTERNALIZABLE = 4
    IN_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class.

    Attributes:
        version: its ``serialVersionUID``, without a sign.
        fields: types and names, those that are not objects first.
        parent: the class that it extends, if that can be serialised.
    """

    name: str
    version: int
    flags: Flag = Flag.SERIALIZABLE
    fields: tuple[tuple[str, str], ...] = ()
    parent: JavaClass | None = None

    def line(self) -> tuple[JavaClass, ...]:
        """Return the classes whose fields an object has, the topmost first."""
        return (self,) if self.parent is None else (*self.parent.line(), self)


_METHOD = Flag.SERIALIZABLE | Flag.OWN_METHOD
_NUMBER = JavaClass("java.lang.Number", 0x86AC951D0B94E08B)
_DATE = JavaClass("java.util.Date", 0x686A81014B597419, _METHOD)

OBJECTS = JavaClass("[Ljava.lang.Object;", 0x90CE589F1073296C)
BYTES = JavaClass("[B", 0xACF317F8060854E0)
BIG_INTEGER_FIELDS = ("bitCount", "bitLength", "firstNonzeroByteNum", "lowestSetBit", "signum")
BIG_INTEGER = JavaClass(
    "java.math.BigInteger",
    0x8CFC9F1FA93BFB1D,
    _METHOD,
    (*(("I", name) for name in BIG_INTEGER_FIELDS), ("[B", "magnitude")),
    _NUMBER,
)


def _box(name: str, version: int, kind: str) -> JavaClass:
    return JavaClass(f"java.lang.{name}", version, fields=((kind, "value"),), parent=_NUMBER)


BIG_DECIMAL = JavaClass(
    "java.math.BigDecimal",
    0x54C71557F981284F,
    _METHOD,
    (("I", "scale"), ("Ljava/math/BigInteger;", "intVal")),
    _NUMBER,
)
TIMESTAMP = JavaClass("java.sql.Timestamp", 0x2618D5C80153BF65, fields=(("I", "nanos"),), parent=_DATE)
JAVA_TIME = JavaClass("java.time.Ser", 0x955D84BA1B2248B2, Flag.EXTERNALIZABLE | Flag.IN_BLOCKS)
"""In place of a ``LocalDate`` or a ``Duration``."""


class JavaType(Enum):
    """Types of values of a key."""

    BOOLEAN = "java.lang.Boolean"
    INTEGER = "java.lang.Integer"
    LONG = "java.lang.Long"
    FLOAT = "java.lang.Float"
    DOUBLE = "java.lang.Double"
    BIG_INTEGER = "java.math.BigInteger"
    BIG_DECIMAL = "java.math.BigDecimal"
    TEXT = "java.lang.String"
    BYTES = "byte[]"
    TIMESTAMP = "java.sql.Timestamp"
    LOCAL_DATE = "java.time.LocalDate"
    DURATION = "java.time.Duration"


BOXES = {
    JavaType.BOOLEAN: JavaClass("java.lang.Boolean", 0xCD207280D59CFAEE, fields=(("Z", "value"),)),
    JavaType.INTEGER: _box("Integer", 0x12E2A0A4F7818738, "I"),
    JavaType.LONG: _box("Long", 0x3B8BE490CC8F23DF, "J"),
    JavaType.FLOAT: _box("Float", 0xDAEDC9A2DB3CF0EC, "F"),
    JavaType.DOUBLE: _box("Double", 0x80B3C24A296BFB04, "D"),
}
"""Classes of values that are not objects by themselves."""
