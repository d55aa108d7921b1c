// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D14 to D19.
#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::value;
using test_doctor::what;
using test_doctor::worst;

namespace {

Case with_variables(const std::vector<model::Setting>& settings) {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    survey.process.environment = settings;
  one.smoke_tests.clear();
  return one;
}

} // namespace

TEST_CASE("variables that NCCL would not take as they are meant are found") {
  struct Example {
    model::Setting setting;
    CheckStatus status;
    const char* reading; // "-": as it is meant
    const char* better;
  };
  const Example k_examples[] = {
      {{"NCCL_P2P_DISABLE", "1"}, CheckStatus::warn, "-", "-"},
      {{"NCCL_DEBUG", "INFO"}, CheckStatus::info, "-", "-"},
      {{"NCCL_P2P_DISABEL", "1"}, CheckStatus::warn, "misspelt", "NCCL_P2P_DISABLE=1"},
      {{"NCCL_LL_THRESHOLD", "0"}, CheckStatus::warn, "ignored", ""},
      {{"NCCL_P2P_DISABLE", "yes"}, CheckStatus::warn, "misread", "NCCL_P2P_DISABLE=1"},
      {{"NCCL_P2P_LEVEL", "nvl"}, CheckStatus::warn, "misread", "NCCL_P2P_LEVEL=NVL"},
      {{"NCCL_MAX_CTAS", "1000"}, CheckStatus::warn, "limited", "NCCL_MAX_CTAS=64"},
      {{"NCCL_SOMETHING_ELSE_ENTIRELY", "1"}, CheckStatus::info, "uncertain", ""},
      {{"NCCL_FASTRAK_IFNAME", "eth1"}, CheckStatus::info, "uncertain", ""},
      {{"NCCL_TIMEOUT", "5"}, CheckStatus::warn, "ignored", ""},
      {{"NCCL_BLOCKING_WAIT", "1"}, CheckStatus::warn, "ignored", ""},
      {{"NCCL_ALGO", "Rng"}, CheckStatus::fail, "refused", "NCCL_ALGO=Ring"},
      {{"NCCL_PROTO", "LL129"}, CheckStatus::fail, "refused", "NCCL_PROTO=LL128"},
      {{"NCCL_ALGO", "ring,tree2"}, CheckStatus::fail, "refused", "NCCL_ALGO=ring,Tree"},
      {{"NCCL_NET", "Sockets"}, CheckStatus::fail, "refused", "NCCL_NET=Socket"},
      {{"NCCL_NET", "AWS Libfabric"}, CheckStatus::warn, "uncertain", ""},
  };
  for (const auto& [setting, status, reading, better] : k_examples) {
    auto findings = found(with_variables({setting}), "D14");
    CAPTURE(setting.name, setting.value);
    REQUIRE_FALSE(findings.empty());
    const What& what = findings.front().what;
    CHECK(findings.front().status == status);
    CHECK(what.kind == (reading == std::string_view("-") ? "variable_set" : "variable_misread"));
    CHECK(value(what, "variable") == setting.name);
    CHECK(value(what, "reading") == reading);
    CHECK(value(what, "better") == better);
  }
}

TEST_CASE("what is refused is not also called set, and its fix is what was probably meant") {
  auto findings = found(with_variables({{"NCCL_ALGO", "Rng"}}), "D14");
  REQUIRE(findings.size() == 1);
  CHECK(value(findings[0].what, "better") == "NCCL_ALGO=Ring");
  CHECK(findings[0].fix.text == "export NCCL_ALGO=Ring, or unset NCCL_ALGO");

  CheckResult timeout = found(with_variables({{"NCCL_TIMEOUT", "5"}}), "D14").front();
  CHECK(timeout.fix.text == "unset NCCL_TIMEOUT");
  CHECK(found(with_variables({{"NCCL_IB_ENABLE", "0"}}), "D14").front().fix.text ==
        "export NCCL_IB_DISABLE=1, and unset NCCL_IB_ENABLE");
}

TEST_CASE("NCCL_NET=IB is refused where there is no adapter with an active port") {
  Case one = with_variables({{"NCCL_NET", "IB"}});
  CHECK(worst(one, "D14") == CheckStatus::ok);

  one.surveys[0].host->rdma[0].state = "DOWN";
  CHECK(worst(one, "D14") == CheckStatus::fail);
  CHECK_THAT(value(what(one, "D14"), "judgement"),
             ContainsSubstring("no RDMA adapter with an active port"));

  for (model::Survey& survey : one.surveys) // a plugin may call itself so
    survey.process.looked_for = {{"libnccl-net.so", true}};
  CHECK(worst(one, "D14") == CheckStatus::ok);
}

