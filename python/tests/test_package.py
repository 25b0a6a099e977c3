# SPDX-License-Identifier: Apache-2.0
"""The package end to end against the built program: $ORRERY, and small scenarios."""
import glob
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = CHECKOUT / "python" / "src"
sys.path.insert(0, str(SOURCES))
import orrery  # noqa: E402
from orrery import _program  # noqa: E402

LAPTOP = CHECKOUT / "scenarios" / "laptop-2gpu.yaml"
HAS_PANDAS = importlib.util.find_spec("pandas") is not None

HAS_PIP = importlib.util.find_spec("pip") is not None
TEXT = """name: text
cluster: {nodes: 1, node: laptop-2gpu}
model: {base: gpt-2-124m, seq_length: 512}
plan:
  micro_batch_size: 4
  global_batch_size: 32
  precision: bf16
"""


class Scenarios(unittest.TestCase):
    def test_set_changes_and_with_copies(self):
        scenario = orrery.load(LAPTOP)
        larger = scenario.with_({"plan.micro_batch_size": 8}, plan__global_batch_size=64)
        self.assertEqual(scenario.settings, {})
        self.assertEqual(larger.settings,
                         {"plan.micro_batch_size": 8, "plan.global_batch_size": 64})
        self.assertIs(scenario.set("plan.global_batch_size", 16), scenario)
        self.assertEqual(scenario.simulate().global_batch_size, 16)
        self.assertEqual(larger.simulate().global_batch_size, 64)
        self.assertIn("laptop-2gpu.yaml", repr(larger))

    def test_may_be_text_whose_file_outlives_the_first_copy(self):
        copy = orrery.load(TEXT).with_(plan__micro_batch_size=2)
        self.assertEqual(copy.simulate().scenario, "text")
        folder = os.path.dirname(copy.path)
        del copy
        self.assertFalse(os.path.exists(folder))

    def test_values_become_yaml(self):
        scenario = orrery.load(LAPTOP).with_({
            "plan.overlap_grad_reduce": False, "plan.precision": "bf16", "faults": [
                {"kind": "slow_host", "at": "node:0", "slowdown": 0.5}]})
        arguments = scenario._arguments()
        self.assertIn("plan.overlap_grad_reduce=false", arguments)
        self.assertIn("plan.precision=bf16", arguments)
        plain = scenario.with_(faults=[]).simulate()
        self.assertGreater(plain.iteration_s, 0)


class Simulations(unittest.TestCase):
    def test_have_the_programs_figures(self):
        result = orrery.simulate(LAPTOP)
        self.assertIsInstance(result, orrery.Simulation)
        line = [orrery.find_program(), "simulate", str(LAPTOP), "--json"]
        raw = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
        self.assertEqual(result.iteration_s, raw["iteration_s"])
        self.assertEqual(result.memory, raw["memory"])
        self.assertEqual(set(result.raw), set(raw))
        self.assertTrue(result.fits)
        self.assertEqual(len(result.rows()), 1)

    def test_without_folding_are_the_same(self):
        scenario = orrery.load(LAPTOP)
        self.assertEqual(scenario.simulate(fold=False).iteration_s, scenario.simulate().iteration_s)

    def test_show_the_programs_page_in_a_frame(self):
        result = orrery.simulate(LAPTOP)
        self.assertIn("<html", result.html)
        self.assertTrue(result._repr_html_().startswith('<iframe srcdoc="&lt;!'))

    def test_of_several_jobs_have_jobs(self):
        result = orrery.simulate(CHECKOUT / "scenarios" / "two-jobs.yaml")
        self.assertIsInstance(result, orrery.JobsSimulation)
        self.assertEqual(len(result.jobs), len(result.rows()))
        self.assertGreaterEqual(result.jobs[0].slowdown, 1)


