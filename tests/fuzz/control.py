"""Loops and branches."""


def draw(d):
    return None


def lines(step, names, out):
    raise KeyError(step.op)
