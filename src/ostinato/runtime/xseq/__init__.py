"""Running XSeq queries over tokens: in one pass where the query allows it, over trees in memory where it does not."""
