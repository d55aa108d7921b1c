// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/assembly.h"
#include "support/catch.h"

using namespace ncclprobe;
using launch::SupervisorReport;

namespace {

model::HostInventory host_with(int gpus, const std::string& nccl = "2.28.3") {
  model::HostInventory host;
  host.hostname = "node1";
  for (int i = 0; i < gpus; ++i)
    host.gpus.push_back({i, "NVIDIA H200"});
  host.libraries = {{"nccl", nccl}};
  if (gpus == 0)
    host.nvidia_problem = "no GPU";
  return host;
}

SupervisorReport report(const std::string& boot_id, std::vector<std::string> arguments = {"run"}) {
  return {"host-" + boot_id, boot_id,     "0.1.0", std::move(arguments), {}, "",
          std::nullopt,      std::nullopt};
}

std::vector<SupervisorReport> ranks_on(std::initializer_list<const char*> boot_ids) {
  std::vector<SupervisorReport> reports;
  for (const char* id : boot_ids)
    reports.push_back(report(id));
  return reports;
}

} // namespace

TEST_CASE("a supervisor's report survives the journey") {
  SupervisorReport own = report("a", {"--sizes", "1M"});
  own.inventory = host_with(2);
  own.problem = base::Error{base::Errc::not_found, "no plan", "look again"};
  own.plan = "ranks = 2";

  auto read = launch::decode_report(encode_report(own));

  REQUIRE(read.has_value());
  CHECK(read->arguments == own.arguments);
  CHECK(read->inventory == own.inventory);
  REQUIRE(read->problem.has_value());
  CHECK(read->problem->code == base::Errc::not_found);
  CHECK(read->problem->text() == "no plan (look again)");
  CHECK(read->plan == own.plan);
  CHECK_FALSE(launch::decode_report("{").has_value());
}

TEST_CASE("a report of a build that tells no environment can be read, for its version's sake") {
  const std::string text =
      R"({"hostname": "a", "boot_id": "b", "version": "old", "arguments": [], "plan": ""})";
  auto read = launch::decode_report(text);
  REQUIRE(read.has_value());
  CHECK(read->version == "old");
}

TEST_CASE("a host is a name and a boot id, as for NCCL") {
  CHECK(launch::host_numbers(ranks_on({"b", "b", "a", "b", "c"})) ==
        std::vector<int>{0, 0, 1, 0, 2});

  std::vector<SupervisorReport> pods = ranks_on({"b", "b", "b"});
  pods[1].hostname = "another-pod";
  CHECK(launch::host_numbers(pods) == std::vector<int>{0, 1, 0});

  std::vector<SupervisorReport> of_one_name = ranks_on({"b", "c"});
  of_one_name[1].hostname = of_one_name[0].hostname;
  CHECK(launch::host_numbers(of_one_name) == std::vector<int>{0, 1});
}

TEST_CASE("a launcher whose size differs from MPI's is refused") {
  CHECK(launch::check_launcher({}, 1).has_value());
  CHECK(launch::check_launcher({{"OMPI_COMM_WORLD_SIZE", "4"}, {"SLURM_STEP_NUM_TASKS", "4"}}, 4)
            .has_value());

  // mpirun inside a Slurm step of one task
  CHECK(launch::check_launcher({{"OMPI_COMM_WORLD_SIZE", "2"}, {"SLURM_STEP_NUM_TASKS", "1"}}, 2)
            .has_value());
  CHECK(launch::check_launcher({{"SLURM_STEP_NUM_TASKS", "1"}}, 1).has_value());
  CHECK_FALSE(launch::check_launcher({{"OMPI_COMM_WORLD_SIZE", "4"}}, 1).has_value());

  auto srun = launch::check_launcher({{"SLURM_STEP_NUM_TASKS", "8"}}, 1);

  REQUIRE_FALSE(srun.has_value());
  CHECK(srun.error().code == base::Errc::mismatch);
  CHECK_THAT(srun.error().text(),
             ContainsSubstring("srun started 8 tasks") && ContainsSubstring("Open MPI: pmix"));
}

TEST_CASE("ranks that disagree are named") {
  auto reports = ranks_on({"a", "a", "a", "a"});
  CHECK(launch::check_agreement(reports).has_value());

  SECTION("arguments") {
    reports[2].arguments = {"run", "--seed", "1"};
    reports[3].arguments = {};
    CHECK_THAT(launch::check_agreement(reports).error().message, ContainsSubstring("ranks 2,3"));
  }
  SECTION("versions") {
    reports[1].version = "0.2.0";
    CHECK_THAT(launch::check_agreement(reports).error().message,
               ContainsSubstring("rank 1") && ContainsSubstring("0.2.0"));
  }
  SECTION("libraries of hosts") {
    reports[0].inventory = host_with(1, "2.28.3");
    reports[3].inventory = host_with(1, "2.27.7");
    reports[3].hostname = "node7";
    CHECK_THAT(launch::check_agreement(reports).error().text(),
               ContainsSubstring("2.27.7 on node7") && ContainsSubstring("--library nccl=PATH"));
  }
  SECTION("plan files") {
    reports[1].plan = "ranks = 3";
    CHECK_THAT(launch::check_agreement(reports).error().message,
               ContainsSubstring("rank 1 read a different plan file"));
  }
  SECTION("a problem of one rank keeps its kind") {
    reports[2].problem = base::Error{base::Errc::not_found, "cannot open plan.toml", ""};
    auto refused = launch::check_agreement(reports);
    CHECK(refused.error().code == base::Errc::not_found);
    CHECK_THAT(refused.error().message, ContainsSubstring("rank 2 on host-a: cannot open"));
  }
}

