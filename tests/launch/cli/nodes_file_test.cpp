// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/procure/nodes_file.h"
#include "support/catch.h"
#include "support/refusals.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;

namespace {

const std::string k_node = R"([[node]]
name = "measured"
runs = ["a.h5", "more/b.h5"]
)";
const std::string k_workload = R"([[workload]]
step = "ddp:gpt2-124m"
)";

base::Result<cli::NodesFile> read(const std::string& text) {
  support::ScratchFolder folder;
  std::ofstream(folder / "nodes.toml") << text;
  return cli::read_nodes_file(folder / "nodes.toml");
}

std::string refused(const std::string& text) {
  auto file = read(text);
  return file ? "accepted" : file.error().text();
}

} // namespace

TEST_CASE("a file of nodes is read with all that it can say") {
  const auto file = base::value_or_throw(read(R"(
[[node]]
name = "bought"
gpu = "H200"
gpus = 8
runs = ["a.h5", "more/b.h5"]
setting = "NCCL_P2P_DISABLE=1"
purchase = 300000
years = 4
utilisation = 0.7
power_price_per_kwh = 0.25
pue = 1.3
other_w = 1500

[[node]]
name = "T4"
gpu = "T4"
gpus = 4
published = true
price_per_hour = 3.9
tflops = "24-65"
tflops_source = "data sheet"
bus_gb_per_s = 15.75
memory_gb_per_s = "200-320"
latency_us = 20.4

[[workload]]
step = "fsdp:llama2-7b"
weight = 2.5
ranks = 4
batch = 8
sequence = 1024
type = "bf16"
)"));

  REQUIRE(file.nodes.size() == 2);
  const auto& bought = file.nodes[0];
  CHECK(bought.gpu.count == 8);
  CHECK(bought.gpu.models.front()->name == "H200 SXM5");
  REQUIRE(bought.files.size() == 2);
  CHECK_THAT(bought.files[1], ContainsSubstring("/more/b.h5"));
  CHECK(bought.setting == "NCCL_P2P_DISABLE=1");
  CHECK(*bought.price.purchase == 300'000);
  CHECK(bought.price.years == 4);
  CHECK(bought.price.utilisation == 0.7);
  CHECK(*bought.price.per_kwh == 0.25);
  CHECK(bought.price.pue == 1.3);
  CHECK(*bought.price.other_w == 1500);
  const auto& t4 = file.nodes[1];
  CHECK(t4.published);
  CHECK(t4.rates.flops_per_s->best == 65e12);
  CHECK(*t4.rates.flops_per_s->worst == 24e12);
  CHECK(t4.rates.flops_per_s->source == "data sheet");
  CHECK(t4.rates.bus_gb_per_s->best == 15.75);
  CHECK_FALSE(t4.rates.bus_gb_per_s->worst);
  CHECK(*t4.rates.memory_gb_per_s->worst == 200);
  CHECK(*t4.rates.most_latency_ns == Approx(20'400));
  REQUIRE(file.workloads.size() == 1);
  CHECK(file.workloads[0].name() == "fsdp:llama2-7b");
  CHECK(file.workloads[0].weight == 2.5);
  CHECK(file.workloads[0].ranks == 4);
  CHECK(*file.workloads[0].batch == 8);
  CHECK(*file.workloads[0].sequence == 1024);
  CHECK(*file.workloads[0].type == model::StepType::bf16);
}

TEST_CASE("a node that cannot be is refused by its line") {
  CHECK(refused(k_node + k_workload) == "accepted");
  support::check_refusals(
      {{k_workload + "[[node]]\nname = \"a\"\nruns = [\"a.h5\"]\nprice_per_our = 3\n",
        {"nodes.toml:6:", "'price_per_our'", "price_per_hour?"}},
       {k_workload + "\n[[node]]\nruns = [\"a.h5\"]\n", {"nodes.toml:4:", "name"}},
       {k_node + "published = true\n" + k_workload, {"nodes.toml:1:", "published"}},
       {"[[node]]\nname = \"a\"\n" + k_workload, {"nodes.toml:1:", "neither runs nor published"}},
       {k_node + "tflops = 65\n" + k_workload, {"nodes.toml:1:", "rates"}},
       {"[[node]]\nname = \"a\"\npublished = true\n" + k_workload, {"nodes.toml:1:", "gpu"}},
       {k_node + "gpu = \"MI300X\"\n" + k_workload, {"nodes.toml:1:"}},
       {k_node + k_node + k_workload, {"two nodes"}}},
      refused);
}

TEST_CASE("a price or a rate that cannot be is refused by its line") {
  const std::string published =
      "[[node]]\nname = \"a\"\ngpu = \"T4\"\ngpus = 4\npublished = true\n";
  support::check_refusals(
      {{k_node + "purchase = 1000\n" + k_workload, {"without years"}},
       {k_node + "years = 4\n" + k_workload, {"without purchase"}},
       {k_node + "purchase = 9\nyears = 4\nprice_per_hour = 2\n" + k_workload,
        {"price_per_hour and purchase"}},
       {k_node + "price_per_hour = -2\n" + k_workload, {"nodes.toml:4:"}},
       {k_node + "pue = 0.9\n" + k_workload, {"nodes.toml:4:"}},
       {k_node + "purchase = 9\nyears = 4\nutilisation = 70\n" + k_workload, {"nodes.toml:6:"}},
       {published + "tflops = \"65-24\"\n" + k_workload, {"nodes.toml:6:", "worst"}},
       {published + "tflops = \"fast\"\n" + k_workload, {"nodes.toml:6:"}},
       {published + "setting = \"NCCL_ALGO=Tree\"\n" + k_workload, {"no runs"}}},
      refused);
}

TEST_CASE("a workload that cannot be is refused by its line") {
  support::check_refusals(
      {{k_node + "[[workload]]\nweight = 2\n", {"nodes.toml:4:", "step"}},
       {k_node + "[[workload]]\nstep = \"gpt2-124m\"\n", {"ddp:gpt2-124m"}},
       {k_node + "[[workload]]\nstep = \"dpp:gpt2-124m\"\n", {"nodes.toml:4:", "ddp"}},
       {k_node + "[[workload]]\nstep = \"ddp:m\"\ntype = \"f8\"\n", {"nodes.toml:6:"}},
       {k_node, {"[[workload]]"}},
       {k_workload, {"[[node]]"}},
       {k_workload + "[node]\nname = \"a\"\n", {"[[node]]"}},
       {"nodes = 2\n" + k_node + k_workload, {"node?"}}},
      refused);
}
