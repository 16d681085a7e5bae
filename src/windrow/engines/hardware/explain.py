"""How a query runs in hardware, as text."""

from __future__ import annotations

from windrow.errors import ConfigurationError, UnsupportedError
from windrow.hardware.planning.options import CircuitOptions
from windrow.hardware.planning.plan import asked_of, plan_circuit, strings_of
from windrow.hardware.summary import summary
from windrow.plan.nodes import Node


def explain_circuit(plan: Node) -> str:
    """The circuit of a query where it can be known without its data, else what must be known; or why there is none."""
    try:
        asked = asked_of([plan])
        texts = [name for columns in strings_of(asked).values() for _, name in columns]
        lines = summary(plan_circuit([plan], CircuitOptions(dictionaries=dict.fromkeys(texts, ("?",)))))
    except (UnsupportedError, ConfigurationError) as error:
        return f"Circuit\n- none: {str(error).splitlines()[0]}"
    unknown = [f"the strings of {name}, of which one is assumed here, are taken from the data" for name in texts]
    return "\n".join(["Circuit", *(f"- {line}" for line in (*lines, *unknown))])
