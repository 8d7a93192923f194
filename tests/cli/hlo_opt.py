#!/usr/bin/env python3
"""Runs hlo-opt as a user would and checks what it prints, writes and returns.

  hlo_opt.py --bin build/release [--only TEXT]

Every check is one function whose docstring says what a user may rely on.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

DEAD = """HloModule m

ENTRY main {
  p = f32[2]{0} parameter(0)
  dead = f32[2]{0} negate(p)
  ROOT r = f32[2]{0} abs(p)
}
"""
AFTER_DCE = """HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

ENTRY %main (p: f32[2]) -> f32[2] {
  %p = f32[2]{0} parameter(0)
  ROOT %r = f32[2]{0} abs(%p)
}

"""
PARAMETER = """HloModule bad

ENTRY main {
  p = f32[2,3]{0,1} parameter(0)
  ROOT t = (f32[2,3]{0,1}) tuple(p)
}
"""
ROOT_PASS = "aws_neuron_ensure_descending_layout_in_root"


class Fixture:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name)) as f:
            return f.read()

    def run(self, *arguments, stdin="", env=None):
        environment = dict(os.environ, **(env or {}))
        if env is None or "XLA_FLAGS" not in env:
            environment.pop("XLA_FLAGS", None)
        return subprocess.run([self.binary, *arguments], input=stdin, capture_output=True, text=True, timeout=60,
                              env=environment, cwd=self.folder)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def good(result, stderr=""):
    check(result.returncode == 0, f"exit {result.returncode}: {result.stderr}")
    if stderr is not None:
        equal(result.stderr, stderr, "standard error")
    return result.stdout


def bad(result, code, *parts):
    equal(result.returncode, code, "exit code (" + result.stderr + ")")
    equal(result.stdout, "", "standard output of a failing run")
    for part in parts:
        check(part in result.stderr, f"{part!r} is not in {result.stderr!r}")


def runs_passes(f):
    """A pass runs; standard output is the module, a line break, and one more line break."""
    equal(good(f.run(f.write("a.hlo", DEAD), "--passes=dce")), AFTER_DCE + "\n\n", "output")


def input_and_output_flags(f):
    """--input, --output, -o, --o and - name files; a file gets one line break less than standard output."""
    f.write("a.hlo", DEAD)
    for out in (["--output", "b.hlo"], ["--output=b.hlo"], ["-o", "b.hlo"], ["--o=b.hlo"]):
        equal(good(f.run("--input", "a.hlo", "--passes", "dce", *out)), "", "standard output")
        equal(f.read("b.hlo"), AFTER_DCE + "\n", "file")
        os.remove(f.path("b.hlo"))
    equal(good(f.run("-", "--passes=dce", stdin=DEAD)), AFTER_DCE + "\n\n", "from standard input")
    equal(good(f.run("--input", "a.hlo", "--output", "-", "--passes=dce")), AFTER_DCE + "\n\n", "to -")


def spellings(f):
    """One or two dashes, underscores or dashes, = or a blank."""
    f.write("a.hlo", DEAD)
    for flags in (["-passes=dce"], ["--passes", "dce"], ["-passes", "dce"]):
        equal(good(f.run("a.hlo", *flags)), AFTER_DCE + "\n\n", str(flags))
    check("all-gather-combiner" in good(f.run("--list_passes")), "--list_passes")
    check("all-gather-combiner" in good(f.run("-list-passes")), "-list-passes")
    equal(good(f.run("a.hlo", "--split_input_file", "--passes=dce")), AFTER_DCE + "\n\n", "--split_input_file")


def without_passes(f):
    """Without passes the input is printed."""
    check("%dead" in good(f.run(f.write("a.hlo", DEAD))), "dead is still there")


def lists(f):
    """--list-passes has a line for every pass, its options, and the names known from the Neuron tool."""
    text = good(f.run("--list-passes"))
    for part in ("  dce: ", "key=neuron|stock", "  neuron-layout: ", "not implemented", "  while_loop_unroller"):
        check(part in text, part)
    names = good(f.run("--list-passes=names"))
    equal(names, ",".join(sorted(names.strip().split(","))) + "\n", "sorted, one line")
    equal(good(f.run("--list-stages")), "hlo\n", "stages")
    check("Options:" in good(f.run("--help-pass", "all-reduce-combiner")), "options in --help-pass")
    check("same as --passes=" in good(f.run("--help-pass=neuron-layout")), "pipeline in --help-pass")
    bad(f.run("--help-pass=nope"), 1, "Pass nope not found.")
    check("Examples:" in good(f.run("--help")), "--help")


def unknown_passes(f):
    """Unknown and unimplemented passes end the program before anything runs."""
    f.write("a.hlo", DEAD)
    bad(f.run("a.hlo", "--passes=dce,foo"), 1, "Pass foo not found.", "[P001]")
    bad(f.run("a.hlo", "--passes=dce,"), 1, "Pass  not found.")
    bad(f.run("a.hlo", "--passes=dce, dce"), 1, "Pass  dce not found.")
    bad(f.run("a.hlo", "--passes=dcee"), 1, "did you mean dce?")
    bad(f.run("a.hlo", "--passes=convert-inputs-to-optimal-shape"), 1, "number 54", "not implemented")
    bad(f.run("a.hlo", "--passes=dce{"), 1, "[P005]")
    bad(f.run("a.hlo", "--passes=all-reduce-combiner{count=two}"), 1, "[P004]")
    bad(f.run("a.hlo", "--passes=layout-assignment{backend=nope}"), 2, "no backend")


def bad_command_lines(f):
    """A wrong command line: message, exit 1."""
    f.write("a.hlo", DEAD)
    bad(f.run(), 1, "Must specify a single input file")
    bad(f.run("a.hlo", "b.hlo"), 1, "Must specify a single input file")
    bad(f.run("a.hlo", "--pases=dce"), 1, "did you mean --passes?")
    bad(f.run("a.hlo", "--format=riegeli"), 1, "not a format")
    bad(f.run("a.hlo", "--stage=ptx"), 1, "UNIMPLEMENTED: Stage ptx not supported")
    bad(f.run("missing.hlo", "--passes=dce"), 1, "missing.hlo")
    bad(f.run("a.hlo", "--debug_options_file", "x"), 1, "must be written with =")


def failing_pass(f):
    """A failing pass: nothing is written, the input stays, the exit code tells why, a reproducer on request."""
    f.write("a.hlo", PARAMETER)
    f.write("out.hlo", "old")
    bad(f.run("a.hlo", "--passes=dce," + ROOT_PASS, "-o", "out.hlo", "--reproducer=r.hlo"), 4,
        "layout of parameter p is not MonotonicWithDim0Major")
    equal(f.read("out.hlo"), "old", "output file")
    equal(f.read("a.hlo"), PARAMETER, "input file")
    check(f"--passes='{ROOT_PASS}'" in f.read("r.hlo"), "reproducer")
    bad(f.run("r.hlo", "--passes=" + ROOT_PASS), 4, "MonotonicWithDim0Major")
    bad(f.run("a.hlo", "--passes=dce", "-o", "no/such/folder/x.hlo"), 6, "[I002]")


def splitting(f):
    """Several modules: all are read first, outputs are joined, wrong separators are errors."""
    two = DEAD + "// -----\n" + DEAD
    f.write("two.hlo", two)
    equal(good(f.run("two.hlo", "--passes=dce", "--split-input-file")), 2 * (AFTER_DCE + "\n") + "\n", "both")
    bad(f.run("two.hlo", "--passes=dce"), 1, "--split-input-file is not given", "[P019]")
    f.write("short.hlo", DEAD + "// ---\n" + DEAD)
    bad(f.run("short.hlo", "--passes=dce", "--split-input-file"), 1, "unexpected separator")
    f.write("broken.hlo", DEAD + "// -----\n" + DEAD.replace("abs(p)", "abs(q)"))
    bad(f.run("broken.hlo", "--passes=dce", "--split-input-file"), 1, "broken.hlo:14:")
    f.write("mixed.hlo", DEAD + "// -----\n" + PARAMETER)
    bad(f.run("mixed.hlo", "--passes=" + ROOT_PASS, "--split-input-file"), 4, "MonotonicWithDim0Major")


def filters(f):
    """Lists of passes to run and to skip: exact names, skipping wins, typos are reported."""
    f.write("a.hlo", DEAD)
    for flags in (["--skip-pass=dce"], ["--xla_disable_hlo_passes=dce"], ["--disable-all-passes"],
                  ["--xla_disable_all_hlo_passes"], ["--xla_enable_hlo_passes_only=tuple-simplifier"],
                  ["--skip-pass=x,dce"]):
        check("%dead" in good(f.run("a.hlo", "--passes=dce", *flags), None), str(flags))
    equal(good(f.run("a.hlo", "--passes=dce", "--xla_enable_hlo_passes_only=dce")), AFTER_DCE + "\n\n", "only dce")
    both = f.run("a.hlo", "--passes=dce", "--enable-only-passes=dce", "--skip-pass=dce")
    check("%dead" in good(both, None) and "skipping wins" in both.stderr, "both lists")
    typo = f.run("a.hlo", "--passes=dce", "--skip-pass=tuple-simplifer")
    equal(good(typo, None), AFTER_DCE + "\n\n", "a typo has no effect")
    check("did you mean tuple-simplifier?" in typo.stderr and "[P006]" in typo.stderr, "warning")
    bad(f.run("a.hlo", "--passes=dce", "--skip-pass=tuple-simplifer", "--strict"), 1, "did you mean")


def xla_flags(f):
    """XLA_FLAGS and a debug options file count, the command line is stronger; foreign flags are ignored."""
    f.write("a.hlo", DEAD)
    result = f.run("a.hlo", "--passes=dce", env={"XLA_FLAGS": "--xla_disable_hlo_passes=dce"})
    check("%dead" in good(result), "environment")
    f.write("options", 'xla_disable_all_hlo_passes: true\n')
    check("%dead" in good(f.run("a.hlo", "--passes=dce", "--debug_options_file=options")), "file")
    result = f.run("a.hlo", "--passes=dce", "--debug_options_file=options", "--xla_disable_all_hlo_passes=false")
    equal(good(result), AFTER_DCE + "\n\n", "command line wins")
    result = f.run("a.hlo", "--passes=dce", "--xla_gpu_autotune_level=4")
    check("has no effect" in result.stderr, "foreign flag")
    equal(good(result, None), AFTER_DCE + "\n\n", "foreign flag")


def dumps(f):
    """--dump-to writes XLA's file names; - frames them on standard output."""
    f.write("a.hlo", DEAD)
    good(f.run("a.hlo", "--passes=tuple-simplifier,dce", "--dump-to=d"))
    equal(sorted(os.listdir(f.path("d"))), [
        "module_0000.m.0000.transforms_pipeline.after_pipeline-start.before_tuple-simplifier.txt",
        "module_0000.m.0001.transforms_pipeline.after_dce.before_pipeline-end.txt",
        "module_0000.m.after_optimization.txt", "module_0000.m.before_optimization.txt"], "files")
    equal(f.read("d/module_0000.m.after_optimization.txt"), AFTER_DCE, "contents")
    text = good(f.run("a.hlo", "--passes=dce", "--xla_dump_to=-"))
    check("*** Begin module_0000.m.before_optimization.txt ***" in text, "frame")


