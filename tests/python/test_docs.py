"""The examples of docs/python.md, one after the other."""
import pathlib
import re

import onnx

from test_package import branches


def test_examples_of_the_docs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    onnx.save(branches()[0], "model.onnx")
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(examples) > 5
    names = {}
    for example in examples:
        exec(compile(example, "docs/python.md", "exec"), names)  # noqa: S102: ours
    assert pathlib.Path("faster.html").is_file() and pathlib.Path("model.iso").is_file()