TEST_CASE("an unknown network is refused where no plugin is found") {
  Case one = with_variables({{"NCCL_NET", "AWS Libfabric"}});
  for (model::Survey& survey : one.surveys)
    survey.process.looked_for = {{"libnccl-net.so", false}};
  CHECK(worst(one, "D14") == CheckStatus::fail);
}

TEST_CASE("a tuner plugin is named on the ranks that cannot use it") {
  struct {
    const char* problem;
    const char* table_problem;
    std::vector<std::string_view> kinds;
  } const cases[] = {{"", "", {}},
                     {"version `GLIBC_2.38' not found", "", {"tuner_not_loaded"}},
                     {"", "its SHA-256 is another", {"tuner_table"}},
                     {"a", "b", {"tuner_not_loaded", "tuner_table"}}};
  for (const auto& [problem, table_problem, kinds] : cases) {
    INFO(problem << ", " << table_problem);
    Case one = healthy_case();
    model::Survey& survey = one.surveys[1];
    survey.process.tuner = {"libncclprobe-tuner.so", problem, table_problem};
    std::vector<std::string_view> seen;
    for (const CheckResult& result : found(one, "D14"))
      if (result.what.kind.starts_with("tuner")) {
        seen.push_back(result.what.kind);
        CHECK(result.status == CheckStatus::fail);
        CHECK(result.ranks == survey.ranks);
      }
    CHECK(seen == kinds);
  }
}

TEST_CASE("what NCCL ran with was not refused") {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    survey.process.environment = {{"NCCL_NET", "Sockets"}};

  CHECK(worst(one, "D14") == CheckStatus::warn);
  CHECK_THAT(found(one, "D14").front().evidence.back(), ContainsSubstring("yet an all-reduce ran"));
}

TEST_CASE("without NCCL a value is judged by the newest that is known, and nothing fails") {
  Case one = test_doctor::healthy_cpu_case();
  one.surveys[0].process.environment = {{"NCCL_ALGO", "Rng"}};

  CHECK(worst(one, "D14") == CheckStatus::warn);
  CHECK_THAT(value(what(one, "D14"), "judgement"),
             ContainsSubstring("judged by 2.31.2, the newest known here"));
}

TEST_CASE("an older NCCL takes what a newer one refuses") {
  Case one = with_variables({{"NCCL_ALGO", "Rng"}});
  for (model::Survey& survey : one.surveys)
    survey.inventory.libraries[2].version = "2.21.5";

  CHECK(worst(one, "D14") == CheckStatus::warn);
  CHECK_THAT(value(what(one, "D14"), "judgement"), ContainsSubstring("this NCCL ignores it"));
}

TEST_CASE("ranks that disagree on what NCCL does not read do not hang") {
  Case one = healthy_case();
  one.surveys[1].process.environment = {{"NCCL_P2P_DISABEL", "1"}};

  CHECK(worst(one, "D14") == CheckStatus::warn); // the name
  for (const CheckResult& finding : found(one, "D14"))
    if (finding.what.kind == "variable_differs") {
      CHECK(finding.status == CheckStatus::info);
      CHECK(finding.fix.text.empty());
    }
}

TEST_CASE("variables that are as they should be are no finding") {
  Case one = with_variables({{"NCCL_SOCKET_IFNAME", "eth"},
                             {"NCCL_IB_TIMEOUT", "0x14"},
                             {"CUDA_VISIBLE_DEVICES", "0,1"}});

  CHECK(worst(one, "D14") == CheckStatus::ok);
}

TEST_CASE("settings that contradict each other are found") {
  for (const std::vector<model::Setting>& settings :
       {std::vector<model::Setting>{{"NCCL_IB_DISABLE", "1"}, {"NCCL_IB_HCA", "mlx5_0"}},
        {{"NCCL_MIN_CTAS", "16"}, {"NCCL_MAX_CTAS", "8"}},
        {{"NCCL_CUMEM_ENABLE", "0"}, {"NCCL_NVLS_ENABLE", "1"}}}) {
    bool any = false;
    for (const CheckResult& finding : found(with_variables(settings), "D14"))
      any = any || finding.what.kind == "variables_contradict";
    CHECK(any);
  }
}

