"""The compiled heart of the live engine of rules: stores of tuples, and what runs over them."""
