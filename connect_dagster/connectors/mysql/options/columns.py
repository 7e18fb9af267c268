"""Options of the fields of records: types, keys, masks."""

from __future__ import annotations

from connect_dagster.connectors.mysql.options.checks import choice, chosen
from connect_dagster.connectors.mysql.records.type_modes import (
    BigIntUnsignedMode,
    BinaryMode,
    DecimalMode,
    TimePrecisionMode,
    TypeModes,
)
from connect_dagster.connectors.mysql.selection.column_rules import OF_COLUMN, OF_TYPE, ColumnRules
from connect_dagster.connectors.mysql.selection.message_keys import OPTION, MessageKeys, message_keys
from connect_dagster.connectors.mysql.selection.regex_lists import regexes
from connect_dagster.plugin.config import ConfigDef, Importance, Width, config_group, config_key

COLUMNS = "Columns"


class ColumnOptions(ConfigDef):
    """Types and keys.

    Options with a parameter in their name are not listed: ``column.truncate.to.<number>.chars``,
    ``column.mask.with.<number>.chars``, ``column.mask.hash.<algorithm>.with.salt.<salt>`` and
    ``column.mask.hash.v2.<algorithm>.with.salt.<salt>``, each a list of regular expressions for columns.
    """

    with config_group(COLUMNS, importance=Importance.MEDIUM, width=Width.SHORT):
        decimal_mode: str = config_key(
            "decimal.handling.mode",
            default=DecimalMode.PRECISE.value,
            validator=choice(DecimalMode),
            display_name="Decimal Handling",
            doc="What DECIMAL columns become: 'precise' Connect's Decimal, 'string' text, 'double' doubles, which lose "
            "digits.",
        )
        time_mode: str = config_key(
            "time.precision.mode",
            default=TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS.value,
            validator=choice(
                TimePrecisionMode,
                {
                    "adaptive": "Debezium's connectors for MySQL and MariaDB refuse it too, since a TIME may have more "
                    "hours than it can hold",
                },
            ),
            display_name="The time precision mode to be used",
            doc="What DATE, TIME and DATETIME columns become: 'adaptive_time_microseconds' numbers as precise as the "
            "column, times in microseconds; 'connect' Connect's logical types, in milliseconds; 'microseconds' and "
            "'nanoseconds' numbers; 'isostring' text.",
        )
        unsigned_bigint_mode: str = config_key(
            "bigint.unsigned.handling.mode",
            default=BigIntUnsignedMode.LONG.value,
            validator=choice(BigIntUnsignedMode),
            display_name="The mode for handling bigint-unsigned values",
            doc="What BIGINT UNSIGNED columns become: 'long' 64-bit numbers, negative ones above 2^63 - 1; 'precise' "
            "Connect's Decimal.",
        )
        binary_mode: str = config_key(
            "binary.handling.mode",
            default=BinaryMode.BYTES.value,
            importance=Importance.LOW,
            validator=choice(BinaryMode),
            display_name="Binary Handling",
            doc="What binary columns become: 'bytes', or text: 'base64', 'base64-url-safe', 'hex'.",
        )
        key_columns: str | None = config_key(
            OPTION,
            default=None,
            width=Width.LONG,
            validator=message_keys,
            display_name="Columns PK mapping",
            doc="Columns that are the key of records in place of the primary key, such as "
            "shop.orders:customer,number;(.*).log:id.",
        )
        propagated_columns: tuple[str, ...] = config_key(
            OF_COLUMN,
            default=(),
            width=Width.NONE,
            validator=regexes,
            display_name="Propagate Source Types by Columns",
            doc="Columns whose type in the database is in the parameters of their schemas: regular expressions for "
            "database.table.column.",
        )
        propagated_types: tuple[str, ...] = config_key(
            OF_TYPE,
            default=(),
            width=Width.NONE,
            validator=regexes,
            display_name="Propagate Source Types by Data Type",
            doc="The same by type: regular expressions for database.table.type, such as .*\\.DATETIME.",
        )

    @property
    def type_modes(self) -> TypeModes:
        """Return the options that decide on types."""
        return TypeModes(
            decimals=chosen(DecimalMode, self.decimal_mode),
            unsigned_bigints=chosen(BigIntUnsignedMode, self.unsigned_bigint_mode),
            binary=chosen(BinaryMode, self.binary_mode),
            times=chosen(TimePrecisionMode, self.time_mode),
        )

    @property
    def message_keys(self) -> MessageKeys:
        """Return the keys in place of primary keys."""
        return MessageKeys() if self.key_columns is None else MessageKeys.parse(self.key_columns)

    @property
    def column_rules(self) -> ColumnRules:
        """Return what becomes of values of some columns."""
        return ColumnRules.parse(self.originals)