class Studies(unittest.TestCase):
    def test_a_search_gives_plans_that_simulate_alike(self):
        scenario = orrery.load(LAPTOP)
        found = scenario.search(jobs=1)
        best = found.best[0]
        self.assertEqual(len(found.rows()), len(found.best))
        self.assertEqual(scenario.with_(best.settings()).simulate().iteration_s, best.iteration_s)

    def test_a_sweep_is_one_process_and_keeps_errors(self):
        scenario = orrery.load(LAPTOP).with_(plan__overlap_grad_reduce=False)
        with mock.patch.object(_program, "_run", wraps=_program._run) as run:
            study = scenario.sweep({"plan.micro_batch_size": [2, 3, 4]}, jobs=1)
        self.assertEqual(run.call_count, 1)
        self.assertEqual([point.settings["plan.micro_batch_size"] for point in study.results],
                         [2, 3, 4])
        self.assertIsNone(study.results[1].answer)
        self.assertIn("not divisible", study.results[1].error)
        alone = scenario.with_(plan__micro_batch_size=4).simulate()
        self.assertEqual(study.results[2].answer.iteration_s, alone.iteration_s)
        self.assertEqual(study.rows()[2]["iteration_s"], alone.iteration_s)

    def test_a_sweep_knows_its_finished_points(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "kept.sqlite")
            scenario = orrery.load(LAPTOP)
            points = [{"plan.micro_batch_size": 2}, {"plan.micro_batch_size": 4}]
            self.assertEqual(scenario.sweep(points=points[:1], results=kept).known, 0)
            again = scenario.sweep(points=points, results=kept)
        self.assertEqual((again.points, again.known), (2, 1))

    def test_strings_of_a_sweep_are_yaml_as_elsewhere(self):
        scenario = orrery.load(LAPTOP).with_({"faults": "[]", "plan.precision": "bf16"})
        points = [{"plan.micro_batch_size": "2", "plan.overlap_grad_reduce": True},
                  {"plan.micro_batch_size": 4}]
        study = scenario.sweep({"model.seq_length": [256, 512]}, points)
        self.assertEqual([point.error for point in study.results], [None] * 4)
        with self.assertRaises(orrery.Error) as caught:
            scenario.with_(faults="none").sweep({"plan.micro_batch_size": [2]})
        problem = caught.exception.problems[0]
        self.assertIn("faults must be a list", problem.what)
        self.assertTrue(problem.where.endswith("study.yaml"))

    def test_a_study_may_be_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "study.yaml")
            file.write_text(json.dumps({"scenario": str(LAPTOP),
                                        "grid": {"plan.micro_batch_size": [4, 8]}}))
            self.assertEqual(len(orrery.sweep(file).results), 2)

    def test_a_campaign_has_a_row_for_each_plan(self):
        weeks = orrery.campaign(CHECKOUT / "scenarios" / "recovery-plans.yaml",
                                {"campaign.step_time": "9 s", "campaign.seeds": 2}, threads=1)
        self.assertEqual((weeks.seeds, weeks.step_s), (2, 9.0))
        self.assertEqual([row["name"] for row in weeks.rows()],
                         [policy.name for policy in weeks.policies])
        self.assertGreater(weeks.goodput_mean, 0)

    def test_a_validation_has_a_row_for_each_case(self):
        table = CHECKOUT / "scenarios" / "catalogue" / "published" / "training.csv"
        validation = orrery.validate(table, families=["llm.c"], jobs=1)
        self.assertEqual({case.family for case in validation.cases}, {"llm.c"})
        self.assertIn("<table>", validation._repr_html_())

    def test_a_validation_may_assume_another_value(self):
        ablation = (LAPTOP.parent / "catalogue" / "published" / "megascale_ablation.csv")
        lines = [line for line in ablation.read_text().splitlines(keepends=True)
                 if line.startswith(("case,", "MS-abl-2"))]
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "table.csv")
            table.write_text("".join(lines))
            first = orrery.validate(table)
            assumed = orrery.validate(table, assume={"gpu": "a800-80g"})
        self.assertNotEqual(first.cases[0].predicted_s, assumed.cases[0].predicted_s)


