"""CERA, the complex event relational algebra: from rules to query plans with materialisation points."""
