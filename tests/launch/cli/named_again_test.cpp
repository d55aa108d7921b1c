// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/job/named_again.h"
#include "support/catch.h"
#include "workload/nccl_variables.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

RunOptions with_set(std::vector<workload::Axis> axes) {
  RunOptions options;
  options.axes = std::move(axes);
  return options;
}

// What `ncclprobe --resume run.h5` says of the plan; empty if it goes on.
std::string refusal_of(const RunOptions& plan, const RunOptions& said = {}) {
  auto checked = check_named("run.h5", plan, said);
  if (checked)
    return "";
  CHECK(exit_code_of(checked.error()) == base::k_exit_usage);
  return checked.error().text();
}

} // namespace

TEST_CASE("a plan of numbers and words needs no naming") {
  RunOptions plan = with_set({{"NCCL_ALGO", {"Ring", "Tree"}}, {"NCCL_BUFFSIZE", {"1048576"}}});
  plan.settings = {{{"NCCL_P2P_LEVEL", "SYS"}, {"NCCL_SOCKET_IFNAME", "eth0"}}};
  plan.per_rank[1] = {{"NCCL_HOSTID", "b"}};
  plan.workload.model = "gpt2-124m";
  plan.compared_libraries = {{"nccl", {""}}};

  CHECK(refusal_of(plan).empty());
  CHECK(options_to_name(plan).empty());
}

TEST_CASE("libraries, programs and model files must be named") {
  RunOptions library, bare_name, worker, compared, model;
  library.libraries = {{"nccl", "/opt/libnccl.so.2"}};
  bare_name.libraries = {{"nccl", "libnccl.so.2"}};
  worker.libraries = {{"worker", "/tmp/worker"}};
  compared.compared_libraries = {{"cupti", {"", "/tmp/a.so"}}};
  model.workload.model = "/tmp/net.json";

  for (const RunOptions& plan : {library, bare_name, worker, compared, model}) {
    CHECK_THAT(refusal_of(plan), ContainsSubstring("at the request of a data file alone"));
    CHECK(refusal_of(plan, plan).empty());
  }
}

TEST_CASE("variables that could load, start, read or write something must be named") {
  for (const char* name : {"LD_PRELOAD",
                           "LD_LIBRARY_PATH",
                           "LD_AUDIT",
                           "PATH",
                           "HOME",
                           "PYTHONPATH",
                           "GLIBC_TUNABLES",
                           "NCCL_NET_PLUGIN",
                           "NCCL_TUNER_PLUGIN",
                           "NCCL_PROFILER_PLUGIN",
                           "NCCL_ENV_PLUGIN",
                           "NCCL_GIN_PLUGIN",
                           "NCCL_IBVERBS_LIB",
                           "NCCL_CONF_FILE",
                           "NCCL_DEBUG_FILE",
                           "NCCL_TOPO_FILE",
                           "NCCL_TOPO_DUMP_FILE",
                           "NCCL_COMM_ID",
                           "CUDA_INJECTION64_PATH",
                           "CUDA_CACHE_PATH",
                           "UCX_MODULE_DIR",
                           "OMP_TOOL_LIBRARIES",
                           "HDF5_PLUGIN_PATH",
                           "SOMETHING_NEW"}) {
    INFO(name);
    RunOptions axis = with_set({{name, {"/tmp/x"}}}), setting, of_rank;
    setting.settings = {{{name, "/tmp/x"}}};
    of_rank.per_rank[0] = {{name, "/tmp/x"}};
    for (const RunOptions& plan : {axis, setting, of_rank}) {
      CHECK_THAT(refusal_of(plan), ContainsSubstring("at the request of a data file alone"));
      CHECK(refusal_of(plan, plan).empty());
    }
    CHECK(refusal_of(setting, axis).empty()); // --set names the values of combinations too
  }
}

