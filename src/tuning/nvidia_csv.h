// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include <string>
#include <string_view>
#include <vector>

// The configuration file of NVIDIA's example tuner (NCCL's plugins/tuner/example):
// collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks[,numPipeOps[,regBuff]]
// The first row that matches decides, and -1 means any. That plugin sets one channel for every call
// that no row covers, and where a row leaves the channels to NCCL.
namespace ncclprobe::tuning {

struct FromNvidia {
  Table table;                      // its header is empty
  std::vector<std::string> remarks; // what the table cannot hold, a sentence each
};
// Rows with conditions that a table cannot hold are left out: any number of ranks or nodes,
// numPipeOps and regBuff. Where rows overlap, the first one keeps its sizes. Errors: protocol, with
// the line, for a word or a number that the example tuner would misread.
Result<FromNvidia> from_nvidia_csv(std::string_view text, std::string_view name);

struct ToNvidia {
  std::string text;
  std::vector<std::string> remarks; // what the file cannot say, and where it forces one channel
};
// Errors: unsupported if a row has no channels or no algorithm, because the example tuner would
// force one channel, or Ring with Simple.
Result<ToNvidia> to_nvidia_csv(const Table& table);

// Whether a text is a tuner table, by its first line; otherwise it may be NVIDIA's.
bool is_table(std::string_view text);

} // namespace ncclprobe::tuning
