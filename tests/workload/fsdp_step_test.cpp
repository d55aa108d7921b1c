// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/fsdp_step.h"
#include "workload/models/catalogue.h"
#include "workload/schedule_rules.h"
#include "workload/step_cells.h"
#include "workload/step_schedules.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;
using tests::first_ranks;
using tests::timed;

namespace {

StepRequest fsdp_request() {
  StepRequest request;
  request.pattern = StepPattern::fsdp;
  request.model = tests::small_model();
  request.batch = 2;
  return request;
}

Schedule step(const StepRequest& request, int ranks, StepParts parts = StepParts::all) {
  auto made = make_fsdp_step(request, {ranks, first_ranks(ranks), parts});
  REQUIRE(made.has_value());
  return *made;
}

// Of the root (first) and of each block.
std::vector<std::uint64_t> group_sizes(const ModelSpec& model) {
  std::vector<std::uint64_t> sizes(1);
  for (const Layer& layer : model.layers) {
    auto group = static_cast<std::size_t>(layer.block + 1);
    sizes.resize(std::max(sizes.size(), group + 1));
    for (const Parameter& one : layer.parameters)
      sizes[group] += one.elements;
  }
  return sizes;
}

} // namespace

TEST_CASE("an FSDP step is sound in all its forms and on any number of ranks") {
  for (bool reshard : {true, false})
    for (int prefetch : {0, 1, 2, 5})
      for (int accumulate : {1, 2})
        for (bool optimizer : {true, false})
          for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication})
            for (int ranks : {1, 2, 3, 4, 8}) {
              StepRequest request = fsdp_request();
              request.reshard = reshard;
              request.prefetch = prefetch;
              request.accumulate = accumulate;
              request.optimizer = optimizer;
              CAPTURE(reshard, prefetch, accumulate, optimizer, to_string(parts), ranks);

              Schedule schedule = step(request, ranks, parts);

              auto checked = check_schedule(schedule, ranks);
              CHECK((checked ? "" : checked.error().message) == "");
              CHECK(tests::marker_fault(schedule, ranks) == "");
            }
}

TEST_CASE("blocks are gathered one ahead, and reduced when their gradients are there") {
  auto order = tests::stretches(step(fsdp_request(), 2), 1);

  CHECK(order == std::vector<std::string>{"gather root", "gather block 0", "gather block 1",
                                          "gather block 1", "gather block 0", "reduce block 1",
                                          "reduce block 0", "reduce root"});
}

TEST_CASE("without prefetch a block is gathered when it is needed") {
  StepRequest request = fsdp_request();
  request.prefetch = 0;
  auto order = tests::stretches(step(request, 2), 1);

  CHECK(order == std::vector<std::string>{"gather root", "gather block 0", "gather block 1",
                                          "gather block 1", "reduce block 1", "gather block 0",
                                          "reduce block 0", "reduce root"});
}

TEST_CASE("ZeRO-2 gathers every block once") {
  StepRequest request = fsdp_request();
  request.reshard = false;
  auto order = tests::stretches(step(request, 2), 1);

  CHECK(order == std::vector<std::string>{"gather root", "gather block 0", "gather block 1",
                                          "reduce block 1", "reduce block 0", "reduce root"});
}

TEST_CASE("found infinities are shared behind the last reduction") {
  StepRequest request = fsdp_request();
  request.found_inf = true;
  Schedule schedule = step(request, 2);
  auto order = tests::stretches(schedule, 1);

  REQUIRE(order.size() > 2);
  CHECK(order[order.size() - 2] == "reduce root");
  CHECK(order.back() == "found inf");
  CHECK(tests::marker_fault(schedule, 2) == "");
}

TEST_CASE("a rank gives its shards to every gather, and all gradients once") {
  for (const char* name : {"gpt2-124m", "llama3-8b:2", "vit-b16"})
    for (int ranks : {2, 3, 8})
      for (bool reshard : {true, false})
        for (int accumulate : {1, 4}) {
          StepRequest request = fsdp_request();
          request.model = make_model(name).value();
          request.type = StepType::bf16;
          request.reshard = reshard;
          request.accumulate = accumulate;
          CAPTURE(name, ranks, reshard, accumulate);
          auto n = static_cast<std::uint64_t>(ranks);
          std::uint64_t gathered = 0, reduced = 0;
          auto sizes = group_sizes(request.model);
          for (std::size_t i = 0; i < sizes.size(); ++i) {
            std::uint64_t shard = (sizes[i] + n - 1) / n;
            gathered += shard * (i > 0 && reshard ? 2 : 1) * static_cast<std::uint64_t>(accumulate);
            reduced += shard * n;
          }

          CHECK(given_bytes(step(request, ranks), 0, ranks) == 2 * (gathered + reduced));
          request.found_inf = true;
          CHECK(given_bytes(step(request, ranks), 0, ranks) == 2 * (gathered + reduced) + 4);
        }
  CHECK(given_bytes(step(fsdp_request(), 1), 0, 1) == 0);
}

TEST_CASE("sharding leaves a rank less memory than replication") {
  StepRequest request;
  request.pattern = StepPattern::fsdp;
  request.model = make_model("llama3-8b:8").value();
  request.compute.kind = StepCompute::Kind::none;
  auto bytes = [&](int ranks) {
    std::uint64_t sum = 0;
    for (const BufferDecl& buffer : step(request, ranks).buffers)
      sum += buffer.bytes.at(0);
    return sum;
  };

  CHECK(bytes(8) < bytes(4));
  CHECK(bytes(4) < bytes(2));
}

TEST_CASE("FSDP with tensor parallelism gathers the parts of layers") {
  StepRequest request = fsdp_request();
  request.pattern = StepPattern::fsdp_tp;
  for (bool sequence : {false, true}) {
    request.sequence_parallel = sequence;
    for (StepParts parts : {StepParts::all, StepParts::compute, StepParts::communication})
      for (int ranks : {1, 2, 4, 8}) {
        CAPTURE(sequence, to_string(parts), ranks);
        Schedule schedule = step(request, ranks, parts);
        auto checked = check_schedule(schedule, ranks);
        CHECK((checked ? "" : checked.error().message) == "");
        CHECK(tests::marker_fault(schedule, ranks) == "");
      }
  }
  auto widest = [](const Schedule& schedule) {
    std::uint64_t most = 0;
    for (const CollectiveOp& op : timed<CollectiveOp>(schedule))
      if (op.collective == Collective::reduce_scatter)
        most = std::max(most, op.count);
    return most;
  };
  request.sequence_parallel = false;
  StepRequest whole = fsdp_request();
  // Four ranks: two replicas of halves, against two replicas.
  CHECK(widest(step(request, 4)) < widest(step(whole, 2)));
}

// Recorded from PyTorch 2.11 on two H200: fully_shard on each of six Linear(2048, 2048) with bias,
// in bf16, then on the model; a step's collectives with their elements in and out.
TEST_CASE("the sequence of collectives is that of PyTorch's fully_shard") {
  StepRequest request;
  request.pattern = StepPattern::fsdp;
  request.type = StepType::bf16;
  request.model = make_model("linear:2048x6").value();
  for (std::size_t i = 0; i < request.model.layers.size(); ++i)
    request.model.layers[i].block = static_cast<int>(i);

  std::string sequence;
  for (const CollectiveOp& op : timed<CollectiveOp>(step(request, 2))) {
    CHECK(op.count == 2098176); // of a shard
    CHECK(op.type == DataType::bf16);
    sequence += op.collective == Collective::all_gather ? 'g' : 'r';
  }

  CHECK(sequence == "ggggggggrgrgrgrgrr");
}