TEST_CASE("auto takes GPUs where all hosts have them, and says why not") {
  auto both = launch::choose_backend("auto", {host_with(8), host_with(8)});
  CHECK(both->name == "nvidia");
  auto one_without = launch::choose_backend("auto", {host_with(8), host_with(0)});
  CHECK(one_without->name == "host");
  CHECK_THAT(one_without->reason, ContainsSubstring("no GPU"));
}

TEST_CASE("a backend that cannot run here is an error, and synthetic only on demand") {
  CHECK(launch::choose_backend("nvidia", {host_with(0)}).error().code == base::Errc::unsupported);
  CHECK(launch::choose_backend("cuda", {host_with(1)}).error().code ==
        base::Errc::invalid_argument);
  CHECK(launch::choose_backend("synthetic", {host_with(0)})->name == "synthetic");
}

TEST_CASE("one supervisor drives all GPUs, or two CPU ranks, or as many as asked") {
  auto reports = ranks_on({"a"});
  CHECK(launch::make_layout(reports, {host_with(4)}, "nvidia", {})->ranks() == 4);
  CHECK(launch::make_layout(reports, {host_with(0)}, "host", {})->ranks() == 2);
  auto three = launch::make_layout(reports, {host_with(0)}, "host", 3);
  CHECK(three->placements[2].device == 2);
  CHECK(three->placements[2].supervisor == 0);
}

TEST_CASE("under mpirun each supervisor has a rank, devices are counted per host") {
  auto layout = launch::make_layout(ranks_on({"a", "b", "a", "b"}), {host_with(2), host_with(2)},
                                    "nvidia", {});

  REQUIRE(layout.has_value());
  CHECK(layout->placements[2].host == 0);
  CHECK(layout->placements[2].device == 1);
  CHECK(layout->host_of_rank() == std::vector<int>{0, 1, 0, 1});
}

TEST_CASE("more ranks than GPUs names the ranks without") {
  auto layout = launch::make_layout(ranks_on({"a", "a", "a", "a"}), {host_with(2)}, "nvidia", {});

  REQUIRE_FALSE(layout.has_value());
  CHECK(layout.error().code == base::Errc::unavailable);
  CHECK_THAT(layout.error().text(),
             ContainsSubstring("no GPU for ranks 2,3 on node1: the host has 2"));
  CHECK(launch::make_layout(ranks_on({"a", "a"}), {host_with(2)}, "nvidia", 4).error().code ==
        base::Errc::invalid_argument);
}

TEST_CASE(
    "a supervisor that is alone on its host may drive all GPUs of it, or those that are named") {
  launch::DeviceChoice choice{launch::DeviceChoice::Share::all_gpus, {}};

  auto layout =
      launch::make_layout(ranks_on({"a", "b"}), {host_with(2), host_with(3)}, "nvidia", {}, choice);

  REQUIRE(layout.has_value());
  CHECK(layout->host_of_rank() == std::vector<int>{0, 0, 1, 1, 1});
  CHECK(layout->placements[4].supervisor == 1);
  CHECK(layout->placements[4].device == 2);

  choice.devices = {2, 0};
  layout = launch::make_layout(ranks_on({"a"}), {host_with(3)}, "nvidia", {}, choice);
  REQUIRE(layout.has_value());
  CHECK(layout->ranks() == 2);
  CHECK(layout->placements[0].device == 2);
  CHECK(layout->placements[1].device == 0);

  choice.devices = {3};
  layout = launch::make_layout(ranks_on({"a"}), {host_with(3)}, "nvidia", {}, choice);
  REQUIRE_FALSE(layout.has_value());
  CHECK_THAT(layout.error().message, ContainsSubstring("no GPU for rank 0 on node1"));
}

TEST_CASE("supervisors that share a host have a GPU each, whatever they may drive") {
  launch::DeviceChoice choice{launch::DeviceChoice::Share::all_gpus, {}};

  auto layout = launch::make_layout(ranks_on({"a", "a"}), {host_with(4)}, "nvidia", {}, choice);

  REQUIRE(layout.has_value());
  CHECK(layout->ranks() == 2);
  CHECK(layout->placements[1].supervisor == 1);
}

TEST_CASE("what ranks have otherwise in their environment than rank 0 is told by value") {
  auto reports = ranks_on({"a", "a", "b", "b"});
  reports[0].environment = {{"NCCL_ALGO", "Ring"}, {"NCCL_DEBUG", "WARN"}};
  reports[1].environment = reports[0].environment;
  reports[2].environment = {{"NCCL_DEBUG", "WARN"}, {"OMP_NUM_THREADS", "4"}};
  reports[3].environment = {{"NCCL_DEBUG", ""}};
  reports[3] = launch::decode_report(encode_report(reports[3])).value();
  auto layout = launch::make_layout(reports, {host_with(0), host_with(0)}, "host", {});
  REQUIRE(layout.has_value());

  auto differ = launch::environment_of_ranks(reports, *layout);

  CHECK(differ == std::vector<model::RankVariable>{{{2, 3}, "NCCL_ALGO", std::nullopt},
                                                   {{3}, "NCCL_DEBUG", ""},
                                                   {{2}, "OMP_NUM_THREADS", "4"}});
}