TEST_CASE("ranks with another value of a variable are named, with both values") {
  Case one = healthy_case();
  one.surveys.push_back(one.surveys[1]);
  one.surveys[2].ranks = {2};
  for (model::Survey& survey : one.surveys)
    survey.process.environment = {{"NCCL_BUFFSIZE", "4194304"}};
  one.surveys[2].process.environment[0].value = "8388608";

  auto findings = found(one, "D14");

  REQUIRE(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().ranks == std::vector<int>{2});
  CHECK(findings.front().evidence ==
        std::vector<std::string>{"4194304: ranks 0,1", "8388608: rank 2"});
}

TEST_CASE("a variable that only some ranks have is a disagreement") {
  Case one = healthy_case();
  one.surveys[1].process.environment = {{"NCCL_ALGO", "Ring"}};

  CHECK(worst(one, "D14") == CheckStatus::fail);
  CHECK(what(one, "D14").kind == "variable_differs");
  CHECK(value(what(one, "D14"), "variable") == "NCCL_ALGO");
}

TEST_CASE(
    "settings from NCCL's files count where the environment is silent, and say where they stand") {
  Case one = healthy_case();
  one.surveys[0].host->nccl_files = {{"/etc/nccl.conf", {{"NCCL_P2P_DISABLE", "1"}}}};
  auto findings = found(one, "D14");
  REQUIRE(findings.front().status == CheckStatus::warn);
  CHECK(value(findings.front().what, "undo") == "remove NCCL_P2P_DISABLE from /etc/nccl.conf");

  for (model::Survey& survey : one.surveys)
    survey.process.environment = {{"NCCL_P2P_DISABLE", "0"}};
  CHECK(worst(one, "D14") == CheckStatus::ok);
}

