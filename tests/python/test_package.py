"""The package as its users call it: models made here, and those of models/."""
import contextlib
import copy
import ctypes
import gc
import json
import os
import pathlib
import pickle
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomer

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


def branches(batch="batch"):
    """x [batch, 32] -> y = Relu(x w + 0), z = x v: a sum that is none, and two products that are one."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((32, 48), np.float32), "v": rng.standard_normal((32, 16), np.float32),
               "nothing": np.zeros(1, np.float32)}
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "nothing"], ["q"]),
         helper.make_node("Relu", ["q"], ["y"]), helper.make_node("MatMul", ["x", "v"], ["z"])], "branches",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 48]),
         helper.make_tensor_value_info("z", TensorProto.FLOAT, [batch, 16])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="tests")
    model.metadata_props.add(key="author", value="nobody")
    return model, weights


def expected(x, weights):
    return [np.maximum(x @ weights["w"], 0), x @ weights["v"]]


def in_threads(work, count):
    """work(k) for each k below the count, at once."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def filled(tmp_path):
    """A model of the tree with weights by its rule, by name."""
    fill = pathlib.Path(os.environ.get("ISOMER_FILL", ""))
    if not fill.is_file():
        pytest.skip("isomer-fill expected in ISOMER_FILL")

    def make(name):
        subprocess.run([fill, MODELS / f"{name}.onnx", "-o", tmp_path], check=True)
        return tmp_path / f"{name}.onnx"

    return make


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((4, 32), np.float32)


# Models


@pytest.mark.parametrize("form", ["path", "bytes", "proto"])
def test_models_are_paths_bytes_or_protos(form, tmp_path, x):
    model, weights = branches()
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    given = {"path": path, "bytes": path.read_bytes(), "proto": model}[form]
    assert isomer.describe(given)["free_dims"] == ["batch"]
    optimized = isomer.optimize(given, level=2)
    assert isomer.verify(given, optimized).steps > 0
    for output, wanted in zip(isomer.InferenceSession(given).run(None, {"x": x}), expected(x, weights)):
        np.testing.assert_allclose(output, wanted, rtol=1e-5, atol=1e-5)


def test_optimized_models_have_proofs_and_reports(tmp_path):
    model, _ = branches()
    told = []
    optimized = isomer.optimize(model, runtime="isomer", time="2s", progress=lambda what, left: told.append(what))
    assert told[0] == "reading"
    assert optimized.report["nodes_before"] == 4 and optimized.report["nodes_after"] == 3
    assert len(optimized.steps) == len(optimized.report["steps"]) > 0
    assert [node.op_type for node in optimized.to_onnx().graph.node].count("Add") == 0
    optimized.save(tmp_path / "o.onnx", proof=tmp_path / "o.proof", report=tmp_path / "o.html")
    assert "<html" in (tmp_path / "o.html").read_text()
    verified = isomer.verify(model, tmp_path / "o.onnx", tmp_path / "o.proof")
    assert verified == isomer.verify(model, optimized) and verified.fp == "reassociate"
    assert isomer.compare(model, tmp_path / "o.onnx")
    with pytest.raises(isomer.CheckFailed):
        isomer.verify(tmp_path / "o.onnx", model, optimized.proof)


def copies_of(optimized):
    yield "pickle", pickle.loads(pickle.dumps(optimized))
    yield "copy", copy.copy(optimized)
    yield "deepcopy", copy.deepcopy(optimized)


def test_copies_of_optimized_models_have_their_own(tmp_path):
    model, _ = branches(4)
    optimized = isomer.optimize(model, level=2)
    content, steps = optimized.model, optimized.steps
    copies = dict(copies_of(optimized))
    del optimized
    gc.collect()
    for name, each in copies.items():
        assert each.model == content and each.steps == steps, name
        each.save(tmp_path / f"{name}.onnx")
        assert isomer.verify(model, each).steps > 0


def with_weights_beside(folder, seed=0):
    """branches() with its weights in weights.bin."""
    model, weights = branches(4)
    for tensor in model.graph.initializer:
        if tensor.name in ("w", "v"):
            weights[tensor.name] = np.random.default_rng(seed).standard_normal(weights[tensor.name].shape, np.float32)
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    return folder / "model.onnx", weights


def test_names_may_be_of_any_bytes(tmp_path, x):
    """In a file, and of files."""
    content = branches(4)[0].SerializeToString().replace(b"Relu", b"R\xff\xfeu")
    assert isomer.describe(content)["operators"]["R\ufffd\ufffdu"] == 1
    with pytest.raises(isomer.Unsupported):
        isomer.InferenceSession(content)
    plain, folder = tmp_path / "plain", tmp_path / os.fsdecode(b"f\xff")
    plain.mkdir()
    file, weights = with_weights_beside(plain)
    file = plain.rename(folder) / file.name
    isomer.optimize(file, level=2, output=folder / os.fsdecode(b"\xfe.onnx"))
    assert isomer.compare(file, folder / os.fsdecode(b"\xfe.onnx"))
    isomer.compile(file, folder / os.fsdecode(b"\xfd.iso"), level=1)
    for each in (file, folder / os.fsdecode(b"\xfd.iso")):
        np.testing.assert_allclose(isomer.InferenceSession(each).run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    with pytest.raises(isomer.InvalidModel, match="nowhere"):
        isomer.optimize(folder / "nowhere.onnx")


def test_saving_beside_the_model_leaves_its_weights(tmp_path):
    path, _ = with_weights_beside(tmp_path)
    before = (tmp_path / "weights.bin").read_bytes()
    isomer.optimize(path, level=2, output=tmp_path / "faster.onnx")
    isomer.optimize(path, level=1).save(tmp_path / "other.onnx")
    assert (tmp_path / "weights.bin").read_bytes() == before
    assert isomer.compare(path, tmp_path / "faster.onnx") and isomer.compare(path, tmp_path / "other.onnx")


def test_sessions_see_that_weights_have_changed(tmp_path, x):
    path, weights = with_weights_beside(tmp_path, seed=1)
    np.testing.assert_allclose(isomer.InferenceSession(path).run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    path, weights = with_weights_beside(tmp_path, seed=2)
    np.testing.assert_allclose(isomer.InferenceSession(path).run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)


def test_a_cache_that_cannot_be_written_is_left_alone(cache, x):
    cache.mkdir()
    (cache / "isomer").write_text("a file where the folder would be")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        isomer.InferenceSession(branches(4)[0]).run(None, {"x": x})


def test_code_for_a_gpu_is_made_without_one(tmp_path):
    isomer.compile(branches(4)[0], tmp_path / "gpu.iso", target="cuda=emulated,cpu", check=False)
    assert (tmp_path / "gpu.iso").stat().st_size > 0


def test_models_that_differ_are_told():
    model, _ = branches()
    other, _ = branches()
    other.graph.node[2].op_type = "Abs"
    comparison = isomer.compare(model, other)
    assert not comparison and "y" in comparison.text


@pytest.mark.parametrize("call, kind, part", [
    (lambda model: isomer.optimize("/nowhere/model.onnx"), isomer.InvalidModel, "/nowhere/model.onnx"),
    (lambda model: isomer.optimize(b"nothing"), isomer.InvalidModel, "expected"),
    (lambda model: isomer.optimize(model, level=9), isomer.UsageError, "level: 0 to 3 expected, 9 found"),
    (lambda model: isomer.optimize(model, time="soon"), isomer.UsageError, "'soon' found"),
    (lambda model: isomer.optimize(model, dims={"heads": 3}), isomer.Error, "heads"),
    (lambda model: isomer.verify(model, model), isomer.UsageError, "proof"),
    (lambda model: isomer.compile(model, "/nowhere/x.iso"), isomer.Error, "/nowhere"),
    (lambda model: isomer.optimize(7), TypeError, "int found"),
])
def test_what_is_wrong_is_a_sentence(call, kind, part):
    with pytest.raises(kind) as raised:
        call(branches()[0])
    assert part in str(raised.value) and "\n" not in str(raised.value)


def test_interrupts_end_with_the_best_so_far(tmp_path):
    script = textwrap.dedent("""
        import os, signal, sys, threading, isomer
        def stop(what, left):
            if what.startswith("searching") and not stop.done:
                stop.done = True
                os.kill(os.getpid(), signal.SIGINT)
        stop.done = False
        try:
            made = isomer.optimize(sys.argv[1], runtime="isomer", dims={"batch": 64}, time="10min", progress=stop)
            print("made", made.interrupted)
        except KeyboardInterrupt:
            print("nothing was found yet")
    """)
    onnx.save(branches()[0], tmp_path / "model.onnx")
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "model.onnx")], capture_output=True, text=True,
                          timeout=120)
    assert done.stdout in ("made True\n", "nothing was found yet\n"), done.stderr


