"""One Slang function, called with numbers, lists, arrays and tensors."""

import numpy as np

import fusepy as fp

device = fp.default_device()
m = fp.Module.load_from_source(device, "add_example", "float add(float a, float b) { return a + b; }")

# What comes back is what went in: a number, a list, an array, a tensor.
print("numbers  ", m.add(10, 20))
print("lists    ", m.add([10, 20, 30], [1, 2, 3]))
print("broadcast", m.add([[10, 20, 30], [40, 50, 60]], [1, 2, 3]))
assert m.add(10, 20) == 30
assert m.add([10, 20, 30], 20) == [30, 40, 50]
assert m.add([[10, 20, 30], [40, 50, 60]], [1, 2, 3]) == [[11, 22, 33], [41, 52, 63]]

# Shapes broadcast by NumPy's rule.
column = np.arange(256, dtype=np.float32)[:, None]
row = np.linspace(0, 1, 256, dtype=np.float32)[None, :]
table = m.add(column, row)
assert table.shape == (256, 256)
assert np.array_equal(table, column + row)

# A tensor stays on the device: nothing is copied until somebody reads it.
a = fp.Tensor.from_numpy(device, np.arange(1_000_000, dtype=np.float32))
total = m.add(m.add(a, a), 0.5)
print("tensor   ", total.shape, total.dtype, total.to_numpy()[:4])
assert np.array_equal(total.to_numpy(), 2 * np.arange(1_000_000, dtype=np.float32) + 0.5)

# The result can be given, and shapes that do not fit are errors that say what to do.
m.add(a, 1, _result=total)
assert total.to_numpy()[-1] == 1_000_000
try:
    m.add([1, 2, 3], [1, 2, 3, 4])
except ValueError as error:
    print(f"\n{error}")
