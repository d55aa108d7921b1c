// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/input_waits.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::timeline;

namespace {

// A rank without steps.
class Loader {
public:
  void range(std::uint64_t start_ns, std::uint64_t end_ns, const std::string& name,
             std::uint32_t thread) {
    trace::RangeRow row;
    row.start_ns = start_ns;
    row.end_ns = end_ns;
    row.name = {static_cast<std::uint32_t>(texts_.size())};
    row.thread = thread;
    texts_.push_back(name);
    trace_.ranges.push_back(row);
  }
  Spans loading() const {
    return InputRanges(texts_).of(trace_, OperationIndex(trace_.operations));
  }

private:
  RankTrace trace_;
  std::vector<std::string> texts_{""};
};

void copy(RankTrace& trace, std::uint64_t start_ns, trace::CopyKind kind) {
  trace.copies.start_ns.push_back(start_ns);
  trace.copies.duration_ns.push_back(10);
  trace.copies.kind.push_back(kind);
}

} // namespace

TEST_CASE("Names of ranges tell loading of input from other work") {
  for (const char* name :
       {"load", "Load batch", "data_loading", "dataloader", "get_batch", "next batch", "inputs",
        "batch-generator", "fetch_data", "loadBatch", "load batch 17", "wait for input",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"}) {
    CAPTURE(name);
    CHECK(names_input(name));
  }
  for (const char* name :
       {"", "17", "forward", "load_state_dict", "load checkpoint", "load model weights",
        "DistributedDataParallel.forward", "data_parallel wait", "input_layernorm", "batch",
        "get_input_embeddings", "payload", "backward input", "optimizer.step"}) {
    CAPTURE(name);
    CHECK_FALSE(names_input(name));
  }
}

TEST_CASE("A thread that only loads does not show when its program waited for input") {
  Loader loader;
  loader.range(100, 900, "load batch", 2); // ahead, in the background

  CHECK(loader.loading() == Spans{{100, 900}});

  loader.range(0, 50, "load batch", 1);
  loader.range(50, 900, "forward", 1);

  CHECK(loader.loading() == Spans{{0, 50}});
}

TEST_CASE("A GPU waits for input while its host loads, or directly before a copy from the host") {
  const Spans busy{{0, 100}, {200, 300}, {400, 500}, {600, 700}};
  RankTrace trace;
  copy(trace, 200, trace::CopyKind::device_to_host);
  copy(trace, 400, trace::CopyKind::host_to_device);
  copy(trace, 650, trace::CopyKind::host_to_device); // beside a kernel

  CHECK(input_waits(trace, busy, {}) == Spans{{300, 400}});
  // The program says when it loads: then a copy is no sign.
  CHECK(input_waits(trace, busy, {{150, 250}, {550, 560}}) == Spans{{150, 200}, {550, 560}});
}