def test_tuned_kernels_are_recorded(tmp_path):
    records = tmp_path / "records.sqlite"
    tasks = isomer.tune(branches(64)[0], trials=8, records=records)
    assert records.is_file() and tasks and all(0 < task.best_us <= task.first_us for task in tasks)


def test_what_was_compiled_before_it_was_tuned_is_compiled_again(cache, x):
    model, _ = branches(4)
    kept = lambda: len(list((cache / "isomer" / "artifacts").iterdir()))
    for _ in range(2):
        isomer.InferenceSession(model)
    assert kept() == 1
    isomer.tune(model, trials=8)
    with contextlib.closing(sqlite3.connect(cache / "isomer" / "records.sqlite")) as records:
        # Whether tuning found anything better is a matter of times.
        records.execute("UPDATE OR REPLACE records SET maker = replace(maker, 'default', 'tuned') WHERE maker LIKE 'default%'")
        records.commit()
    for _ in range(2):
        isomer.InferenceSession(model).run(None, {"x": x})
    assert kept() == 2


def test_other_signals_end_the_work(tmp_path):
    script = textwrap.dedent("""
        import os, signal, sys, isomer
        class Late(Exception): pass
        def handler(number, frame): raise Late
        signal.signal(signal.SIGUSR1, handler)
        try:
            isomer.optimize(sys.argv[1], runtime="isomer", dims={"batch": 64}, time="10min",
                            progress=lambda what, left: what.startswith("searching") and os.kill(os.getpid(), signal.SIGUSR1))
        except Late:
            print("late")
    """)
    onnx.save(branches()[0], tmp_path / "model.onnx")
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "model.onnx")], capture_output=True, text=True,
                          timeout=120)
    assert done.stdout == "late\n", done.stderr


