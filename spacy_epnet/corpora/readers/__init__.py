from .columns import read_columns, read_wnut17
from .conll2012 import read_conll2012
from .docbin import read_docbin
from .i2b2 import read_i2b2
from .json_lines import read_json

__all__ = [
    "read_columns",
    "read_conll2012",
    "read_docbin",
    "read_i2b2",
    "read_json",
    "read_wnut17",
]
