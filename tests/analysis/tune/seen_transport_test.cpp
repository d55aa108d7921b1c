// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/seen_transport.h"
#include "support/catch.h"

using namespace ncclprobe;
using analysis::tune::unexpected_transport;
using workload::Transport;

namespace {

model::TrialRecord companion_via(const std::string& transport) {
  model::Evidence evidence;
  evidence.log = "n:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via " + transport + "\n";
  model::TrialRecord companion;
  companion.evidence = {evidence};
  return companion;
}

} // namespace

TEST_CASE("tune says if NCCL connects its ranks by another transport than expected") {
  using workload::TransportsInUse;
  const TransportsInUse nvlink{Transport::nvlink, Transport::none, {}};
  CHECK(unexpected_transport(nvlink, companion_via("P2P/CUMEM")).empty());
  const std::string words = unexpected_transport(nvlink, companion_via("SHM/direct/direct"));
  CHECK(words.find("SHM/direct/direct") != std::string::npos);
  CHECK(words.find("NVLink") != std::string::npos);

  const TransportsInUse sockets{Transport::none, Transport::sockets, {}};
  CHECK(unexpected_transport(sockets, companion_via("NET/Socket/0")).empty());
  CHECK(!unexpected_transport(sockets, companion_via("NET/IB/0")).empty());

  // How many ranks a node has may be unknown, so that one of both may be unused.
  const TransportsInUse both{Transport::nvlink, Transport::sockets, {}};
  CHECK(unexpected_transport(both, companion_via("NET/Socket/0")).empty());
}

TEST_CASE("tune says nothing of transports that NCCL does not log") {
  CHECK(unexpected_transport({Transport::nvlink, Transport::none, {}}, {}).empty());
  CHECK(unexpected_transport({Transport::none, Transport::gloo, {}}, companion_via("P2P/IPC"))
            .empty());
}
