// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "launch/cli/job/plan_file.h"
#include "support/catch.h"
#include "support/refusals.h"

#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

// A plan file that is gone with the object.
class PlanFile {
public:
  explicit PlanFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / fmt::format("plan-{}.toml", ::getpid())) {
    REQUIRE(base::write_file_atomically(path_, content).has_value());
  }
  ~PlanFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

RunOptions read(const std::string& content) {
  PlanFile file(content);
  RunOptions options;
  auto applied = apply_plan_file(file.path(), options);
  INFO((applied ? "" : applied.error().text()));
  REQUIRE(applied.has_value());
  return options;
}

std::string plan_refusal(const std::string& content) {
  PlanFile file(content);
  RunOptions options;
  auto applied = apply_plan_file(file.path(), options);
  return applied ? "" : applied.error().text();
}

constexpr const char* k_full_plan = R"(
backend = "host"
prepare = "on"
collectives = ["all_reduce", "send_recv"]
types = ["f16"]
ops = ["avg"]
placement = ["in_place"]
sizes = "1K,4K:16K:x2"
ranks = 3
devices_per_worker = 2
counts = [0, 1, 1023]
roots = [0, 2]
offset = 3
split = [1, 3]
streams = [1, 2]
register = true
launch = ["direct", "graph"]
launch_costs = true
warmups = 0
iterations = 7
batches = 2
mode = "latency"
interval = "0.3%"
max_batches = 30
repeat = 5
seed = 11
budget = "100ms"
cell_timeout = "3s"
startup_timeout = "1m"
output = "there.h5"
in_process = ["algorithm=ring,bcube", "chunk_bytes=64K"]
proof = "on"
trace = "api"
no_sweep = true
cpu_affinity = ["none", "0-3,8", "0/1"]
override = ["NCCL_PROTO"]
set = ["NCCL_PROTO=LL,Simple", "NCCL_ALGO=[Ring,Tree]"]
setting = ["NCCL_BUFFSIZE=8388608", "NCCL_PROTO=LL,[NCCL_ALGO=Ring,Tree]"]
rank_set = ["0-1:NCCL_HOSTID=a"]
library = ["nccl=/opt/libnccl.so.2"]
compare_library = ["nccl=/b/libnccl.so.2,/c/libnccl.so.2"]
note = "new driver"
)";

} // namespace

