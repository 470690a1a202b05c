"""``requantize.py IN OUT``: the same model with all of its quantised tensors as Q8_0, which every server reads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import gguf
import numpy as np

Q8_0 = gguf.GGMLQuantizationType.Q8_0
KEPT = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16)
FILE_TYPE_Q8_0 = 7  # gguf.LlamaFileType.MOSTLY_Q8_0


def main(source: str, target: str) -> None:
    reader = gguf.GGUFReader(source)
    partial = Path(f"{target}.{os.getpid()}")
    writer = gguf.GGUFWriter(partial, reader.get_field("general.architecture").contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        value = FILE_TYPE_Q8_0 if name == "general.file_type" else field.contents()
        item = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, kind, sub_type=item)
    for tensor in reader.tensors:
        if tensor.tensor_type in KEPT:
            writer.add_tensor(tensor.name, tensor.data)
            continue
        numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, gguf.quants.quantize(numbers, Q8_0), raw_dtype=Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(target)  # whole, or not there


if __name__ == "__main__":
    main(*sys.argv[1:])
