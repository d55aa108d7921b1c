// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/cell_label.h"
#include "model/document.h"
#include "support/catch.h"

namespace ncclprobe::model {
namespace {

TEST_CASE("a label says in words what a cell measures") {
  struct Row {
    decltype(CellLabel::what) what;
    std::string workload, variant;
  };
  const std::vector<Row> rows{
      {CollectiveLabel{}, "all_reduce", ""},
      {CollectiveLabel{Collective::broadcast, Launch::graph, Memory::registered, 2, 3, -5, 4},
       "broadcast", "graph registered split=2 streams=3 priority=-5 offset=4"},
      {EmptyKernelLabel{}, "empty_kernel", ""},
      {EmptyKernelLabel{Launch::graph}, "empty_kernel", "graph"},
      {P2pLabel{P2pMode::ipc,
                P2pMethod::sm_read,
                P2pDirection::bi,
                {{{false, 0}, {false, 12}}, {{false, 12}, {false, 0}}}},
       "p2p_sm_read", "ipc bi 0>12 12>0"},
      {P2pLabel{.method = P2pMethod::host, .transfers = {{{true, 3}, {false, 3}}}}, "p2p_host",
       "uni h3>3"},
      {StepLabel{.options = {.pattern = StepPattern::fsdp, .reshard = false, .prefetch = 2},
                 .model = "llama2-7b",
                 .ranks = {0, 2, 5},
                 .parts = StepParts::communication,
                 .batch = 4,
                 .sequence = 2048},
       "fsdp_step",
       "llama2-7b ranks=0,2,5 batch=4 sequence=2048 parts=communication prefetch=2 no_reshard"},
      {StepLabel{.model = "resnet50", .ranks = {0, 1, 2}, .batch = 32}, "ddp_step",
       "resnet50 ranks=0-2 batch=32 parts=all bucket=25MiB first=1MiB"}};
  for (const Row& row : rows) {
    const CellLabel label{.what = row.what, .bytes = 1024, .type = DataType::bf16};

    CHECK(label.workload() == row.workload);
    CHECK(label.variant() == row.variant);
    CHECK(parse_json<CellLabel>(write_json(label)).value() == label);
  }
}

} // namespace
} // namespace ncclprobe::model
