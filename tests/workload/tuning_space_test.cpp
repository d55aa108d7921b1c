// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/environment_effect.h"
#include "workload/tuning_space.h"

#include <algorithm>
#include <set>

namespace ncclprobe::workload {
namespace {

using model::Collective;
using topology::Nic;
using topology::NicKind;
using topology::Source;
using Names = std::vector<std::string>;

Nic nic(const std::string& name, NicKind kind) {
  Nic one;
  one.name = name;
  one.kind = {kind, Source::sysfs};
  one.up = {true, Source::sysfs};
  return one;
}

struct Machine {
  int nodes = 1;
  int gpus = 8;
  int nvlinks = 18;
  bool switches = true;
  std::string compute_capability = "9.0";
  std::vector<Nic> nics;
  std::optional<int> version = 22803;
};

TuningGround ground_of(const Machine& machine) {
  TuningGround ground;
  ground.backend = "nvidia";
  for (int node = 0; node < machine.nodes; ++node) {
    model::HostInventory host;
    for (int index = 0; index < machine.gpus; ++index) {
      model::CudaDevice gpu;
      gpu.index = index;
      gpu.compute_capability = machine.compute_capability;
      gpu.nvlinks = machine.nvlinks;
      host.gpus.push_back(gpu);
      topology::Gpu seen;
      topology::NvLink link;
      link.remote = {machine.switches ? topology::RemoteKind::nvswitch : topology::RemoteKind::gpu,
                     Source::nvml};
      seen.nvlinks = {
          std::vector<topology::NvLink>(static_cast<std::size_t>(machine.nvlinks), link),
          Source::nvml};
      host.topology.gpus.push_back(seen);
    }
    host.topology.nics = machine.nics;
    ground.hosts.push_back(host);
    NcclPlace place;
    place.version = machine.version;
    place.has_rdma = std::ranges::any_of(
        machine.nics, [](const Nic& one) { return one.kind.value != NicKind::ethernet; });
    ground.places.push_back(place);
  }
  ground.machine = {machine.nodes, machine.gpus,
                    machine.nvlinks > 0 && std::stod(machine.compute_capability) >= 9.0};
  ground.targets = {{Collective::all_reduce, {}}};
  return ground;
}

TuningGround of_steps(TuningGround ground, model::StepPattern pattern = model::StepPattern::ddp) {
  ground.targets = {{{}, pattern}};
  return ground;
}

Names names(const TuningSpace& space) {
  Names all;
  for (const TuningParameter& one : space.parameters)
    all.push_back(one.name);
  return all;
}

Names first(const TuningSpace& space, std::size_t count) {
  Names all = names(space);
  all.resize(std::min(count, all.size()));
  return all;
}

const TuningParameter* find(const TuningSpace& space, const std::string& name) {
  auto found = std::ranges::find(space.parameters, name, &TuningParameter::name);
  return found == space.parameters.end() ? nullptr : &*found;
}

Names values(const TuningSpace& space, const std::string& name) {
  const TuningParameter* found = find(space, name);
  return found == nullptr ? Names{} : found->values;
}

std::string why_left_out(const TuningSpace& space, const std::string& name,
                         const std::string& value) {
  for (const TuningOmission& one : space.left_out)
    if (one.name == name && one.value == value)
      return one.why;
  return "";
}

} // namespace

TEST_CASE("each machine is searched by the transport in use, the most important first") {
  struct Row {
    const char* name;
    Machine machine;
    Variables environment;
    Transport inside_node, between_nodes;
    Names first;
  };
  const std::vector<Nic> ethernet{nic("eth0", NicKind::ethernet)};
  const std::vector<Nic> two{nic("eth0", NicKind::ethernet), nic("eth1", NicKind::ethernet)};
  const std::vector<Nic> adapters{nic("mlx5_0", NicKind::infiniband),
                                  nic("mlx5_1", NicKind::infiniband)};
  const Machine pcie{.gpus = 4, .nvlinks = 0, .compute_capability = "8.9"};
  const Names chosen{"algorithm", "protocol", "channels"};
  const std::vector<Row> rows{
      {"8 H200", {}, {}, Transport::nvlink, Transport::none, chosen},
      {"4 L40S", pcie, {}, Transport::pcie, Transport::none, {"NCCL_P2P_LEVEL", "protocol"}},
      {"P2P off",
       {},
       {{"NCCL_P2P_DISABLE", "1"}},
       Transport::shared_memory,
       Transport::none,
       chosen},
      {"P2P and SHM off",
       {},
       {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}},
       Transport::sockets,
       Transport::none,
       {"NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"}},
      {"2 hosts, Ethernet",
       {.nodes = 2, .nics = ethernet},
       {},
       Transport::nvlink,
       Transport::sockets,
       {"NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD", "algorithm"}},
      {"2 hosts, two networks",
       {.nodes = 2, .nics = two},
       {},
       Transport::nvlink,
       Transport::sockets,
       {"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_NTHREADS"}},
      {"2 hosts of one GPU",
       {.nodes = 2, .gpus = 1},
       {},
       Transport::none,
       Transport::sockets,
       {"NCCL_SOCKET_NTHREADS"}},
      {"4 hosts, InfiniBand",
       {.nodes = 4, .nics = adapters},
       {},
       Transport::nvlink,
       Transport::infiniband,
       {"NCCL_IB_HCA", "NCCL_NET_GDR_LEVEL"}},
      {"4 hosts, verbs off",
       {.nodes = 4, .nics = adapters},
       {{"NCCL_IB_DISABLE", "1"}},
       Transport::nvlink,
       Transport::sockets,
       {"NCCL_SOCKET_NTHREADS"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    TuningGround ground = ground_of(row.machine);
    ground.environment = row.environment;
    const TuningSpace space = tuning_space(ground);
    CHECK(space.transports.inside_node == row.inside_node);
    CHECK(space.transports.between_nodes == row.between_nodes);
    CHECK(first(space, row.first.size()) == row.first);
    CHECK_FALSE(space.transports.reasons.empty());
    CHECK(space.notes.empty() == (row.between_nodes != Transport::infiniband));
    std::set<std::string> distinct;
    for (const TuningParameter& one : space.parameters) {
      INFO(one.name);
      CHECK(distinct.insert(one.name).second);
      CHECK(one.values.size() >= 2);
      CHECK(one.values.front().empty());
      CHECK_FALSE(one.why.empty());
      CHECK((one.scope == TuningScope::process) == one.name.starts_with("NCCL_"));
      CHECK((one.scope != TuningScope::process || find_variable(one.name) != nullptr));
    }
  }
}

TEST_CASE("the CPU backend and the simulation search their own settings, in process") {
  TuningGround ground;
  ground.targets = {{Collective::all_reduce, {}}};
  ground.machine = {1, 2, {}};
  ground.backend = "host";
  const TuningSpace gloo = tuning_space(ground);
  ground.backend = "synthetic";
  const TuningSpace synthetic = tuning_space(ground);

  CHECK(names(gloo) == Names{"algorithm", "chunk_bytes"});
  CHECK(values(gloo, "algorithm") == Names{"", "ring", "bcube"});
  CHECK(names(synthetic) == Names{"alpha_ns", "gb_per_s"});
  for (const TuningSpace* space : {&gloo, &synthetic})
    for (const TuningParameter& one : space->parameters)
      CHECK(one.scope == TuningScope::cell);

  ground.backend = "host";
  ground.in_process = false;
  CHECK(names(tuning_space(ground)) ==
        Names{"NCCLPROBE_GLOO_ALGORITHM", "NCCLPROBE_GLOO_CHUNK_BYTES"});
  ground.environment = {{"NCCLPROBE_GLOO_ALGORITHM", "ring"}};
  ground.in_process = true;
  const TuningSpace pinned = tuning_space(ground);
  CHECK(names(pinned) == Names{"chunk_bytes"});
  CHECK(pinned.pinned == std::vector<model::Setting>{{"NCCLPROBE_GLOO_ALGORITHM", "ring"}});
}

TEST_CASE("multicast is searched only where the machine has it and nothing switches it off") {
  auto has_nvls = [](const TuningSpace& space) {
    const Names algorithms = values(space, "algorithm");
    return std::ranges::find(algorithms, "NVLS") != algorithms.end();
  };
  const TuningSpace with = tuning_space(ground_of({}));
  CHECK(has_nvls(with));
  CHECK(find(with, "NCCL_NVLS_ENABLE") != nullptr);
  CHECK(find(with, "NCCL_NVLS_NCHANNELS") != nullptr);

  const TuningSpace older = tuning_space(ground_of({.compute_capability = "8.0"}));
  const TuningSpace direct = tuning_space(ground_of({.gpus = 2, .switches = false}));
  TuningGround off = ground_of({});
  off.environment = {{"NCCL_NVLS_ENABLE", "0"}};
  const TuningSpace pinned = tuning_space(off);
  off.environment = {{"NCCL_CUMEM_ENABLE", "0"}};
  const TuningSpace no_memory = tuning_space(off);
  for (const TuningSpace* space : {&older, &direct, &pinned, &no_memory}) {
    CHECK_FALSE(has_nvls(*space));
    CHECK_FALSE(why_left_out(*space, "algorithm", "NVLS").empty());
    for (const TuningParameter& one : space->parameters)
      CHECK(one.name.find("NVLS") == std::string::npos);
  }
  CHECK(pinned.pinned == std::vector<model::Setting>{{"NCCL_NVLS_ENABLE", "0"}});
  CHECK_THAT(why_left_out(pinned, "algorithm", "NVLS"), ContainsSubstring("NCCL_NVLS_ENABLE=0"));
}

TEST_CASE("impossible values are left out with the reason") {
  TuningGround ground = ground_of({});
  const TuningSpace of_all_reduce = tuning_space(ground);
  CHECK_FALSE(why_left_out(of_all_reduce, "algorithm", "PAT").empty());
  CHECK_FALSE(why_left_out(of_all_reduce, "algorithm", "NVLSTree").empty()); // one node
  CHECK(values(of_all_reduce, "algorithm") == Names{"", "Ring", "Tree", "NVLS"});

  ground.targets = {{Collective::broadcast, {}}};
  CHECK(values(tuning_space(ground), "algorithm") == Names{"", "Ring"});
  ground.targets.push_back({Collective::all_reduce, {}}); // possible for one is enough
  CHECK(values(tuning_space(ground), "algorithm") == Names{"", "Ring", "Tree", "NVLS"});
  CHECK_FALSE(why_impossible(ground, ground.targets[0], {{"algorithm", "Tree"}}).empty());
  CHECK(why_impossible(ground, ground.targets[1], {{"algorithm", "Tree"}}).empty());
}

TEST_CASE("variables that this NCCL does not read, or reads otherwise, are left out") {
  const TuningSpace old = tuning_space(ground_of({.version = 21603}));
  CHECK(find(old, "NCCL_MIN_CTAS") == nullptr);
  CHECK_FALSE(why_left_out(old, "NCCL_MIN_CTAS", "32").empty());
  CHECK(find(tuning_space(ground_of({.version = 22803})), "NCCL_MIN_CTAS") != nullptr);
}

TEST_CASE("what the environment sets is named and left alone, unless it is overridden") {
  TuningGround ground = ground_of({.nodes = 2});
  ground.environment = {{"NCCL_SOCKET_NTHREADS", "4"}, {"NCCL_ALGO", "Ring"}};
  const TuningSpace space = tuning_space(ground);
  CHECK(find(space, "NCCL_SOCKET_NTHREADS") == nullptr);
  CHECK(find(space, "algorithm") == nullptr);
  CHECK(space.pinned ==
        std::vector<model::Setting>{{"NCCL_SOCKET_NTHREADS", "4"}, {"NCCL_ALGO", "Ring"}});
  ground.overrides = {"NCCL_SOCKET_NTHREADS"};
  CHECK(values(tuning_space(ground), "NCCL_SOCKET_NTHREADS") == Names{"", "2", "8", "(not set)"});
}

TEST_CASE("an algorithm is chosen in process only without the variable that the environment sets") {
  TuningGround ground = ground_of({});
  ground.environment = {{"NCCL_ALGO", "Ring"}};
  ground.overrides = {"NCCL_ALGO"};
  const TuningSpace space = tuning_space(ground);
  CHECK(values(space, "NCCL_ALGO") == Names{"", "(not set)"});
  CHECK(values(space, "algorithm").size() > 2);
  const TuningTarget& target = ground.targets.front();
  CHECK_FALSE(why_impossible(ground, target, {{"algorithm", "Tree"}}).empty());
  CHECK(
      why_impossible(ground, target, {{"NCCL_ALGO", "(not set)"}, {"algorithm", "Tree"}}).empty());
}

TEST_CASE("of the environment, what may have an effect is tried without") {
  TuningGround ground = ground_of({});
  ground.environment = {{"HOME", "/root"},
                        {"NCCL_ALGO", "Ring"},
                        {"NCCL_IB_HCA", "mlx5_0"},
                        {"NCCL_P2P_DISABLE", "1"},
                        {"OMP_NUM_THREADS", "4"}};
  ground.only_environment = true;
  ground.overrides = {"OMP_NUM_THREADS"};
  const TuningSpace space = tuning_space(ground);
  CHECK(names(space) == Names{"NCCL_ALGO", "NCCL_P2P_DISABLE", "OMP_NUM_THREADS"});
  for (const TuningParameter& one : space.parameters) {
    CHECK(one.values == Names{"", "(not set)"});
    CHECK(one.scope == TuningScope::process);
  }
  REQUIRE(space.environment.size() == 3);
  CHECK(space.environment[1].setting == model::Setting{"NCCL_IB_HCA", "mlx5_0"});
}

TEST_CASE("variables that change nothing here are told from those that may") {
  struct Row {
    Variables environment;
    bool nothing; // the first of them
    Machine machine = {};
    std::string backend = "nvidia";
  };
  const std::vector<Nic> adapters{nic("mlx5_0", NicKind::infiniband)};
  const Machine rdma{.nodes = 2, .nics = adapters};
  const Machine ethernet{.nodes = 2, .nics = {nic("eth0", NicKind::ethernet)}};
  const std::vector<Row> rows{
      {{{"NCCL_MIN_CTAS", "16"}}, false},
      {{{"NCCL_MIN_CTAS", "16"}}, true, {.version = 21603}}, // came later
      {{{"NCCL_MIN_CTAS", "16"}}, true, {}, "host"},         // Gloo reads none
      {{{"NCCL_MIN_CTSA", "16"}}, true},                     // misspelt
      {{{"NCCL_LL_THRESHOLD", "0"}}, true},                  // of old releases
      {{{"NCCL_MIN_CTAS", ""}}, true},                       // as if not set
      {{{"NCCL_OFI_X", "1"}}, false},                        // a plugin may read it
      {{{"NCCL_BUFFSIZE", "4194304"}}, true},                // the default
      {{{"NCCL_BUFFSIZE", "8388608"}}, false},
      {{{"NCCL_P2P_DISABLE", "1"}}, false},
      {{{"NCCL_P2P_DISABLE", "0"}}, true},
      {{{"NCCL_IB_HCA", "mlx5_0"}}, true}, // one node
      {{{"NCCL_IB_HCA", "mlx5_0"}}, false, rdma},
      {{{"NCCL_IB_HCA", "mlx5_0"}, {"NCCL_IB_DISABLE", "1"}}, true, rdma},
      {{{"NCCL_IB_DISABLE", "1"}}, false, rdma}, // but for it, the data would take InfiniBand
      {{{"NCCL_IB_DISABLE", "1"}}, true, ethernet},
      {{{"NCCL_SOCKET_NTHREADS", "4"}}, false, ethernet},
      {{{"NCCL_SOCKET_NTHREADS", "4"}}, true, rdma},
      {{{"NCCL_MIN_P2P_NCHANNELS", "8"}}, true},
      {{{"NCCLPROBE_GLOO_ALGORITHM", "ring"}}, false, {}, "host"},
      {{{"NCCLPROBE_GLOO_ALGORITHM", "ring"}}, true},
  };
  for (const Row& row : rows) {
    TuningGround ground = ground_of(row.machine);
    ground.environment = row.environment;
    ground.backend = row.backend;
    const std::vector<EnvironmentVariable> all = environment_variables(ground);
    const std::string& name =
        row.environment.contains("NCCL_IB_HCA") ? "NCCL_IB_HCA" : row.environment.begin()->first;
    const auto found = std::ranges::find(
        all, name, [](const EnvironmentVariable& one) { return one.setting.name; });
    INFO(name << "=" << row.environment.at(name));
    REQUIRE(found != all.end());
    CHECK(found->why_nothing.empty() != row.nothing);
  }
}

TEST_CASE("what a file of NCCL sets is tried at its default, if that is known") {
  TuningGround ground = ground_of({});
  ground.only_environment = true;
  ground.environment = {{"NCCL_BUFFSIZE", "1048576"}, {"NCCL_NTHREADS", "64"}};
  ground.files = {{"NCCL_BUFFSIZE", "/etc/nccl.conf"}, {"NCCL_NTHREADS", "/etc/nccl.conf"}};
  const TuningSpace space = tuning_space(ground);
  REQUIRE(space.parameters.size() == 1);
  CHECK(space.parameters[0].name == "NCCL_BUFFSIZE");
  CHECK(space.parameters[0].values == std::vector<std::string>{"", "4194304"});
  CHECK_FALSE(why_left_out(space, "NCCL_NTHREADS", "").empty());
  REQUIRE(space.environment.size() == 2);
  CHECK(space.environment[0].file == "/etc/nccl.conf");
}

TEST_CASE("settings that contradict each other, or a pinned one, are impossible together") {
  TuningGround ground = ground_of({.nodes = 2});
  const TuningTarget& target = ground.targets.front();
  CHECK_FALSE(why_impossible(ground, target,
                             {{"NCCL_SOCKET_NTHREADS", "16"}, {"NCCL_NSOCKS_PERTHREAD", "8"}})
                  .empty());
  CHECK(why_impossible(ground, target,
                       {{"NCCL_SOCKET_NTHREADS", "8"}, {"NCCL_NSOCKS_PERTHREAD", "8"}})
            .empty());
  CHECK_FALSE(why_impossible(ground, target, {{"algorithm", "NVLS"}, {"protocol", "LL"}}).empty());
  ground.environment = {{"NCCL_MAX_CTAS", "8"}};
  const TuningSpace space = tuning_space(ground);
  CHECK_FALSE(why_left_out(space, "NCCL_MIN_CTAS", "16").empty());
}

TEST_CASE("sends and receives have channels and pieces of their own, and no algorithm") {
  TuningGround ground = ground_of({});
  ground.targets = {{Collective::all_to_all, {}}};
  const TuningSpace space = tuning_space(ground);

  CHECK(find(space, "algorithm") == nullptr);
  CHECK(find(space, "NCCL_BUFFSIZE") == nullptr);
  CHECK(find(space, "NCCL_MIN_P2P_NCHANNELS") != nullptr);
  CHECK(find(tuning_space(ground_of({})), "NCCL_MIN_P2P_NCHANNELS") == nullptr);
}

TEST_CASE("training steps are searched by bucket, priority and SMs first") {
  const TuningSpace ddp = tuning_space(of_steps(ground_of({})));
  CHECK(first(ddp, 2) == Names{"bucket", "comm-priority"});
  CHECK(ddp.parameters[0].scope == TuningScope::step);
  CHECK(find(ddp, "NCCL_MAX_CTAS") != nullptr);
  CHECK(find(ddp, "compress") == nullptr);

  TuningGround asked = of_steps(ground_of({}));
  asked.with_compression = true;
  CHECK(values(tuning_space(asked), "compress") == Names{"", "bf16"});
  const TuningSpace fsdp = tuning_space(of_steps(asked, model::StepPattern::fsdp));
  CHECK(find(fsdp, "bucket") == nullptr);
  CHECK(find(fsdp, "compress") == nullptr);
  CHECK(find(tuning_space(ground_of({})), "NCCL_MAX_CTAS") == nullptr);
}

TEST_CASE("a training step is tuned by fewer SMs for communication over each transport") {
  for (const Machine& machine :
       {Machine{}, Machine{.nvlinks = 0}, Machine{.nodes = 2},
        Machine{.nodes = 2, .nics = {nic("mlx5_0", NicKind::infiniband)}}}) {
    const TuningSpace space = tuning_space(of_steps(ground_of(machine)));
    CHECK(find(space, "NCCL_MAX_CTAS") != nullptr);
  }
}

TEST_CASE(
    "algorithm, protocol and channels of a training step are variables, which a job can take") {
  TuningGround ground = of_steps(ground_of({}));
  const TuningSpace steps = tuning_space(ground);
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_CTAS"}) {
    INFO(name);
    REQUIRE(find(steps, name) != nullptr);
    CHECK(find(steps, name)->scope == TuningScope::process);
  }
  CHECK(find(steps, "algorithm") == nullptr);
  // A job's broadcasts would fail with another one.
  CHECK(values(steps, "NCCL_ALGO") == Names{"", "Ring"});
  CHECK(!why_left_out(steps, "NCCL_ALGO", "Tree").empty());

  // A tuner table chooses for the collective beside the step, and not for the step.
  const TuningTarget step = ground.targets.front();
  const TuningTarget collective{Collective::all_reduce, {}};
  ground.targets = {step, collective};
  const TuningSpace both = tuning_space(ground);
  REQUIRE(find(both, "algorithm") != nullptr);
  CHECK(find(both, "algorithm")->scope == TuningScope::cell);
  CHECK(why_impossible(ground, collective, {{"algorithm", "Ring"}}).empty());
  for (const model::Setting& one : {model::Setting{"algorithm", "Ring"}, {"channels", "8"}})
    CHECK(!why_impossible(ground, step, {one}).empty());
  CHECK(why_impossible(ground, step, {{"NCCL_MAX_CTAS", "8"}}).empty());
}

} // namespace ncclprobe::workload
