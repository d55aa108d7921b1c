// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// ncclprobe-report as people run it: a run is stored, the program reads it.
#include "analysis/report/example_reports.h"
#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/paths.h"
#include "support/scratch_folder.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>

using namespace ncclprobe;
using namespace ncclprobe::analysis_test;
using base::value_or_throw;

namespace {

// An empty folder, and the program run in it.
class Workplace {
public:
  // "run.h5" in the folder; not folded if the run did not come to its end.
  void store_run(const model::Run& run) const {
    auto path = folder_ / "run.h5";
    value_or_throw(store::begin_run(path, run.header));
    for (const auto& trial : run.trials)
      value_or_throw(store::write_part(path, trial));
    if (static_cast<int>(run.trials.size()) == run.header.planned_trials)
      value_or_throw(store::fold(path));
  }

  // Exit code of `ncclprobe-report <arguments>`, a line for the shell.
  int run(const std::string& arguments) const {
    std::string command =
        fmt::format("cd {} && {}/ncclprobe-report {} >{} 2>stderr", folder_.path().string(),
                    support::bin_dir(), arguments, stdout_);
    int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string read(const std::string& name) const {
    return value_or_throw(base::read_file(folder_ / name));
  }
  void write(const std::string& name, const std::string& text) const {
    value_or_throw(base::write_file_atomically(folder_ / name, text));
  }
  void send_stdout_to(const std::string& path) { stdout_ = path; }

private:
  support::ScratchFolder folder_;
  std::string stdout_ = "stdout";
};

} // namespace

TEST_CASE("the program prints the report of a run file") {
  Workplace place;
  place.store_run(sweep_run());

  CHECK(place.run("run.h5") == base::k_exit_ok);

  support::check_golden("report-sweep.txt", place.read("stdout"));
  CHECK(place.read("stderr").empty());
}

TEST_CASE("failed trials do not change the exit code of the report") {
  Workplace place;
  place.store_run(failures_run());

  CHECK(place.run("run.h5 --format json") == base::k_exit_ok);

  const auto json = nlohmann::json::parse(place.read("stdout"));
  CHECK(json["problems"].size() == 6);
  CHECK(json["results"].size() == 7);
}

TEST_CASE("a price of the user's is laid on what was measured") {
  Workplace place;
  place.store_run(sweep_run());

  CHECK(place.run("run.h5 --price H200=30000") == base::k_exit_ok);
  CHECK_THAT(place.read("stdout"), ContainsSubstring("Price: 30000 per GPU, as given"));
  CHECK(place.run("run.h5 --price 30000 --format json") == base::k_exit_ok);
  CHECK_THAT(place.read("stdout"), ContainsSubstring("\"per_gpu\": 30000.0"));
  CHECK(place.run("run.h5 --price T4=800") == base::k_exit_usage);
  CHECK_THAT(place.read("stderr"), ContainsSubstring("no price was given for NVIDIA H200"));
  CHECK(place.run("run.h5 --price cheap") == base::k_exit_usage);
  CHECK(place.run("run.h5 --price 1 --format csv") == base::k_exit_usage);
}

TEST_CASE("a run that never came to its end is read from its parts") {
  Workplace place;
  place.store_run(stopped_run());

  CHECK(place.run("run.h5") == base::k_exit_ok);

  support::check_golden("report-stopped.txt", place.read("stdout"));
}

TEST_CASE("with --output the report goes to a file and nothing to standard output") {
  Workplace place;
  place.store_run(synthetic_run());

  CHECK(place.run("run.h5 -f csv -o out.csv") == base::k_exit_ok);

  support::check_golden("report-synthetic.csv", place.read("out.csv"));
  CHECK(place.read("stdout").empty());
}

TEST_CASE("a file that is no run is refused with its name") {
  Workplace place;
  place.write("notes.txt", "not HDF5\n");

  CHECK(place.run("notes.txt") == base::k_exit_usage);

  CHECK(place.read("stdout").empty());
  CHECK_THAT(place.read("stderr"), ContainsSubstring("notes.txt"));
}

TEST_CASE("a file that is not there is refused with its name") {
  Workplace place;

  CHECK(place.run("missing.h5") == base::k_exit_usage);

  CHECK_THAT(place.read("stderr"), ContainsSubstring("missing.h5"));
}

TEST_CASE("an output that cannot be written has an exit code of its own") {
  Workplace place;
  place.store_run(synthetic_run());

  CHECK(place.run("run.h5 --output nosuch/out.csv") == base::k_exit_output);
  CHECK_THAT(place.read("stderr"), ContainsSubstring("nosuch/out.csv"));

  place.send_stdout_to("/dev/full");
  CHECK(place.run("run.h5") == base::k_exit_output);
  CHECK_THAT(place.read("stderr"), ContainsSubstring("standard output"));
}

TEST_CASE("the run file is never replaced by its report") {
  Workplace place;
  place.store_run(synthetic_run());
  std::string before = place.read("run.h5");

  CHECK(place.run("run.h5 --output ./run.h5") == base::k_exit_usage);

  CHECK(place.read("run.h5") == before);
}

TEST_CASE("wrong arguments are a usage error") {
  Workplace place;

  CHECK(place.run("") == base::k_exit_usage);
  CHECK(place.run("run.h5 --format xml") == base::k_exit_usage);
  CHECK(place.run("run.h5 more.h5") == base::k_exit_usage);
  CHECK(place.run("run.h5 --nosuch") == base::k_exit_usage);
  CHECK(place.read("stdout").empty());
}

TEST_CASE("help has examples and exit codes, and needs no file") {
  Workplace place;

  CHECK(place.run("--help") == base::k_exit_ok);

  CHECK_THAT(place.read("stdout"), ContainsSubstring("Examples:"));
  CHECK_THAT(place.read("stdout"), ContainsSubstring("Exit codes:"));
}

TEST_CASE("the version names the schema that is read") {
  Workplace place;

  CHECK(place.run("--version") == base::k_exit_ok);

  CHECK_THAT(place.read("stdout"), ContainsSubstring("schema 2."));
}
