"""XSeq on Spark: documents in the rows of a DataFrame, or in files."""

from ostinato.spark.xseq.detect import detect_xseq, read_documents, run_folder

__all__ = ["detect_xseq", "read_documents", "run_folder"]