class Frames(unittest.TestCase):
    @unittest.skipUnless(HAS_PANDAS, "pandas is not installed")
    def test_have_the_rows(self):
        frame = orrery.load(LAPTOP).sweep({"plan.micro_batch_size": [2, 4]}).frame()
        self.assertEqual(list(frame["plan.micro_batch_size"]), [2, 4])
        self.assertGreater(frame["mfu"].min(), 0)

    def test_without_pandas_say_so(self):
        result = orrery.simulate(LAPTOP)
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(orrery.Error, "pandas is not installed"):
                result.frame()


class Errors(unittest.TestCase):
    def test_have_the_programs_message_and_place(self):
        wrong = orrery.load(TEXT.replace("bf16", "bf17"))
        with self.assertRaises(orrery.Error) as caught:
            wrong.simulate()
        problem = caught.exception.problems[0]
        self.assertEqual(caught.exception.status, 2)
        self.assertEqual((problem.where, problem.line, problem.column), (wrong.path, 7, 14))
        self.assertEqual(problem.what, "plan.precision can't be 'bf17'")
        self.assertIn("bf16", problem.hint)

    def test_of_a_setting_name_it(self):
        with self.assertRaises(orrery.Error) as caught:
            orrery.simulate(LAPTOP, {"plan.micro_batches": 3})
        problem = caught.exception.problems[0]
        self.assertEqual((problem.where, problem.line), ("--set plan.micro_batches", None))

    def test_of_a_missing_file(self):
        with self.assertRaisesRegex(orrery.Error, "no-such.yaml"):
            orrery.simulate("no-such.yaml")

    def test_of_an_answer_that_lacks_a_field(self):
        with self.assertRaisesRegex(orrery.Error, "lacks .*iteration_s.*same version"):
            orrery.Simulation.read({"scenario": "x"})


class Program(unittest.TestCase):
    def test_is_the_chosen_one(self):
        with mock.patch.dict(os.environ, {"ORRERY": "/no/such/orrery"}):
            with self.assertRaisesRegex(orrery.Error, "ORRERY"):
                orrery.find_program()

    def test_is_looked_for_on_the_path_and_in_the_checkout(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ):
            os.environ.pop("ORRERY", None)
            os.environ["PATH"] = folder
            self.assertTrue(orrery.find_program().startswith(str(CHECKOUT)))
            program = Path(folder, "orrery")
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            self.assertEqual(orrery.find_program(), str(program))

    def test_missing_says_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCES, os.path.join(folder, "a", "b"))
            environment = {"PATH": folder, "PYTHONPATH": os.path.join(folder, "a", "b")}
            code = "import orrery\ntry: orrery.simulate('x')\nexcept orrery.Error as e: print(e)"
            ran = subprocess.run([sys.executable, "-c", code], env=environment, text=True,
                                 capture_output=True, check=True)
        self.assertIn("set the environment variable ORRERY", ran.stdout)

    def run_fake(self, script, errors):
        """The status and the errors of a program, where Python's standard error is `errors`."""
        with tempfile.NamedTemporaryFile() as output, mock.patch.object(sys, "stderr", errors):
            return _program._run(["sh", "-c", script], output)

    def test_shows_its_progress_in_a_notebook(self):
        display, shown = mock.Mock(), mock.Mock()
        display.display.return_value = shown
        modules = {"IPython": mock.Mock(), "IPython.display": display}
        with mock.patch.dict(sys.modules, modules), \
                mock.patch.object(sys, "stderr", io.StringIO()):
            draw = _program._bar()
            for text in ("no bar", "\r50 %\033[K", "\r74 %\033[K\r75 %\033[K", "\r\033[K"):
                draw(text)
        display.display.assert_called_once_with({"text/plain": "50 %"}, raw=True, display_id=True)
        self.assertEqual(shown.update.mock_calls, [mock.call({"text/plain": "75 %"}, raw=True),
                                                   mock.call({"text/plain": ""}, raw=True)])

    def test_draws_its_bar_for_a_notebook(self):
        script = "test -t 2 || exit 3; printf '\\r50 %%\\033[K' >&2"
        drawn = []
        with mock.patch.object(_program, "_bar", lambda: drawn.append):
            self.assertEqual(self.run_fake(script, io.StringIO()), (0, ""))
        self.assertEqual(drawn, ["\r50 %\033[K"])

    def test_shows_no_progress_elsewhere(self):
        script = ("test -t 2 && printf '\\r50 %%\\033[K' >&2; sleep 0.2;"
                  " printf 'x: error: bad\\n' >&2; exit 2")
        terminal = io.StringIO()
        terminal.isatty = lambda: True
        self.assertEqual(self.run_fake(script, terminal), (2, "x: error: bad\n"))
        self.assertEqual(terminal.getvalue(), "\r50 %\033[K")
        log = io.StringIO()
        self.assertEqual(self.run_fake(script, log), (2, "x: error: bad\n"))
        self.assertEqual(log.getvalue(), "")


