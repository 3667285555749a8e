"""Every operation over every type, run on the device and held to NumPy: values, types, and how exact they are."""
