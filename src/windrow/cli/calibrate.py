"""`windrow calibrate`: measure what the estimates of `explain` rest on, and keep it."""

from __future__ import annotations

import click


@click.command("calibrate")
def command() -> None:
    """Measure what rows, panes and windows cost on this machine; takes some seconds, best while nothing else runs.

    The figures go to costs.json in the folder windrow of your configuration ($XDG_CONFIG_HOME, else ~/.config).

    \b
    Example:
      windrow calibrate
    """
    from windrow.cli.progress import stepping
    from windrow.engines.local.calibrating import STEPS
    from windrow.physical.costs import MEASURED, keep

    constants = MEASURED
    with stepping("calibrating", len(STEPS)) as step:
        for name, measure in STEPS.items():
            step(name)
            constants = measure(constants)
    click.echo(f"written to {keep(constants)}", err=True)