TEST_CASE("shared memory that is missing, tiny, full or littered is found") {
  Case one = healthy_case();
  CHECK(worst(one, "D15") == CheckStatus::ok);

  one.surveys[0].host->shared_memory = {64 << 20, 60 << 20, {}};
  CHECK(worst(one, "D15") == CheckStatus::warn);
  CHECK(what(one, "D15").kind == "shm_is_default");
  one.surveys[0].host->shared_memory = {std::uint64_t{8} << 30, 1 << 20, {}};
  CHECK(worst(one, "D15") == CheckStatus::fail);
  one.surveys[0].host->shared_memory.reset();
  CHECK(worst(one, "D15") == CheckStatus::fail);

  one = healthy_case();
  one.surveys[0].host->shared_memory->problem = "Read-only file system";
  REQUIRE(found(one, "D15").size() == 1); // and nothing of room
  CHECK(found(one, "D15").front().status == CheckStatus::fail);
  CHECK(found(one, "D15").front().what.kind == "shm_not_writable");
  CHECK(found(one, "D15").front().evidence.front() == "/dev/shm: Read-only file system");

  one = healthy_case();
  one.surveys[0].host->shared_memory->segments = {{"nccl-old", 1 << 20, 90'000, 1000},
                                                  {"nccl-new", 1 << 20, 5, 1000}};
  auto findings = found(one, "D15");
  CHECK(findings.front().status == CheckStatus::info);
  CHECK(findings.front().evidence.size() == 1);
}

TEST_CASE("shared memory that logind removes is told, with what keeps it") {
  Case one = healthy_case();
  one.surveys[0].host->shared_memory->removed_at_logout = true;

  CheckResult told = found(one, "D15").front();

  CHECK(told.status == CheckStatus::info);
  CHECK(told.what.kind == "logind_removes_shm");
  one.surveys[0].host->shared_memory->removed_at_logout = false;
  CHECK(worst(one, "D15") == CheckStatus::ok);
}

TEST_CASE("limits that break NCCL are found, and only where they do") {
  Case one = healthy_case();
  CHECK(worst(one, "D16") == CheckStatus::ok);

  one.surveys[1].process.limits[0].soft = 65536;
  CHECK(worst(one, "D16") == CheckStatus::fail); // there is RDMA
  CHECK(found(one, "D16").front().ranks == std::vector<int>{1});
  one.surveys[0].host->rdma.clear();
  CHECK(worst(one, "D16") == CheckStatus::info);
  CHECK(found(one, "D16").back().ranks == std::vector<int>{0}); // not rank 1 as well

  one = healthy_case();
  one.surveys[0].process.limits[1].soft = 256;
  CHECK(worst(one, "D16") == CheckStatus::warn);
  CHECK(found(one, "D16").front().fix.text == "ulimit -n 65536");
  one.surveys[0].process.limits[1].hard = 256; // the shell cannot go beyond
  CHECK_THAT(found(one, "D16").front().fix.text, ContainsSubstring("limits.d"));
  one = healthy_case();
  one.surveys[0].process.limits[2].soft.reset();
  CHECK(what(one, "D16").kind == "stack_unlimited");
  one = healthy_case();
  one.surveys[0].process.limits.clear();
  CHECK(worst(one, "D16") == CheckStatus::unknown);
}

TEST_CASE("what a container withholds is found") {
  Case one = healthy_case();
  CHECK(worst(one, "D17") == CheckStatus::ok);

  model::Confinement& limits = one.surveys[0].process.confinement;
  limits.numa_calls_allowed = false;
  CHECK(what(one, "D17").kind == "numa_calls_denied");
  limits = {};
  limits.memory_limit_bytes = 100 << 20;
  limits.memory_used_bytes = 99 << 20;
  CHECK(worst(one, "D17") == CheckStatus::warn);
  limits = {};
  limits.pids_limit = 600;
  limits.pids_used = 300;
  CHECK(worst(one, "D17") == CheckStatus::warn);
  limits = {};
  limits.cpus = 0.5;
  CHECK(worst(one, "D17") == CheckStatus::warn);
  limits = {};
  std::erase(one.surveys[0].host->driver.device_files, "/dev/nvidia-uvm");
  CHECK(worst(one, "D17") == CheckStatus::fail);
}

TEST_CASE("a /sys without the GPUs is found") {
  Case one = healthy_case();
  one.surveys[0].host->driver.nvidia_pci_devices = 0;
  CHECK(worst(one, "D17") == CheckStatus::warn);
  CHECK(what(one, "D17").kind == "gpus_not_in_sys");
}

TEST_CASE("an interface name that matches nothing is a failure that lists what there is") {
  Case one = with_variables({{"NCCL_SOCKET_IFNAME", "ib0"}});

  auto findings = found(one, "D18");

  CHECK(findings.front().status == CheckStatus::fail);
  CHECK_THAT(findings.front().evidence.back(), ContainsSubstring("eth0 192.0.2.2"));
}

TEST_CASE("loopback is enough for one host, not for two") {
  Case one = with_variables({{"NCCL_SOCKET_IFNAME", "=lo"}});
  CHECK(worst(one, "D18") == CheckStatus::ok);

  one.surveys[1].inventory.boot_id = "boot-2";
  one.surveys[1].inventory.hostname = "node02";
  one.surveys[1].host = one.surveys[0].host;
  CHECK(worst(one, "D18") == CheckStatus::fail);
}

TEST_CASE("an active RoCE port without a GID cannot be connected over") {
  Case one = healthy_case();
  one.surveys[0].host->rdma[0].gids = 0;
  CHECK(worst(one, "D19") == CheckStatus::ok); // InfiniBand's are of another kind

  one.surveys[0].host->rdma[0].link_layer = "Ethernet";
  CHECK(worst(one, "D19") == CheckStatus::warn);
  CHECK(what(one, "D19").kind == "roce_without_gid");
  one.surveys[0].host->rdma[0].gids = 2;
  CHECK(worst(one, "D19") == CheckStatus::ok);
}

TEST_CASE("faults of RDMA adapters are found") {
  Case one = healthy_case();
  CHECK(worst(one, "D19") == CheckStatus::ok);

  one.surveys[0].host->rdma[0].state = "DOWN";
  CHECK(worst(one, "D19") == CheckStatus::warn);
  one = healthy_case();
  one.surveys[0].host->rdma.push_back(
      {"mlx5_1", 1, "ACTIVE", "100 Gb/sec (4X EDR)", "InfiniBand", 1});
  CHECK(what(one, "D19").kind == "rdma_rates_differ");
  one = healthy_case();
  std::erase(one.surveys[0].host->driver.device_files, "/dev/infiniband/uverbs0");
  CHECK(worst(one, "D19") == CheckStatus::fail);
  one = healthy_case();
  one.surveys[0].host->driver.modules.clear();
  CHECK(worst(one, "D19") == CheckStatus::info); // the open driver has DMA-BUF
  one.surveys[0].host->driver.flavour = "proprietary";
  CHECK(worst(one, "D19") == CheckStatus::warn);
}
