"""The kernels that learning runs, one after another, so that those that are not stored are compiled side by side."""

from __future__ import annotations

from ostinato.core.jit import prefetch
from ostinato.forecast.kernels import completion_times, gaps, ground_truth, product, suffix_tree, waiting
from ostinato.forecast.kernels.count import pack_stream
from ostinato.forecast.kernels.explore import explore


def prefetch_learning() -> None:
    """Begin to compile those that every pattern needs, in the order in which they run."""
    prefetch(
        explore,
        ground_truth.mark_completions,
        pack_stream,
        gaps.find_gaps,
        suffix_tree.choose_contexts,
        suffix_tree.estimate,
        suffix_tree.gram_losses,
        product.explore,
        product.fill_rows,
        ground_truth.count_waits,
        waiting.likely_edges,
        waiting.step_back,
        waiting.store,
        waiting.summarise,
        completion_times.complete_times,
        completion_times.append,
        completion_times.summarise_times,
        ground_truth.count_seconds,
        ground_truth.hit_levels,
        ground_truth.count_ends,
        ground_truth.level_sums,
    )
