"""What a user may say of a circuit besides the query itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from windrow.errors import ConfigurationError
from windrow.hardware.design import CircuitAlgorithm, Merge, Variant, WindowLevel

MOST_BITS = 64
"""Of a field: what a column of the answer holds."""
GROUPS = 64
"""Groups that there is room for, where nothing says how many there are."""

_Choice = TypeVar("_Choice", bound=Enum)


@dataclass(frozen=True)
class CircuitOptions:
    """How a query becomes a circuit.

    `algorithm` is "wid" or "panes", whatever the plan chose. `widths` are the bits of columns and of aggregates by
    their names. Columns of `not_null` have no bit for NULL ("*": none has). `groups` is for how many there is room. A
    time has `time_width` bits in steps of `time_unit` (None: the greatest that divides range and slide). `ahead` is how
    far rows may be ahead of the last promise where the policy of the stream does not say. `dictionaries` are the
    strings that a column may hold. A join has so many `cores`.
    """

    algorithm: str | None = None
    variant: str = Variant.REPAIRED.value
    merge: str = Merge.ONE_HOT.value
    window_level: str = WindowLevel.INCREMENTAL.value
    configurable: bool = False
    widths: Mapping[str, int] = field(default_factory=dict)
    not_null: tuple[str, ...] = ()
    groups: int | None = None
    time_width: int = 32
    time_unit: str | int | None = None
    ahead: str | int | None = None
    dictionaries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cores: int | None = None

    def check(self) -> None:
        """Raise what is wrong with it, whatever the query."""
        if self.algorithm is not None:
            chosen(CircuitAlgorithm, self.algorithm, "algorithm")
        chosen(Variant, self.variant, "variant")
        chosen(Merge, self.merge, "merge")
        chosen(WindowLevel, self.window_level, "window_level")
        for name, bits in self.widths.items():
            if not 1 <= bits <= MOST_BITS:
                raise ConfigurationError(f"must be 1 to {MOST_BITS} bits", parameter=f"width of {name}", value=bits)
        for parameter, value, least in (("groups", self.groups, 1), ("cores", self.cores, 1)):
            if value is not None and value < least:
                raise ConfigurationError(f"must be at least {least}", parameter=parameter, value=value)
        if not 4 <= self.time_width <= MOST_BITS:
            raise ConfigurationError(f"must be 4 to {MOST_BITS} bits", parameter="time_width", value=self.time_width)
        for name, values in self.dictionaries.items():
            if isinstance(values, str) or not values or len(set(values)) < len(values):
                raise ConfigurationError(
                    "must be a list of different strings", parameter=f"dictionary of {name}", value=values
                )

    def check_names(self, known: Sequence[str]) -> None:
        """Raise where something is said of a name that the circuit does not have: it would change nothing."""
        named = {"widths": self.widths, "dictionaries": self.dictionaries, "not_null": self.not_null}
        for parameter, names in named.items():
            for name in names:
                if name not in known and name != "*":
                    raise ConfigurationError(
                        "must be for columns that the circuit reads, or aggregates",
                        parameter=parameter,
                        value=name,
                        hint=f"the circuit has {', '.join(known)}",
                    )


def chosen(among: type[_Choice], value: str, parameter: str) -> _Choice:
    """The member of a value, or an error that names them all."""
    try:
        return among(value)
    except ValueError:
        allowed = tuple(one.value for one in among)
        raise ConfigurationError("must be known", parameter=parameter, value=value, allowed=allowed) from None
