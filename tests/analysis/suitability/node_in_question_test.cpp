// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/node_in_question.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::support;

namespace {

model::HostInventory host(const std::string& name, int gpus) {
  model::HostInventory host;
  host.hostname = host.boot_id = name;
  host.libraries = {{"cuda_driver", "535.129.03 (CUDA 12.2)", "", ""}, {"nccl", "2.28.3", "", ""}};
  for (int i = 0; i < gpus; ++i) {
    model::CudaDevice gpu;
    gpu.index = i;
    gpu.name = "NVIDIA H200";
    gpu.compute_capability = "9.0";
    gpu.memory_bytes = 141'000'000'000;
    gpu.nvlinks = 18;
    host.gpus.push_back(gpu);
  }
  return host;
}

} // namespace

TEST_CASE("a host's equal GPUs are one, counted, with its driver and what that knows") {
  NodeInQuestion node = base::value_or_throw(node_of(host("alpha", 8)));

  REQUIRE(node.gpus.size() == 1);
  CHECK(gpus_text(node.gpus[0]) == "8 x NVIDIA H200");
  CHECK(*node.gpus[0].memory_gb == Approx(141));
  CHECK(node.driver->text() == "535.129.03");
  CHECK(node.software.driver_cuda->text() == "12.2");
  CHECK_FALSE(node.software.runtime_cuda);
  CHECK_FALSE(node.nccl);
}

TEST_CASE("of cards of one name, what was seen tells which it is") {
  auto seen = [](const char* name, const char* capability, std::uint64_t memory_bytes) {
    model::HostInventory one = host("alpha", 1);
    one.gpus[0].name = name;
    one.gpus[0].compute_capability = capability;
    one.gpus[0].memory_bytes = memory_bytes;
    const NodeInQuestion node = base::value_or_throw(node_of(one));
    std::vector<std::string> names;
    for (const knowledge::GpuModel* model : node.gpus[0].models)
      names.push_back(model->name);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(seen("NVIDIA GeForce RTX 3080", "8.6", 10'500'000'000) == Names{"GeForce RTX 3080 10GB"});
  CHECK(seen("NVIDIA RTX 6000", "8.9", 48'300'000'000) == Names{"RTX 6000 Ada Generation"});
  CHECK(seen("NVIDIA RTX 6000", "7.5", 24'200'000'000) == Names{"Quadro RTX 6000"});
  CHECK(seen("NVIDIA Frobnicator", "9.9", 1).empty());
}

TEST_CASE("an examination's hosts are told once, with what NCCL took of a GPU at the most") {
  doctor::Case one;
  for (const char* name : {"alpha", "alpha", "beta"}) {
    model::Survey survey;
    survey.inventory = host(name, 2);
    one.surveys.push_back(survey);
  }
  doctor::SmokeTest smoke_test;
  smoke_test.ranks = 4;
  smoke_test.communicators = {{0, 500'000'000}, {1, 700'000'000}};
  one.smoke_tests = {smoke_test};

  auto nodes = base::value_or_throw(nodes_of(one));

  REQUIRE(nodes.size() == 2);
  CHECK(nodes[1].name == "beta");
  CHECK(nodes[0].nccl->gb == Approx(0.7));
  CHECK(nodes[0].nccl->ranks == 4);
}

TEST_CASE("a run's hosts are nodes too, one without GPUs is none") {
  CHECK(base::value_or_throw(nodes_of(RunBuilder(2)))[0].gpus[0].count == 2);
  CHECK(nodes_of(RunBuilder::on_cpus(2)).error().code == base::Errc::not_found);
}

TEST_CASE("of a run too it is told what connecting took of a GPU at the most") {
  using What = model::MemoryUse::What;
  RunBuilder run(2);
  auto trial = run.trial();
  for (int rank : {0, 1}) {
    auto& memory = trial->workers.at(static_cast<std::size_t>(rank)).memory;
    memory = {{rank, What::opened, 500'000'000},
              {rank, What::connected, rank == 0 ? 800'000'000u : 900'000'000u}};
  }

  auto nodes = base::value_or_throw(nodes_of(run));

  REQUIRE(nodes[0].nccl);
  CHECK(nodes[0].nccl->gb == Approx(0.4));
  CHECK(nodes[0].nccl->ranks == 2);
  run.header.backend = "host";
  CHECK_FALSE(base::value_or_throw(nodes_of(run))[0].nccl);
}

TEST_CASE("a GPU that is only named is a node of its own") {
  NodeInQuestion node = base::value_or_throw(named_node("T4"));

  CHECK(node.is_named);
  CHECK(node.name == "T4");
  CHECK_FALSE(node.driver);
  CHECK_FALSE(named_node("frobnicator"));
}