def run_script(script, *arguments):
    """What it prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_signals_end_runs_that_are_interpreted(tmp_path):
    """Wherever in Python they are raised: a hundred looks a second are taken, too."""
    onnx.save(branches()[0], tmp_path / "model.onnx")
    assert run_script("""
        import signal, sys, numpy as np, isomer
        class Late(Exception): pass
        def handler(number, frame): raise Late
        signal.signal(signal.SIGALRM, handler)
        session = isomer.InferenceSession(sys.argv[1], cache=False)
        for k in range(5):
            x = np.ones((100000 + k, 32), np.float32)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.03)
                while True:
                    session.run(None, {"x": x})
            except Late:
                print("late")
    """, tmp_path / "model.onnx") == 5 * "late\n"


def deep(path):
    """60 products, each of a shape of its own: code for them takes seconds."""
    names, nodes, weights = ["x"], [], []
    for n in range(101, 161):
        weights.append(numpy_helper.from_array(np.full((n - 1, n), 0.01, np.float32), f"w{n}"))
        nodes += [helper.make_node("MatMul", [names[-1], f"w{n}"], [f"m{n}"]), helper.make_node("Tanh", [f"m{n}"], [f"a{n}"])]
        names.append(f"a{n}")
    value = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, [16, size])
    graph = helper.make_graph(nodes, "deep", [value("x", 100)], [value("a160", 160)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize("call", ["isomer.compile(sys.argv[1], sys.argv[2], level=2, check=False, threads=1)",
                                  "isomer.InferenceSession(sys.argv[1], cache=False, check=False)"])
def test_interrupts_end_code_generation(tmp_path, call):
    deep(tmp_path / "deep.onnx")
    assert run_script(f"""
        import os, signal, sys, threading, isomer
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            {call}
            print("made")
        except KeyboardInterrupt:
            print("interrupted", os.path.exists(sys.argv[2]))
    """, tmp_path / "deep.onnx", tmp_path / "deep.iso") == "interrupted False\n"


def test_what_the_system_was_in_the_way_of_is_made_later(tmp_path):
    onnx.save(branches()[0], tmp_path / "model.onnx")
    assert run_script("""
        import os, shutil, sys, tempfile, time, warnings, numpy as np
        os.environ["TMPDIR"] = sys.argv[2]
        os.environ["XDG_CACHE_HOME"] = sys.argv[1]
        os.mkdir(sys.argv[2])
        import isomer
        isomer._models._SHARED_MEMORY = sys.argv[1]
        isomer._session._SECONDS_TO_PASS = 0.5
        told = warnings.catch_warnings(record=True).__enter__()
        warnings.simplefilter("always")
        session = isomer.InferenceSession(sys.argv[1], cache=False)
        x = np.ones((3, 32), np.float32)
        tempfile.gettempdir()
        shutil.rmtree(sys.argv[2])
        first = session.run(None, {"x": x})
        for k in range(3):
            time.sleep(1)
            session.run(None, {"x": x})
        time.sleep(1)
        os.mkdir(sys.argv[2])
        for k in range(600):
            again = session.run(None, {"x": x})
            if session._variants:
                break
            time.sleep(0.1)
        print(len(session._variants), all(np.allclose(a, b) for a, b in zip(first, again)))
        print(*(each.message for each in told), sep="\\n")
    """, tmp_path / "model.onnx", tmp_path / "gone") == (
        "1 True\ninterpreting, which is slow, until code can be made: No such file or directory\n")


def test_code_is_made_when_there_are_descriptors_again(tmp_path):
    """The check is not left out for want of them."""
    onnx.save(branches()[0], tmp_path / "model.onnx")
    assert run_script("""
        import os, sys, tempfile, time, warnings, numpy as np
        import isomer
        isomer._session._SECONDS_TO_PASS = 0.1
        tempfile.gettempdir()
        told = warnings.catch_warnings(record=True).__enter__()
        warnings.simplefilter("always")
        session = isomer.InferenceSession(sys.argv[1], cache=False)
        tries, compiled = [], session._compile
        session._compile = lambda shapes, target, check, until: tries.append(check) or compiled(shapes, target, check, until)
        session._interpreter()
        x = np.ones((3, 32), np.float32)
        files = []
        while True:
            try:
                files.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        for k in range(600):
            session.run(None, {"x": x})
            if len(tries) > 1:
                break
            time.sleep(0.05)
        for file in files:
            os.close(file)
        for k in range(600):
            session.run(None, {"x": x})
            if session._variants:
                break
            time.sleep(0.1)
        print(*(type(each).__name__ for each in session._variants.values()), set(tries))
        print(*("until code can be made" in str(each.message) for each in told))
    """, tmp_path / "model.onnx") == "_Variant {True}\nTrue\n"


@pytest.mark.parametrize("jit", [True, "wait"])
def test_a_full_disk_passes(monkeypatch, x, jit):
    """Also one that a session finds when it is opened."""
    monkeypatch.setattr(isomer._session, "_SECONDS_TO_PASS", 0.2)
    model, weights = branches(4)

    def fails(*arguments):
        raise isomer._isomer.Refused("system", "can't write the file: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(isomer.InferenceSession, "_compile", fails)
        with pytest.warns(UserWarning, match="until code can be made: can't write the file"):
            session = isomer.InferenceSession(model, cache=False, jit=jit)
        for _ in range(2):
            np.testing.assert_allclose(session.run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
        assert not session._variants
    assert until(lambda: session.run(["z"], {"x": x}) and session._variants)


@pytest.mark.parametrize("count", [40, 100])
def test_models_may_have_many_files(tmp_path, count):
    """More than a process may have open, by default."""
    names = [f"w{k}" for k in range(count)]
    graph = helper.make_graph([helper.make_node("Sum", ["x", *names], ["y"])], "sum",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
                              [numpy_helper.from_array(np.ones(1, np.float32), name) for name in names])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx",
              save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0)
    assert run_script("""
        import resource, sys, time, numpy as np, isomer
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        session = isomer.InferenceSession(sys.argv[1], cache=False)
        for k in range(600):
            y = session.run(None, {"x": np.zeros(2, np.float32)})[0]
            if session._variants:
                break
            time.sleep(0.1)
        print(*(type(each).__name__ for each in session._variants.values()), y)
    """, tmp_path / "model.onnx") == f"_Variant [{count}. {count}.]\n"


def test_what_does_not_pass_is_tried_ever_less(monkeypatch):
    monkeypatch.setattr(isomer._session, "_SECONDS_TO_PASS", 1)
    session = isomer.InferenceSession(branches()[0], cache=False)
    waits = []
    for _ in range(12):
        session._wait_for_room(((1, 32),), "no room")
        waits.append(session._not_before[((1, 32),)][0] - time.monotonic())
    np.testing.assert_allclose(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600], atol=0.5)


def test_what_is_unsupported_is_tried_once(monkeypatch):
    tries = []

    def fails(shapes, target, check, until):
        tries.append(check)
        raise isomer._isomer.Refused("unsupported", "an operator with a row expected, another one found")

    monkeypatch.setattr(isomer.InferenceSession, "_compile", lambda session, *arguments: fails(*arguments))
    with pytest.warns(UserWarning, match="interpreting"):
        isomer.InferenceSession(branches(4)[0], cache=False)
    assert tries == [True]


@pytest.mark.parametrize("batch", [4, "batch"])
def test_what_stays_in_the_way_is_told(tmp_path, batch):
    """And the session interprets: one of shapes that are known from its opening on."""
    onnx.save(branches(batch)[0], tmp_path / "model.onnx")
    assert run_script("""
        import os, sys, tempfile, time, warnings, numpy as np
        os.environ["XDG_CACHE_HOME"] = sys.argv[1]
        import isomer
        told = warnings.catch_warnings(record=True).__enter__()
        tempfile.tempdir = isomer._models._SHARED_MEMORY = sys.argv[1]
        session = isomer.InferenceSession(sys.argv[1], cache=False)
        for k in range(600):
            y, z = session.run(None, {"x": np.ones((4, 32), np.float32)})
            if told:
                break
            time.sleep(0.1)
        print(y.shape, z.shape, *(each.message for each in told), sep="\\n")
    """, tmp_path / "model.onnx").startswith("(4, 48)\n(4, 16)\ninterpreting, which is slow: ")


@pytest.mark.parametrize("place", ["cache", "shared memory"])
def test_files_find_a_place_where_the_usual_one_is_none(tmp_path, place):
    """As in a container whose disk can only be read."""
    onnx.save(branches(4)[0], tmp_path / "model.onnx")
    assert run_script("""
        import os, pathlib, sys, tempfile, numpy as np
        os.environ["XDG_CACHE_HOME"] = sys.argv[2]
        import isomer
        tempfile.tempdir, isomer._models._SHARED_MEMORY = sys.argv[1], sys.argv[3]
        model = pathlib.Path(sys.argv[1]).read_bytes()
        sessions = isomer.InferenceSession(sys.argv[1]), isomer.InferenceSession(model), isomer.InferenceSession(model, cache=False)
        for session in sessions:
            session.run(None, {"x": np.ones((4, 32), np.float32)})
            print(*(type(each).__name__ for each in session._variants.values()))
    """, tmp_path / "model.onnx", tmp_path / ("model.onnx" if place == "shared memory" else "cache"),
        tmp_path / ("model.onnx" if place == "cache" else "shared")) == 3 * "_Variant\n"


def test_interrupts_end_measurements(tmp_path):
    onnx.save(branches(4)[0], tmp_path / "model.onnx")
    assert run_script("""
        import os, signal, sys, threading, time, isomer
        threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        try:
            isomer.bench(sys.argv[1], time="60s")
        except KeyboardInterrupt:
            print(time.monotonic() - start < 30)
    """, tmp_path / "model.onnx") == "True\n"


def test_what_is_noted_is_of_the_caller(tmp_path):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        isomer.bench(branches()[0], time=0.01, threads=1)
    assert [each.filename for each in told] == [__file__]
    assert "bind it with dims={'batch': SIZE}" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="batch"):
            isomer.bench(branches()[0], time=0.01, threads=1)


def test_places_are_looked_at_before_the_work(tmp_path):
    start = time.monotonic()
    for place in ("/no folder of that name/x.onnx", tmp_path):
        with pytest.raises(isomer.UsageError, match="expected"):
            isomer.optimize(branches()[0], output=place, time="60s", runtime="isomer", dims={"batch": 4})
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("call, part", [
    (lambda model: isomer.optimize(model, memory=-1), "memory: a number from 0 on expected, -1 found"),
    (lambda model: isomer.optimize(model, check_runs=-1), "check_runs: a number from 0 on expected, -1 found"),
    (lambda model: isomer.optimize(model, threads=-1), "threads: a number from 0 to 1024 expected, -1 found"),
    (lambda model: isomer.compare(model, model, runs=0), "runs: a number from 1 on expected, 0 found"),
    (lambda model: isomer.optimize(model, time=[1]), "time: a time such as"),
    (lambda model: isomer.optimize(model, dims={"heads": 3}), "dims: one of the dims batch expected, 'heads' found"),
])
def test_numbers_that_are_none_are_refused(call, part):
    with pytest.raises(isomer.UsageError) as raised:
        call(branches()[0])
    assert part in str(raised.value)


def test_times_may_be_of_numpy():
    assert isomer.bench(branches(4)[0], time=np.float32(0.01), threads=1).runs >= 1


# Sessions


def test_sessions_are_called_as_those_of_onnx_runtime(x):
    model, weights = branches()
    session = isomer.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (only,) = session.get_inputs()
    assert (only.name, only.type, only.shape) == ("x", "tensor(float)", ["batch", 32])
    assert [output.name for output in session.get_outputs()] == ["y", "z"]
    meta = session.get_modelmeta()
    assert meta.producer_name == "tests" and meta.custom_metadata_map == {"author": "nobody"}
    assert session.get_providers() == ["CPUExecutionProvider"]
    y, z = session.run(None, {"x": x})
    np.testing.assert_allclose(z, expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    (again,) = session.run(["z"], {"x": x})
    np.testing.assert_array_equal(again, z)
    # Of another size, of another order in memory, and as a list.
    for other in (x[:1], np.asfortranarray(x), x[::2]):
        np.testing.assert_allclose(session.run(["y"], {"x": other})[0], expected(other, weights)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("feed, names, part", [
    ({}, None, "x: a value expected"),
    ({"x": np.zeros((4, 32))}, None, "x: float32 expected, float64 found"),
    ({"x": [[1.0], [1.0, 2.0]]}, None, "x: an array expected, list of several lengths found"),
    ({"x": np.zeros((4, 31), np.float32)}, None, "x: shape ['batch', 32] expected, [4, 31] found"),
    ({"x": np.zeros((4, 32), np.float32), "w": 1}, None, "w: a name of an input expected"),
    ({"x": np.zeros((4, 32), np.float32)}, ["q"], "q: a name of an output expected"),
    ({"x": np.zeros((4, 32), np.float32)}, "yz", "output_names: a list of names expected, 'yz' found"),
])
def test_inputs_that_do_not_fit_are_refused(feed, names, part):
    with pytest.raises(isomer.UsageError) as raised:
        isomer.InferenceSession(branches()[0]).run(names, feed)
    assert part in str(raised.value)


def test_what_a_session_has_not_is_named():
    with pytest.raises(AttributeError, match="no get_tuning_results"):
        isomer.InferenceSession(branches()[0]).get_tuning_results()
    with pytest.raises(isomer.UsageError, match="warp_drive"):
        isomer.InferenceSession(branches()[0], warp_drive=True)


def named_dims(*shape):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "names",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], doc_string="of a graph")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("name", ["batch-size", "a.b", "past_sequence_length + 1", "N/2", "1x", "é", "x y", 'q"t'])
def test_sizes_are_called_as_the_file_calls_them(name):
    model = named_dims(name, 2, None)
    options = isomer.SessionOptions()
    session = isomer.InferenceSession(model, options, cache=False)
    for arg in session.get_inputs() + session.get_outputs():
        assert arg.shape == [name, 2, None]
    assert session.get_modelmeta().graph_description == "of a graph"
    assert isomer.compare(model, model, dims={name: 3})
    options.add_free_dimension_override_by_name(name, 8)
    session = isomer.InferenceSession(model, options, cache=False)
    assert session.get_inputs()[0].shape == session.get_outputs()[0].shape == [8, 2, None]


def test_values_are_updated_by_their_like():
    value = isomer.OrtValue.ortvalue_from_numpy(np.ones(3, np.float32))
    value.update_inplace(np.full(3, 2, np.float32))
    assert value.numpy().tolist() == [2, 2, 2]
    for wrong in (np.zeros(1, np.float32), np.zeros(3, np.float64), np.zeros((3, 1), np.float32)):
        with pytest.raises(isomer.UsageError, match="an array of float32 of shape .* expected"):
            value.update_inplace(wrong)


def test_values_are_arrays_for_numpy_and_others():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    value = isomer.OrtValue.ortvalue_from_numpy(array)
    assert np.shares_memory(np.asarray(value), array) and not np.shares_memory(np.array(value, copy=True), array)
    assert np.asarray(value, np.float64).dtype == np.float64 and np.abs(value).tolist() == array.tolist()
    other = isomer.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    other.update_inplace(value)
    assert other.numpy().tolist() == array.tolist()
    for given in (array, value, array.__dlpack__()):
        taken = isomer.OrtValue.from_dlpack(given)
        assert np.shares_memory(taken.numpy(), array) and taken.data_type() == "tensor(float)"
    with pytest.raises(isomer.UsageError, match="DLPack"):
        isomer.OrtValue.from_dlpack([1, 2])


def test_values_have_types_that_numpy_has_not():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.array([[0x3f80, 0x4000]], np.uint16)
    for value in (isomer.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16),
                  isomer.OrtValue.from_dlpack(OfDlpackCode(bits, 4))):
        assert value.data_type() == "tensor(bfloat16)" and value.numpy().tolist() == [[1, 2]]
        assert value.numpy().dtype == ml_dtypes.bfloat16 and np.shares_memory(value.numpy(), bits)
    with pytest.raises(isomer.UsageError, match="2 bytes expected"):
        isomer.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.float32), TensorProto.BFLOAT16)


def test_options_have_what_programs_ask_them_for(x):
    options = isomer.SessionOptions()
    assert options.log_verbosity_level == 0 and not options.has_providers()
    session = isomer.InferenceSession(branches(4)[0], options)
    assert session.end_profiling() == ""
    how = isomer.RunOptions()
    how.add_run_config_entry("a", "b")
    assert how.get_run_config_entry("a") == "b" and how.log_verbosity_level == 0
    session.run(None, {"x": x}, how)
    how.terminate = True
    with pytest.raises(isomer.Stopped):
        session.run(None, {"x": x}, how)


class TerminatedLater:
    """Options that another thread sets as soon as the run has begun."""

    looks = 0

    @property
    def terminate(self):
        self.looks += 1
        return self.looks > 1


@pytest.mark.parametrize("bound", [False, True])
def test_runs_that_are_interpreted_may_be_terminated(bound):
    session = isomer.InferenceSession(branches()[0], cache=False)
    session._background.want = lambda shapes: True
    x = np.ones((200000, 32), np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y")
    with pytest.raises(isomer.Stopped):
        if bound:
            session.run_with_iobinding(binding, TerminatedLater())
        else:
            session.run(None, {"x": x}, TerminatedLater())


def test_what_inputs_are_told_to_be_is_the_callers(x):
    """Who makes a shape for a warm-up of what get_inputs gives changes nothing for those that come."""
    session = isomer.InferenceSession(branches()[0], cache=False)
    session.get_inputs()[0].shape[0] = 1
    session.get_inputs().clear()
    session.get_outputs().clear()
    assert session.get_inputs()[0].shape == ["batch", 32]
    assert session.run(["z"], {"x": x})[0].shape == (4, 16)


def test_inputs_may_be_of_any_rank():
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "any",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert session.get_inputs()[0].shape == session.get_outputs()[0].shape == []
    for shape in (), (2,), (2, 3):
        assert session.run(None, {"x": np.ones(shape, np.float32)})[0].shape == shape


def test_errors_are_found_where_programs_look_for_them(x):
    assert run_script("""
        import isomer as ort, numpy as np, sys
        try:
            ort.InferenceSession("no such file")
        except (ort.capi.onnxruntime_pybind11_state.ModelLoaded, ort.capi.onnxruntime_pybind11_state.NotFound):
            print("another")
        except ort.capi.onnxruntime_pybind11_state.NoSuchFile:
            print("no such file", ort.get_version_string() == ort.__version__)
    """) == "no such file True\n"


def test_errors_are_none_of_each_other(x):
    """Whatever clause of a program comes first."""
    state = isomer.capi.onnxruntime_pybind11_state
    names = ["Fail", "InvalidArgument", "NoSuchFile", "NoModel", "EngineError", "RuntimeException", "InvalidProtobuf", "ModelLoaded",
             "NotImplemented", "EPFail", "ModelLoadCanceled", "ModelRequiresCompilation", "NotFound"]
    for one in names:
        for other in names:
            assert one == other or not issubclass(getattr(state, one), getattr(state, other)), (one, other)
        assert issubclass(getattr(state, one), isomer.Error)
    with pytest.raises(state.NoSuchFile):
        isomer.InferenceSession("no such file")
    session = isomer.InferenceSession(branches(4)[0])
    for names, feed in [(None, {}), (None, {"x": x[:1]}), (None, {"x": x.astype(np.float64)}), (None, {"x": x, "q": x}), (["q"], {"x": x})]:
        with pytest.raises(state.InvalidArgument) as raised:
            session.run(names, feed)
        assert isinstance(raised.value, (isomer.UsageError, ValueError))


def test_lists_and_numbers_become_the_inputs_type(x):
    session = isomer.InferenceSession(branches(4)[0])
    np.testing.assert_array_equal(session.run(None, {"x": x.tolist()})[0], session.run(None, {"x": x})[0])
    np.testing.assert_array_equal(session.run(None, {"x": [[1] * 32] * 4})[0], session.run(None, {"x": np.ones_like(x)})[0])
    graph = helper.make_graph([helper.make_node("Gather", ["data", "at"], ["y"])], "gather",
                              [helper.make_tensor_value_info("data", TensorProto.UINT8, [3]),
                               helper.make_tensor_value_info("at", TensorProto.INT32, [2])],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, [2])])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert session.run(None, {"data": [1, 2, 255], "at": (2, 0)})[0].tolist() == [255, 1]
    for wrong in ({"data": [1, 2, 256], "at": [2, 0]}, {"data": [1, 2, 3], "at": [2.5, 0]}, {"data": [1, 2, 3], "at": "20"}):
        with pytest.raises(isomer.UsageError, match="expected"):
            session.run(None, wrong)


@pytest.mark.parametrize("kind, right, wrong", [
    ("int4", [7, -8], [[8], [20, -9], [2.5]]), ("uint4", [15, 0], [[-1], [16]]), ("int2", [1, -2], [[2]]),
    ("uint2", [3, 0], [[-1], [4]]), ("int8", [127, -128], [[128], [2.5]]), ("int64", [-5], [[2 ** 63], [2 ** 70]]),
    ("uint64", [2 ** 64 - 1], [[-1], [2 ** 64]]), ("bool", [True], [[1], [0.5]]), ("float", [1e38, 7], [[1e39], [2j]]),
    ("double", [1e300, 2 ** 60], [["1"]]), ("float16", [65504.0, 65505.0, float("inf")], [[70000.0], [70000]]),
    ("bfloat16", [1e38, -1], [[1e39]]), ("float8e4m3fn", [448, 0.1], [[1e6]]), ("float8e5m2", [1e4], [[1e6]]),
    ("float4e2m1", [6, -0.5], [[1e6]]), ("complex64", [1 + 2j, 3], [[1e39], [1e39j]])])
def test_lists_lose_no_more_than_digits(kind, right, wrong):
    pytest.importorskip("ml_dtypes")
    arg = isomer.NodeArg("x", f"tensor({kind})", ["n"])
    dtype = isomer._session._array_type(isomer._session.NUMBERS_BY_NAME[kind])
    made = isomer._session._array_of(right, arg)
    assert made.dtype == dtype and made.tolist() == np.array(right).astype(dtype).tolist()
    assert isomer._session._array_of([], arg).dtype == dtype
    for values in wrong:
        with pytest.raises(isomer.UsageError, match="x: .* expected, .* found"):
            isomer.InferenceSession._check(arg, isomer._session._array_of(values, arg))


def test_initializers_may_be_given_other_values():
    graph = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["y"])], "scaled",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
                               helper.make_tensor_value_info("k", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
                              [numpy_helper.from_array(np.array([2], np.float32), "k")])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert [arg.name for arg in session.get_inputs()] == ["x"]
    assert [(arg.name, arg.shape) for arg in session.get_overridable_initializers()] == [("k", [1])]
    x = np.array([1, 3], np.float32)
    assert session.run(None, {"x": x})[0].tolist() == [2, 6]
    with pytest.warns(UserWarning, match="interpreting"):
        assert session.run(None, {"x": x, "k": np.array([5], np.float32)})[0].tolist() == [5, 15]
    assert session.run(None, {"x": x})[0].tolist() == [2, 6]
    with pytest.raises(isomer.UsageError, match=r"k: shape \[1\] expected"):
        session.run(None, {"x": x, "k": np.ones(2, np.float32)})


def test_arguments_that_change_nothing_are_taken(x):
    isomer.InferenceSession(branches(4)[0], disabled_optimizers=["ConstantFolding"], enable_fallback=False).run(None, {"x": x})


@pytest.mark.parametrize("jit", [True, "wait"])
def test_data_that_are_wrong_fail_the_run(jit):
    """Whether code is ready or not."""
    graph = helper.make_graph([helper.make_node("Gather", ["x", "i"], ["y"])], "gather",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3]),
                               helper.make_tensor_value_info("i", TensorProto.INT64, ["m"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m", 3])])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                                      cache=False, jit=jit)
    feed = {"x": np.ones((4, 3), np.float32), "i": np.array([5])}
    with pytest.raises(isomer.RunFailed):
        session.run(None, feed)
    assert until(lambda: session._variants)
    with pytest.raises(isomer.RunFailed):
        session.run(None, feed)
    sum = helper.make_graph([helper.make_node("Add", ["a", "b"], ["c"])], "sum",
                            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "ab"],
                            [helper.make_tensor_value_info("c", TensorProto.FLOAT, ["n"])])
    session = isomer.InferenceSession(helper.make_model(sum, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                                      cache=False, jit=jit)
    for _ in range(2):
        with pytest.raises(isomer.RunFailed):
            session.run(None, {"a": np.ones(2, np.float32), "b": np.ones(3, np.float32)})
        until(lambda: session._failures, 2)


def test_artifacts_are_kept(cache, x):
    model, _ = branches(4)
    first = isomer.InferenceSession(model).run(None, {"x": x})
    (kept,) = (cache / "isomer" / "artifacts").iterdir()
    before = kept.stat().st_ino
    second = isomer.InferenceSession(model).run(None, {"x": x})
    assert kept.stat().st_ino == before
    np.testing.assert_array_equal(first[0], second[0])
    kept.write_bytes(b"damaged")
    np.testing.assert_array_equal(isomer.InferenceSession(model).run(None, {"x": x})[0], first[0])


def test_artifacts_are_taken_from_where_nothing_can_be_written(monkeypatch, x):
    model, _ = branches(4)
    first = isomer.InferenceSession(model).run(None, {"x": x})

    def fails(*arguments, **options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(isomer._session.os, "utime", fails)
    monkeypatch.setattr(isomer.InferenceSession, "_compile", fails)
    np.testing.assert_array_equal(isomer.InferenceSession(model).run(None, {"x": x})[0], first[0])


def test_artifacts_are_kept_beside_files_that_vanish(cache, x):
    """Names that are listed and lead to nothing, as those that another process removes meanwhile."""
    folder = cache / "isomer" / "artifacts"
    folder.mkdir(parents=True)
    for name in ("gone.partial", "gone.iso"):
        (folder / name).symlink_to(folder / "removed")
    isomer.InferenceSession(branches(4)[0]).run(None, {"x": x})
    assert [each.suffix for each in folder.iterdir() if each.exists()] == [".iso"]


def test_kept_artifacts_whose_weights_are_damaged_are_made_again(cache, x):
    model, _ = branches(4)
    first = isomer.InferenceSession(model).run(None, {"x": x})
    (kept,) = (cache / "isomer" / "artifacts").iterdir()
    content = kept.read_bytes()
    w = next(numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name == "w")
    at = max(content.find(w[0, :2].tobytes()), content.find(w[:1, :1].tobytes()))
    damaged = content[:at] + bytes(64) + content[at + 64:] if at > 0 else content[:-64] + bytes(64)
    assert damaged != content
    kept.write_bytes(damaged)
    np.testing.assert_array_equal(isomer.InferenceSession(model).run(None, {"x": x})[0], first[0])
    assert kept.read_bytes() != damaged


def test_what_was_not_checked_is_not_taken_for_what_was(cache):
    model, _ = branches(4)
    for check in (False, True, True):
        isomer.InferenceSession(model, check=check)
    assert len(list((cache / "isomer" / "artifacts").iterdir())) == 2


def test_artifacts_have_variants(tmp_path, x):
    model, weights = branches()
    compiled = isomer.compile(model, tmp_path / "model.iso", level=2, dims={"batch": (1, 4)})
    session = isomer.InferenceSession(compiled.path)
    assert session.get_inputs()[0].shape == [None, 32]
    assert [arg.shape for arg in session.get_outputs()] == [[None, 48], [None, 16]]
    for size in (1, 4):
        np.testing.assert_allclose(session.run(None, {"x": x[:size]})[1], expected(x[:size], weights)[1], rtol=1e-5, atol=1e-5)
    with pytest.raises(isomer.UsageError, match=r"\[1, 32\]; \[4, 32\]"):
        session.run(None, {"x": x[:3]})


def test_artifacts_have_more_variants_than_sessions(tmp_path, monkeypatch, x):
    monkeypatch.setattr(isomer._session, "_MOST_VARIANTS", 2)
    model, weights = branches()
    compiled = isomer.compile(model, tmp_path / "model.iso", level=1, dims={"batch": (1, 2, 3, 4)})
    session = isomer.InferenceSession(compiled.path)
    assert session.get_inputs()[0].shape == [None, 32]
    for size in (1, 2, 3, 4, 1, 4):
        assert len(session._variants) == 2
        np.testing.assert_allclose(session.run(None, {"x": x[:size]})[1], expected(x[:size], weights)[1], rtol=1e-5, atol=1e-5)
    with pytest.raises(isomer.UsageError, match=r"\[1, 32\]; \[2, 32\]; \[3, 32\]; \[4, 32\]"):
        session.run(None, {"x": np.ones((5, 32), np.float32)})


def until(condition, seconds=60):
    """Whether it holds within that time."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_other_sizes_are_compiled_beside(x):
    model, weights = branches()
    session = isomer.InferenceSession(model)
    for size in (1, 4, 3):
        for _ in range(2):
            for found, wanted in zip(session.run(None, {"x": x[:size]}), expected(x[:size], weights)):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert until(lambda: len(session._variants) == 3)
    np.testing.assert_allclose(session.run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    waiting = isomer.InferenceSession(model, jit="wait", cache=False)
    waiting.run(None, {"x": x})
    assert len(waiting._variants) == 1
    with pytest.raises(isomer.UsageError, match="jit"):
        isomer.InferenceSession(model, jit="later")


@pytest.mark.parametrize("beside", [False, True])
def test_what_cannot_be_interpreted_waits_for_code(monkeypatch, x, beside):
    """As where the interpreter, in double precision, needs more memory than there is."""
    model, weights = branches()
    session = isomer.InferenceSession(model, cache=False)

    def fails(*arguments):
        raise isomer._isomer.Refused("unsupported", "less memory expected")

    monkeypatch.setattr(isomer._session._Interpreted, "run", fails)
    if not beside:
        monkeypatch.setattr(session._background, "want", lambda shapes: True)
    np.testing.assert_allclose(session.run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    assert [type(each) for each in session._variants.values()] == [isomer._session._Variant]
    monkeypatch.setattr(isomer.InferenceSession, "_compile", fails)
    with pytest.raises(isomer.Unsupported, match="less memory"):
        session.run(["z"], {"x": x[:2]})


def scaled(path, factor):
    """x [n] -> y = factor x, written over what is there, in place, at a time of its own."""
    graph = helper.make_graph([helper.make_node("Mul", ["x", "c"], ["y"])], "scaled",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
                              [numpy_helper.from_array(np.array(factor, np.float32), "c")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    os.utime(path, (factor, factor))
    return path


@pytest.mark.parametrize("jit", [True, "wait"])
def test_a_model_that_is_written_over_is_no_other_model(tmp_path, jit):
    """Though code for what is there now is in the cache."""
    file, x = tmp_path / "model.onnx", np.ones(3, np.float32)
    isomer.InferenceSession(scaled(file, 5), jit="wait").run(None, {"x": x})
    session = isomer.InferenceSession(scaled(file, 2), jit=jit)
    scaled(file, 5)
    for _ in range(3):
        with pytest.raises(isomer.UsageError, match="it changed since"):
            session.run(None, {"x": x})
        until(lambda: session._background._thread is None)
    assert not session._variants


def test_a_model_that_is_written_over_is_interpreted_no_more(tmp_path):
    file, x = tmp_path / "model.onnx", np.ones(3, np.float32)
    session = isomer.InferenceSession(scaled(file, 2), cache=False)
    session._background.want = lambda shapes: True
    assert session.run(None, {"x": x})[0].tolist() == [2, 2, 2]
    scaled(file, 5)
    with pytest.raises(isomer.UsageError, match="it changed since"):
        session.run(None, {"x": x})


@pytest.mark.parametrize("how", ["touched", "copied over"])
def test_a_model_that_holds_the_same_is_the_same(tmp_path, how):
    file, x = scaled(tmp_path / "model.onnx", 2), np.ones(3, np.float32)
    session = isomer.InferenceSession(file, cache=False)
    session._background.want = lambda shapes: True
    for second in 5, 6:
        if how == "copied over":
            file.write_bytes(file.read_bytes())
        os.utime(file, (second, second))
        assert session.run(None, {"x": x})[0].tolist() == [2, 2, 2]
    session = isomer.InferenceSession(file, jit="wait")
    os.utime(file, (7, 7))
    assert session.run(None, {"x": x})[0].tolist() == [2, 2, 2]
    scaled(file, 5)
    with pytest.raises(isomer.UsageError, match="it changed since"):
        session.run(None, {"x": np.ones(4, np.float32)})


def test_code_of_a_model_that_changes_meanwhile_is_not_kept(cache, tmp_path, monkeypatch):
    file = scaled(tmp_path / "model.onnx", 2)
    session = isomer.InferenceSession(file, jit="wait")
    compiled = session._compile

    def changes(*arguments):
        scaled(file, 5)
        return compiled(*arguments)

    monkeypatch.setattr(session, "_compile", changes)
    with pytest.raises(isomer.UsageError, match="it changed since"):
        session.run(None, {"x": np.ones(3, np.float32)})
    assert not list(cache.rglob("*.iso"))


@pytest.mark.parametrize("error", [isomer.UsageError("another model expected"), isomer._isomer.Refused("mismatch", "y: 1 expected"),
                                   isomer._isomer.Refused("bug", "a bug in Isomer: no kernel")])
def test_what_fails_beside_is_told_and_interpreted(monkeypatch, x, error):
    """Once, and no memory is taken by what fails."""
    model, weights = branches()
    session = isomer.InferenceSession(model, cache=False)

    def fails(*arguments):
        raise error

    monkeypatch.setattr(session, "_compile", fails)
    session.run(None, {"x": x})
    assert until(lambda: session._failures)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            np.testing.assert_allclose(session.run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    assert [str(each.message) for each in told] == [f"interpreting, which is slow: {error.args[-1]}"]
    assert [type(each) for each in session._failures.values()] == [str]


@pytest.mark.parametrize("beside", [False, True])
def test_a_model_may_go_once_it_is_opened(tmp_path, beside):
    """Also one whose weights lie beside it, and one that another file replaces."""
    model, weights = branches()
    file = tmp_path / "model.onnx"
    onnx.save(model, file, save_as_external_data=beside, location="weights.bin", size_threshold=0)
    session = isomer.InferenceSession(file)
    for each in list(tmp_path.iterdir()):
        if each.is_file():
            each.unlink()
    file.write_bytes(b"another file")
    x = np.random.default_rng(1).standard_normal((5, 32), np.float32)
    for _ in range(2):
        np.testing.assert_allclose(session.run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
        assert until(lambda: session._variants or session._failures)
    assert not session._failures


def test_children_run_and_leave_what_is_their_parents(tmp_path):
    """Forked ones: threads of the session's and of Python's are the parent's, and so are its files."""
    onnx.save(branches()[0], tmp_path / "model.onnx")
    assert run_script("""
        import os, pathlib, signal, sys, time, warnings, numpy as np, isomer
        options = isomer.SessionOptions()
        options.intra_op_num_threads = 2
        session = isomer.InferenceSession(pathlib.Path(sys.argv[1]).read_bytes(), options)
        def z_of(size, known):
            x = np.ones((size, 32), np.float32)
            session.run(None, {"x": x})
            end = time.monotonic() + 60
            while len(session._variants) < known and time.monotonic() < end:
                time.sleep(0.01)
            return session.run(["z"], {"x": x})[0]
        wanted = z_of(4, 1)[0]
        warnings.simplefilter("ignore")
        for size, known in (4, 1), (3, 2):  # a variant of the parent's, and one of its own
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                assert np.allclose(z_of(size, known), wanted)
                sys.exit(0)
            print(os.waitpid(child, 0)[1])
        print(np.allclose(z_of(2, 2), wanted), session._failures)
    """, tmp_path / "model.onnx") == "0\n0\nTrue {}\n"


def test_children_have_locks_of_their_own(tmp_path):
    """Though a thread of the parent's holds its own."""
    onnx.save(branches()[0], tmp_path / "model.onnx")
    assert run_script("""
        import os, signal, sys, numpy as np, isomer
        options = isomer.SessionOptions()
        options.enable_profiling = True
        session = isomer.InferenceSession(sys.argv[1], options, jit="wait", cache=False)
        for each in session, session._files, session._profile:
            each._lock.acquire()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            session.run(None, {"x": np.ones((4, 32), np.float32)})
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """, tmp_path / "model.onnx") == "0\n"


def test_shapes_that_come_in_turn_come_to_rest(monkeypatch):
    monkeypatch.setattr(isomer._session, "_MOST_VARIANTS", 4)
    session = isomer.InferenceSession(branches()[0])
    xs = [np.ones((size, 32), np.float32) for size in range(1, 7)]

    def run_all(some, times):
        for x in some * times:
            session.run(None, {"x": x})
            if session._background._thread is not None:
                time.sleep(0.02)
        until(lambda: session._background._thread is None)

    run_all(xs, 10)
    before = dict(session._variants)
    assert len(before) == 4
    run_all(xs, 10)
    assert session._variants == before, "none was made again"
    others = [x for x in xs if (x.shape,) not in before]
    run_all(others, 400)
    assert {(x.shape,) for x in others} <= set(session._variants)


def test_a_full_disk_leaves_nothing_behind(cache, monkeypatch, x):
    def fails(source, target):
        pathlib.Path(target).write_bytes(b"a part")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(isomer._session.shutil, "copyfile", fails)
    isomer.InferenceSession(branches(4)[0]).run(None, {"x": x})
    assert list((cache / "isomer" / "artifacts").iterdir()) == []


def test_sizes_that_come_once_are_not_compiled():
    model, _ = branches()
    session = isomer.InferenceSession(model, cache=False)
    for size in range(1, 20):
        session.run(None, {"x": np.ones((size, 32), np.float32)})
    assert until(lambda: session._background._thread is None)
    assert len(session._variants) <= 4
    session.run(None, {"x": np.ones((19, 32), np.float32)})
    assert until(lambda: ((19, 32),) in session._variants)


def test_a_program_ends_while_it_compiles(filled):
    """At once, though the search would take minutes."""
    program = f"""
        import isomer, numpy as np
        session = isomer.InferenceSession({str(filled("distilbert"))!r}, search="10min", cache=False)
        print(session.run(None, {{each.name: np.ones((1, 4), np.int64) for each in session.get_inputs()}})[0].shape)
    """
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "(1, 2)\n", done.stderr
    assert time.monotonic() - start < 120


def test_threads_that_outlive_the_main_one_get_code(tmp_path):
    """As those of a server that the main thread has started, and waits for at its end."""
    onnx.save(branches()[0], tmp_path / "model.onnx")
    assert run_script("""
        import sys, threading, time, numpy as np, isomer
        session = isomer.InferenceSession(sys.argv[1], cache=False)
        def serve():
            while threading.main_thread().is_alive():
                time.sleep(0.01)
            end = time.monotonic() + 60
            while not session._variants and time.monotonic() < end:
                session.run(None, {"x": np.ones((4, 32), np.float32)})
                time.sleep(0.05)
            print(len(session._variants))
        threading.Thread(target=serve).start()
    """, tmp_path / "model.onnx") == "1\n"


@pytest.mark.parametrize("kind, wanted", [("unsupported", "_Interpreted"), ("--no-check skips the check", "_Variant")])
def test_warnings_that_are_errors_end_one_call_alone(monkeypatch, x, kind, wanted):
    model, weights = branches()
    session = isomer.InferenceSession(model, cache=False)
    compiled = session._compile

    def fails(shapes, target, check, until):
        if check:
            raise isomer._isomer.Refused("unsupported", kind)
        return compiled(shapes, target, check, until)

    monkeypatch.setattr(session, "_compile", fails)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        raised = 0
        for _ in range(600):
            try:
                np.testing.assert_allclose(session.run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
                if raised:
                    break
            except UserWarning:
                raised += 1
            time.sleep(0.1)
        session.run(["z"], {"x": x})
    assert raised == 1
    assert until(lambda: [type(each).__name__ for each in session._variants.values()] == [wanted])


def test_without_threads_a_session_interprets(monkeypatch, x):
    monkeypatch.setattr(isomer._session, "_SECONDS_TO_PASS", 0)
    model, weights = branches()
    session = isomer.InferenceSession(model, cache=False)

    def fails(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fails)
        with pytest.warns(UserWarning, match="until code can be made: no thread"):
            np.testing.assert_allclose(session.run(["z"], {"x": x})[0], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    session.run(["z"], {"x": x})
    assert until(lambda: session._variants)


def test_sessions_end_with_their_last_reference(x):
    model, _ = branches(4)
    gc.disable()
    try:
        before = threading_count()
        for _ in range(20):
            isomer.InferenceSession(model).run(None, {"x": x})
        assert threading_count() <= before + 2
    finally:
        gc.enable()


def threading_count():
    return len(os.listdir("/proc/self/task"))


def test_bindings_write_where_they_are_told(x):
    model, weights = branches(4)
    session = isomer.InferenceSession(model)
    binding = session.io_binding()
    y = np.empty((4, 48), np.float32)
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(y, expected(x, weights)[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(binding.copy_outputs_to_cpu()[1], expected(x, weights)[1], rtol=1e-5, atol=1e-5)
    value = isomer.OrtValue.ortvalue_from_numpy(x)
    assert value.data_type() == "tensor(float)" and value.shape() == [4, 32]
    (z,) = session.run_with_ort_values(["z"], {"x": value})
    np.testing.assert_array_equal(z.numpy(), binding.get_outputs()[1].numpy())


def aligned(array):
    """A copy at a multiple of 64, which is not copied again."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


def test_states_may_be_bound_as_inputs_and_outputs():
    weight = np.random.default_rng(0).standard_normal((64, 64), np.float32) / 8
    graph = helper.make_graph([helper.make_node("MatMul", ["s", "w"], ["p"]), helper.make_node("Tanh", ["p"], ["t"])], "state",
                              [helper.make_tensor_value_info("s", TensorProto.FLOAT, [16, 64])],
                              [helper.make_tensor_value_info("t", TensorProto.FLOAT, [16, 64])],
                              [numpy_helper.from_array(weight, "w")])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    wanted = np.random.default_rng(1).standard_normal((16, 64), np.float32)
    state = isomer.OrtValue.ortvalue_from_numpy(aligned(wanted))
    binding = session.io_binding()
    binding.bind_ortvalue_input("s", state)
    binding.bind_ortvalue_output("t", state)
    for _ in range(3):
        session.run_with_iobinding(binding)
        wanted = np.tanh(wanted @ weight)
        np.testing.assert_allclose(state.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_bindings_are_run_by_their_session(x):
    session, other = (isomer.InferenceSession(branches(4)[0]) for _ in range(2))
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("z")
    with pytest.raises(ValueError, match="iobinding: .* expected, .* found"):
        other.run_with_iobinding(binding)
    how = isomer.RunOptions()
    how.terminate = True
    with pytest.raises(isomer.Stopped):
        session.run_with_iobinding(binding, how)
    assert binding.get_outputs() == []


@pytest.mark.parametrize("batch", [4, "batch"])
def test_results_of_bindings_stay(x, batch):
    """Of compiled code, and of the interpreter."""
    model, weights = branches(batch)
    session = isomer.InferenceSession(model)
    binding = session.io_binding()
    binding.bind_ortvalue_output("z", isomer.OrtValue.ortvalue_from_shape_and_type([4, 16], np.float32))
    kept = []
    for k in range(3):
        binding.bind_cpu_input("x", x * k)
        session.run_with_iobinding(binding)
        kept.append(binding.copy_outputs_to_cpu()[0])
    for k, z in enumerate(kept):
        np.testing.assert_allclose(z, expected(x * k, weights)[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [4, "batch"])
def test_bound_outputs_that_do_not_fit_are_refused(x, batch):
    binding = isomer.InferenceSession(branches(batch)[0]).io_binding()
    binding.bind_cpu_input("x", x)
    for wrong in (np.zeros((16, 4), np.float32), np.zeros((1, 16), np.float32), np.zeros((4, 16), np.float64)):
        binding.bind_ortvalue_output("z", isomer.OrtValue.ortvalue_from_numpy(wrong))
        with pytest.raises(isomer.UsageError, match="z: an array of"):
            binding._session.run_with_iobinding(binding)
    fixed = np.zeros((4, 16), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(isomer.UsageError, match="z: an array that can be written to"):
        binding.bind_ortvalue_output("z", isomer.OrtValue.ortvalue_from_numpy(fixed))


class OfDlpack:
    """Some other library's array."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_arrays_of_others_are_taken(x):
    session = isomer.InferenceSession(branches(4)[0])
    np.testing.assert_array_equal(session.run(None, {"x": OfDlpack(x)})[0], session.run(None, {"x": x})[0])
    np.testing.assert_array_equal(session.run(None, {"x": isomer.OrtValue.ortvalue_from_numpy(x)})[1],
                                  session.run(None, {"x": x})[1])


class DlpackTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
                ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class OfDlpackCode:
    """An array of two dimensions as libraries export it that have more types than NumPy."""

    def __init__(self, array, code, device=1):
        self._array, self._device = array, (device, 0)
        pair = ctypes.c_int64 * 2
        self._shape, self._strides = pair(*array.shape), pair(*(stride // array.itemsize for stride in array.strides))
        self._tensor = DlpackTensor(array.ctypes.data, self._device, 2, code, 8 * array.itemsize, 1, self._shape, self._strides)

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return self._device


def test_arrays_of_others_have_types_that_numpy_has_not():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    graph = helper.make_graph([helper.make_node("Add", ["a", "a"], ["b"])], "twice",
                              [helper.make_tensor_value_info("a", TensorProto.BFLOAT16, [2, 3])],
                              [helper.make_tensor_value_info("b", TensorProto.BFLOAT16, [2, 3])])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    a = np.array([[1, 2.5, -3], [4, 0, 8]], ml_dtypes.bfloat16)
    for bits in (a.view(np.uint16), np.asfortranarray(a.view(np.uint16)), np.repeat(a.view(np.uint16), 2, 1)[:, ::2]):
        assert session.run(None, {"a": OfDlpackCode(bits, 4)})[0].tolist() == (2 * a).tolist()
    binding = session.io_binding()
    binding.bind_cpu_input("a", OfDlpackCode(bits, 4))
    binding.bind_output("b")
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].numpy().tolist() == (2 * a).tolist()
    for wrong in (OfDlpackCode(bits, 1), OfDlpackCode(bits, 2), OfDlpackCode(bits, 77), OfDlpackCode(bits, 4, device=2)):
        with pytest.raises(isomer.UsageError, match="^a: .* expected, .* found"):
            session.run(None, {"a": wrong})


def test_scalars_and_arrays_of_files_are_taken(tmp_path, x):
    graph = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["y"])], "scaled",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32]),
                               helper.make_tensor_value_info("k", TensorProto.FLOAT, [])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 32])])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    scale = isomer.OrtValue.ortvalue_from_numpy(np.array(2, np.float32))
    np.testing.assert_array_equal(session.run(None, {"x": mapped, "k": scale})[0], 2 * x)


def test_outputs_whose_sizes_data_decide_are_the_callers(x):
    graph = helper.make_graph([helper.make_node("NonZero", ["x"], ["y"])], "places",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 32])],
                              [helper.make_tensor_value_info("y", TensorProto.INT64, [2, "n"])])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    wrong = []

    def work(seed):
        for count in np.random.default_rng(seed).integers(0, 128, 200):
            own = np.zeros(128, np.float32)
            own[:count] = 1
            own = own.reshape(4, 32)
            if not np.array_equal(session.run(None, {"x": own})[0], np.stack(np.nonzero(own))):
                wrong.append(seed)

    in_threads(work, 4)
    assert not wrong


