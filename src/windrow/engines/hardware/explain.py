"""How a query runs in hardware, as text."""

from __future__ import annotations

from windrow.errors import ConfigurationError, UnsupportedError
from windrow.hardware.planning.options import CircuitOptions
from windrow.hardware.planning.plan import asked_of, check_plans, strings_of
from windrow.hardware.summary import summary
from windrow.plan.nodes import Node


def explain_circuit(plan: Node) -> str:
    """The circuit of a query as far as it can be known without its data; or why there is none."""
    try:
        lines = summary(check_plans([plan], CircuitOptions()))
    except (UnsupportedError, ConfigurationError) as error:
        return f"Circuit\n- none: {str(error).splitlines()[0]}"
    names = [name for columns in strings_of(asked_of([plan])).values() for _, name in columns]
    unknown = [f"the strings of {name} are taken from the data; one is assumed here" for name in names]
    return "\n".join(["Circuit", *(f"- {line}" for line in (*lines, *unknown))])
