"""Circuits, in the order in which a row meets them: ports, punctuations, filters, groups, modules, windows, results."""