def test_types_that_numpy_has_not(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    graph = helper.make_graph([helper.make_node("Add", ["a", "a"], ["b"])], "twice",
                              [helper.make_tensor_value_info("a", TensorProto.BFLOAT16, [3])],
                              [helper.make_tensor_value_info("b", TensorProto.BFLOAT16, [3])])
    session = isomer.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    a = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
    (b,) = session.run(None, {"a": a})
    assert b.dtype == a.dtype and b.tolist() == [2, 5, -6]


def test_what_cannot_be_compiled_is_interpreted():
    graph = helper.make_graph([helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)], "sum",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
                               helper.make_tensor_value_info("axes", TensorProto.INT64, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        session = isomer.InferenceSession(model)
    assert "interpreting" in str(told[0].message)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1):
        np.testing.assert_array_equal(session.run(None, {"x": x, "axes": np.array([axis])})[0], x.sum(axis))


def test_threads_share_a_session(x):
    model, weights = branches(4)
    session = isomer.InferenceSession(model)
    wrong = []

    def work(seed):
        own = np.random.default_rng(seed).standard_normal((4, 32), np.float32)
        wanted = expected(own, weights)[0]
        for _ in range(200):
            if not np.allclose(session.run(["y"], {"x": own})[0], wanted, rtol=1e-4, atol=1e-4):
                wrong.append(seed)

    in_threads(work, 8)
    assert not wrong


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def lose_nothing():
    x = np.random.default_rng(1).standard_normal((4, 32), np.float32)
    model, _ = branches(4)
    data = model.SerializeToString()
    session = isomer.InferenceSession(data)
    for _ in range(1000):
        session.run(None, {"x": x})
    before = resident()
    for _ in range(20000):
        session.run(None, {"x": x})
    for _ in range(50):
        isomer.InferenceSession(data).run(None, {"x": x})
    assert resident() - before < 16 << 20


def test_nothing_is_lost():
    """By a process of its own: what sessions of other tests compile in the background takes memory, too."""
    subprocess.run([sys.executable, "-c", "import test_package; test_package.lose_nothing()"],
                   cwd=pathlib.Path(__file__).parent, check=True)


@pytest.mark.parametrize("name", ["espcn", "mlp", "dqn"])
def test_models_of_the_tree_run(name, filled):
    """As the command line's expected values have it: on weights by their rule."""
    model = filled(name)
    session = isomer.InferenceSession(model)
    feed = {arg.name: np.ones([dim if isinstance(dim, int) else 1 for dim in arg.shape], np.float32)
            for arg in session.get_inputs()}
    interpreted = isomer._isomer.Interpreter(str(model)).run(list(feed.values()), 1, None)
    for output, wanted in zip(session.run(None, feed), interpreted):
        np.testing.assert_allclose(output, wanted, rtol=1e-3, atol=1e-3)


def test_reports_are_json():
    assert json.loads(json.dumps(isomer.optimize(branches()[0], level=1).report))["check"]["passed"]


def test_library_says_its_rules_and_where_equations_stand():
    rules = isomer.library.rules()
    assert len(rules) > 100 and all(" = " in rule.statement and rule.fp_class for rule in rules)
    right, wrong = isomer.library.check([
        "sum | x[2,3] y[2,3] | Add(x, y) = Add(y, x)",
        "x[2,3] w[3,4] | Relu(MatMul(x, w)) = MatMul(Relu(x), w)"])
    assert right and right.label == "sum" and right.line == 1
    assert not wrong and wrong.verdict == "refuted" and "left" in wrong.why
    with pytest.raises(isomer.InvalidModel, match="line 1"):
        isomer.library.check("Add(x, y")
    with pytest.raises(isomer.Error, match="no such file"):
        isomer.library.rules("no such file")


def test_library_adds_what_it_proves(tmp_path):
    mine = tmp_path / "mine.rules"
    assert isomer.library.add("twice | x[2,3] | Relu(Relu(x)) = Relu(x)", mine) == [("twice", "Relu(Relu(x)) = Relu(x)")]
    assert [rule.name for rule in isomer.library.rules(mine)] == ["twice"]
    with pytest.raises(isomer.CheckFailed, match="numbers refute"):
        isomer.library.add(["x[2,3] | Relu(x) = x"], mine)


def test_bench_measures_models_and_artifacts(tmp_path):
    model = branches()[0]
    times = isomer.bench(model, time=0.05, dims={"batch": 4}, threads=1)
    assert 0 < times.min_ms <= times.median_ms <= times.p99_ms and times.runs >= 1 and times.report["tasks"]
    assert times.against == []
    isomer.compile(model, tmp_path / "model.iso", level=2, dims={"batch": 4})
    assert isomer.bench(tmp_path / "model.iso", time=0.05, threads=1).median_ms > 0
    try:
        import onnxruntime
        assert "onnxruntime" in isomer.backends()
    except ImportError:
        pass
    if "onnxruntime" in isomer.backends():
        [other] = isomer.bench(tmp_path / "model.iso", against="onnxruntime", reference=model, time=0.05, threads=1).against
        assert other.name == "onnxruntime" and other.ratio_p25 <= other.ratio <= other.ratio_p75
    with pytest.raises(isomer.UsageError, match="toaster"):
        isomer.bench(model, against=["toaster"], time=0.05, dims={"batch": 4})
