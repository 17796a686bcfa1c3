"""CDAP: grants per object and the operations that check them."""
