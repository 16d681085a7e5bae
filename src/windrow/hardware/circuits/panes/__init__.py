"""Windows from panes: rows into pane modules, closed panes into block RAM, windows from what lies there.

`engine.PaneEngine` is what is called from outside; `literal.LiteralPanes` is the paper's pipeline as written. In the
order in which a row meets them: `shape` (how a slide is cut), `modules` (open panes), `steps` (what goes from there to
windows), `memory` (closed panes), then one of `scan` (a window reads all its panes) and `incremental` (only what enters
and leaves: `difference` for counts and sums, `ladder` and `stacks` for least and greatest). A late row reaches closed
panes by `late`.
"""
