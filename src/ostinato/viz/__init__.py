"""Pictures: automata as SVG, matches on a time line."""
