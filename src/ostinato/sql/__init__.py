"""MATCH_RECOGNIZE: row patterns in SQL (ISO/IEC 19075-5), with the query around them."""
