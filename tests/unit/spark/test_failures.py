"""What a task raises of our own errors comes out of Spark as what it was."""

from __future__ import annotations

import pytest

from ostinato.errors import DataError, LimitError
from ostinato.spark.failures import unwrap_errors


class FromSpark(Exception):
    """As pyspark has it: the traceback of the task in the message."""


@pytest.mark.parametrize("bound", [2_000_000, 10**16])
def test_a_limit_is_a_limit(bound: int) -> None:
    raised = LimitError("states", bound, reason="together they are in too many", fix="lower the order")
    with pytest.raises(LimitError) as found, unwrap_errors():
        raise FromSpark(f"job failed: ostinato.errors.LimitError: {raised}\n\tat org.apache.spark.Task.run(Task.scala)")
    assert str(found.value) == str(raised) and found.value.limit == "states" and found.value.bound == bound


def test_what_is_wrong_with_a_row_is_said_without_its_number_in_the_task() -> None:
    raised = DataError("`ts` is NULL", row=3, fix="give it a time")
    with pytest.raises(DataError, match=r"^`ts` is NULL\nfix: give it a time$"), unwrap_errors():
        raise FromSpark(f"job failed: ostinato.errors.DataError: {raised}\n\tat org.apache.spark.Task.run(Task.scala)")
