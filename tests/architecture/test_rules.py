# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of this folder, on small trees with planted violations: each rule must be able to fail."""
import contextlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import file_rules
import headers_alone
import include_rules
import linkage
import safety_rules

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import count_results  # noqa: E402

TABLE = """
| folder | may include | vendor headers |
|---|---|---|
| base | | |
| model | base | |
| launch/supervisor | model base | mpi (fleet_mpi.cpp) |
| launch/cli/run | launch/supervisor | |
| nvidia | model base | cuda nccl |
"""
SPDX = "// SPDX-FileCopyrightText: The ncclprobe authors\n// SPDX-License-Identifier: Apache-2.0\n"
COMPILER = os.environ.get("CXX", "c++")


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.plant("ARCHITECTURE.md", TABLE)

    def plant(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class IncludeRules(Tree):
    def assert_one_complaint(self, part):
        complaints = include_rules.check(self.root)
        self.assertEqual(len(complaints), 1, complaints)
        self.assertIn(part, complaints[0])

    def test_accepts_what_the_table_allows(self):
        self.plant("src/base/fd.h", "#include <string>\n#include <sys/wait.h>\n#include <fmt/core.h>\n")
        self.plant("src/model/trial.cpp", '#include "base/fd.h"\n#include "model/trial.h"\n')
        self.plant("launch/supervisor/fleet_mpi.cpp", '#include <mpi.h>\n#include "model/trial.h"\n')
        self.plant("src/nvidia/kernels.cu", "#include <cuda_runtime.h>\n#include <nccl.h>\n")
        self.assertEqual(include_rules.check(self.root), [])

    def test_rejects_a_folder_on_a_higher_floor(self):
        self.plant("src/base/fd.cpp", '#include "base/fd.h"\n\n#include "model/trial.h"\n')
        self.assert_one_complaint("src/base/fd.cpp:3: #include \"model/trial.h\": base may include nothing")

    def test_rejects_a_folder_beside_it_in_the_same_storey(self):
        self.plant("launch/supervisor/fleet.cpp", '#include "launch/cli/run/progress.h"\n')
        self.assert_one_complaint("launch/supervisor may include base model, not launch/cli/run")

    def test_rejects_a_vendor_header_away_from_home(self):
        self.plant("src/model/trial.h", "#include <cuda_fp16.h>\n")
        self.assert_one_complaint("cuda is at home in nvidia, not in model")

    def test_rejects_a_vendor_header_in_quotes(self):
        self.plant("src/model/trial.h", '#include "nccl.h"\n')
        self.assert_one_complaint("nccl is at home in nvidia")

    def test_rejects_a_vendor_header_in_another_file_than_the_one_named(self):
        self.plant("launch/supervisor/supervisor.cpp", "#include <mpi.h>\n")
        self.assert_one_complaint("only fleet_mpi.cpp may include mpi")

    def test_rejects_a_vendor_without_a_home(self):
        self.plant("src/base/fd.cpp", "#include <hdf5.h>\n")
        self.assert_one_complaint("hdf5 is at home in no folder")

    def test_rejects_a_way_around_by_a_relative_path(self):
        self.plant("src/base/fd.cpp", '#include "../model/trial.h"\n')
        self.assert_one_complaint("without '..'")

    def test_rejects_a_library_nobody_has_heard_of(self):
        self.plant("src/base/fd.cpp", "#include <abseil/base.h>\n")
        self.assert_one_complaint("unknown library")

    def test_rejects_a_folder_that_is_not_in_the_table(self):
        self.plant("src/misc/things.h", "#include <string>\n")
        self.assert_one_complaint("folder 'misc' is not in the table")

    def test_does_not_pass_without_a_table(self):
        self.plant("ARCHITECTURE.md", "nothing here\n")
        with self.assertRaises(ValueError):
            include_rules.check(self.root)


class SafetyRules(Tree):
    def test_rejects_each_way_to_a_shell_a_program_or_a_file(self):
        for words in ('std::system(x.c_str());', '::popen(x, "r");', 'run({"sh", "-c", x});', 'Command c{"/bin/sh", {"-c", x}};',
                      'if (::fork() == 0) {}', 'execvp(x, y);', 'posix_spawn(&pid, x);', 'std::tmpfile();', '::mkstemp(x);', '::mkdtemp(x);',
                      'fs::temp_directory_path();', 'auto x = "/tmp/ncclprobe.log";', 'std::ofstream file(x);', 'fopen(x, "w");', 'shm_open(x, 0, 0);',
                      'auto flags = O_CREAT;'):
            with self.subTest(words=words):
                self.plant("src/model/trial.cpp", SPDX + words + "\n")
                self.assertEqual(len(safety_rules.check(self.root)), 1)

    def test_accepts_what_only_looks_like_it(self):
        self.plant("src/model/trial.cpp", SPDX + '// std::system("x")\nmatrix.system(x); graph.fork(y); std::ifstream file(z); #include <fstream>\n')
        self.plant("tests/model/trial_test.cpp", SPDX + 'std::system("x");\n')
        self.assertEqual(safety_rules.check(self.root), [])

    def test_rejects_a_file_that_may_be_a_link_also_where_files_may_be_made(self):
        self.plant("src/base/atomic_file.cpp", SPDX + "::open(x, O_WRONLY | O_CREAT, 0600);\n")
        self.assertIn("follows a link", "".join(safety_rules.check(self.root)))

    def test_rejects_a_reason_without_a_place(self):
        self.plant("launch/supervisor/tool.cpp", SPDX)
        self.assertIn("remove the reason", "".join(safety_rules.check(self.root)))


class FileRules(Tree):
    def assert_one_complaint(self, part):
        complaints = file_rules.check(self.root)
        self.assertEqual(len(complaints), 1, complaints)
        self.assertIn(part, complaints[0])

    def test_accepts_a_file_that_keeps_the_rules(self):
        self.plant("src/model/trial.h", SPDX + '#pragma once\n// getenv("X") is for main\n')
        self.plant("tests/model/trial_test.cpp", SPDX)
        self.assertEqual(file_rules.check(self.root), [])

    def test_rejects_a_file_without_a_licence(self):
        self.plant("src/model/trial.cpp", "int x;\n")
        self.assert_one_complaint("SPDX")

    def test_rejects_500_lines(self):
        self.plant("src/model/trial.cpp", SPDX + "\n" * 498)
        self.assert_one_complaint("500 lines")

    def test_rejects_a_header_without_pragma_once(self):
        self.plant("src/model/trial.h", SPDX + "int x;\n")
        self.assert_one_complaint("#pragma once")

    def test_rejects_getenv_below_the_command_line(self):
        self.plant("src/model/trial.cpp", SPDX + 'auto x = std::getenv("NCCL_ALGO");\n')
        self.assert_one_complaint("getenv")

    def test_allows_getenv_in_the_command_line_and_in_main(self):
        self.plant("launch/cli/options.cpp", SPDX + 'auto x = std::getenv("NCCL_ALGO");\n')
        self.plant("launch/worker/main.cpp", SPDX + 'auto x = std::getenv("NCCL_ALGO");\n')
        self.assertEqual(file_rules.check(self.root), [])

    def test_rejects_every_way_past_the_console(self):
        for words in ('std::cout << x;', 'std::cerr << x;', 'fprintf(stderr, "x");', 'std::fputs(x, stdout);',
                      'printf("x");', 'std::puts("x");', 'perror("x");', 'fmt::print("x");', 'fmt::println("x");',
                      '::write(STDERR_FILENO, x, 1);', '::write(2, x, 1);', 'dprintf(fd, "x");',
                      'auto log = spdlog::stderr_color_mt("x");', '#include <iostream>', 'psignal(9, "x");'):
            with self.subTest(words=words):
                self.plant("src/model/trial.cpp", SPDX + words + "\n")
                self.assert_one_complaint("only base/console.h writes to people")

    def test_accepts_what_only_looks_like_a_way_past_the_console(self):
        self.plant("src/model/trial.cpp", SPDX + '// std::cout\nauto x = "stderr"; file.write(2, x); table.print(x);\n'
                                                 'auto y = base::print(base::Stream::err, x); snprintf(z, 2, "x");\n')
        self.plant("src/base/console.cpp", SPDX + "::write(STDOUT_FILENO, x, 1);\n")
        self.plant("tests/model/trial_test.cpp", SPDX + "std::cout << x;\n")
        self.assertEqual(file_rules.check(self.root), [])

    def test_rejects_a_test_of_no_folder(self):
        self.plant("tests/modle/trial_test.cpp", SPDX)
        self.assert_one_complaint("no folder src/modle")


class HeadersAlone(Tree):
    def check(self):
        return headers_alone.check(self.root, {"nvidia"}, [COMPILER, "-std=c++20", f"-I{self.root}/src"])

    def test_accepts_a_header_that_includes_what_it_uses(self):
        self.plant("src/model/trial.h", "#pragma once\n#include <string>\ninline std::string x;\n")
        self.assertEqual(self.check(), ([], 1, 1))

    def test_rejects_a_header_that_leans_on_the_one_before(self):
        self.plant("src/model/trial.h", "#pragma once\ninline std::string x;\n")
        complaints, _, _ = self.check()
        self.assertIn("src/model/trial.h does not compile alone", complaints[0])

    def test_rejects_a_header_that_cannot_be_included_twice(self):
        self.plant("src/model/trial.h", "struct Trial {};\n")
        self.assertEqual(len(self.check()[0]), 1)

    def test_trusts_a_source_only_if_it_includes_its_header_first(self):
        self.plant("src/model/a.h", "#pragma once\n")
        self.plant("src/model/a.cpp", '#include "model/a.h"\n')
        self.plant("src/model/b.h", "#pragma once\n")
        self.plant("src/model/b.cpp", '#include "model/a.h"\n#include "model/b.h"\n')
        self.assertEqual(self.check(), ([], 2, 1))


class Linkage(Tree):
    def build(self, source, *arguments):
        self.plant("x.c", source)
        program = self.root / "program"
        subprocess.run(["cc", "-x", "c", self.root / "x.c", "-o", program, *arguments], check=True)
        return program

    def test_accepts_a_program_without_the_library(self):
        program = self.build("int main(void) { return 0; }")
        self.assertEqual(list(linkage.check(program, ("mpi", "hdf5", "cuda", "nccl", "gloo"), ())), [])

    def build_library(self, name, source, *arguments):
        self.plant(f"{name}.c", source)
        subprocess.run(["cc", "-shared", "-fPIC", self.root / f"{name}.c", "-o", self.root / f"lib{name}.so",
                        f"-L{self.root}", f"-Wl,-rpath,{self.root}", *arguments], check=True)

    def build_with(self, *libraries):
        return self.build("int f(void); int main(void) { return f(); }", "-Wl,--no-as-needed", f"-L{self.root}",
                          f"-Wl,-rpath,{self.root}", f"-Wl,-rpath-link,{self.root}", *libraries)

    def test_finds_a_shared_library_by_its_name(self):
        self.build_library("mpi", "int f(void) { return 1; }")
        program = self.build_with("-lmpi")
        self.assertIn("libmpi.so", next(linkage.check(program, ("mpi",), ())))

    def test_finds_a_shared_library_that_another_brings_along(self):
        self.build_library("mpi", "int g(void) { return 1; }")
        self.build_library("other", "int g(void); int f(void) { return g(); }", "-lmpi")
        program = self.build_with("-lother")
        self.assertIn("libmpi.so", next(linkage.check(program, ("mpi",), ())))

    def test_tolerates_what_gloo_brings_along_but_not_a_link_of_our_own(self):
        self.build_library("mpi", "int g(void) { return 1; }")
        self.build_library("gloo", "int g(void); int f(void) { return g(); }", "-lmpi")
        self.assertEqual(list(linkage.check(self.build_with("-lgloo"), ("mpi",), ("gloo",))), [])
        self.assertIn("libmpi.so", next(linkage.check(self.build_with("-lgloo", "-lmpi"), ("mpi",), ("gloo",))))

    def test_finds_a_static_library_by_its_symbols(self):
        program = self.build("static int cudaMalloc(void) { return 0; } int main(void) { return cudaMalloc(); }", "-O0")
        self.assertIn("cudaMalloc", next(linkage.check(program, ("cuda",), ())))

    def test_misses_a_library_that_must_be_there(self):
        program = self.build("int main(void) { return 0; }")
        self.assertIn("no trace of gloo", next(linkage.check(program, (), ("gloo",))))

    def test_tells_a_plugin_interface_from_nccl(self):
        program = self.build("int ncclProfiler_v5; int main(void) { return ncclProfiler_v5; }", "-O0")
        self.assertEqual([], list(linkage.check(program, ("nccl",), ())))
        self.assertIn("does not export ncclProfiler_v5",
                      next(linkage.check(program, (), (), ("ncclProfiler_v5",))))

    def test_does_not_pass_without_programs(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(linkage.main(self.root), 1)


class CountResults(Tree):
    def run_on(self, cases):
        self.plant("junit.xml", f"<testsuite>{cases}</testsuite>")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = count_results.main([str(self.root / "junit.xml")])
        self.lines = output.getvalue().splitlines()
        return code, self.lines[-1]

    def test_counts_what_ctest_wrote(self):
        cases = ('<testcase name="a" status="run"/><testcase name="b" status="disabled"/>'
                 '<testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>')
        self.assertEqual(self.run_on(cases), (0, "1 passed, 0 failed, 2 skipped"))

    def test_fails_if_a_test_failed(self):
        cases = ('<testcase name="a" status="run"><system-out>fine</system-out></testcase>'
                 '<testcase name="b" status="fail"><system-out>first\nlast</system-out></testcase>')
        self.assertEqual(self.run_on(cases), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.lines[:-1], ["failed: b", "    first", "    last"])

    def test_counts_a_test_without_an_executable_as_failed(self):
        cases = ('<testcase name="a" status="run"/>'
                 '<testcase name="b" status="notrun"><skipped message="Unable to find executable"/></testcase>')
        self.assertEqual(self.run_on(cases), (1, "1 passed, 1 failed, 0 skipped"))

    def test_counts_the_cases_of_a_test(self):
        cases = ('<testcase name="a: all cases" status="run"><system-out>SKIPPED: b: no GPU\n'
                 'CASES: 12 passed, 0 failed, 1 skipped\n</system-out></testcase>'
                 '<testcase name="c: all cases" status="fail"><system-out>CASES: 3 passed, 2 failed, 0 skipped</system-out></testcase>')
        self.assertEqual(self.run_on(cases), (1, "15 passed, 2 failed, 1 skipped"))
        self.assertIn("skipped: a: all cases: b: no GPU", self.lines)

    def test_counts_a_test_that_fails_after_its_cases(self):
        cases = '<testcase name="a" status="fail"><system-out>CASES: 3 passed, 0 failed, 0 skipped\nleaked</system-out></testcase>'
        self.assertEqual(self.run_on(cases), (1, "3 passed, 1 failed, 0 skipped"))

    def test_fails_if_no_test_ran(self):
        self.assertEqual(self.run_on(""), (1, "0 passed, 0 failed, 0 skipped"))

    def test_fails_if_there_are_no_results(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(count_results.main([str(self.root / "none.xml")]), 1)


if __name__ == "__main__":
    unittest.main()