TEST_CASE("a plan file says anything the command line can") {
  RunOptions options = read(k_full_plan);

  CHECK(options.backend == "host");
  CHECK(options.prepare == "on");
  CHECK(options.note == "new driver");
  CHECK(options.collectives ==
        std::vector{model::Collective::all_reduce, model::Collective::send_recv});
  CHECK(options.sizes == std::vector<std::uint64_t>{1024, 4096, 8192, 16384});
  CHECK(options.ops == std::vector{model::ReduceOp::avg});
  CHECK(options.counts == std::vector<std::uint64_t>{0, 1, 1023});
  CHECK(options.roots == std::vector{0, 2});
  CHECK(options.offsets == std::vector<std::uint64_t>{3});
  CHECK(options.splits == std::vector{1, 3});
  CHECK(options.streams == std::vector{1, 2});
  CHECK_FALSE(options.graph); // launch says it
  CHECK(options.launches == std::vector{model::Launch::direct, model::Launch::graph});
  CHECK(options.registered);
  CHECK(options.ranks == 3);
  CHECK(options.devices_per_worker == 2);
  CHECK(options.warmups == 0);
  CHECK(options.mode == model::TimingMode::latency);
  CHECK(options.target_interval == 0.003);
  CHECK(options.max_batches == 30);
  CHECK(options.budget_ns == 100'000'000);
  CHECK(options.startup_deadline_ns == 60'000'000'000);
  CHECK(options.proof == workload::Proof::on);
  CHECK(options.trace == model::TraceLevel::api);
  CHECK(options.no_sweep);
  CHECK(options.cpu_affinities == std::vector<std::string>{"none", "0-3,8", "0/1"});
  REQUIRE(options.axes.size() == 2);
  CHECK(options.axes[0].name == "NCCL_PROTO"); // order of the file, not of the alphabet
  CHECK(options.axes[1].values == std::vector<std::string>{"Ring,Tree"});
  CHECK(options.settings ==
        std::vector<std::vector<model::Setting>>{
            {{"NCCL_BUFFSIZE", "8388608"}}, {{"NCCL_PROTO", "LL"}, {"NCCL_ALGO", "Ring,Tree"}}});
  CHECK(options.per_rank[1] == std::vector<model::Setting>{{"NCCL_HOSTID", "a"}});
  CHECK(options.libraries == std::vector<model::Setting>{{"nccl", "/opt/libnccl.so.2"}});
  REQUIRE(options.compared_libraries.size() == 1);
  CHECK(options.compared_libraries[0].name == "nccl");
  CHECK(options.compared_libraries[0].values ==
        std::vector<std::string>{"/b/libnccl.so.2", "/c/libnccl.so.2"});
}

TEST_CASE("the command line wins over the plan file") {
  PlanFile file("iterations = 7\nsizes = \"1K\"\n");
  RunOptions options;
  options.iterations = 9;
  REQUIRE(apply_plan_file(file.path(), options).has_value());
  CHECK(options.iterations == 9);
  CHECK(options.sizes == std::vector<std::uint64_t>{1024});
}

TEST_CASE("graph and launch say the same, so the command line wins with either") {
  RunOptions options, other;
  options.launches = {model::Launch::direct};
  other.graph = true;
  REQUIRE(apply_plan_text("graph = true\n", "plan", options).has_value());
  REQUIRE(apply_plan_text("launch = ['direct', 'graph']\n", "plan", other).has_value());

  CHECK_FALSE(options.graph);
  CHECK(options.launches == std::vector{model::Launch::direct});
  CHECK(other.graph);
  CHECK_FALSE(other.launches.has_value());
  RunOptions unsaid = read("graph = true\n");
  CHECK(unsaid.graph);
  CHECK(read(write_plan_file(unsaid)).graph);
}

TEST_CASE("the command line wins for both kinds of placement") {
  PlanFile file("placement = 'nearest'\n");
  RunOptions options;
  options.workload.placement = topology::RankChoice::spread;
  REQUIRE(apply_plan_file(file.path(), options).has_value());
  CHECK(options.workload.placement == topology::RankChoice::spread);
  CHECK(read("placement = 'nearest'\n").workload.placement == topology::RankChoice::nearest);
}

TEST_CASE("the command line wins over axes, rank settings and libraries of the same name") {
  PlanFile file(k_full_plan);
  RunOptions options;
  options.axes = {{"NCCL_PROTO", {"LL128"}}};
  options.per_rank[1] = {{"NCCL_HOSTID", "mine"}};
  options.libraries = {{"nccl", "/mine.so"}};
  options.compared_libraries = {{"nccl", {"/other.so"}}};

  REQUIRE(apply_plan_file(file.path(), options).has_value());

  REQUIRE(options.axes.size() == 2);
  CHECK(options.axes[0].values == std::vector<std::string>{"LL128"});
  CHECK(options.axes[1].name == "NCCL_ALGO");
  CHECK(options.per_rank[0] == std::vector<model::Setting>{{"NCCL_HOSTID", "a"}});
  CHECK(options.per_rank[1] == std::vector<model::Setting>{{"NCCL_HOSTID", "mine"}});
  CHECK(options.libraries == std::vector<model::Setting>{{"nccl", "/mine.so"}});
  REQUIRE(options.compared_libraries.size() == 1);
  CHECK(options.compared_libraries[0].values == std::vector<std::string>{"/other.so"});
}

TEST_CASE("settings of the command line win over no_sweep of the file") {
  RunOptions options;
  options.axes = {{"NCCL_PROTO", {"LL"}}};
  REQUIRE(apply_plan_text("no_sweep = true\nrepeat = 3\n", "plan", options).has_value());
  CHECK_FALSE(options.no_sweep);
  CHECK(options.repeats == 3);
}

TEST_CASE("a written plan file reads back as the same options") {
  RunOptions first = read(k_full_plan);
  RunOptions second = read(write_plan_file(first));

  CHECK(write_plan_file(first) == write_plan_file(second));
  CHECK(write_plan_file(read(write_plan_file(first, PlanFormat::json))) == write_plan_file(first));
  CHECK(second.sizes == first.sizes);
  CHECK(second.prepare == first.prepare);
  CHECK(second.per_rank == first.per_rank);
  CHECK(second.settings == first.settings);
  CHECK(second.cell_deadline_ns == first.cell_deadline_ns);
  CHECK(second.overrides == first.overrides);
  REQUIRE(second.compared_libraries.size() == 1);
  CHECK(second.compared_libraries[0].values == first.compared_libraries[0].values);
  CHECK(second.counts == first.counts);
  CHECK(second.roots == first.roots);
  CHECK(second.offsets == first.offsets);
  CHECK(second.splits == first.splits);
  CHECK(second.streams == first.streams);
  CHECK(second.registered);
  CHECK(second.launches == first.launches);
  CHECK(second.launch_costs);
  CHECK(second.cpu_affinities == first.cpu_affinities);
  REQUIRE(second.in_process.size() == 2);
  CHECK(second.in_process[0].values == std::vector<std::string>{"ring", "bcube"});
  const Options of_first = plan_file_options(first), of_second = plan_file_options(second);
  for (std::size_t i = 0; i < of_first.size(); ++i) { // none is forgotten here
    CAPTURE(of_first[i].name);
    CHECK(of_second[i].write() == of_first[i].write());
    // Beside launch there is no use for graph, and the options of steps have a test of their own.
    CHECK(of_first[i].write().empty() ==
          (of_first[i].name == "graph" || of_first[i].group == "Training steps"));
  }
}

TEST_CASE("a plan file is written as people would write it") {
  const std::string text = write_plan_file(read(k_full_plan));

  for (const char* line : {"collectives = [ 'all_reduce', 'send_recv' ]\n",
                           "counts = [ 0, 1, 1023 ]\n", "iterations = 7\n", "register = true\n",
                           "cpu_affinity = [ 'none', '0-3,8', '0/1' ]\n", "prepare = 'on'\n"})
    CHECK_THAT(text, ContainsSubstring(line));
}

TEST_CASE("a list may be written as the command line has it") {
  RunOptions options = read("collectives = 'all_reduce,broadcast'\ncpu_affinity = 'core,[0,2]'\n"
                            "sizes = ['1K', '4M']\ninterval = 0.01\n");

  CHECK(options.collectives ==
        std::vector{model::Collective::all_reduce, model::Collective::broadcast});
  CHECK(options.cpu_affinities == std::vector<std::string>{"core", "0,2"});
  CHECK(options.sizes == std::vector<std::uint64_t>{1024, 4 << 20});
  CHECK(options.target_interval == 0.01);
}

TEST_CASE("a single list of CPUs stays one value when it is written") {
  RunOptions first;
  first.cpu_affinities = {"0-3,8"};
  CHECK(read(write_plan_file(first)).cpu_affinities == first.cpu_affinities);
  first.cpu_affinities = {"core"};
  CHECK_THAT(write_plan_file(first), ContainsSubstring("cpu_affinity = 'core'"));
}

TEST_CASE("a single root may be written as a number, and counts need no sizes") {
  RunOptions options = read("root = 2\ncounts = 5\n");

  CHECK(options.roots == std::vector{2});
  CHECK(options.counts == std::vector<std::uint64_t>{5});
  options.sizes = std::vector<std::uint64_t>{}; // as the default job leaves them then
  CHECK_FALSE(read(write_plan_file(options)).sizes.has_value());
}

TEST_CASE("mistakes name the line, and what is wrong there") {
  support::check_refusals({{"\n\niterations = \"many\"\n", {".toml:3:", "'many'"}},
                           {"counts = [1, -1]\n", {":1:", "'-1'"}},
                           {"split = [0]\n", {":1:", "'0'"}},
                           {"sizes = \"64Q\"\n", {":1:", "64Q"}},
                           {"iteration = 3\n", {":1:", "'iteration'"}},
                           {"ranks = \n", {":1:"}},
                           {"set = [\"X\"]\n", {":1:", "NAME=value"}},
                           {"\nlibrary = \"foo=x\"\n", {":2:", "'foo'"}},
                           {"[set]\nX = \"a\"\n", {":1:", "string"}},
                           {"batch = 1.5\n", {":1:", "'1.5'"}},
                           {"collectives = [\"allreduce\"]\n", {":1:", "all_reduce"}},
                           {"cpu_affinity = 'near'\n", {":1:", "'near'"}}},
                          plan_refusal);
  RunOptions options;
  CHECK(apply_plan_file("/nowhere/plan.toml", options).error().code == base::Errc::not_found);
}
