"""One write per rule (SRA paper, Lemma 5.5, appendix 10.3)."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.core.expressions import conjuncts
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.epsilon import eliminate_epsilon
from ostinato.patterns.sra.explore import Move, explore
from ostinato.patterns.sra.rename_registers import rename_registers
from ostinato.patterns.sra.trim import trim
from ostinato.patterns.theory.conjunction import conjunction

Partition = tuple[frozenset[str], ...]  # p: the old registers that each new one stands for; they hold the same event


def single_register(automaton: Automaton) -> Automaton:
    """The same strings, where no rule writes to more than one register. A state is paired with a partition p."""
    if all(len(rule.writes) <= 1 for rule in automaton.rules):
        return automaton
    automaton = eliminate_epsilon(automaton)
    registers = sorted(automaton.registers)

    def moves(state: tuple[int, Partition]) -> Iterator[Move[tuple[int, Partition]]]:
        here, partition = state
        standing = {old: new for new, olds in zip(registers, partition, strict=True) for old in olds}
        for rule in automaton.rules_from(here):
            test = conjunction(conjuncts(rename_registers(rule.test, standing)))
            if not rule.writes:
                yield test, (), (rule.target, partition)
                continue
            index = free_register(partition, frozenset(rule.writes))
            yield test, (registers[index],), (rule.target, after_writing(partition, index, frozenset(rule.writes)))

    # At first all registers are empty, so one new register stands for all of them.
    nothing_written: Partition = (automaton.registers, *(frozenset[str]() for _ in registers[1:]))
    return trim(
        explore((automaton.start, nothing_written), moves, lambda state: state[0] in automaton.final, automaton.window)
    )


def free_register(partition: Partition, writes: frozenset[str]) -> int:
    """k: the first new register that stands for nothing but what is overwritten. There are enough of them."""
    return next(index for index, olds in enumerate(partition) if olds <= writes)


def after_writing(partition: Partition, written: int, writes: frozenset[str]) -> Partition:
    """p': the written register stands for all of `writes`, and no other one does."""
    return tuple(writes if index == written else olds - writes for index, olds in enumerate(partition))
