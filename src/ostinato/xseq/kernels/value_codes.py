"""Codes of the small programs over values (values.py), for those who write them and those who run them."""

UNBOUND, NULL, TEXT, BOTH, NUMBER = 0, 1, 2, 3, 4  # kinds; BOTH is text that reads as a number

EQ, NE, LT, LE, GT, GE = 0b010, 0b101, 0b001, 0b011, 0b100, 0b110  # bits: less, equal, greater
PUSH, ADD, SUB, MUL, DIV, MOD, NEG, COMPARE, AND, OR, NOT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

DEEPEST = 64  # of the stack of a program