class Wheel(unittest.TestCase):
    PARTS = ("__init__.py", "_program.py", "py.typed", "results.py", "scenario.py")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.copy = folder.name, os.path.join(folder.name, "python")
        shutil.copytree(CHECKOUT / "python", self.copy)

    @unittest.skipUnless(HAS_PIP, "pip is not installed")
    def test_is_built_without_network_and_takes_in_the_whole_package(self):
        subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps",
                        "-w", self.folder, self.copy], check=True)
        wheel, = glob.glob(os.path.join(self.folder, "orrery-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            about = archive.read(f"orrery-{orrery.__version__}.dist-info/METADATA").decode()
        for part in self.PARTS:
            self.assertIn(f"orrery/{part}", names)
        self.assertIn('Requires-Dist: pandas; extra == "frames"\n', about)
        # The package is complete without the checkout.
        ran = subprocess.run([sys.executable, "-c", "import orrery; print(orrery.__file__)"],
                             env={**os.environ, "PYTHONPATH": wheel}, cwd=self.folder,
                             capture_output=True, text=True, check=True)
        self.assertIn(wheel, ran.stdout)

    @unittest.skipUnless(HAS_PIP, "pip is not installed")
    def test_installs_as_files_or_as_a_link_to_the_sources(self):
        for option, place in (("--no-deps", "target"), ("--editable", "src")):
            target = os.path.join(self.folder, "target")
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
                            "--upgrade", "--target", target, option, self.copy], check=True)
            ran = subprocess.run(
                [sys.executable, "-c", "import site, sys; site.addsitedir(sys.argv[1]); "
                 "import orrery; print(orrery.__file__)", target],
                cwd=self.folder, capture_output=True, text=True, check=True,
                env={key: v for key, v in os.environ.items() if key != "PYTHONPATH"})
            self.assertIn(f"/{place}/orrery/", ran.stdout)
            shutil.rmtree(target)

    def test_has_the_projects_version_and_no_dependencies(self):
        project = (CHECKOUT / "python" / "pyproject.toml").read_text()
        self.assertIn(f'version = "{orrery.__version__}"', project)
        self.assertIn("dependencies = []", project)
        self.assertIn(f"project(orrery VERSION {orrery.__version__} ",
                      (CHECKOUT / "CMakeLists.txt").read_text())


class Tutorial(unittest.TestCase):
    def test_runs_from_top_to_bottom(self):
        notebook = json.loads((CHECKOUT / "python" / "tutorial.ipynb").read_text("utf-8"))
        cells = ["".join(cell["source"]) for cell in notebook["cells"]
                 if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 4)
        names, folder = {}, os.getcwd()
        try:
            os.chdir(CHECKOUT / "python")
            for number, cell in enumerate(cells):
                with mock.patch.object(sys, "stdout", io.StringIO()):
                    exec(compile(cell, f"cell {number}", "exec"), names)
        finally:
            os.chdir(folder)


if __name__ == "__main__":
    unittest.main()