TEST_CASE("no variable that NCCL reads as a path or a plugin passes as a mere value") {
  using enum workload::ValueKind;
  for (const workload::Variable& variable : workload::nccl_variables()) {
    INFO(variable.name);
    const bool names_something = variable.kind == plugin || variable.kind == file ||
                                 variable.kind == network_name || variable.kind == address;
    if (names_something)
      CHECK(!refusal_of(with_set({{std::string(variable.name), {"x"}}})).empty());
    for (const char* part : {"PLUGIN", "_FILE", "_LIB", "PATH", "_ADDR"})
      if (variable.name.find(part) != std::string_view::npos && variable.kind == text)
        CHECK(!refusal_of(with_set({{std::string(variable.name), {"x"}}})).empty());
  }
}

TEST_CASE("the refusal has the command that names everything") {
  RunOptions plan = with_set({{"LD_LIBRARY_PATH", {"/a", "/b,c"}}, {"NCCL_ALGO", {"Ring"}}});
  plan.libraries = {{"worker", "/tmp/my worker"}};
  plan.compared_libraries = {{"nccl", {"/x.so", "/y.so"}}};
  for (int rank : {0, 1, 2, 5})
    plan.per_rank[rank] = {{"LD_PRELOAD", "/p.so"}};
  plan.workload.model = "net.toml";

  CHECK_THAT(refusal_of(plan),
             ContainsSubstring("`ncclprobe --resume run.h5 --library 'worker=/tmp/my worker' "
                               "--model net.toml --compare-library nccl=/x.so,/y.so "
                               "--set LD_LIBRARY_PATH=/a,[/b,c] --rank-set 0-2:LD_PRELOAD=/p.so "
                               "--rank-set 5:LD_PRELOAD=/p.so`"));
}

TEST_CASE("each value must be named, and only values of the plan can be") {
  const RunOptions plan = with_set({{"LD_PRELOAD", {"/a.so", "/b.so"}}, {"NCCL_ALGO", {"Ring"}}});

  CHECK_THAT(refusal_of(plan, with_set({{"LD_PRELOAD", {"/a.so"}}})),
             ContainsSubstring("--set LD_PRELOAD=/b.so"));
  CHECK(refusal_of(plan, with_set({{"LD_PRELOAD", {"/b.so", "/a.so"}}})).empty());
  CHECK(refusal_of(plan, with_set({{"LD_PRELOAD", {"/a.so", "/b.so", "/c.so"}}})) ==
        "--set LD_PRELOAD=/c.so cannot be changed: the run continues as it began");
  CHECK(refusal_of(plan, with_set({{"NCCL_ALGO", {"Tree"}}})) ==
        "--set NCCL_ALGO=Tree cannot be changed: the run continues as it began");
}

TEST_CASE("what a hostile file wants cannot write to the terminal, nor past the quotes") {
  RunOptions plan;
  plan.libraries = {{"worker", "/tmp/\x1b]0;\xc2\x9b'; rm -rf ~"}};

  const std::string text = refusal_of(plan);

  CHECK(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  CHECK_THAT(text, ContainsSubstring(R"(--library $'worker=/tmp/\x1b]0;\xc2\x9b\'; rm -rf ~')"));
  plan.libraries = {{"worker", "/tmp/'; rm -rf ~"}};
  CHECK_THAT(refusal_of(plan), ContainsSubstring(R"(--library 'worker=/tmp/'\''; rm -rf ~')"));
}

TEST_CASE("the options of a resumed run are the plan's alone") {
  RunOptions said = with_set({{"LD_PRELOAD", {"/b.so", "/a.so"}}});
  said.libraries = {{"nccl", "/x"}};
  said.compared_libraries = {{"nccl", {"/y"}}};
  said.per_rank[0] = {{"A", "b"}};
  said.workload.model = "net.json";
  said.force = true;

  drop_named(said);

  CHECK(options_to_name(said).empty());
  CHECK(said.force);
}
