"""The product as its users see it, written down: what must be the same after a re-cut of the code.

`make goldens` writes the files of this folder, test_goldens.py compares them. Both speak to the product through its
public names: addresses, commands, settings; what has no public name stands in product.py.
"""
