"""The automata of the XSeq paper: visibly pushdown automata, their algebra, and CXSeq productions."""
