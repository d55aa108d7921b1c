// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/proof/nccl_tuning.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What NCCL's log (NCCL_DEBUG=INFO) says about settings and NCCL's choices. Line formats: NCCL 2.27
// to 2.30, misc/param.cc, enqueue.cc, plugin/*.cc, transport/*.cc.
namespace ncclprobe::analysis {

// "NCCL_X set by environment to N."
struct SettingLine {
  std::string name;
  std::string value;
  std::string line; // without host, process and device
};

// "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}"
struct ChoiceLine {
  std::string function;
  std::uint64_t bytes = 0;
  std::string algorithm;
  std::string protocol; // empty if unknown
  int channels = 0;     // 0 if unknown
};

// "Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct": the transport from one rank's GPU to
// another's. The numbers of GPUs are nvidia-smi's since NCCL 2.19, bus ids in hexadecimal before.
struct ConnectionLine {
  int from_rank = 0;
  int to_rank = 0;
  std::string from_gpu; // "0", "1b000"
  std::string to_gpu;
  std::string transport; // "P2P/CUMEM", "SHM/direct/direct", "NET/IB/0"
  // For a network each end writes a line: this one is the receiver's.
  bool receiver = false;
  bool operator==(const ConnectionLine&) const = default;

  // Whatever follows "P2P/".
  bool is_direct() const { return transport.starts_with("P2P/"); }
};
// The text of a line, without host, process and device.
std::optional<ConnectionLine> read_connection(std::string_view words);

// "ncclprobe: communicator nRanks 8 nNodes 1 nvlDomains 1 of 8 to 8 ranks", of our own tuner: how
// the ranks of a communicator share NVLink domains.
struct DomainsLine {
  int ranks = 0;
  int nodes = 0;
  int domains = 0;
  int least_ranks = 0; // in one domain
  int most_ranks = 0;
};

// Whether the log's name of an algorithm or a protocol is that of the settings. The log says
// NVLS_TREE for NVLSTree.
bool is_logged_as(std::string_view word, std::string logged);

struct NcclLog {
  std::vector<SettingLine> settings; // first reading of each name
  std::vector<ChoiceLine> choices;
  std::vector<ConnectionLine> connections; // each once, however many channels take it
  std::vector<std::string> interventions;  // configuration files, plugins, communicator configs
  std::vector<std::string> warnings;       // NCCL WARN
  int nodes = 0;                           // 0: unknown
  bool used_network = false;               // some connection goes over it
  std::string network;                     // the chosen network: "Socket", "IB", a plugin's name
  std::vector<std::string> interfaces;     // its interfaces: "eth0", "mlx5_0:1/IB"
  std::vector<std::string> network_lines;  // lines that list the networks
  std::vector<TuningTable> tables;         // of communicators, in the order of their creation
  std::vector<DomainsLine> domains;        // of communicators
  std::map<int, double>
      expected_us;        // by cell: the estimate of ncclGroupSimulateEnd, from our own lines
  bool has_words = false; // there is a log at all

  const SettingLine* setting(std::string_view name) const;
};

NcclLog read_nccl_log(std::string_view log);

} // namespace ncclprobe::analysis