def reports(f):
    """Prints, times and sizes go to standard error; data stays alone on standard output."""
    f.write("a.hlo", DEAD)
    for flags, part in ((["--print-before=dce"], "%dead"), (["--print-after=all"], "after dce"),
                        (["--print-after-change"], "after dce"), (["--timing"], "total"),
                        (["--stats"], "instructions 3 -> 2")):
        result = f.run("a.hlo", "--passes=dce", *flags)
        equal(good(result, None), AFTER_DCE + "\n\n", str(flags))
        check(part in result.stderr, f"{flags}: {result.stderr}")


def combiner_flags(f):
    """The Neuron tool's flags set the defaults of the combiners."""
    text = """HloModule m, replica_count=2

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

ENTRY main {
  p = f32[8]{0} parameter(0)
  a = f32[8]{0} all-reduce(p), replica_groups={{0,1}}, to_apply=add
  b = f32[8]{0} all-reduce(p), replica_groups={{0,1}}, to_apply=add
  ROOT t = (f32[8]{0}, f32[8]{0}) tuple(a, b)
}
"""
    f.write("a.hlo", text)
    count = lambda *flags: good(f.run("a.hlo", *flags)).count("all-reduce(")
    equal(count("--passes=all-reduce-combiner"), 1, "default")
    equal(count("--passes=all-reduce-combiner", "--collective-combine-threshold-count=0"), 2, "count 0")
    equal(count("--passes=all-reduce-combiner", "--collective-combine-threshold-in-bytes", "40"), 2, "40 bytes")
    equal(count("--passes=all-reduce-combiner{bytes=64}", "--collective-combine-threshold-in-bytes=40"), 1,
          "the pipeline text is stronger")


