"""How good the answers are: question sets, and what is measured on them."""