def verification(f):
    """--verify-each checks at the start and after changing passes; the error says after which."""
    f.write("a.hlo", DEAD)
    equal(good(f.run("a.hlo", "--passes=dce", "--verify-each")), AFTER_DCE + "\n\n", "a good module")
    f.write("b.hlo", DEAD.replace("ROOT r = f32[2]{0} abs(p)", "ROOT r = f32[3]{0} abs(p)"))
    bad(f.run("b.hlo", "--passes=dce", "--verify-each"), 5, "Failed after pipeline-start")
    good(f.run("b.hlo", "--passes=dce", "--verify-each", "--skip-pass=hlo-verifier"))
    bad(f.run("b.hlo", "--passes=verifier"), 5)


CHECKS = [runs_passes, input_and_output_flags, spellings, without_passes, lists, unknown_passes, bad_command_lines,
          failing_pass, splitting, filters, xla_flags, dumps, reports, combiner_flags, verification]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlo-opt")
    parser.add_argument("--only", default="", help="run checks whose name holds this")
    args = parser.parse_args()
    binary = os.path.abspath(os.path.join(args.bin, "hlo-opt"))
    failed = 0
    for test in CHECKS:
        if args.only not in test.__name__:
            continue
        folder = tempfile.mkdtemp(prefix="hlo_opt_")
        try:
            test(Fixture(binary, folder))
        except AssertionError as error:
            failed += 1
            print(f"{test.__name__}: {error}")
        finally:
            shutil.rmtree(folder)
    print(f"hlo-opt: {len(CHECKS) - failed} of {len(CHECKS)} checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
